-- How much of the schedules' work waits and runs, for health. Each count reads a bounded number of rows.
select
    (select count(*) from (
        select from orrery.occurrence o where o.look_at <= coalesce(@now::timestamptz, now()) limit @window::integer) x) as due,
    coalesce((
        select (extract(epoch from coalesce(@now::timestamptz, now()) - min(x.look_at)) * 1000)::bigint
        from (
            (select o.look_at from orrery.occurrence o where not o.direct and o.look_at is not null order by o.look_at limit 1)
            union all
            (select o.look_at from orrery.occurrence o where o.direct and o.look_at is not null order by o.look_at limit 1)) x
        where x.look_at <= coalesce(@now::timestamptz, now())), 0) as oldest_age,
    (select count(*) from (select from orrery.occurrence o where o.buffered limit @window::integer) x) as buffered,
    (select count(*) from (
        select from orrery.occurrence o where o.look_at is not null and o.status = 'pending' limit @window::integer) x) as pending,
    (select count(*) from (select from orrery.dead_letter d limit @window::integer) x) as dead_letters
