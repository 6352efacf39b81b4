-- Reads the answer to an entry once: it goes, and stays with the idempotency key where there is one.
with answered as (
    delete from orrery.inbox i
    where i.execution = @execution::bigint and i.id = @entry::bigint and i.answered_at is not null
    returning i.execution, i.key, i.outcome, i.event, i.answer
),
kept as (
    update orrery.idempotency_key k
    set outcome = a.outcome, event = a.event, answer = a.answer
    from answered a
    join orrery.execution e on e.id = a.execution
    where k.namespace = e.namespace and k.key = a.key and k.entry = @entry::bigint
)
select coalesce(a.outcome, '') as outcome, coalesce(a.event, 0) as event, coalesce(a.answer, '') as answer,
       exists (select from orrery.inbox i where i.execution = @execution::bigint and i.id = @entry::bigint) as there
from (select) as one
left join answered a on true
