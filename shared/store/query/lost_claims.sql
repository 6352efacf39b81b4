-- Claims whose session had no contact for a session timeout, and claims that a dead incarnation handed out and that no heartbeat
-- has listed since for as long: listing one takes the incarnation off the row. A claim is contact too, and written before the
-- contact is; only in a session that was closed it is lost at once.
with silent as (
    select s.id, s.seen_at = '-infinity' as closed
    from orrery.session s
    where s.seen_at < coalesce(@now::timestamptz, now()) - @session_timeout::bigint * interval '1 millisecond'
),
dead as (
    select n.fence
    from orrery.node n
    where n.ended is distinct from 'left'
      and (n.ended = 'fenced'
           or n.heartbeat_at < coalesce(@now::timestamptz, now()) - @node_timeout::bigint * interval '1 millisecond')
),
lost as (
    select t.id, t.partition, t.execution, t.unit, t.attempt, t.offer, t.session, 'session' as reason
    from silent s
    join orrery.task t on t.session = s.id and t.state = 'claimed'
    where t.partition = any (@partitions::smallint[])
      and (s.closed or t.claimed_at < coalesce(@now::timestamptz, now()) - @session_timeout::bigint * interval '1 millisecond')
    union all
    select t.id, t.partition, t.execution, t.unit, t.attempt, t.offer, t.session, 'incarnation'
    from dead d
    join orrery.task t on t.fence = d.fence and t.state = 'claimed' and t.session is not null
    where t.partition = any (@partitions::smallint[])
      and t.claimed_at < coalesce(@now::timestamptz, now()) - @session_timeout::bigint * interval '1 millisecond'
      and t.session not in (select id from silent)
)
select partition, execution, unit, attempt, offer, session::text as session, reason
from lost
order by id
limit @limit::integer
