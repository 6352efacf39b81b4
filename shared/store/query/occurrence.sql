-- One occurrence of a schedule.
select
    0::bigint as lowest, false as full, o.id, o.status::text as status, o.trigger::text as trigger, o.overlap::text as overlap,
    o.instant, o.due_at, o.deadline_at, o.look_at, o.claimed_at, o.started_at, o.ended_at, o.skipped_from,
    coalesce(o.skipped, 0) as skipped, coalesce(o.token, 0) as token, coalesce(e.name, '') as execution, o.schedule_version,
    coalesce(o.workflow_version, 0) as workflow_version, o.retry, o.attempt, coalesce(o.slot, 0::smallint) as slot, o.buffered,
    o.title, coalesce(o.key, '') as key, coalesce(o.claimant, '') as claimant, coalesce(o.trace, '') as trace,
    coalesce(o.reason, '') as reason, coalesce(o.cancelled_by, '') as cancelled_by, coalesce(o.cancel_reason, '') as cancel_reason,
    o.input, d.occurrence is not null as dead_letter
from orrery.schedule s
join orrery.occurrence o on o.schedule = s.id and o.id = @occurrence::bigint
left join orrery.execution e on e.id = o.execution
left join orrery.dead_letter d on d.occurrence = o.id
where s.namespace = @namespace::integer and s.name = @name
