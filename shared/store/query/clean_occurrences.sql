-- Occurrences that have ended long enough ago, with all that is about them. One whose instant is not decided yet by the
-- schedule's own plan stays, so that it is never made again.
with old as (
    select o.id
    from orrery.occurrence o
    join orrery.schedule s on s.id = o.schedule
    where o.expires_at < coalesce(@now::timestamptz, now()) and (o.instant <= s.cursor_at or o.trigger = 'manual')
    order by o.expires_at
    limit @limit::integer
    for update of o skip locked
),
traces as (
    delete from orrery.trace t using old o where t.occurrence = o.id
),
letters as (
    delete from orrery.dead_letter d using old o where d.occurrence = o.id
)
delete from orrery.occurrence o
using old x
where o.id = x.id
