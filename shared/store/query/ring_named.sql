-- Notifies the owner of a named execution.
select pg_notify('orrery_inbox', n.fence::text)
from orrery.execution e
join orrery.partition p on p.id = e.partition
join orrery.node n on n.fence = p.fence and n.ended is null
where e.namespace = @namespace::integer and e.name = @name and n.fence <> @fence::integer
