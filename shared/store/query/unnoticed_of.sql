select t.id, t.partition, t.execution, t.unit, t.attempt, t.offer, coalesce(t.session::text, '') as session,
       coalesce(t.worker, '') as worker, coalesce(t.poll, '') as poll, t.claimed_at
from orrery.task t
where t.execution = any (@executions::bigint[]) and not t.noticed and t.claimed_at is not null
order by t.id
