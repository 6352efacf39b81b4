-- Asks runners to end what they do under a lease: they hear it when they renew it. The first to ask is who is named.
with held as (
    select o.id
    from orrery.occurrence o
    where o.id = any (@occurrences::bigint[]) and o.status = 'running' and o.execution is null and o.cancelled_by is null
    order by o.id
    for no key update
)
update orrery.occurrence o
set cancelled_by = @by, cancel_reason = @reason
from held h
where o.id = h.id
