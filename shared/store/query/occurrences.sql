-- One page of the occurrences of a schedule, newest first. It reads a bounded window of rows whatever the filter, and says
-- where the next begins.
with window_of_rows as (
    select o.*
    from orrery.occurrence o
    where o.schedule = @schedule::bigint and o.id < @before::bigint
    order by o.id desc
    limit @window::integer
),
wanted as (
    select w.*
    from window_of_rows w
    where (@status = '' or w.status::text = @status) and (@trigger = '' or w.trigger::text = @trigger)
      and (@instant_from::timestamptz is null or w.instant >= @instant_from::timestamptz)
      and (@instant_to::timestamptz is null or w.instant < @instant_to::timestamptz)
    order by w.id desc
    limit @limit::integer
),
extent as (
    select coalesce(min(id), 0) as lowest, count(*) = @window::integer as full
    from window_of_rows
)
select
    x.lowest, x.full, coalesce(o.id, 0) as id, coalesce(o.status::text, '') as status, coalesce(o.trigger::text, '') as trigger,
    coalesce(o.overlap::text, '') as overlap, o.instant, o.due_at, o.deadline_at, o.look_at, o.claimed_at, o.started_at, o.ended_at,
    o.skipped_from, coalesce(o.skipped, 0) as skipped, coalesce(o.token, 0) as token, coalesce(e.name, '') as execution,
    coalesce(o.schedule_version, 0) as schedule_version, coalesce(o.workflow_version, 0) as workflow_version,
    coalesce(o.retry, 0) as retry, coalesce(o.attempt, 0) as attempt, coalesce(o.slot, 0::smallint) as slot,
    coalesce(o.buffered, false) as buffered, coalesce(o.title, '') as title, coalesce(o.key, '') as key,
    coalesce(o.claimant, '') as claimant, coalesce(o.trace, '') as trace, coalesce(o.reason, '') as reason,
    coalesce(o.cancelled_by, '') as cancelled_by, coalesce(o.cancel_reason, '') as cancel_reason, o.input,
    d.occurrence is not null as dead_letter
from extent x
left join (
    wanted o
    left join orrery.execution e on e.id = o.execution
    left join orrery.dead_letter d on d.occurrence = o.id) on true
order by o.id desc
