-- Removes the entries that the turns have applied, or answers those whose sender waits (I6).
with given as (
    select *
    from unnest(@executions::bigint[], @entries::bigint[], @outcomes::text[], @events::integer[], @answers::text[])
         as g (execution, id, outcome, event, answer)
),
removed as (
    delete from orrery.inbox i
    using given g
    where i.execution = g.execution and i.id = g.id and not i.awaited
    returning i.id
),
answered as (
    update orrery.inbox i
    set answered_at = coalesce(@now::timestamptz, now()), outcome = g.outcome, event = nullif(g.event, 0),
        answer = nullif(g.answer, '')
    from given g
    where i.execution = g.execution and i.id = g.id and i.awaited and i.outcome is null
    returning i.id
)
select orrery.forbid('OR003', 'inbox entries are gone', array(
    select execution from given where id not in (select id from removed union all select id from answered)))
