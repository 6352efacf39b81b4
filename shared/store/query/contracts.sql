select c.namespace, c.task, c.version, c.hash, c.input, c.output, c.registered_at
from orrery.contract c
where c.namespace = any (@namespaces::integer[])
order by c.namespace, c.task, c.version
