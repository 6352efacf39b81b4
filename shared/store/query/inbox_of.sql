select i.execution, i.id, i.partition, i.sent_at, i.kind::text as kind, i.awaited, coalesce(i.unit, '') as unit,
       coalesce(i.attempt, 0) as attempt, coalesce(i.offer, 0) as offer, coalesce(i.session::text, '') as session,
       coalesce(i.worker, '') as worker, i.claimed_at, i.output, coalesce(i.signal, '') as signal,
       coalesce(i.reason, '') as reason, i.error, coalesce(i.cause, '') as cause, i.details,
       coalesce(i.final, false) as final, coalesce(i.resolution, '') as resolution, coalesce(i.request, '') as request,
       coalesce(i.status, 0::smallint) as status, i.ended_at
from orrery.inbox i
where i.execution = any (@executions::bigint[]) and i.outcome is null
order by i.id
limit @limit::integer
