-- Claims what is due, oldest first, as much as can be started now: workflows and direct targets in lanes of their own, so
-- that neither holds up the other. Due is also what is under a lease that is over; its trace is closed. What waits for a key
-- that is free goes first, by instant, and no more of it than there are slots: the key's row keeps other claimers away from
-- it meanwhile. Nobody is waited for.
with lanes as (
    select *
    from unnest(array[false, true], array[@workflows::integer, @directs::integer]) as l (direct, most)
),
due as (
    select d.*
    from lanes l
    cross join lateral (
        select o.id, o.status, o.claim, o.direct, o.look_at
        from orrery.occurrence o
        join orrery.schedule s on s.id = o.schedule and s.level <= @level::integer
        where o.direct = l.direct and o.look_at <= coalesce(@now::timestamptz, now()) and o.look_at >= @from::timestamptz
          and (not o.direct or s.timeout_ms <= @room::bigint)
        order by o.look_at, o.id
        limit l.most
        for no key update of o skip locked) d
),
keys as (
    select k.namespace, k.key, k.slots - k.held as free
    from orrery.singleton k
    where k.wanted and k.held < k.slots
    order by k.namespace, k.key
    limit 1000
    for no key update skip locked
),
waiting as (
    select w.*
    from keys k
    cross join lateral (
        select o.id, o.status, o.claim, o.direct, o.instant, s.timeout_ms
        from orrery.occurrence o
        join orrery.schedule s
          on s.id = o.schedule and s.level <= @level::integer and (s.state <> 'paused' or o.trigger <> 'cron')
        where o.namespace = k.namespace and o.key = k.key and o.status = 'pending' and o.buffered
        order by o.instant, o.id
        limit greatest(0, k.free - (
            select count(*)
            from orrery.occurrence c
            where c.namespace = k.namespace and c.key = k.key and c.status = 'claimed' and c.slot is null))
        for no key update of o skip locked) w
    where not w.direct or w.timeout_ms <= @room::bigint
),
ready as (
    select 1 as turn, id, status, claim, direct, instant as since from waiting
    union all
    select 2, id, status, claim, direct, look_at from due
),
chosen as (
    select r.id, r.status, r.claim
    from (select *, row_number() over (partition by direct order by turn, since, id) as place from ready) r
    join lanes l on l.direct = r.direct
    where r.place <= l.most
),
claimed as (
    update orrery.occurrence o
    set status = 'claimed', claimant = @claimant, claim = o.claim + 1, attempt = o.attempt + 1, execution = null,
        token = case when o.key is not null then nextval('orrery.fencing_token') end,
        claimed_at = coalesce(@now::timestamptz, now()),
        look_at = coalesce(@now::timestamptz, now()) + @lease::bigint * interval '1 millisecond'
    from chosen c
    where o.id = c.id
    returning o.*
),
lost as (
    update orrery.trace t
    set status = 'lost', ended_at = coalesce(@now::timestamptz, now()), error = 'the lease was over'
    from chosen c
    where c.status = 'running' and t.occurrence = c.id and t.claim = c.claim and t.status = 'running'
),
idle as (
    select k.namespace, k.key
    from keys k
    where not exists (
        select
        from orrery.occurrence o
        join orrery.schedule s on s.id = o.schedule and (s.state <> 'paused' or o.trigger <> 'cron')
        where o.namespace = k.namespace and o.key = k.key and o.status = 'pending' and o.buffered)
)
select
    coalesce(@now::timestamptz, now()) as now, array(select namespace from idle order by namespace, key) as idle_namespaces,
    array(select key from idle order by namespace, key) as idle_keys,
    coalesce(c.id, 0) as id, coalesce(c.schedule, 0) as schedule, coalesce(c.namespace, 0) as namespace,
    coalesce(n.name, '') as namespace_name, coalesce(s.name, '') as name,
    coalesce(s.version, 0) as version, coalesce(s.state::text, '') as state, c.instant, c.due_at, coalesce(c.trigger::text, '') as trigger,
    coalesce(c.overlap::text, '') as overlap, coalesce(c.retry, 0) as retry, coalesce(c.attempt, 0) as attempt,
    coalesce(c.claim, 0) as claim, coalesce(c.deferrals, 0) as deferrals, coalesce(c.token, 0) as token,
    coalesce(c.key, '') as key, coalesce(c.input, '') as input, coalesce(c.workflow_version, 0) as workflow_version,
    coalesce(c.cancelled_by, '') as cancelled_by, coalesce(c.cancel_reason, '') as cancel_reason
from (select) as one
left join (
    claimed c
    join orrery.schedule s on s.id = c.schedule
    join orrery.namespace n on n.id = c.namespace) on true
order by c.instant, c.id
