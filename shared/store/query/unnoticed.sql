-- The oldest claims that no turn has recorded, of each partition.
select t.id, t.partition, t.execution, t.unit, t.attempt, t.offer, coalesce(t.session::text, '') as session,
       coalesce(t.worker, '') as worker, coalesce(t.poll, '') as poll, t.claimed_at
from unnest(@partitions::smallint[]) as m (id)
cross join lateral (
    select *
    from orrery.task t
    where t.partition = m.id and not t.noticed and t.claimed_at is not null and t.id >= @from::bigint
      and not exists (
          select from orrery.blocked b
          where b.execution = t.execution
            and (b.fence is null or b.fence = (select p.fence from orrery.partition p where p.id = m.id)))
    order by t.id
    limit @limit::integer) t
order by t.id
limit @limit::integer
