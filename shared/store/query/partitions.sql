select p.id, p.epoch, coalesce(p.fence, 0) as fence, coalesce(n.id, '') as node,
       coalesce(n.incarnation::text, '') as incarnation,
       (select value from orrery.generation where name = 'owners') as generation
from orrery.partition p
left join orrery.node n on n.fence = p.fence
order by p.id
