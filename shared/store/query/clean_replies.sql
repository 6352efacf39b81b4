-- Answers that nobody has read in a minute; the idempotency key keeps them.
with old as (
    select i.execution, i.id
    from orrery.inbox i
    where i.answered_at < coalesce(@now::timestamptz, now()) - interval '1 minute'
    order by i.execution, i.id
    limit @limit::integer
    for update skip locked
),
removed as (
    delete from orrery.inbox i
    using old o
    where i.execution = o.execution and i.id = o.id
    returning i.execution, i.id, i.key, i.outcome, i.event, i.answer
),
kept as (
    update orrery.idempotency_key k
    set outcome = r.outcome, event = r.event, answer = r.answer
    from removed r
    join orrery.execution e on e.id = r.execution
    where k.namespace = e.namespace and k.key = r.key and k.entry = r.id
)
select count(*) as removed from removed
