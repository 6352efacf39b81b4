-- Registers a version of a contract, unless it is there or the namespace has as many as it may.
with others as (
    select count(*) as count
    from orrery.contract c
    where c.namespace = @namespace::integer and (c.task, c.version) <> (@task, @version::integer)
),
registered as (
    insert into orrery.contract (namespace, task, version, hash, input, output)
    select @namespace::integer, @task, @version::integer, @hash, @input, @output
    from others o
    where o.count < @limit::integer
    on conflict (namespace, task, version) do nothing
    returning hash, registered_at
),
counted as (
    update orrery.generation
    set value = value + 1
    where name = 'definitions' and exists (select from registered)
)
select r.hash, r.registered_at, true as created
from registered r
union all
select c.hash, c.registered_at, false
from orrery.contract c
where c.namespace = @namespace::integer and c.task = @task and c.version = @version::integer
    and not exists (select from registered)
