with deleted as (
    delete from orrery.alias a
    where a.namespace = @namespace::integer and a.workflow = @workflow and a.name = @alias
    returning a.namespace, a.workflow, a.name, a.versions, a.weights, a.created_at, a.updated_at
),
counted as (
    update orrery.generation
    set value = value + 1
    where name = 'definitions' and exists (select from deleted)
)
select * from deleted
