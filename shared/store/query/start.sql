-- Writes new executions with their first turns. What follows the first insert keeps to the rows that it returned: a start
-- that lost its name to another leaves nothing and is no failure, but for a child: its parent must know. Two that take one
-- name at once break the index, and the one that is sent again finds it taken: ON CONFLICT would write each row twice to
-- the log.
with given as materialized (
    select g.*, nextval('orrery.execution_id_seq') as id, (now() at time zone 'utc')::date as born
    from unnest(@namespaces::integer[], @names::text[], @definitions::bigint[], @partitions::smallint[],
                @input_hashes::bytea[], @traces::text[], @ats::timestamptz[], @events::text[], @wakes::timestamptz[],
                @statuses::smallint[], @parents::bigint[], @occurrences::bigint[], @tokens::bigint[])
         with ordinality
         as g (namespace, name, definition, partition, input_hash, trace, at, events, wake_at, status, parent, occurrence,
               fencing_token, place)
),
fresh as materialized (
    select *
    from given
    where not exists (select from orrery.execution e where e.namespace = given.namespace and e.name = given.name)
),
-- Namespaces with a limit, and how many executions more may run in them. A start that others have not committed yet is not
-- seen, so the limit may be passed by as many as are under way at once. A child runs because its parent does.
bounded as materialized (
    select n.id, n.max_active, n.max_active - (select coalesce(sum(a.running), 0) from orrery.active a where a.namespace = n.id) as room
    from orrery.namespace n
    where n.id = any (@namespaces::integer[]) and n.max_active is not null
      and exists (select from orrery.active a where a.namespace = n.id and a.part = 0)
),
refused as materialized (
    select f.place, f.occurrence, f.max_active
    from (
        select f.*, b.room, b.max_active, row_number() over (partition by f.namespace order by f.place) as nth
        from fresh f
        join bounded b on b.id = f.namespace
        where f.parent = 0) f
    where f.nth > f.room
),
started as (
    insert into orrery.execution (
        id, namespace, name, definition, partition, input_hash, trace, started_at, born, last_seq, wake_at, status, ended_at,
        occurrence, fencing_token)
    select id, namespace, name, definition, partition, input_hash, trace, at, born, 1, wake_at, coalesce(status, 1),
           case when status is not null then at end, occurrence, fencing_token
    from fresh
    where place <> all (array(select place from refused))
    order by namespace, name
    returning id
),
ours as (
    select *
    from given
    where id = any (array(select id from started))
),
written as (
    insert into orrery.history (execution, at, born, seq, first_event, events)
    select id, at, born, 1, 1, events
    from ours
),
found_by as (
    insert into orrery.attribute (execution, namespace, name, value)
    select o.id, o.namespace, a.name, a.value
    from unnest(@attribute_places::bigint[], @attribute_names::text[], @attribute_values::text[]) as a (place, name, value)
    join ours o on o.place = a.place
),
offered as (
    insert into orrery.task (
        execution, namespace, partition, unit, attempt, offer, task, version, language, rank, redelivery, timeout_ms,
        heartbeat_ms, idempotency_key, input, state, noticed, claimed_at, fence, session, worker, poll)
    select
        s.id, s.namespace, s.partition, o.unit, o.attempt, o.offer, o.task, o.version, o.language, o.rank, o.redelivery,
        o.timeout_ms, o.heartbeat_ms, o.idempotency_key, o.input,
        case when o.claimed_at is null then 'queued' else 'claimed' end::orrery.task_state, o.claimed_at is not null, o.claimed_at,
        case when o.session is null then null else @fence::integer end, o.session::uuid, o.worker, o.poll
    from unnest(@executions::bigint[], @units::text[], @attempts::integer[], @offers::integer[], @tasks::text[],
                @versions::integer[], @languages::text[], @ranks::smallint[], @redeliveries::integer[], @timeouts::bigint[],
                @heartbeats::bigint[], @idempotency_keys::text[], @inputs::text[], @claimed_ats::timestamptz[],
                @sessions::text[], @workers::text[], @polls::text[])
         as o (place, unit, attempt, offer, task, version, language, rank, redelivery, timeout_ms, heartbeat_ms,
               idempotency_key, input, claimed_at, session, worker, poll)
    join ours s on s.place = o.place
),
counted as (
    insert into orrery.active as a (namespace, part, running)
    select o.namespace, case when @fence::integer > 0 then @fence::integer else -1 - min(o.partition) % 64 end, count(*)
    from ours o
    join orrery.namespace n on n.id = o.namespace and n.max_active is not null
    where o.status is null
    group by o.namespace
    order by o.namespace
    on conflict (namespace, part) do update
    set running = a.running + excluded.running
),
-- What their commit leaves to be written later.
owed as (
    insert into orrery.debt (fence, origin, executions)
    select @fence::integer, @fence::integer, array_agg(id)
    from ours
    where place = any (@owing::bigint[])
    having count(*) > 0
    returning id
)
select coalesce(o.place, 0) as place, coalesce(o.id, 0) as id, coalesce(o.max_active, 0) as max_active,
       coalesce((select id from owed), 0) as debt
from (
    select
        orrery.forbid('OR006', 'names of children are taken', array(
            select parent from given where parent <> 0 and id not in (select id from started))) as named,
        orrery.forbid('OR013', 'the limit of active executions is reached', array(
            select occurrence from refused where occurrence is not null)) as limited) as checked
left join (
    select place, id, 0 as max_active from ours
    union all
    select place, 0, max_active from refused) o on true
order by o.place
