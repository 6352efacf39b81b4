-- Makes a schedule, unless its name is taken.
with made as (
    insert into orrery.schedule (
        namespace, name, title, level, cursor_at, next_instant, next_at, zones, state, key, direct, timeout_ms, retention_ms,
        retries, backoff_ms, backoff_most_ms, pause_after, created_at, updated_at)
    values (
        @namespace, @name, @title, @level, @cursor, @next, @wake, @zones, @state::text::orrery.schedule_state, @key, @direct,
        @timeout, @retention, @retries, @backoff, @backoff_most, @pause_after, coalesce(@now::timestamptz, now()),
        coalesce(@now::timestamptz, now()))
    on conflict (namespace, name) do nothing
    returning id
),
documented as (
    insert into orrery.schedule_document (schedule, version, document)
    select id, 1, @document
    from made
),
noted as (
    insert into orrery.schedule_event (schedule, at, kind, detail)
    select id, coalesce(@now::timestamptz, now()), 'created', @detail
    from made
)
select id from made
