-- A flag is renewed when it is some seconds old: it holds for a minute.
insert into orrery.queue_flag as f (task, version, fence, raised_at)
select distinct q.task, q.version, @fence::integer, coalesce(@now::timestamptz, now())
from unnest(@tasks::text[], @versions::integer[]) as q (task, version)
order by 1, 2
on conflict (task, version, fence) do update
set raised_at = excluded.raised_at
where f.raised_at < excluded.raised_at - interval '20 seconds'
