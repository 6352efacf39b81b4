-- Holds off the end of the executions whose inboxes a heartbeat writes to: of claims that it is the second to miss, and of
-- holdings with details. One that is about to end is not waited for.
select e.id
from orrery.execution e
where e.status = 1 and not e.ending
  and (e.id = any (@executions::bigint[])
       or e.id in (
           select t.execution
           from orrery.task t
           where t.session = @session::text::uuid and t.state = 'claimed' and t.missed < @beat::bigint))
order by e.id
for key share
