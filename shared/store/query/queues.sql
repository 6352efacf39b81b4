with depth as (
    select t.task, t.version, count(*) filter (where t.state = 'queued') as queued,
           count(*) filter (where t.state = 'claimed' and t.session is not null) as claimed,
           min(t.queued_at) filter (where t.state = 'queued') as oldest
    from orrery.task t
    where t.namespace = @namespace::integer and t.state in ('queued', 'claimed')
    group by t.task, t.version
),
announced as (
    select c.task, c.version, count(*) as workers
    from orrery.session s
    cross join unnest(s.tasks, s.versions) as c (task, version)
    where s.namespace = @namespace::integer
      and s.seen_at >= coalesce(@now::timestamptz, now()) - @session_timeout::bigint * interval '1 millisecond'
    group by c.task, c.version
)
select task, version, coalesce(d.queued, 0) as queued, coalesce(d.claimed, 0) as claimed,
       coalesce((extract(epoch from coalesce(@now::timestamptz, now()) - d.oldest) * 1000)::bigint, 0) as oldest_age,
       coalesce(a.workers, 0) as workers
from depth d
full join announced a using (task, version)
order by task, version
