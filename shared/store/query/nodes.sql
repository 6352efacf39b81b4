select n.id, n.incarnation::text as incarnation, n.fence, n.address, n.behaviour, n.started_at,
       (extract(epoch from coalesce(@now::timestamptz, now()) - n.heartbeat_at) * 1000)::bigint as age,
       (select count(*) from orrery.partition p where p.fence = n.fence) as partitions
from orrery.node n
where n.ended is null
order by n.id
