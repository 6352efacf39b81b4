with marked as (
    update orrery.execution
    set ending = true
    where id = any (@executions::bigint[]) and status = 1
    returning id
)
select orrery.expect('OR003', 'executions are not running', @executions::bigint[], array(select id from marked))
