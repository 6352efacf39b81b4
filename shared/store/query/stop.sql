-- Tells children to cancel whose parents do not wait for them any more. One that has ended hears nothing; one that is about to
-- end, or is locked because it does, takes the parent with it into the next batch.
with given as (
    select g.parent, g.reason, g.final, c.id as child, c.status
    from unnest(@parents::bigint[], @names::text[], @reasons::text[], @finals::boolean[])
         as g (parent, name, reason, final)
    join orrery.execution p on p.id = g.parent
    join orrery.execution c on c.namespace = p.namespace and c.name = g.name
),
held as (
    select e.id, e.partition
    from orrery.execution e
    where e.id in (select child from given where status = 1) and e.status = 1 and not e.ending
    order by e.id
    for key share skip locked
),
entered as (
    insert into orrery.inbox (execution, partition, kind, awaited, reason, final)
    select h.id, h.partition, 'cancel', false, g.reason, g.final
    from given g
    join held h on h.id = g.child
)
select orrery.forbid('OR005', 'children are locked', array(
    select parent from given where status = 1 and child not in (select id from held)))
