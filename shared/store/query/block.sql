-- Takes an execution out of service, for everybody or for the incarnation that says so. The word for everybody stays.
with blocked as (
    insert into orrery.blocked as b (execution, partition, reason, fence)
    select e.id, e.partition, @reason, case when @here then @fence::integer end
    from orrery.execution e
    where e.id = @execution::bigint and e.status = 1
    on conflict (execution) do update set reason = excluded.reason, fence = excluded.fence
    where b.fence is not null or excluded.fence is null
    returning execution
)
select orrery.expect('OR003', 'executions are not running', array[@execution::bigint], array(select execution from blocked))
