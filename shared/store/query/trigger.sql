-- Makes an occurrence by hand. A key that was used before gives the earlier one.
with target as (
    select s.*, coalesce(@overlap::text::orrery.overlap, @own_overlap::text::orrery.overlap) as overlap
    from orrery.schedule s
    where s.namespace = @namespace::integer and s.name = @name
),
keyed as (
    insert into orrery.singleton (namespace, key)
    select t.namespace, coalesce(t.key, t.name)
    from target t
    where t.overlap <> 'allow' and t.state <> 'archived'
    on conflict (namespace, key) do nothing
),
made as (
    insert into orrery.occurrence (
        schedule, namespace, schedule_version, title, instant, due_at, look_at, trigger, overlap, direct, key, request_key,
        request_hash, input)
    select t.id, t.namespace, t.version, t.title, coalesce(@now::timestamptz, now()), coalesce(@now::timestamptz, now()),
           coalesce(@now::timestamptz, now()), 'manual', t.overlap, t.direct,
           case when t.overlap <> 'allow' then coalesce(t.key, t.name) end, nullif(@key, ''),
           case when @key <> '' then @key_hash::bytea end, @input
    from target t
    where t.state <> 'archived'
    on conflict (schedule, request_key) where request_key is not null do nothing
    returning id
),
earlier as (
    select o.id, o.request_hash
    from target t
    join orrery.occurrence o on o.schedule = t.id and o.request_key = nullif(@key, '')
)
select
    case
        when t.id is null then 'unknown'
        when m.id is not null then 'created'
        when t.state = 'archived' then 'archived'
        when e.request_hash = @key_hash::bytea then 'repeated'
        when e.id is not null then 'key reused'
        else '' end as outcome,   -- the same key is being used now: its row is seen by asking again
    coalesce(m.id, e.id, 0) as id
from (select) as one
left join target t on true
left join made m on true
left join earlier e on true
