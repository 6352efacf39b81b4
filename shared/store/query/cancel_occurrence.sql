-- Ends an occurrence for an operator. One that has not begun ends at once; a runner hears of it at its next renewal; an
-- execution is told by the caller.
with target as (
    select o.id, o.status, o.execution, o.namespace, o.key, o.slot, s.retention_ms
    from orrery.occurrence o
    join orrery.schedule s on s.id = o.schedule
    where o.id = @occurrence::bigint and s.namespace = @namespace::integer and s.name = @name
    for no key update of o
),
ended as (
    update orrery.occurrence o
    set status = 'cancelled', look_at = null, buffered = false, claimant = null, slot = null,
        reason = format('cancelled by %s: %s', @by::text, @reason::text), ended_at = coalesce(@now::timestamptz, now()),
        expires_at = coalesce(@now::timestamptz, now()) + t.retention_ms * interval '1 millisecond',
        cancelled_by = null, cancel_reason = null
    from target t
    where o.id = t.id and t.status in ('pending', 'claimed')
    returning o.id
),
freed as (
    update orrery.singleton k
    set held = k.held - 1
    from target t
    where k.namespace = t.namespace and k.key = t.key and t.slot is not null and t.status = 'claimed'
),
asked as (
    update orrery.occurrence o
    set cancelled_by = coalesce(o.cancelled_by, @by), cancel_reason = coalesce(o.cancel_reason, @reason)
    from target t
    where o.id = t.id and t.status = 'running'
    returning o.id
)
select
    case
        when t.id is null then 'unknown'
        when e.id is not null then 'ended'
        when a.id is null then 'finished'
        when t.execution is null then 'asked'
        else 'execution' end as outcome,
    coalesce(x.name, '') as execution
from (select) as one
left join target t on true
left join ended e on true
left join asked a on true
left join orrery.execution x on x.id = t.execution
