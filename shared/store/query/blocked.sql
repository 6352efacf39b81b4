-- Executions that only other incarnations than the owner cannot serve.
select b.execution, b.partition
from orrery.blocked b
where b.partition = any (@partitions::smallint[]) and b.fence <> @fence::integer
order by b.execution
limit @limit::integer
