-- Who holds keys.
select o.id, o.claim, coalesce(o.execution, 0) as execution, coalesce(e.name, '') as execution_name, o.namespace, o.key
from unnest(@namespaces::integer[], @keys::text[]) as k (namespace, key)
join orrery.occurrence o on o.namespace = k.namespace and o.key = k.key and o.slot is not null
left join orrery.execution e on e.id = o.execution
order by o.id
