-- One page of what waits for a human, by execution: one that is blocked comes before its units. A unit is uncertain while the
-- newest of its rows is lost: one that is offered again has a newer row, and one that is resolved has none. It reads a bounded
-- window of both tables whatever it finds, and says where the next page begins.
with tasks as (
    select t.execution, t.unit, t.attempt, t.offer, t.state, t.namespace, t.task, t.version, t.redelivery, t.claimed_at
    from orrery.task t
    where (t.execution, t.unit, t.attempt, t.offer)
        > (@execution::bigint, @unit::text, @attempt::integer, @offer::integer)
    order by t.execution, t.unit, t.attempt, t.offer
    limit @window::integer
),
blocks as (
    select b.execution, ''::text as unit, 0 as attempt, 0 as offer, b.reason, b.blocked_at
    from orrery.blocked b
    where b.execution > @execution::bigint
    order by b.execution
    limit @window::integer
),
-- The first of the last rows of the windows that are full: behind it one of them has not looked.
extent as (
    select l.execution, l.unit, l.attempt, l.offer
    from (
        (select t.execution, t.unit, t.attempt, t.offer
         from tasks t
         where (select count(*) from tasks) = @window::integer
         order by t.execution desc, t.unit desc, t.attempt desc, t.offer desc
         limit 1)
        union all
        (select b.execution, b.unit, b.attempt, b.offer
         from blocks b
         where (select count(*) from blocks) = @window::integer
         order by b.execution desc
         limit 1)) l
    order by l.execution, l.unit, l.attempt, l.offer
    limit 1
),
waiting as (
    select t.execution, t.unit, t.attempt, t.offer, ''::text as reason, t.task, t.version, t.redelivery, t.claimed_at as since
    from tasks t
    where t.state = 'lost' and t.namespace = @namespace::integer
      and not exists (
          select from orrery.task n
          where n.execution = t.execution and n.unit = t.unit and (n.attempt, n.offer) > (t.attempt, t.offer))
    union all
    select b.execution, b.unit, b.attempt, b.offer, b.reason, '', 0, 0, b.blocked_at
    from blocks b
),
items as (
    select w.*, e.name, e.definition
    from waiting w
    cross join lateral (
        select e.name, e.definition
        from orrery.execution e
        where e.id = w.execution and e.namespace = @namespace::integer and e.status = 1
        limit 1) e
    where not exists (
        select from extent x
        where (w.execution, w.unit, w.attempt, w.offer) > (x.execution, x.unit, x.attempt, x.offer))
    order by w.execution, w.unit, w.attempt, w.offer
    limit @limit::integer
)
select coalesce(x.execution, 0) as end_execution, coalesce(x.unit, '') as end_unit, coalesce(x.attempt, 0) as end_attempt,
       coalesce(x.offer, 0) as end_offer, coalesce(i.execution, 0) as execution, coalesce(i.unit, '') as unit,
       coalesce(i.attempt, 0) as attempt, coalesce(i.offer, 0) as offer, coalesce(i.name, '') as name,
       coalesce(d.name, '') as workflow, coalesce(d.version, 0) as workflow_version, coalesce(i.reason, '') as reason,
       coalesce(i.task, '') as task, coalesce(i.version, 0) as version, coalesce(i.redelivery, 0) as redelivery, i.since
from (select) one
left join extent x on true
left join (items i join orrery.definition d on d.id = i.definition) on true
order by i.execution, i.unit, i.attempt, i.offer
