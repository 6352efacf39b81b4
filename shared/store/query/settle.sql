-- Changes the queue rows that turns speak of: removes those of resolved units, keeps as 'lost' those whose claim is given
-- up, marks those whose claim is recorded. All rows are locked in one pass by number, waiting for nobody. Not changed
-- is a row that others have moved on durably: claimed, where the turn knows it as queued; done by a report that is still in the inbox and that
-- the turn does not apply (I6).
with named as (
    select t.execution, t.unit, t.attempt, t.offer, true as resolved, false as lost, false as noticed, r.only_queued, r.notice
    from unnest(@resolved_executions::bigint[], @resolved_units::text[], @resolved_attempts::integer[],
                @only_queued::boolean[], @notices::boolean[]) as r (execution, unit, attempt, only_queued, notice)
    join orrery.task t on t.execution = r.execution and t.unit = r.unit and t.attempt <= r.attempt
    union all
    select t.execution, t.unit, t.attempt, t.offer, false, true, false, false, false
    from unnest(@lost_executions::bigint[], @lost_units::text[], @lost_attempts::integer[], @lost_offers::integer[])
         as l (execution, unit, attempt, offer)
    join orrery.task t on t.execution = l.execution and t.unit = l.unit and t.attempt = l.attempt and t.offer = l.offer
    union all
    select t.execution, t.unit, t.attempt, t.offer, false, false, true, false, false
    from unnest(@noticed_partitions::smallint[], @noticed_tasks::bigint[]) as n (partition, task)
    join orrery.task t on t.partition = n.partition and t.id = n.task and not t.noticed and t.claimed_at is not null
),
change as (
    select execution, unit, attempt, offer, bool_or(resolved) as resolved, bool_or(lost) as lost,
           bool_or(noticed) as noticed, bool_or(only_queued) as only_queued, bool_or(notice) as notice
    from named
    group by execution, unit, attempt, offer
),
held as (
    select c.*, t.state, t.report,
           -- A claimed row whose worker must be told stays until its heartbeat no longer lists it.
           c.notice and t.state in ('claimed', 'cancelled') and t.session is not null as kept
    from change c
    join orrery.task t
      on t.execution = c.execution and t.unit = c.unit and t.attempt = c.attempt and t.offer = c.offer
    order by t.id
    for update of t skip locked
),
removed as (
    delete from orrery.task t
    using held h
    where t.execution = h.execution and t.unit = h.unit and t.attempt = h.attempt and t.offer = h.offer
      and h.resolved and not h.kept
),
changed as (
    update orrery.task t
    set state = case when h.resolved then 'cancelled' when h.lost and h.state = 'claimed' then 'lost' else t.state end,
        noticed = t.noticed or (t.claimed_at is not null)
    from held h
    where t.execution = h.execution and t.unit = h.unit and t.attempt = h.attempt and t.offer = h.offer
      and (h.kept or not h.resolved)
),
done as (
    select execution, report
    from held
    where state = 'done' and (resolved or lost) and report <> all (@consumed::bigint[])
)
select
    orrery.forbid('OR005', 'tasks are locked', array(
        select execution from (
            select execution, unit, attempt, offer from change
            except
            select execution, unit, attempt, offer from held) as missing)),
    orrery.forbid('OR004', 'claims come first', array(
        select execution from held where only_queued and state = 'claimed')),
    orrery.forbid_open_reports(array(select execution from done), array(select report from done))
