-- The heartbeat of a node, and what an idle node must know: the one statement that it sends each second. Each look takes one
-- row by an index, from a low-water key. With write off it only looks, with look off it only writes.
with beaten as (
    update orrery.node
    set heartbeat_at = coalesce(@now::timestamptz, now())
    where @write and fence = @fence::integer and ended is null
),
contact as (
    select session, age
    from unnest(@sessions::text[]::uuid[], @ages::bigint[]) as c (session, age)
),
-- Contact is an age: who finds the row locked leaves it, another contact is under way.
known as (
    select s.id, c.age
    from orrery.session s
    join contact c on c.session = s.id and s.seen_at > '-infinity'
    where @write
    order by s.id
    for no key update of s skip locked
),
touched as (
    update orrery.session s
    set seen_at = greatest(s.seen_at, coalesce(@now::timestamptz, now()) - k.age * interval '1 millisecond')
    from known k
    where s.id = k.id
),
waiting as (
    select distinct *
    from unnest(@tasks::text[], @versions::integer[]) as w (task, version)
),
flagged as (
    insert into orrery.queue_flag as f (task, version, fence, raised_at)
    select w.task, w.version, n.fence, coalesce(@now::timestamptz, now())
    from waiting w
    join orrery.node n on n.fence = @fence::integer and n.ended is null
    where @write
    order by w.task, w.version
    on conflict (task, version, fence) do update
    set raised_at = excluded.raised_at
    where f.raised_at < excluded.raised_at - interval '20 seconds'
),
mine as (
    select p.id
    from orrery.partition p
    where @look and p.fence = @fence::integer
),
ranges as (
    select *
    from unnest(@look_namespaces::integer[], @look_tasks::text[], @look_versions::integer[], @look_languages::text[],
                @from_ranks::smallint[], @from_ids::bigint[], @last_ranks::smallint[],
                @look_queues::integer[])
         as r (namespace, task, version, language, from_rank, from_id, last_rank, queue)
    where @look
)
select
    coalesce(@now::timestamptz, now()) as now,
    case
        when exists (select from orrery.node n where n.fence = @fence::integer and n.ended is null) then 0
        when exists (select from orrery.node n where n.id = @node and n.ended is null) then 2
        else 1
    end as standing,
    coalesce((
        select json_agg(json_build_object(
            'id', n.id, 'incarnation', n.incarnation, 'fence', n.fence, 'address', n.address, 'behaviour', n.behaviour,
            'started', (extract(epoch from n.started_at) * 1000)::bigint,
            'age', (extract(epoch from coalesce(@now::timestamptz, now()) - n.heartbeat_at) * 1000)::bigint) order by n.id)
        from orrery.node n
        where n.ended is null), '[]') as nodes,
    (select value from orrery.generation where name = 'owners') as owners,
    (select value from orrery.generation where name = 'definitions') as definitions,
    (select behaviour from orrery.cluster) as behaviour,
    coalesce((
        select min(i.id)
        from mine m
        cross join lateral (
            select i.id
            from orrery.inbox i
            where i.partition = m.id and i.answered_at is null and i.id >= @inbox_from::bigint
              and not exists (select from orrery.blocked b where b.execution = i.execution and coalesce(b.fence, @fence::integer) = @fence::integer)
            order by i.id
            limit 1) i), 0) as inbox,
    coalesce((
        select min(t.id)
        from mine m
        cross join lateral (
            select t.id
            from orrery.task t
            where t.partition = m.id and not t.noticed and t.claimed_at is not null and t.id >= @unnoticed_from::bigint
              and not exists (select from orrery.blocked b where b.execution = t.execution and coalesce(b.fence, @fence::integer) = @fence::integer)
            order by t.id
            limit 1) t), 0) as unnoticed,
    (
        select min(e.wake_at)
        from mine m
        cross join lateral (
            select e.wake_at
            from orrery.execution e
            where e.partition = m.id and e.wake_at is not null and e.wake_at >= @wake_from::timestamptz
              and not exists (select from orrery.blocked b where b.execution = e.id and coalesce(b.fence, @fence::integer) = @fence::integer)
            order by e.wake_at
            limit 1) e) as wake_at,
    case when @look and @schedule_level::integer > 0 then (
        select min(x.at)
        from (
            (select s.next_at as at
             from orrery.schedule s
             where s.next_at >= @wake_from::timestamptz and s.level <= @schedule_level::integer
             order by s.next_at, s.id
             limit 1)
            union all
            (select o.look_at
             from orrery.occurrence o
             where not o.direct and o.look_at >= @wake_from::timestamptz
             order by o.look_at
             limit 1)
            union all
            (select o.look_at
             from orrery.occurrence o
             where o.direct and o.look_at >= @wake_from::timestamptz
             order by o.look_at
             limit 1)
            union all
            (select o.deadline_at
             from orrery.occurrence o
             where o.deadline_at >= @wake_from::timestamptz and o.status = 'pending'
             order by o.deadline_at
             limit 1)
            union all
            (select coalesce(@now::timestamptz, now())
             from orrery.singleton k
             where k.wanted and k.held < k.slots
             limit 1)) x) end as schedules_at,
    array(
        select distinct r.queue
        from ranges r
        cross join lateral (
            select
            from orrery.task t
            where t.state = 'queued' and t.namespace = r.namespace and t.task = r.task and t.version = r.version
              and t.language = r.language
              and (t.rank, t.id) >= (r.from_rank, r.from_id) and t.rank <= r.last_rank
            limit 1) t
        order by 1) as queued,
    array(
        select c.session::text
        from contact c
        where not exists (select from orrery.session s where s.id = c.session and s.seen_at > '-infinity')) as gone
