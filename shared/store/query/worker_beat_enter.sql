-- Tells the owners what a numbered heartbeat shows: a claim that it is the second to miss is lost, and details that have
-- changed are news. A number that is not higher than the last shows nothing. The session, the executions and the rows are
-- locked by the statements before.
with news as (
    select s.id
    from orrery.session s
    where s.id = @session::text::uuid and s.seen_at > '-infinity' and s.beat < @beat::bigint
),
listed as (
    select *
    from unnest(@executions::bigint[], @units::text[], @attempts::integer[], @offers::integer[], @details::text[])
         as l (execution, unit, attempt, offer, details)
),
-- Nobody is waited for; one that is not locked yet is about to end.
running as (
    select e.id
    from orrery.execution e
    where e.status = 1 and not e.ending
      and (e.id = any (@executions::bigint[])
           or e.id in (
               select t.execution
               from orrery.task t
               where t.session = @session::text::uuid and t.state = 'claimed' and t.missed < @beat::bigint))
    order by e.id
    for key share skip locked
),
held as (
    select t.execution, t.unit, t.attempt, t.offer, t.partition, t.session, t.worker, t.claimed_at, l.details,
           l.execution is null as gone
    from news n
    join orrery.task t on t.session = n.id and t.state = 'claimed'
    join running r on r.id = t.execution
    left join listed l
      on l.execution = t.execution and l.unit = t.unit and l.attempt = t.attempt and l.offer = t.offer
    where (l.execution is null and t.missed < @beat::bigint)
       or (l.details is not null and t.progress is distinct from md5(l.details)::uuid)
),
entered as (
    insert into orrery.inbox (
        execution, partition, kind, awaited, unit, attempt, offer, session, worker, claimed_at, output, reason)
    select execution, partition, case when gone then 'lost' else 'heartbeat' end::orrery.entry_kind, false, unit, attempt, offer,
           session, worker, claimed_at, details, case when gone then 'not listed in two heartbeats' end
    from held
)
-- A claim that its owner was told of is not missed again.
update orrery.task t
set missed = case when h.gone then 9223372036854775807 end, progress = case when h.gone then t.progress else md5(h.details)::uuid end
from held h
where t.execution = h.execution and t.unit = h.unit and t.attempt = h.attempt and t.offer = h.offer
