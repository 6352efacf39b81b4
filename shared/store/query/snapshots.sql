-- Keeps the newest state of each execution and drops the one before. The executions are those whose turns were just written.
with given as (
    select g.execution, g.seq, g.state, e.born
    from unnest(@executions::bigint[], @seqs::integer[], @states::bytea[]) as g (execution, seq, state)
    join orrery.execution e on e.id = g.execution
),
replaced as (
    delete from orrery.snapshot s
    using given g
    where s.born = g.born and s.execution = g.execution and s.seq < g.seq
),
kept as (
    insert into orrery.snapshot (execution, born, seq, state)
    select execution, born, seq, state
    from given
    returning execution
)
select orrery.expect('OR003', 'executions are gone', @executions::bigint[], array(select execution from kept))
