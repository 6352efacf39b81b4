-- Publishes a version; 0 is the newest when it has the same content, else the next number. What is there stays as it is.
with newest as (
    select d.version, d.hash
    from orrery.definition d
    where d.namespace = @namespace::integer and d.name = @name
    order by d.version desc
    limit 1
),
chosen as (
    select case
        when @version::integer > 0 then @version::integer
        when (select hash from newest) = @hash then (select version from newest)
        else coalesce((select version from newest), 0) + 1
    end as version
),
published as (
    insert into orrery.definition (namespace, name, version, hash, document, strict)
    select @namespace::integer, @name, version, @hash, @document, @strict
    from chosen
    on conflict (namespace, name, version) do nothing
    returning id, version, hash, published_at
),
counted as (
    update orrery.generation
    set value = value + 1
    where name = 'definitions' and exists (select from published)
)
select id, version, hash, published_at, true as created
from published
union all
select d.id, d.version, d.hash, d.published_at, false
from orrery.definition d
join chosen c on c.version = d.version
where d.namespace = @namespace::integer and d.name = @name and not exists (select from published)
