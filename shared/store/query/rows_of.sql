-- The rows that executions have in the queue.
select t.execution, t.unit, t.attempt, t.offer
from orrery.task t
where t.execution = any (@executions::bigint[])
order by t.execution, t.unit, t.attempt, t.offer
