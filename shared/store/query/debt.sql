insert into orrery.debt (fence, origin, executions)
values (@fence::integer, @fence::integer, @executions::bigint[])
returning id
