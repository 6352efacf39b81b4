-- One version of a workflow, 0 for the newest, with the number that grows when anything is published or registered.
select d.id, d.namespace, d.name, d.version, d.hash, d.document, d.strict, d.published_at, coalesce(@now::timestamptz, now()) as now,
    (select g.value from orrery.generation g where g.name = 'definitions') as generation
from orrery.definition d
where d.namespace = @namespace::integer and d.name = @name and (@version::integer = 0 or d.version = @version::integer)
order by d.version desc
limit 1
