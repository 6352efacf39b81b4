-- Which holdings the session's last heartbeat listed, and when that was.
select h.place, s.beat_at
from orrery.session s
join unnest(@holdings::text[]) with ordinality as h (holding, place) on h.holding = any (s.held)
where s.id = @session::text::uuid and s.beat_at is not null
