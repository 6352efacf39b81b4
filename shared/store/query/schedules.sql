-- One page of the schedules of a namespace, by name.
select
    coalesce(@now::timestamptz, now()) as now, s.id, s.namespace, s.name, s.title, s.version, s.level, s.state::text as state,
    s.cursor_at, s.runs, s.caught_up, s.next_instant, s.next_at, s.zones, s.key, k.slots, s.direct, s.timeout_ms, s.retention_ms,
    s.retries, s.backoff_ms, s.backoff_most_ms, s.pause_after, s.failures, s.created_at, s.updated_at, s.paused_at, s.pause_reason,
    d.document
from orrery.schedule s
join orrery.schedule_document d on d.schedule = s.id and d.version = s.version
left join orrery.singleton k on k.namespace = s.namespace and k.key = s.key
where s.namespace = @namespace::integer and s.name > @after
  and case when @state = '' then s.state <> 'archived' else s.state::text = @state end
order by s.name
limit @limit::integer
