-- Gives an occurrence that has ended without success another try, under its id and instant.
with target as (
    select o.id, o.status, s.state
    from orrery.occurrence o
    join orrery.schedule s on s.id = o.schedule
    where o.id = @occurrence::bigint and s.namespace = @namespace::integer and s.name = @name
    for no key update of o
),
again as (
    update orrery.occurrence o
    set status = 'pending', retry = o.retry + 1, attempt = 0, deferrals = 0, look_at = coalesce(@now::timestamptz, now()),
        ended_at = null, expires_at = null, deadline_at = null, workflow_version = null, reason = @reason
    from target t
    where o.id = t.id and t.state <> 'archived'
      and t.status in ('failed', 'cancelled', 'skipped_overlap', 'missed_deadline')
    returning o.id
),
answered as (
    delete from orrery.dead_letter d
    using again a
    where d.occurrence = a.id
)
select
    case
        when t.id is null then 'unknown'
        when a.id is not null then 'pending'
        when t.state = 'archived' then 'archived'
        else 'refused' end as outcome
from (select) as one
left join target t on true
left join again a on true
