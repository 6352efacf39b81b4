-- What an incarnation has inherited, but for the debts that it knows: those of the executions that run still.
select d.id, d.origin,
    array(
        select e.id
        from unnest(d.executions) as x (id)
        join orrery.execution e on e.id = x.id and e.status = 1
        order by e.id) as executions,
    array(
        select e.partition
        from unnest(d.executions) as x (id)
        join orrery.execution e on e.id = x.id and e.status = 1
        order by e.id) as partitions
from orrery.debt d
where d.fence = @fence::integer and d.inherited and d.id <> all (@known::bigint[])
order by d.id
