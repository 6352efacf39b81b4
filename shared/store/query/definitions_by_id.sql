select d.id, d.namespace, d.name, d.version, d.hash, d.document, d.strict, d.published_at, coalesce(@now::timestamptz, now()) as now
from orrery.definition d
where d.id = any (@definitions::bigint[])
order by d.id
