-- The oldest unapplied entries of each partition. What blocked executions wait for does not stand in the way of others.
select i.execution, i.id, i.partition, i.sent_at, i.kind::text as kind, i.awaited, coalesce(i.unit, '') as unit,
       coalesce(i.attempt, 0) as attempt, coalesce(i.offer, 0) as offer, coalesce(i.session::text, '') as session,
       coalesce(i.worker, '') as worker, i.claimed_at, i.output, coalesce(i.signal, '') as signal,
       coalesce(i.reason, '') as reason, i.error, coalesce(i.cause, '') as cause, i.details,
       coalesce(i.final, false) as final, coalesce(i.resolution, '') as resolution, coalesce(i.request, '') as request,
       coalesce(i.status, 0::smallint) as status, i.ended_at
from unnest(@partitions::smallint[]) as m (id)
cross join lateral (
    select *
    from orrery.inbox i
    where i.partition = m.id and i.answered_at is null and i.id >= @from::bigint
      and i.execution <> all (@except::bigint[])
      and not exists (
          select from orrery.blocked b
          where b.execution = i.execution
            and (b.fence is null or b.fence = (select p.fence from orrery.partition p where p.id = m.id)))
    order by i.id
    limit @limit::integer) i
order by i.id
limit @limit::integer
