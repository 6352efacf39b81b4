-- Sets right how many executions run in namespaces that have a limit, when it is time for that.
select orrery.count_active(coalesce(@now::timestamptz, now())) as wrong
