with deleted as (
    delete from orrery.contract c
    where c.namespace = @namespace::integer and c.task = @task and c.version = @version::integer
    returning c.namespace, c.task, c.version, c.hash, c.input, c.output, c.registered_at
),
counted as (
    update orrery.generation
    set value = value + 1
    where name = 'definitions' and exists (select from deleted)
)
select * from deleted
