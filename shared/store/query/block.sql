with blocked as (
    insert into orrery.blocked (execution, partition, reason)
    select e.id, e.partition, @reason
    from orrery.execution e
    where e.id = @execution::bigint and e.status = 1
    on conflict (execution) do update set reason = excluded.reason
    returning execution
)
select orrery.expect('OR003', 'executions are not running', array[@execution::bigint], array(select execution from blocked))
