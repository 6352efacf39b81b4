-- One step of a walk by number over executions: those of the partitions that run, and have no row in the queue. It reads a bounded
-- window of the table whatever it finds. What has begun just now is left: its rows may come with the commit after.
with span as (
    select e.id, e.partition, e.status, e.started_at
    from orrery.execution e
    where e.id > @after::bigint
    order by e.id
    limit @window::integer
),
found as (
    select s.id, s.partition
    from span s
    where s.status = 1 and s.partition = any (@partitions::smallint[])
      and s.started_at < coalesce(@now::timestamptz, now()) - interval '1 minute'
      and not exists (select from orrery.task t where t.execution = s.id)
      and not exists (select from orrery.blocked b where b.execution = s.id)
    order by s.id
    limit @limit::integer
)
-- Where there are more than fit, the next step begins behind the last of them; the walk begins anew after its end.
select coalesce(f.id, 0) as execution, coalesce(f.partition, 0) as partition,
       coalesce(case
           when (select count(*) from found) = @limit::integer then (select max(id) from found)
           when (select count(*) from span) = @window::integer then (select max(id) from span)
       end, 0) as last
from (select) one
left join found f on true
order by f.id
