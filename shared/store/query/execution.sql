-- An execution with its owner, its first and its last turn.
select e.id, e.namespace, e.name, e.definition, d.name as workflow, d.version, d.hash, e.input_hash, coalesce(e.trace, '') as trace,
       e.partition, e.status, e.last_seq as seq, e.wake_at, e.started_at, e.ended_at, coalesce(b.reason, '') as blocked,
       p.epoch, coalesce(p.fence, 0) as fence, coalesce(n.id, '') as node, coalesce(n.incarnation::text, '') as incarnation,
       f.at as first_at, f.events as first_events, l.at as last_at, l.first_event as last_first_event, l.events as last_events
from orrery.execution e
join orrery.partition p on p.id = e.partition
join orrery.definition d on d.id = e.definition
join orrery.history f on f.born = e.born and f.execution = e.id and f.seq = 1
join orrery.history l on l.born = e.born and l.execution = e.id and l.seq = e.last_seq
left join orrery.node n on n.fence = p.fence
left join orrery.blocked b on b.execution = e.id
where e.namespace = @namespace::integer and e.name = @name
