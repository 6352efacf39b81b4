-- Makes occurrences for instants by hand. Those that have one are left alone. They run one after the other, or as many at a
-- time as the key has slots.
with made as (
    insert into orrery.occurrence (
        schedule, namespace, schedule_version, title, instant, due_at, trigger, overlap, direct, key, buffered)
    select s.id, s.namespace, s.version, s.title, i.instant, i.instant, 'backfill', 'queue', s.direct, @key, true
    from orrery.schedule s
    cross join unnest(@instants::timestamptz[]) as i (instant)
    where s.id = @schedule::bigint and s.state <> 'archived'
    order by i.instant
    on conflict (schedule, instant) where trigger <> 'manual' and status <> 'skipped_misfire' do nothing
    returning instant
),
keys as (
    insert into orrery.singleton as k (namespace, key, slots, wanted)
    select s.namespace, @key, @slots, true
    from orrery.schedule s
    where s.id = @schedule::bigint and exists (select from made)
    on conflict (namespace, key) do update
    set wanted = true, slots = case when @own_key then excluded.slots else k.slots end
)
select instant from made order by instant
