-- What waits. Running executions are counted among the newest ones only, so that the cost is bounded.
select
    (select count(*) from orrery.task t where t.state = 'queued') as queued,
    (select count(*) from orrery.task t
     where t.state = 'claimed' and t.session is not null and t.partition = any (@partitions::smallint[])) as claimed,
    (select count(*) from orrery.inbox i where i.answered_at is null) as inbox,
    coalesce((
        select (extract(epoch from coalesce(@now::timestamptz, now()) - min(i.sent_at)) * 1000)::bigint
        from orrery.inbox i
        where i.answered_at is null), 0) as inbox_oldest_age,
    (select count(*)
     from (select * from orrery.execution order by id desc limit @window::integer) e
     where e.status = 1 and e.partition = any (@partitions::smallint[])) as running
