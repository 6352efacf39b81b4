-- What there is to do for schedules: those that are to be planned, by time or because they were planned with an older time zone
-- database, and the earliest time at which anything is due. It is the one statement of a tick that has nothing to do.
with due as (
    (select s.id
     from orrery.schedule s
     where s.next_at <= coalesce(@now::timestamptz, now()) and s.next_at >= @from::timestamptz and s.level <= @level::integer
     order by s.next_at, s.id
     limit @limit::integer)
    union
    (select s.id
     from orrery.schedule s
     where s.next_at is not null and s.zones < @zones and s.level <= @level::integer
     order by s.zones
     limit @limit::integer)
),
planned as (
    select s.*
    from due d
    join orrery.schedule s on s.id = d.id
)
select
    coalesce(@now::timestamptz, now()) as now,
    to_regclass('orrery.history_' || to_char((coalesce(@now::timestamptz, now()) at time zone 'utc')::date + @days::integer, 'YYYYMMDD')) is null as days_missing,
    (select min(x.at) from (
        (select s.next_at as at
         from orrery.schedule s
         where s.next_at >= @from::timestamptz and s.level <= @level::integer
         order by s.next_at, s.id
         limit 1)
        union all
        (select o.look_at from orrery.occurrence o where not o.direct and o.look_at >= @from::timestamptz order by o.look_at limit 1)
        union all
        (select o.look_at from orrery.occurrence o where o.direct and o.look_at >= @from::timestamptz order by o.look_at limit 1)
        union all
        (select o.deadline_at
         from orrery.occurrence o
         where o.deadline_at >= @from::timestamptz and o.status = 'pending'
         order by o.deadline_at
         limit 1)
        union all
        (select coalesce(@now::timestamptz, now()) from orrery.singleton k where k.wanted and k.held < k.slots limit 1)) x) as next_at,
    coalesce(s.id, 0) as id, coalesce(s.version, 0) as version, coalesce(s.runs, 0) as runs,
    coalesce(s.caught_up, 0) as caught_up, coalesce(s.zones, '') as zones, s.cursor_at, s.next_instant
from (select) as one
left join planned s on true
order by s.next_at, s.id
