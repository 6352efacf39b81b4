-- Gives each occurrence a slot of its key, by instant, after lock_keys. Raises for those that have to wait: no slot is
-- left, or others wait for it longer. One that comes back after its lease was over has its slot still, and gets a new token.
with asked as (
    select o.id, o.namespace, o.key, o.token, o.slot, o.instant, o.overlap
    from orrery.occurrence o
    where o.id = any (@occurrences::bigint[]) and o.key is not null and o.status = 'claimed'
),
keys as (
    select k.*
    from orrery.singleton k
    where (k.namespace, k.key) in (select namespace, key from asked)
),
free as (
    select k.namespace, k.key, i as slot, row_number() over (partition by k.namespace, k.key order by i) as nth
    from keys k
    cross join lateral generate_series(1, k.slots) i
    where not exists (
        select from orrery.occurrence o where o.namespace = k.namespace and o.key = k.key and o.slot = i)
),
-- Whoever may skip is overtaken by nobody but those that wait already; whoever waits keeps the order of all.
new as (
    select a.*, row_number() over (partition by a.namespace, a.key order by a.instant, a.id) + (
        select count(*)
        from orrery.occurrence o
        join orrery.schedule s on s.id = o.schedule and (s.state <> 'paused' or o.trigger <> 'cron')
        where o.namespace = a.namespace and o.key = a.key and o.status in ('pending', 'claimed') and o.slot is null
          and (o.instant, o.id) < (a.instant, a.id) and o.id <> all (@occurrences::bigint[])
          and (o.buffered
               or (a.overlap <> 'skip' and (o.status = 'claimed' or o.look_at <= coalesce(@now::timestamptz, now()))))) as nth
    from asked a
    where a.slot is null
),
given as (
    select n.id, n.namespace, n.key, n.token, f.slot
    from new n
    join free f on f.namespace = n.namespace and f.key = n.key and f.nth = n.nth
),
placed as (
    update orrery.occurrence o
    set slot = g.slot
    from given g
    where o.id = g.id
),
counted as (
    update orrery.singleton k
    set held = k.held + c.given, token = c.token,
        wanted = exists (
            select
            from orrery.occurrence o
            join orrery.schedule s on s.id = o.schedule and (s.state <> 'paused' or o.trigger <> 'cron')
            where o.namespace = k.namespace and o.key = k.key and o.status = 'pending' and o.buffered)
    from (
        select a.namespace, a.key, max(a.token) as token, count(g.id) as given
        from asked a
        left join given g on g.id = a.id
        group by a.namespace, a.key) c
    where k.namespace = c.namespace and k.key = c.key
)
select
    orrery.forbid('OR007', 'keys are held', array(select id from new where id not in (select id from given))),
    orrery.forbid('OR010', 'tokens are older than those of the keys', array(
        select a.id
        from asked a
        join keys k on k.namespace = a.namespace and k.key = a.key
        where a.token <= k.token))
