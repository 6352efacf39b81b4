-- The ledger of an occurrence: its starts, in their order.
select t.claim, t.retry, t.attempt, t.status, t.started_at, t.ended_at, t.claimant, t.context, coalesce(t.token, 0) as token,
       coalesce(e.name, '') as execution, coalesce(t.error, '') as error, t.result
from orrery.trace t
left join orrery.execution e on e.id = t.execution
where t.occurrence = @occurrence::bigint
order by t.claim
limit @limit::integer
