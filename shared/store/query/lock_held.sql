-- Locks the rows that a session holds.
select t.id
from orrery.task t
where t.session = @session::text::uuid and t.state in ('claimed', 'cancelled')
order by t.id
for update
