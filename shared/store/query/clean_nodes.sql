-- Incarnations that are silent for an hour and own nothing.
with old as (
    select n.fence
    from orrery.node n
    where n.heartbeat_at < coalesce(@now::timestamptz, now()) - interval '1 hour'
      and not exists (select from orrery.partition p where p.fence = n.fence)
    order by n.fence
    limit @limit::integer
    for update skip locked
)
delete from orrery.node n
using old o
where n.fence = o.fence
