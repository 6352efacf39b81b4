select e.id as execution, e.partition, e.wake_at
from unnest(@partitions::smallint[]) as m (id)
cross join lateral (
    select e.id, e.partition, e.wake_at
    from orrery.execution e
    where e.partition = m.id and e.wake_at is not null
      and e.wake_at between @from::timestamptz and @until::timestamptz
      and not exists (
          select from orrery.blocked b
          where b.execution = e.id
            and (b.fence is null or b.fence = (select p.fence from orrery.partition p where p.id = m.id)))
    order by e.wake_at
    limit @limit::integer) e
order by e.wake_at, e.id
limit @limit::integer
