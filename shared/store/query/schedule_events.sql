select e.at, e.kind, e.detail
from orrery.schedule_event e
where e.schedule = @schedule::bigint
order by e.id desc
limit @limit::integer
