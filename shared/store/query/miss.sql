-- Ends occurrences whose deadline for a first start is over.
with late as (
    select o.id
    from orrery.occurrence o
    where o.deadline_at < coalesce(@now::timestamptz, now()) and o.status = 'pending'
    order by o.deadline_at
    limit @limit::integer
    for no key update skip locked
)
update orrery.occurrence o
set status = 'missed_deadline', look_at = null, buffered = false, ended_at = coalesce(@now::timestamptz, now()),
    expires_at = coalesce(@now::timestamptz, now()) + s.retention_ms * interval '1 millisecond',
    reason = format('its deadline was over by %s ms', (extract(epoch from coalesce(@now::timestamptz, now()) - o.deadline_at) * 1000)::bigint)
from late l, orrery.schedule s
where o.id = l.id and s.id = o.schedule
returning o.id
