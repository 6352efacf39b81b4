-- Deals with occurrences that found their keys held, each as its policy says: one is skipped, or waits for the key. Where one
-- at most may wait per schedule, the others that wait are skipped. The occurrences and their keys are locked by the
-- statements before.
with asked as (
    select o.id, o.schedule, o.namespace, o.key, o.instant, g.policy, g.oldest, g.most
    from unnest(@occurrences::bigint[], @policies::text[], @oldests::boolean[], @limits::integer[])
         as g (occurrence, policy, oldest, most)
    join orrery.occurrence o on o.id = g.occurrence
),
others as (
    select o.*
    from (select distinct schedule, namespace, key from asked) a
    cross join lateral (
        select o.id, o.schedule, o.instant
        from orrery.occurrence o
        where o.namespace = a.namespace and o.key = a.key and o.buffered and o.schedule = a.schedule and o.status = 'pending'
          and o.overlap <> 'queue'
        order by o.instant, o.id
        limit 1001
        for no key update skip locked) o
),
-- One of all that wait is kept: the newest, or the oldest.
single as (
    select id, schedule, row_number() over (
        partition by schedule
        order by case when oldest then instant end, case when not oldest then instant end desc, id) as nth
    from (
        select a.id, a.schedule, a.instant, a.oldest
        from asked a
        where a.policy = 'one'
        union all
        select o.id, o.schedule, o.instant, w.oldest
        from others o
        join (select distinct schedule, oldest from asked where policy = 'one') w on w.schedule = o.schedule) x
),
-- All wait, up to a limit.
many as (
    select a.id, a.most, row_number() over (partition by a.schedule order by a.instant, a.id)
           + (select count(*) from others o where o.schedule = a.schedule) as nth
    from asked a
    where a.policy = 'all'
),
verdict as (
    select a.id, a.schedule, 'skipped' as verdict, format('key %s is held by another run', a.key) as reason
    from asked a
    where a.policy = 'skip'
    union all
    select s.id, s.schedule, 'skipped', 'another occurrence waits in its place'
    from single s
    where s.nth > 1
    union all
    select m.id, a.schedule, 'overrun', format('buffer overrun: %s occurrences wait already', m.most)
    from many m
    join asked a on a.id = m.id
    where m.nth > m.most
),
skipped as (
    update orrery.occurrence o
    set status = 'skipped_overlap', reason = v.reason, look_at = null, buffered = false, claimant = null, slot = null,
        ended_at = coalesce(@now::timestamptz, now()),
        expires_at = coalesce(@now::timestamptz, now()) + s.retention_ms * interval '1 millisecond'
    from verdict v
    join orrery.schedule s on s.id = v.schedule
    where o.id = v.id
),
buffered as (
    update orrery.occurrence o
    set status = 'pending', buffered = true, look_at = null, claimant = null, attempt = o.attempt - 1,
        reason = format('waits for key %s', o.key)
    from asked a
    where o.id = a.id and a.id not in (select id from verdict)
    returning o.id, o.namespace, o.key
),
wanted as (
    update orrery.singleton k
    set wanted = true
    from (select distinct namespace, key from buffered) b
    where k.namespace = b.namespace and k.key = b.key
),
noted as (
    insert into orrery.schedule_event (schedule, at, kind, detail)
    select v.schedule, coalesce(@now::timestamptz, now()), 'overrun', format('%s occurrences found the buffer full', count(*))
    from verdict v
    where v.verdict = 'overrun'
    group by v.schedule
)
select a.id, coalesce(v.verdict, 'buffered') as verdict
from asked a
left join verdict v on v.id = a.id
order by a.id
