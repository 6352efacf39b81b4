-- Ends what has not begun of a schedule that is archived by the statement before.
with held as (
    select o.id
    from orrery.occurrence o
    where o.schedule = @schedule::bigint and o.status = 'pending'
    order by o.id
    for no key update
)
update orrery.occurrence o
set status = 'cancelled_by_archive', look_at = null, buffered = false, ended_at = coalesce(@now::timestamptz, now()),
    expires_at = coalesce(@now::timestamptz, now()) + s.retention_ms * interval '1 millisecond', reason = 'the schedule was archived'
from held h, orrery.schedule s
where o.id = h.id and s.id = o.schedule
