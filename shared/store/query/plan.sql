-- Writes what plans say: moves cursors from the values that were planned from, makes the occurrences, and counts what was
-- missed. Whoever is not where the plan began loses it: another planner, or an edit, was there. With strict that raises. What
-- was due long ago is to be claimed now: nobody looks so far back.
with given as (
    select *
    from unnest(@schedules::bigint[], @versions::integer[], @cursors::timestamptz[], @runs::bigint[], @new_cursors::timestamptz[],
                @new_runs::bigint[], @caught_ups::integer[], @nexts::timestamptz[], @wakes::timestamptz[], @skips::bigint[],
                @skips_from::timestamptz[], @skips_to::timestamptz[], @notes::text[])
         as g (schedule, version, cursor_at, runs, new_cursor, new_runs, caught_up, next_instant, next_at, skipped,
               skipped_from, skipped_to, note)
),
held as (
    select s.id
    from given g
    join orrery.schedule s
      on s.id = g.schedule and s.version = g.version and s.cursor_at = g.cursor_at and s.runs = g.runs and s.state = 'active'
    order by s.id
    for no key update of s skip locked
),
moved as (
    update orrery.schedule s
    set cursor_at = g.new_cursor, runs = g.new_runs, caught_up = g.caught_up, next_instant = g.next_instant,
        next_at = g.next_at, zones = @zones, state = case when g.next_at is null then 'completed' else s.state end
    from given g
    join held h on h.id = g.schedule
    where s.id = g.schedule
    returning s.id, s.namespace, s.version, s.title, s.key, s.direct, s.retention_ms, s.state
),
made as (
    insert into orrery.occurrence (
        schedule, namespace, schedule_version, title, instant, due_at, deadline_at, look_at, trigger, overlap, direct, key, buffered)
    select m.id, m.namespace, m.version, m.title, r.instant, r.due_at, r.deadline_at,
           case when r.overlap <> 'queue' then greatest(r.due_at, coalesce(@now::timestamptz, now())) end, 'cron', r.overlap::orrery.overlap, m.direct, m.key, r.overlap = 'queue'
    from unnest(@row_schedules::bigint[], @instants::timestamptz[], @dues::timestamptz[], @deadlines::timestamptz[], @overlaps::text[])
         as r (schedule, instant, due_at, deadline_at, overlap)
    join moved m on m.id = r.schedule
    order by r.schedule, r.instant
    on conflict (schedule, instant) where trigger <> 'manual' and status <> 'skipped_misfire' do nothing
    returning namespace, key, buffered
),
missed as (
    insert into orrery.occurrence (
        schedule, namespace, schedule_version, title, instant, due_at, skipped_from, skipped, trigger, overlap, direct, key, status,
        reason, ended_at, expires_at)
    select m.id, m.namespace, m.version, m.title, g.skipped_to, g.skipped_to, g.skipped_from, g.skipped, 'cron',
           case when m.key is null then 'allow' else 'skip' end::orrery.overlap, m.direct, m.key, 'skipped_misfire', 'planned too late',
           coalesce(@now::timestamptz, now()), coalesce(@now::timestamptz, now()) + m.retention_ms * interval '1 millisecond'
    from given g
    join moved m on m.id = g.schedule
    where g.skipped > 0
    on conflict (schedule, instant) where status = 'skipped_misfire' do nothing
),
noted as (
    insert into orrery.schedule_event (schedule, at, kind, detail)
    select g.schedule, coalesce(@now::timestamptz, now()), 'replanned', g.note
    from given g
    join moved m on m.id = g.schedule
    where g.note <> ''
    union all
    select m.id, coalesce(@now::timestamptz, now()), 'completed', ''
    from moved m
    where m.state = 'completed'
),
keys as (
    select k.namespace, k.key
    from orrery.singleton k
    where (k.namespace, k.key) in (select namespace, key from made where buffered)
    order by k.namespace, k.key
    for no key update
),
wanted as (
    update orrery.singleton k
    set wanted = true
    from keys w
    where k.namespace = w.namespace and k.key = w.key
)
select m.id
from (
    select orrery.forbid('OR006', 'the schedule has changed', case when @strict then array(
        select schedule from given where schedule not in (select id from moved)) end)) as checked
left join moved m on true
