-- The incarnation that runs under an id.
select n.fence, (extract(epoch from coalesce(@now::timestamptz, now()) - n.heartbeat_at) * 1000)::bigint as age
from orrery.node n
where n.id = @node and n.ended is null
