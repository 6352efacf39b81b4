-- Makes an alias of published versions, or changes it. Where a version is not published nothing is written, and neither where
-- the workflow has as many aliases as it may.
with published as (
    select array(
        select d.version
        from orrery.definition d
        where d.namespace = @namespace::integer and d.name = @workflow and d.version = any (@versions::integer[])) as versions
),
others as (
    select count(*) as count
    from orrery.alias a
    where a.namespace = @namespace::integer and a.workflow = @workflow and a.name <> @alias
),
written as (
    insert into orrery.alias as a (namespace, workflow, name, versions, weights)
    select @namespace::integer, @workflow, @alias, @versions::integer[], @weights::smallint[]
    from published p cross join others o
    where cardinality(p.versions) = cardinality(@versions::integer[]) and o.count < @limit::integer
    on conflict (namespace, workflow, name)
    do update set versions = excluded.versions, weights = excluded.weights, updated_at = clock_timestamp()
    returning created_at, updated_at
),
counted as (
    update orrery.generation
    set value = value + 1
    where name = 'definitions' and exists (select from written)
)
select p.versions as published, o.count >= @limit::integer as full, w.created_at, w.updated_at
from published p cross join others o left join written w on true
