-- Ends occurrences whose deadline for a first start is over. They wait for somebody to look.
with late as (
    select o.id
    from orrery.occurrence o
    where o.deadline_at < coalesce(@now::timestamptz, now()) and o.status = 'pending'
    order by o.deadline_at
    limit @limit::integer
    for no key update skip locked
),
missed as (
    update orrery.occurrence o
    set status = 'missed_deadline', look_at = null, buffered = false, ended_at = coalesce(@now::timestamptz, now()),
        expires_at = coalesce(@now::timestamptz, now()) + s.retention_ms * interval '1 millisecond',
        reason = format('its deadline was over by %s ms', (extract(epoch from coalesce(@now::timestamptz, now()) - o.deadline_at) * 1000)::bigint)
    from late l, orrery.schedule s
    where o.id = l.id and s.id = o.schedule
    returning o.id, o.schedule, o.namespace, o.reason
),
letters as (
    insert into orrery.dead_letter (occurrence, schedule, namespace, at, tries, reason)
    select m.id, m.schedule, m.namespace, coalesce(@now::timestamptz, now()), 0, m.reason
    from missed m
    on conflict (occurrence) do update
    set at = excluded.at, tries = excluded.tries, reason = excluded.reason
)
select id from missed
