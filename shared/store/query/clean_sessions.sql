-- Sessions that are silent for long and hold nothing.
with old as (
    select s.id
    from orrery.session s
    where s.seen_at < coalesce(@now::timestamptz, now()) - 4 * @session_timeout::bigint * interval '1 millisecond'
      and not exists (select from orrery.task t where t.session = s.id and t.state in ('claimed', 'cancelled'))
    order by s.id
    limit @limit::integer
    for update skip locked
)
delete from orrery.session s
using old o
where s.id = o.id
