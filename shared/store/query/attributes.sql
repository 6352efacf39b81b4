select a.execution, a.name, a.value
from orrery.attribute a
where a.execution = any (@executions::bigint[])
order by a.execution, a.name
