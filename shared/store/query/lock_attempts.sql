-- Locks the rows of the attempts that are reported, after lock_running: the statement that follows sees them as they are.
select t.id
from unnest(@executions::bigint[], @units::text[], @attempts::integer[]) as g (execution, unit, attempt)
join orrery.task t on t.execution = g.execution and t.unit = g.unit and t.attempt = g.attempt
order by t.id
for update of t
