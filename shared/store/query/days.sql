-- The days that history has partitions for, oldest first: by how many days they are over, and whether they are older than
-- what any namespace keeps.
select d.day, d.today - d.day as age, coalesce(d.today - d.day > k.longest, false) as old
from (
    select to_date(right(c.relname, 8), 'YYYYMMDD') as day, (coalesce(@now::timestamptz, now()) at time zone 'utc')::date as today
    from pg_catalog.pg_class c
    where c.relnamespace = 'orrery'::regnamespace and c.relname ~ '^history_[0-9]{8}$') d
cross join (
    select case when bool_and(n.retention_days is not null) then max(n.retention_days) end as longest
    from orrery.namespace n) k
order by d.day
