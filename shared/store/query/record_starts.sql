-- Records that runs have begun: the ledger has a row for each before its work starts. What an execution does needs no lease
-- any more. Raises where the name of an execution was taken by another one, which start has left alone.
with given as (
    select g.*, e.id as execution
    from unnest(@occurrences::bigint[], @claims::integer[], @names::text[], @contexts::text[], @workflow_versions::integer[])
         as g (occurrence, claim, name, context, workflow_version)
    join orrery.occurrence o on o.id = g.occurrence
    left join orrery.execution e on e.namespace = o.namespace and e.name = g.name and e.occurrence = g.occurrence
),
traced as (
    insert into orrery.trace (occurrence, claim, retry, attempt, started_at, token, execution, claimant, context)
    select o.id, o.claim, o.retry, o.attempt, coalesce(@now::timestamptz, clock_timestamp()), o.token, g.execution, o.claimant, g.context
    from given g
    join orrery.occurrence o on o.id = g.occurrence
    on conflict (occurrence, claim) do nothing
),
moved as (
    update orrery.occurrence o
    set status = 'running', execution = g.execution, started_at = coalesce(@now::timestamptz, clock_timestamp()), buffered = false,
        deferrals = 0, deadline_at = null, reason = null, trace = substr(g.context, 4, 32),
        workflow_version = coalesce(g.workflow_version, o.workflow_version),
        look_at = case when g.name is null then coalesce(@now::timestamptz, now()) + @lease::bigint * interval '1 millisecond' end
    from given g
    where o.id = g.occurrence and o.claim = g.claim and (g.name is null or g.execution is not null)
    returning o.id
)
select
    orrery.forbid('OR008', 'names of executions are taken', array(
        select occurrence from given where name is not null and execution is null)),
    orrery.expect('OR006', 'occurrences are claimed by others', @occurrences::bigint[], array(select id from moved))
