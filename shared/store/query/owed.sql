-- Writes rows that are owed: tasks that an earlier commit has handed over. A row that is there already was written by whoever
-- reported the attempt meanwhile: it is done, and the report is in the inbox.
insert into orrery.task (
    execution, namespace, partition, unit, attempt, offer, task, version, language, rank, redelivery, timeout_ms, heartbeat_ms,
    idempotency_key, input, state, noticed, claimed_at, fence, session, worker, poll, turn)
select
    o.execution, e.namespace, e.partition, o.unit, o.attempt, o.offer, o.task, o.version, o.language, o.rank, o.redelivery,
    o.timeout_ms, o.heartbeat_ms, o.idempotency_key, o.input, 'claimed', true, o.claimed_at, o.fence, o.session::uuid, o.worker,
    o.poll, nullif(o.turn, 0)
from unnest(@executions::bigint[], @units::text[], @attempts::integer[], @offers::integer[], @tasks::text[], @versions::integer[],
            @languages::text[], @ranks::smallint[], @redeliveries::integer[], @timeouts::bigint[], @heartbeats::bigint[],
            @idempotency_keys::text[], @inputs::text[], @claimed_ats::timestamptz[], @sessions::text[], @workers::text[],
            @polls::text[], @fences::integer[], @turns::integer[])
     as o (execution, unit, attempt, offer, task, version, language, rank, redelivery, timeout_ms, heartbeat_ms,
           idempotency_key, input, claimed_at, session, worker, poll, fence, turn)
join orrery.execution e on e.id = o.execution
order by o.execution, o.unit, o.attempt, o.offer
on conflict (execution, unit, attempt, offer) do nothing
