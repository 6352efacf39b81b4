-- Fences what ran under the id, if it still does not heartbeat.
update orrery.node
set ended = 'fenced', ended_at = coalesce(@now::timestamptz, now())
where id = @node and ended is null
  and heartbeat_at <= coalesce(@now::timestamptz, now()) - @timeout::bigint * interval '1 millisecond'
