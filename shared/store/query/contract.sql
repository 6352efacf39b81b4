select c.namespace, c.task, c.version, c.hash, c.input, c.output, c.registered_at
from orrery.contract c
where c.namespace = @namespace::integer and c.task = @task and c.version = @version::integer
