-- Rows of executions that ended a while ago, and notices of cancel whose worker is gone.
with old as (
    select t.execution, t.unit, t.attempt, t.offer
    from orrery.task t
    left join orrery.execution e on e.id = t.execution
    left join orrery.session s on s.id = t.session and s.seen_at > '-infinity'
    where e.ended_at < coalesce(@now::timestamptz, now()) - interval '1 minute'
       or e.id is null
       or (t.state = 'cancelled' and s.id is null)
    order by t.id
    limit @limit::integer
    for update of t skip locked
)
delete from orrery.task t
using old o
where t.execution = o.execution and t.unit = o.unit and t.attempt = o.attempt and t.offer = o.offer
