-- Answers every entry that is left of executions that end. Their rows were locked by a statement before this one, so no
-- insert is under way and none can follow.
with answered as (
    update orrery.inbox i
    set answered_at = coalesce(@now::timestamptz, now()), outcome = 'finished'
    where i.execution = any (@executions::bigint[]) and i.awaited and i.outcome is null
    returning i.execution, i.id
),
removed as (
    delete from orrery.inbox i
    where i.execution = any (@executions::bigint[]) and not i.awaited
)
select execution, id from answered
