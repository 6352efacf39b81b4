-- The newest version of each workflow, by name; the rows of a name are skipped by the index.
with recursive names as (
    (select d.name
     from orrery.definition d
     where d.namespace = @namespace::integer and d.name > @after
     order by d.name
     limit 1)
    union all
    select next.name
    from names n
    cross join lateral (
        select d.name
        from orrery.definition d
        where d.namespace = @namespace::integer and d.name > n.name
        order by d.name
        limit 1) next
)
select d.id, d.namespace, d.name, d.version, d.hash, ''::text as document, d.strict, d.published_at,
       coalesce(@now::timestamptz, now()) as now
from (select name from names limit @limit::integer) n
cross join lateral (
    select *
    from orrery.definition d
    where d.namespace = @namespace::integer and d.name = n.name
    order by d.version desc
    limit 1) d
order by d.name
