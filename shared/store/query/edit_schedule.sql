-- Changes a schedule from what the caller knows of it, and raises when it is not that any more.
with held as (
    select s.id
    from orrery.schedule s
    where s.id = @schedule::bigint and s.version = @version::integer and s.cursor_at = @cursor::timestamptz
      and s.state = @state::text::orrery.schedule_state
    for no key update
),
changed as (
    update orrery.schedule s
    set version = @new_version, title = @title, level = @level, cursor_at = @new_cursor, runs = @runs, caught_up = @caught_up,
        next_instant = @next, next_at = @wake, zones = @zones, state = @new_state::text::orrery.schedule_state, key = @key,
        direct = @direct, timeout_ms = @timeout, retention_ms = @retention, retries = @retries, backoff_ms = @backoff,
        backoff_most_ms = @backoff_most, pause_after = @pause_after,
        failures = case when @keep_failures then s.failures else 0 end,
        paused_at = case when @pause_reason::text is not null then coalesce(s.paused_at, @now::timestamptz, now()) end,
        pause_reason = @pause_reason, updated_at = coalesce(@now::timestamptz, now())
    from held h
    where s.id = h.id
    returning s.id
),
documented as (
    insert into orrery.schedule_document (schedule, version, document)
    select id, @new_version, @document
    from changed
    where @new_version::integer <> @version::integer
),
forgotten as (
    delete from orrery.schedule_document d
    using changed c
    where d.schedule = c.id and d.version <= @new_version::integer - 100
),
noted as (
    insert into orrery.schedule_event (schedule, at, kind, detail)
    select id, coalesce(@now::timestamptz, now()), @event, @detail
    from changed
)
select orrery.expect('OR006', 'the schedule has changed', array[@schedule::bigint], array(select id from changed))
