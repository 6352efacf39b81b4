-- A limit of executions that run at once, per namespace.

-- So many executions of the namespace may run for another one to be started; null for any number.
alter table orrery.namespace add column max_active integer check (max_active between 1 and 1000000000);

-- How many executions run in namespaces that have a limit: the sum over a namespace's rows. Whoever starts or ends some
-- changes a row in the same transaction, which few others want: a node that of its own fence, whoever owns nothing one of 64,
-- with numbers below zero. The row 0 is the count's: it makes the sum what a count of the executions in the same snapshot
-- gave. Before the first count the limit does not hold.
create table orrery.active (
    namespace  integer not null,
    part       integer not null,
    running    bigint not null,
    counted_at timestamptz,
    primary key (namespace, part),
    constraint active_count check ((part = 0) = (counted_at is not null))
) with (fillfactor = 50, autovacuum_vacuum_threshold = 500, autovacuum_vacuum_scale_factor = 0);

-- Counts the running executions of namespaces with a limit, where that was not done for ten minutes, takes in what ended
-- incarnations have counted, and forgets what nobody limits any more. It returns by how much sums were wrong that had been
-- counted before. A sum
-- and its count are read in one snapshot, and every transaction that changes one changes the other: so it is exact, whatever
-- is under way. One works at a time; others find nothing to do.
create function orrery.count_active(at timestamptz) returns bigint
language plpgsql set enable_seqscan = on set enable_hashjoin = on as $$
declare
    due   integer[];
    wrong bigint := 0;
begin
    if not exists (select from orrery.namespace n where n.max_active is not null)
       and not exists (select from orrery.active) then
        return 0;
    end if;
    if not pg_try_advisory_xact_lock(20307, 4) then
        return 0;
    end if;
    delete from orrery.active a
    using orrery.namespace n
    where n.id = a.namespace and n.max_active is null;
    due := array(
        select n.id
        from orrery.namespace n
        left join orrery.active a on a.namespace = n.id and a.part = 0
        where n.max_active is not null and (a.part is null or a.counted_at <= at - interval '10 minutes')
        order by n.id);
    if cardinality(due) = 0 then
        return 0;
    end if;
    with truth as (
        select e.namespace, count(*) as running
        from orrery.execution e
        where e.status = 1 and e.namespace = any (due)
        group by e.namespace
    ),
    summed as (
        select a.namespace, sum(a.running) as running
        from orrery.active a
        where a.namespace = any (due)
        group by a.namespace
    ),
    folded as (
        delete from orrery.active a
        where a.namespace = any (due) and a.part > 0
          and not exists (select from orrery.node n where n.fence = a.part and n.ended is null)
        returning a.namespace, a.running
    ),
    drift as (
        select d.namespace, coalesce(t.running, 0) - coalesce(s.running, 0) as wrong,
               coalesce((select sum(f.running) from folded f where f.namespace = d.namespace), 0) as folded,
               exists (select from orrery.active a where a.namespace = d.namespace and a.part = 0) as counted
        from unnest(due) as d (namespace)
        left join truth t on t.namespace = d.namespace
        left join summed s on s.namespace = d.namespace
    ),
    noted as (
        insert into orrery.active as a (namespace, part, running, counted_at)
        select d.namespace, 0, d.wrong + d.folded, at
        from drift d
        order by d.namespace
        on conflict (namespace, part) do update
        set running = a.running + excluded.running, counted_at = excluded.counted_at
        returning a.namespace
    )
    select coalesce(sum(abs(d.wrong)) filter (where d.counted), 0) into wrong from drift d;
    return wrong;
end
$$;
