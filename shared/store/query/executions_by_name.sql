-- The executions that have the given names.
select e.id, e.namespace, e.name, e.definition, d.name as workflow, d.version, d.hash, e.input_hash, coalesce(e.trace, '') as trace,
       e.partition, e.status, e.last_seq as seq, e.wake_at, e.started_at, e.ended_at, coalesce(b.reason, '') as blocked
from unnest(@namespaces::integer[], @names::text[]) as g (namespace, name)
join orrery.execution e on e.namespace = g.namespace and e.name = g.name
join orrery.definition d on d.id = e.definition
left join orrery.blocked b on b.execution = e.id
