-- A schedule with its newest definition, and the time.
select
    coalesce(@now::timestamptz, now()) as now, coalesce(s.id, 0) as id, s.namespace, s.name, s.title, s.version, s.level, s.state::text as state,
    s.cursor_at, s.runs, s.caught_up, s.next_instant, s.next_at, s.zones, s.key, k.slots, s.direct, s.timeout_ms, s.retention_ms,
    s.retries, s.backoff_ms, s.backoff_most_ms, s.pause_after, s.failures, s.created_at, s.updated_at, s.paused_at, s.pause_reason,
    d.document
from (select) as one
left join orrery.schedule s on s.namespace = @namespace::integer and s.name = @name
left join orrery.schedule_document d on d.schedule = s.id and d.version = s.version
left join orrery.singleton k on k.namespace = s.namespace and k.key = s.key
