-- Holds off the end of the executions that a session holds tasks of. One that is about to end is not waited for.
select e.id
from orrery.execution e
where e.status = 1 and not e.ending
  and e.id in (
      select t.execution from orrery.task t where t.session = @session::text::uuid and t.state = 'claimed')
order by e.id
for key share
