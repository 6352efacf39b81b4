-- Serialises what changes a session and the rows that it holds.
select s.id
from orrery.session s
where s.id = @session::text::uuid
for no key update
