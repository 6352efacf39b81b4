-- Renews leases, and tells of each whether it is still the caller's and who has asked for its end.
with given as (
    select *
    from unnest(@occurrences::bigint[], @claims::integer[]) as g (occurrence, claim)
),
held as (
    select o.id
    from given g
    join orrery.occurrence o on o.id = g.occurrence and o.claim = g.claim and o.status = 'running' and o.execution is null
    order by o.id
    for no key update of o
),
renewed as (
    update orrery.occurrence o
    set look_at = coalesce(@now::timestamptz, now()) + @lease::bigint * interval '1 millisecond'
    from held h
    where o.id = h.id
    returning o.id, o.cancelled_by, o.cancel_reason
)
select g.occurrence, r.id is not null as renewed, coalesce(r.cancelled_by, '') as cancelled_by,
       coalesce(r.cancel_reason, '') as cancel_reason
from given g
left join renewed r on r.id = g.occurrence
order by g.occurrence
