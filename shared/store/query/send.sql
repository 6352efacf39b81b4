-- Puts a message into the inbox of a named execution, after lock_named. A key that was used before gives the earlier answer.
with target as (
    select id, status
    from orrery.execution
    where namespace = @namespace::integer and name = @name
),
earlier as (
    select *
    from orrery.idempotency_key
    where namespace = @namespace::integer and key = @key and expires_at > coalesce(@now::timestamptz, now())
),
-- Locked by the statement before, so nobody is waited for; one that it did not lock is about to end.
open as (
    select e.id, e.partition
    from orrery.execution e
    where e.namespace = @namespace::integer and e.name = @name and (e.status = 1) <> @ended and not e.ending
      and not exists (select from earlier)
    for key share skip locked
),
numbered as (
    select id, partition, nextval('orrery.inbox_id_seq') as entry
    from open
),
keyed as (
    insert into orrery.idempotency_key as k (namespace, key, request_hash, execution, entry, expires_at)
    select @namespace::integer, @key, @key_hash::bytea, id, entry, coalesce(@now::timestamptz, now()) + interval '1 day'
    from numbered
    where @key <> ''
    on conflict (namespace, key) do update
    set request_hash = excluded.request_hash, execution = excluded.execution, entry = excluded.entry, outcome = null,
        event = null, answer = null, expires_at = excluded.expires_at
    where k.expires_at <= coalesce(@now::timestamptz, now())
    returning k.entry
),
entered as (
    insert into orrery.inbox (
        id, execution, partition, kind, awaited, waiter, unit, output, signal, reason, error, cause, details, final, resolution,
        request, key)
    select n.entry, n.id, n.partition, @kind::text::orrery.entry_kind, true, nullif(@waiter::integer, 0), @unit::text,
           @output::text, @signal::text, @reason::text, @error::text, @cause::text, @details::text, @final::boolean,
           @resolution::text, @request::text, nullif(@key, '')
    from numbered n
    where @key = '' or n.entry in (select entry from keyed)
    returning execution, id
)
select
    case
        when n.id is not null then 'queued'
        when k.entry is not null and k.request_hash = @key_hash::bytea then 'repeated'
        when k.entry is not null then 'key reused'
        when t.id is null then 'unknown'
        when (t.status = 1) = @ended then 'finished'
        when o.id is null then 'retry'
        else ''   -- another request has just used the key: its answer is seen by asking again
    end as sent,
    coalesce(n.execution, k.execution, 0) as execution, coalesce(n.id, k.entry, 0) as entry,
    coalesce(k.outcome, '') as outcome, coalesce(k.event, 0) as event, coalesce(k.answer, '') as answer
from (select) as one
left join entered n on true
left join earlier k on true
left join target t on true
left join open o on true
