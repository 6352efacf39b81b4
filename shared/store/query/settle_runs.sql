-- Ends claims and runs, together with their traces and their hold on their keys: those of the caller's claims, and those of
-- executions that have ended, whatever the claim. One that is not the caller's any more is left alone. Nobody is waited
-- for: whose rows are locked is named, by its execution where that is given.
--
--   completed   the work was done
--   failed      it was not: it is tried again, or has failed for good
--   refused     it has failed for good, without a try
--   cancelled   somebody has ended it
--   released    its end was seen before it was done: it is claimed again at once
--   deferred    it has not begun, and may later
--   archived    its schedule is gone
--
-- It tells whether occurrences may wait for the keys that it frees.
with given as (
    select *
    from unnest(@occurrences::bigint[], @claims::integer[], @executions::bigint[], @outcomes::text[], @reasons::text[],
                @results::text[], @delays::bigint[])
         as g (occurrence, claim, execution, outcome, reason, result, delay)
),
mine as (
    select g.occurrence, g.execution, g.result, g.delay, o.schedule, o.namespace, o.key, o.slot, o.claim as claimed, o.retry,
           -- Whoever has asked for the end is heard, also where the runner has not heard it yet.
           case when o.cancelled_by is not null and g.outcome in ('failed', 'released', 'deferred') then 'cancelled'
                else g.outcome end as outcome,
           case when o.cancelled_by is not null and g.outcome in ('failed', 'released', 'deferred', 'cancelled')
                then format('cancelled by %s: %s', o.cancelled_by, o.cancel_reason)
                else g.reason end as reason
    from given g
    join orrery.occurrence o
      on o.id = g.occurrence
     and case when g.claim is null then o.execution = g.execution and o.status = 'running'
              else o.claim = g.claim and o.status in ('claimed', 'running') end
),
held as (
    select o.id
    from given g
    join orrery.occurrence o
      on o.id = g.occurrence
     and case when g.claim is null then o.execution = g.execution and o.status = 'running'
              else o.claim = g.claim and o.status in ('claimed', 'running') end
    order by o.id
    for no key update of o skip locked
),
keys as (
    select k.namespace, k.key
    from orrery.singleton k
    where (k.namespace, k.key) in (select namespace, key from mine where slot is not null)
    order by k.namespace, k.key
    for no key update skip locked
),
-- Schedules whose failures in a row are to be counted anew.
counting as (
    select m.schedule, bool_or(m.outcome = 'completed') as completed,
           count(*) filter (where m.outcome in ('failed', 'refused')) as failed
    from mine m
    join orrery.schedule s on s.id = m.schedule
    where m.outcome = 'completed' and s.failures > 0
       or m.outcome = 'refused'
       or m.outcome = 'failed' and m.retry >= s.retries
    group by m.schedule
),
counted as (
    select s.id
    from orrery.schedule s
    where s.id in (select schedule from counting)
    order by s.id
    for no key update skip locked
),
ours as (
    select m.*, s.retention_ms, s.retries,
           m.outcome = 'failed' and m.retry < s.retries and s.state <> 'archived' as again,
           least(s.backoff_most_ms, s.backoff_ms * power(2, least(m.retry, 40))::numeric)::bigint as backoff
    from mine m
    join held h on h.id = m.occurrence
    join orrery.schedule s on s.id = m.schedule
),
settled as (
    update orrery.occurrence o
    set status = case
            when r.outcome in ('released', 'deferred') or r.again then 'pending'
            when r.outcome = 'refused' then 'failed'
            when r.outcome = 'archived' then 'cancelled_by_archive'
            else r.outcome end::orrery.occurrence_status,
        retry = case when r.again then o.retry + 1 else o.retry end,
        attempt = case when r.again then 0 when r.outcome = 'deferred' then o.attempt - 1 else o.attempt end,
        deferrals = case when r.outcome = 'deferred' then o.deferrals + 1 else o.deferrals end,
        look_at = case
            when r.again then coalesce(@now::timestamptz, now()) + r.backoff * interval '1 millisecond'
            when r.outcome in ('released', 'deferred') then coalesce(@now::timestamptz, now()) + r.delay * interval '1 millisecond' end,
        ended_at = case when not r.again and r.outcome not in ('released', 'deferred') then coalesce(@now::timestamptz, now()) end,
        expires_at = case when not r.again and r.outcome not in ('released', 'deferred')
            then coalesce(@now::timestamptz, now()) + r.retention_ms * interval '1 millisecond' end,
        claimant = null, slot = null, buffered = false, reason = r.reason, cancelled_by = null, cancel_reason = null
    from ours r
    where o.id = r.occurrence
),
closed as (
    update orrery.trace t
    set status = case
            when r.outcome in ('released', 'archived', 'cancelled') then 'cancelled'
            when r.outcome = 'completed' then 'completed'
            else 'failed' end,
        ended_at = coalesce(@now::timestamptz, now()), error = r.reason, result = r.result
    from ours r
    where t.occurrence = r.occurrence and t.claim = r.claimed and t.status = 'running'
),
freed as (
    update orrery.singleton k
    set held = k.held - f.slots
    from (select namespace, key, count(*) as slots from ours where slot is not null group by namespace, key) f
    where k.namespace = f.namespace and k.key = f.key
    returning k.wanted
),
letters as (
    insert into orrery.dead_letter (occurrence, schedule, namespace, at, tries, reason)
    select r.occurrence, r.schedule, r.namespace, coalesce(@now::timestamptz, now()), r.retry + 1, coalesce(r.reason, '')
    from ours r
    where r.outcome = 'failed' and not r.again and r.retries > 0
    on conflict (occurrence) do update
    set at = excluded.at, tries = excluded.tries, reason = excluded.reason
),
numbered as (
    select s.id, case when c.completed then 0 else s.failures + c.failed end as failures, s.pause_after, s.state
    from counting c
    join orrery.schedule s on s.id = c.schedule
    join counted d on d.id = c.schedule
),
paused as (
    update orrery.schedule s
    set failures = n.failures,
        state = case when n.stops then 'paused' else s.state end,
        paused_at = case when n.stops then coalesce(@now::timestamptz, now()) else s.paused_at end,
        pause_reason = case when n.stops then format('%s failures in a row', n.failures) else s.pause_reason end,
        next_at = case when not n.stops then s.next_at end,
        next_instant = case when not n.stops then s.next_instant end
    from (select *, state = 'active' and pause_after > 0 and failures >= pause_after as stops from numbered) n
    where s.id = n.id
    returning s.id, n.stops, s.pause_reason
),
noted as (
    insert into orrery.schedule_event (schedule, at, kind, detail)
    select p.id, coalesce(@now::timestamptz, now()), 'paused', p.pause_reason
    from paused p
    where p.stops
)
select array(select occurrence from ours order by occurrence) as settled,
       array(select id from paused where stops order by id) as paused,
       exists (select from freed where wanted) as wanted
from (
    select orrery.forbid('OR005', 'occurrences, keys or schedules are locked', array(
        select coalesce(m.execution, m.occurrence)
        from mine m
        where m.occurrence not in (select id from held)
           or (m.slot is not null and (m.namespace, m.key) not in (select namespace, key from keys))
           or m.schedule in (select schedule from counting except select id from counted)))) as checked
