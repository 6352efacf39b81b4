-- What has happened to schedules long ago.
with old as (
    select e.id
    from orrery.schedule_event e
    where e.at < coalesce(@now::timestamptz, now()) - interval '90 days'
    order by e.at
    limit @limit::integer
    for update skip locked
)
delete from orrery.schedule_event e
using old o
where e.id = o.id
