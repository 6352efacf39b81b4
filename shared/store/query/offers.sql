-- Puts offers of executions that exist into the queue; those handed over in this commit are written as claimed and noticed.
insert into orrery.task (
    execution, namespace, partition, unit, attempt, offer, task, version, language, rank, redelivery, timeout_ms, heartbeat_ms,
    idempotency_key, input, state, noticed, claimed_at, fence, session, worker, poll)
select
    o.execution, e.namespace, e.partition, o.unit, o.attempt, o.offer, o.task, o.version, o.language, o.rank, o.redelivery,
    o.timeout_ms, o.heartbeat_ms, o.idempotency_key, o.input,
    case when o.claimed_at is null then 'queued' else 'claimed' end::orrery.task_state, o.claimed_at is not null, o.claimed_at,
    case when o.session is null then null else @fence::integer end, o.session::uuid, o.worker, o.poll
from unnest(@executions::bigint[], @units::text[], @attempts::integer[], @offers::integer[], @tasks::text[], @versions::integer[],
            @languages::text[], @ranks::smallint[], @redeliveries::integer[], @timeouts::bigint[], @heartbeats::bigint[],
            @idempotency_keys::text[], @inputs::text[], @claimed_ats::timestamptz[], @sessions::text[], @workers::text[],
            @polls::text[])
     as o (execution, unit, attempt, offer, task, version, language, rank, redelivery, timeout_ms, heartbeat_ms,
           idempotency_key, input, claimed_at, session, worker, poll)
join orrery.execution e on e.id = o.execution
