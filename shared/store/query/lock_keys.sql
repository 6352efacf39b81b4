-- Locks singleton keys.
select k.namespace, k.key
from orrery.singleton k
where (k.namespace, k.key) in (select g.namespace, g.key from unnest(@namespaces::integer[], @keys::text[]) as g (namespace, key))
order by k.namespace, k.key
for no key update
