-- Executions and what they leave behind.
--
-- No foreign keys here: each would lock its parent's row at every insert and write that to the log. What they would
-- guard is written in one transaction by one statement.

-- One narrow row per kept execution. last_seq is in no index, so that a turn without a change of timer stays a HOT update.
-- Input and output are in the history's first and last turn.
create table orrery.execution (
    id         bigint generated always as identity primary key,
    definition bigint not null,
    started_at timestamptz not null,
    ended_at   timestamptz,
    wake_at    timestamptz,   -- the earliest timer of the state
    namespace  integer not null,
    born       date not null default (now() at time zone 'utc')::date,  -- which partition of history it is in
    last_seq   integer not null check (last_seq >= 1),
    partition  smallint not null check (partition >= 0),
    status     smallint not null,   -- 1 running, 2 succeeded, 3 failed, 4 timed out, 5 cancelled
    ending     boolean not null default false,   -- its end cannot get the lock: inserts into its inbox stand back
    name       text not null check (length(name) between 1 and 256),
    input_hash bytea not null check (length(input_hash) between 1 and 32),
    trace      text,   -- W3C traceparent of who started it
    constraint execution_status check (status between 1 and 5),
    constraint execution_end check ((status = 1) = (ended_at is null)),
    constraint execution_timer check (status = 1 or (wake_at is null and not ending))
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.05);

create unique index execution_name on orrery.execution (namespace, name);
create index execution_wake on orrery.execution (partition, wake_at) where wake_at is not null;

-- One row per turn, its events inside. By day of the execution's start, so that retention drops whole days; an execution that outlives
-- its day is moved to 'infinity'.
create table orrery.history (
    execution   bigint not null,
    at          timestamptz not null,
    born        date not null,
    seq         integer not null check (seq >= 1),
    first_event integer not null check (first_event >= 1),
    events      text not null,
    primary key (born, execution, seq)
) partition by range (born);

create table orrery.history_infinity partition of orrery.history for values from ('infinity') to (maxvalue);

-- The newest state of an execution, so that loading folds only what came after it.
create table orrery.snapshot (
    execution bigint not null,
    born      date not null,
    seq       integer not null check (seq >= 1),
    state     bytea not null,
    primary key (born, execution, seq)
) partition by range (born);

create table orrery.snapshot_infinity partition of orrery.snapshot for values from ('infinity') to (maxvalue);

-- Executions that cannot go on without a human: their inbox and their timers wait.
create table orrery.blocked (
    execution  bigint primary key,
    partition  smallint not null,
    reason     text not null,
    blocked_at timestamptz not null default now()
);

-- Makes the partitions of history and snapshots from today to so many days ahead, and returns how many were missing.
-- CREATE TABLE LIKE and ATTACH, because CREATE TABLE ... PARTITION OF waits for every reader of the parent and holds up
-- every insert meanwhile.
create function orrery.make_days(ahead integer) returns integer
language plpgsql security definer set search_path = pg_catalog set lock_timeout = '1s' as $$
declare
    today  date := (now() at time zone 'utc')::date;
    day    date;
    parent text;
    child  text;
    made   integer := 0;
begin
    perform pg_advisory_xact_lock(20307, 2);
    for day, parent in
        select today + d, p from generate_series(0, ahead) as d cross join unnest(array['history', 'snapshot']) as p
    loop
        child := parent || to_char(day, '_YYYYMMDD');
        continue when to_regclass('orrery.' || child) is not null;
        execute format('create table orrery.%I (like orrery.%I including all)', child, parent);
        execute format('alter table orrery.%I attach partition orrery.%I for values from (%L) to (%L)',
            parent, child, day, day + 1);
        made := made + 1;
    end loop;
    return made;
end
$$;
