-- Holds off the end of the executions until the entries are in their inboxes. One that is about to end is not waited for.
select e.id
from orrery.execution e
where e.id = any (@executions::bigint[]) and e.status = 1 and not e.ending
order by e.id
for key share
