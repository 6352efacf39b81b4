-- Writes the turns of executions that exist: sets last_seq from the value that the turn was decided on (I2). A turn without
-- events leaves it and writes no history; one that owes its timer leaves that; one with the status 1 takes up an execution
-- that had ended. change is by how much it changes the number of running ones.
with given as (
    select *
    from unnest(@executions::bigint[], @seqs::integer[], @ats::timestamptz[], @first_events::integer[], @events::text[],
                @wakes::timestamptz[], @owes::boolean[], @statuses::smallint[], @changes::smallint[])
         as g (execution, seq, at, first_event, events, wake_at, owes, status, change)
),
moved as (
    update orrery.execution e
    set last_seq = case when g.events is null then e.last_seq else g.seq end,
        wake_at = case when g.owes then e.wake_at else g.wake_at end,
        status = coalesce(g.status, e.status),
        ended_at = case when g.status is null then e.ended_at when g.status > 1 then g.at end,
        ending = false
    from given g
    where e.id = g.execution and e.last_seq = g.seq - 1
    returning e.id, e.namespace, e.born, g.at, g.seq, g.first_event, g.events, g.change
),
written as (
    insert into orrery.history (execution, at, born, seq, first_event, events)
    select id, at, born, seq, first_event, events
    from moved
    where events is not null
),
counted as (
    insert into orrery.active as a (namespace, part, running)
    select m.namespace, @fence::integer, sum(m.change)
    from moved m
    join orrery.namespace n on n.id = m.namespace and n.max_active is not null
    where m.change <> 0
    group by m.namespace
    order by m.namespace
    on conflict (namespace, part) do update
    set running = a.running + excluded.running
)
select orrery.expect('OR003', 'executions have other turns', @executions::bigint[], array(select id from moved))
