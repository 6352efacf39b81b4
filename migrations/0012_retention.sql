-- How long executions are kept, and days of history that go.

-- So many days after its end an execution of the namespace goes; null keeps all for ever.
alter table orrery.namespace add column retention_days integer check (retention_days between 1 and 36500);

-- Tells which executions are of a day. Of one block range it has two dates, so that a start pays next to nothing for it.
create index execution_born on orrery.execution using brin (born) with (pages_per_range = 32, autosummarize = on);

-- Moves what is kept of a day to 'infinity', so many executions at most, and returns how many. Their rows are locked first, so
-- no turn of theirs is under way: each turn changes the row. The reads come in statements of their own after that.
create function orrery.keep_day(day date, most integer) returns integer
language plpgsql as $$
declare
    kept bigint[];
begin
    kept := array(
        select e.id from orrery.execution e where e.born = day order by e.id limit most for update skip locked);
    insert into orrery.history (execution, at, born, seq, first_event, events)
    select h.execution, h.at, 'infinity', h.seq, h.first_event, h.events
    from orrery.history h
    where h.born = day and h.execution = any (kept);
    insert into orrery.snapshot (execution, born, seq, state)
    select s.execution, 'infinity', s.seq, s.state
    from orrery.snapshot s
    where s.born = day and s.execution = any (kept);
    update orrery.execution e set born = 'infinity' where e.id = any (kept);
    return cardinality(kept);
end
$$;

-- Drops the partitions of a day that is over and of which nothing is kept; false where something is. It does not wait
-- for readers, and holds nobody up for long: who finds the tables busy tries again later.
create function orrery.drop_day(day date) returns boolean
language plpgsql security definer set search_path = pg_catalog set lock_timeout = '200ms' as $$
begin
    perform pg_advisory_xact_lock(20307, 2);
    if day >= (now() at time zone 'utc')::date - 1 or exists (select from orrery.execution e where e.born = day) then
        return false;
    end if;
    execute format('drop table if exists orrery.%I, orrery.%I',
        'history' || to_char(day, '_YYYYMMDD'), 'snapshot' || to_char(day, '_YYYYMMDD'));
    return true;
end
$$;
