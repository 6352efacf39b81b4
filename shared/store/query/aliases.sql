select a.namespace, a.workflow, a.name, a.versions, a.weights, a.created_at, a.updated_at
from orrery.alias a
where a.namespace = @namespace::integer and a.workflow = @workflow
order by a.name
