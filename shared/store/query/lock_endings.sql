-- Locks the executions that the batch ends against inserts into their inboxes. One that is locked goes with the next batch.
with held as (
    select e.id
    from orrery.execution e
    where e.id = any (@executions::bigint[])
    order by e.id
    for update skip locked
)
select orrery.expect('OR005', 'executions are locked', @executions::bigint[], array(select id from held))
