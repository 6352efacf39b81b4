-- Closes a session and tells the owners that what it held is free. The session, the executions and the rows are locked by
-- the statements before.
with running as (
    select e.id
    from orrery.execution e
    where e.status = 1 and not e.ending
      and e.id in (
          select t.execution from orrery.task t where t.session = @session::text::uuid and t.state = 'claimed')
    order by e.id
    for key share skip locked
),
held as (
    select t.execution, t.unit, t.attempt, t.offer, t.partition, t.session, t.worker, t.claimed_at, t.turn
    from orrery.task t
    join running r on r.id = t.execution
    where t.session = @session::text::uuid and t.state = 'claimed'
),
entered as (
    insert into orrery.inbox (
        execution, partition, kind, awaited, unit, attempt, offer, session, worker, claimed_at, reason)
    select execution, partition, 'lost', false, unit, attempt, offer, session, worker, claimed_at, 'deregistered'
    from held
),
unwanted as (
    delete from orrery.task t where t.session = @session::text::uuid and t.state = 'cancelled'
),
-- A closed session stays until nothing is left that it held: no contact counts, and what could not be told here is found lost.
closed as (
    update orrery.session s
    set seen_at = '-infinity'
    where s.id = @session::text::uuid and s.seen_at > '-infinity'
    returning s.id
)
select c.id::text as session, h.execution, h.unit, h.attempt, h.offer, coalesce(h.turn, 0) as turn
from closed c
left join held h on true
order by h.execution, h.unit
