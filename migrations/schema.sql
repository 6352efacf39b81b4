-- The schema as the migrations leave it: the page to read. A test compares it with them.
--
-- Times are the database's. Sizes: an execution of one task leaves one row in execution and two in history; task and inbox
-- are empty when nothing is under way.

-- The cluster: its settings, the nodes, and who owns which partition.

create schema orrery;

-- One row: what is fixed when the database is initialised.
create table orrery.cluster (
    one            boolean primary key default true check (one),
    mac_key        bytea not null check (length(mac_key) = 32),  -- signs task tokens
    behaviour      integer not null default 1 check (behaviour >= 1),
    initialised_at timestamptz not null default now()
);

-- Counters that grow with every change of what they name, so that a look at one row tells whether to read the rest.
-- They are raised last in a transaction.
create table orrery.generation (
    name  text primary key check (name in ('owners', 'definitions')),
    value bigint not null default 1
);

-- One row per incarnation of a node. Its fence number names it in locks and in other tables; the database hands out
-- each number once. The heartbeat is the only column that is written often, and is in no index.
create table orrery.node (
    fence        integer generated always as identity primary key,
    id           text not null check (length(id) between 1 and 128),
    incarnation  uuid not null default gen_random_uuid(),
    address      text not null check (length(address) <= 512),
    behaviour    integer not null check (behaviour >= 1),
    started_at   timestamptz not null,
    heartbeat_at timestamptz not null,
    -- fenced: others have taken its partitions, or may; left: it stopped cleanly. Neither commits again.
    ended        text check (ended in ('fenced', 'left')),
    ended_at     timestamptz,
    constraint node_end check ((ended is null) = (ended_at is null))
) with (fillfactor = 50, autovacuum_vacuum_threshold = 200, autovacuum_vacuum_scale_factor = 0);

-- Only one incarnation runs under an id.
create unique index node_id on orrery.node (id) where ended is null;

-- The parts over which executions are spread. Their number never changes. The epoch counts the changes of owner.
create table orrery.partition (
    id         smallint primary key check (id >= 0),
    epoch      bigint not null default 0 check (epoch >= 0),
    fence      integer references orrery.node (fence),
    changed_at timestamptz not null default now(),
    constraint partition_owner check (fence is null or epoch > 0)
) with (fillfactor = 50);

-- Checks raise, because COMMIT travels in the same pipeline as the statement that it checks: a result of no rows would not
-- stop it. The detail of the error names who is at fault, so that the rest of a batch is sent again without them.
--
--   OR001  the incarnation is fenced or gone
--   OR002  partitions have another epoch          detail: their numbers
--   OR003  executions or their inboxes changed    detail: numbers of executions
--   OR004  something durable comes first          detail: numbers of executions
--   OR005  rows are locked by others              detail: numbers of executions

create function orrery.forbid(code text, complaint text, culprits bigint[]) returns void
language plpgsql as $$
begin
    if cardinality(culprits) > 0 then
        raise exception using errcode = code, message = complaint,
            detail = (select string_agg(distinct c::text, ',') from unnest(culprits) as c);
    end if;
end
$$;

create function orrery.expect(code text, complaint text, wanted bigint[], got bigint[]) returns void
language plpgsql as $$
begin
    if cardinality(wanted) is distinct from cardinality(got) then
        perform orrery.forbid(code, complaint, array(select unnest(wanted) except all select unnest(got)));
    end if;
end
$$;

-- Raises unless the incarnation may commit under the given epochs (I1). It stands in a statement of its own after the one
-- that locks the fence, so that it sees what was committed while that waited.
create function orrery.check_fence(own integer, partitions smallint[], epochs bigint[]) returns void
language plpgsql as $$
declare
    lost smallint[];
begin
    if not exists (select from orrery.node n where n.fence = own and n.ended is null) then
        raise exception using errcode = 'OR001', message = 'this incarnation is fenced or gone';
    end if;
    lost := array(
        select w.id
        from unnest(partitions, epochs) as w (id, epoch)
        left join orrery.partition p on p.id = w.id
        where p.fence is distinct from own or p.epoch <> w.epoch);
    if cardinality(lost) > 0 then
        raise exception using errcode = 'OR002', message = 'partitions have another epoch',
            detail = array_to_string(lost, ',');
    end if;
end
$$;

-- Namespaces, and the workflows published in them.

create table orrery.namespace (
    id         integer generated always as identity primary key,
    name       text not null unique check (length(name) between 1 and 128),
    created_at timestamptz not null default now(),
    -- So many days after its end an execution goes; null keeps all for ever.
    retention_days integer check (retention_days between 1 and 36500),
    -- So many executions of the namespace may run for another one to be started; null for any number.
    max_active integer check (max_active between 1 and 1000000000)
);

-- One row per version, never changed. Executions name their version by its number.
create table orrery.definition (
    id           bigint generated always as identity primary key,
    namespace    integer not null references orrery.namespace (id),
    name         text not null check (length(name) between 1 and 256),
    version      integer not null check (version >= 1),
    hash         text not null check (length(hash) = 64),  -- SHA-256 of the document, hexadecimal
    document     text not null,                            -- normalised JSON
    published_at timestamptz not null default now(),
    strict       boolean not null default false,           -- published under the rules of the reference service alone
    unique (namespace, name, version)
);

-- One row per alias of a workflow: the versions between which it splits starts, by weights of a hundred.
create table orrery.alias (
    namespace  integer not null references orrery.namespace (id),
    workflow   text not null check (length(workflow) between 1 and 256),
    name       text not null check (length(name) between 1 and 128),
    versions   integer[] not null,
    weights    smallint[] not null,
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now(),
    primary key (namespace, workflow, name),
    constraint alias_routes check (
        cardinality(versions) between 1 and 10 and cardinality(versions) = cardinality(weights) and 0 <= all (weights))
);

-- One row per version of a contract that was registered. Its schemas never change: another row takes its place only after
-- it was deleted. They are JSON.
create table orrery.contract (
    namespace     integer not null references orrery.namespace (id),
    task          text not null check (length(task) between 1 and 256),
    version       integer not null check (version >= 1),
    hash          text not null check (length(hash) = 64),
    input         text,
    output        text,
    registered_at timestamptz not null default now(),
    primary key (namespace, task, version),
    constraint contract_schemas check (input is not null or output is not null)
);

-- Executions and what they leave behind.
--
-- No foreign keys here: each would lock its parent's row at every insert and write that to the log. What they would
-- guard is written in one transaction by one statement.

-- One narrow row per kept execution. last_seq is in no index, so that a turn without a change of timer stays a HOT update, and
-- each row has room for its second version on its page, so that the end of an execution without a timer is one, too.
-- Input and output are in the history's first and last turn.
create table orrery.execution (
    id         bigint generated by default as identity primary key,
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
    -- An execution that an occurrence of a schedule has started carries both numbers to its end and to its workers.
    occurrence    bigint,
    fencing_token bigint,
    constraint execution_status check (status between 1 and 5),
    constraint execution_end check ((status = 1) = (ended_at is null)),
    constraint execution_timer check (status = 1 or (wake_at is null and not ending))
) with (autovacuum_vacuum_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.05, fillfactor = 50);

create unique index execution_name on orrery.execution (namespace, name);
create index execution_wake on orrery.execution (partition, wake_at) where wake_at is not null;
-- Tells which executions are of a day. Of one block range it has two dates, so that a start pays next to nothing for it.
create index execution_born on orrery.execution using brin (born) with (pages_per_range = 32, autosummarize = on);

-- One row per turn, its events inside. By day of the execution's start, so that retention drops whole days; an execution that outlives
-- its day is moved to 'infinity'.
create table orrery.history (
    execution   bigint not null,
    at          timestamptz not null,
    born        date not null,
    seq         integer not null check (seq >= 1),
    first_event integer not null check (first_event >= 1),
    events      text not null,
    primary key (execution, seq, born)
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

-- One row per attribute of an execution, written with its first turn and never changed. The value is JSON: a text, a number
-- as it is written shortest, or a boolean.
create table orrery.attribute (
    execution bigint not null,
    namespace integer not null,
    name      text not null check (length(name) between 1 and 128),
    value     text not null check (length(value) between 1 and 2048),
    primary key (execution, name)
);

create index attribute_value on orrery.attribute (namespace, name, value, execution);

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

-- Executions that cannot go on without a human, or without a node of another version: their inbox and their timers wait.
create table orrery.blocked (
    execution  bigint primary key,
    partition  smallint not null,
    reason     text not null,
    blocked_at timestamptz not null default now(),
    fence      integer   -- for whom alone it is blocked; null for everybody
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

-- Workers' sessions and the task queue.

create table orrery.session (
    id            uuid primary key default gen_random_uuid(),
    registered_at timestamptz not null default now(),
    seen_at       timestamptz not null default now(),   -- the last contact
    beat_at       timestamptz,                          -- the last numbered heartbeat
    beat          bigint not null default 0 check (beat >= 0),
    namespace     integer not null references orrery.namespace (id),
    worker        text not null check (length(worker) between 1 and 256),
    language      text not null default '',
    -- The contracts that it announces, a task and its version at each place.
    tasks         text[] not null,
    versions      integer[] not null,
    -- What its last heartbeat listed: 'execution/attempt/offer/unit'.
    held          text[] not null default '{}',
    constraint session_contracts check (cardinality(tasks) = cardinality(versions) and cardinality(tasks) > 0),
    constraint session_beat check ((beat = 0) = (beat_at is null))
) with (fillfactor = 50, autovacuum_vacuum_threshold = 500, autovacuum_vacuum_scale_factor = 0);

--             report             owner's turn
--  queued -------------> done -----------------> (gone)
--    |                    ^ ^
--    | claim       report | | report
--    v                    | |
--  claimed ---------------+ |       worker's heartbeat
--    |  |                   |      no longer lists it
--    |  +--> lost ----------+
--    |   owner's turn, offers the attempt anew
--    +-----> cancelled ----------------------------> (gone)
--        owner's turn, withdraws the unit
create type orrery.task_state as enum ('queued', 'claimed', 'done', 'cancelled', 'lost');

-- One row per offer of an attempt of a unit (I7), until its unit is resolved. Queued rows are in the queue's index, rows
-- that a session holds in another; a row's number orders claims and is in no index of its own.
create table orrery.task (
    id              bigint generated always as identity,
    execution       bigint not null,
    queued_at       timestamptz not null default now(),
    claimed_at      timestamptz,
    report          bigint,    -- the inbox entry that made it done
    missed          bigint,    -- the heartbeat that did not list it; the greatest number when the owner was told
    timeout_ms      bigint check (timeout_ms > 0),
    heartbeat_ms    bigint check (heartbeat_ms > 0),
    namespace       integer not null,
    version         integer not null check (version >= 0),
    attempt         integer not null check (attempt >= 1),
    offer           integer not null check (offer >= 0),
    redelivery      integer not null default 0 check (redelivery >= 0),
    fence           integer,   -- the node that handed it out, until a heartbeat lists it
    partition       smallint not null,
    rank            smallint not null default 0,   -- orders claims, lower first: the priority negated
    state           orrery.task_state not null default 'queued',
    noticed         boolean not null default false,   -- a turn has recorded the claim
    session         uuid,
    progress        uuid,      -- MD5 of the details last reported
    unit            text not null,
    task            text not null,
    language        text not null default '',   -- the wish for a worker's language, '' for none
    worker          text,
    poll            text,
    idempotency_key text not null,
    input           text not null,
    turn            integer check (turn >= 1),   -- that handed it over, null for one that was claimed
    constraint task_pkey primary key (execution, unit, attempt, offer),
    constraint task_queued check (state <> 'queued' or (claimed_at is null and report is null)),
    constraint task_claimed check (claimed_at is not null or state in ('queued', 'done')),
    -- A token task is claimed by nobody's session. Whoever claims tells worker and poll.
    constraint task_holder check (
        (session is null) = (worker is null) and (session is null) = (poll is null)
        and (claimed_at is not null or (session is null and fence is null and missed is null and progress is null))),
    constraint task_done check ((state = 'done') = (report is not null)),
    constraint task_noticed check (not noticed or claimed_at is not null)
) with (fillfactor = 85, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_scale_factor = 0.02,
        autovacuum_analyze_threshold = 5000, autovacuum_analyze_scale_factor = 0.1);

create index task_queue on orrery.task (namespace, task, version, language, rank, id) where state = 'queued';
create index task_unnoticed on orrery.task (partition, id) where not noticed and claimed_at is not null;
create index task_held on orrery.task (session) where state in ('claimed', 'cancelled') and session is not null;

-- Nodes whose polls wait for a contract, in whatever namespace: who queues such a row rings them. Not logged: heartbeats
-- renew the flags.
create unlogged table orrery.queue_flag (
    task      text not null,
    version   integer not null,
    fence     integer not null,
    raised_at timestamptz not null,
    primary key (task, version, fence)
) with (fillfactor = 50, autovacuum_vacuum_threshold = 500, autovacuum_vacuum_scale_factor = 0);

-- What others have to say to the owner of an execution.

create type orrery.entry_kind as enum (
    'complete', 'fail', 'uncertain', 'heartbeat', 'lost', 'signal', 'cancel', 'resolve', 'redrive', 'child_ended');

-- An entry is removed in the transaction of the turn that applies it; one whose sender awaits a reply is answered there,
-- and removed when the reply has been read. Numbers are not commit order: nobody reads 'greater than the last seen'.
create table orrery.inbox (
    id          bigint generated by default as identity,
    execution   bigint not null,
    sent_at     timestamptz not null default now(),
    claimed_at  timestamptz,   -- of the claim that a report's token was issued for
    answered_at timestamptz,
    attempt     integer,
    offer       integer,
    waiter      integer,       -- the node that waits for the reply
    event       integer,       -- that recorded the command
    partition   smallint not null,
    kind        orrery.entry_kind not null,
    awaited     boolean not null,
    final       boolean,       -- the failure is not to be tried again
    session     uuid,
    worker      text,
    unit        text,
    output      text,          -- JSON: result, details of a heartbeat, payload of a signal
    signal      text,
    reason      text,
    error       text,          -- name of the failure
    cause       text,
    details     text,          -- JSON
    resolution  text,
    request     text,
    key         text,          -- idempotency key
    outcome     text,
    answer      text,
    ended_at    timestamptz,   -- when and how the child ended
    status      smallint,
    primary key (execution, id),
    constraint inbox_row check (
        kind not in ('complete', 'fail', 'uncertain', 'heartbeat', 'lost')
        or (unit is not null and attempt is not null and offer is not null)),
    -- A parent does not wait for its cancel of a child.
    constraint inbox_awaited check (awaited = (kind in ('signal', 'cancel', 'resolve', 'redrive')) or kind = 'cancel'),
    constraint inbox_signal check ((kind = 'signal') = (signal is not null)),
    constraint inbox_complete check (kind <> 'complete' or output is not null),
    constraint inbox_fail check (kind <> 'fail' or error is not null),
    -- A cancel that is final neither undoes nor cleans up.
    constraint inbox_failure check (
        error is not null or (cause is null and details is null and (final is null or kind = 'cancel'))),
    constraint inbox_resolve check (
        (kind = 'resolve') = (resolution is not null) and (kind <> 'resolve' or unit is not null)
        and resolution in ('completed', 'failed', 'retry')),
    constraint inbox_child check (
        (kind = 'child_ended') = (status is not null) and (status is null) = (ended_at is null)
        and (kind <> 'child_ended' or (unit is not null and attempt is not null))),
    constraint inbox_holder check ((session is null) = (worker is null)),
    constraint inbox_answer check (
        (answered_at is null) = (outcome is null) and (answered_at is null or awaited)
        and (outcome is not null or (event is null and answer is null)))
) with (fillfactor = 90, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_scale_factor = 0.02);

create index inbox_open on orrery.inbox (partition, id) where answered_at is null;

-- Requests that are not to be done twice, with their answers once they have one.
create table orrery.idempotency_key (
    namespace    integer not null references orrery.namespace (id),
    key          text not null check (length(key) between 1 and 256),
    request_hash bytea not null,
    execution    bigint not null,
    entry        bigint not null,
    outcome      text,
    event        integer,
    answer       text,
    expires_at   timestamptz not null,
    primary key (namespace, key),
    constraint idempotency_key_answer check (outcome is not null or (event is null and answer is null))
);

-- Nodes that wait for the end of an execution. Not logged: who waits looks again all the same.
create unlogged table orrery.end_flag (
    execution bigint not null,
    fence     integer not null,
    raised_at timestamptz not null,
    primary key (execution, fence)
) with (fillfactor = 50, autovacuum_vacuum_threshold = 500, autovacuum_vacuum_scale_factor = 0);

-- Raises when a report that made one of the rows done is still in the inbox: it was acknowledged, so it is applied before
-- the row goes (I6). It reads anew, because it is called after waiting for the rows' locks.
create function orrery.forbid_open_reports(executions bigint[], reports bigint[]) returns void
language plpgsql as $$
begin
    if cardinality(reports) > 0 then
        perform orrery.forbid('OR004', 'reports come first', array(
            select i.execution
            from unnest(executions, reports) as r (execution, id)
            join orrery.inbox i on i.execution = r.execution and i.id = r.id));
    end if;
end
$$;

-- Schedules, and what becomes of their instants.
--
-- More checks raise:
--
--   OR006  schedules or occurrences are not as the caller knows them   detail: their numbers
--   OR007  keys are held                                              detail: numbers of the occurrences that want them
--   OR008  names of executions are taken                              detail: numbers of the occurrences
--   OR009  schedules are archived                                     detail: numbers of the occurrences
--   OR010  tokens are not greater than those of the keys              detail: numbers of the occurrences
--   OR011  the key has another number of slots                        detail: that number
--   OR012  occurrences cannot go on with their executions                detail: numbers of the executions
--   OR013  the limit of active executions is reached                   detail: numbers of the occurrences

-- completed: there will be no more instants. archived: nothing of it starts any more.
create type orrery.schedule_state as enum ('active', 'paused', 'completed', 'archived');

-- One row per schedule. Its definition is in schedule_document; here is what statements need of it, and how far it has
-- been planned: every instant up to cursor_at is decided.
create table orrery.schedule (
    id              bigint generated by default as identity primary key,
    cursor_at       timestamptz not null,
    next_at         timestamptz,   -- when to plan again
    next_instant    timestamptz,   -- what is planned then, unless only the search for it goes on
    created_at      timestamptz not null default now(),
    updated_at      timestamptz not null default now(),
    paused_at       timestamptz,
    runs            bigint not null default 0 check (runs >= 0),
    timeout_ms      bigint not null check (timeout_ms > 0),     -- of one run
    retention_ms    bigint not null check (retention_ms > 0),   -- of occurrences that have ended
    backoff_ms      bigint not null default 0 check (backoff_ms >= 0),
    backoff_most_ms bigint not null default 0 check (backoff_most_ms >= backoff_ms),
    namespace       integer not null references orrery.namespace (id),
    version         integer not null default 1 check (version >= 1),   -- of the definition
    level           integer not null default 1 check (level >= 1),     -- a process that knows less leaves it alone
    caught_up       integer not null default 0 check (caught_up >= 0),
    retries         integer not null default 0 check (retries >= 0),
    pause_after     integer not null default 0 check (pause_after >= 0),   -- failures in a row; 0 for never
    failures        integer not null default 0 check (failures >= 0),      -- in a row
    direct          boolean not null,   -- runners do the work themselves, under a lease
    state           orrery.schedule_state not null default 'active',
    name            text not null check (length(name) between 1 and 64),   -- its id for clients: it never changes
    title           text not null check (length(title) <= 128),
    zones           text not null collate "C",   -- version of the time zone database that next_instant was found with
    key             text check (length(key) between 1 and 256),   -- singleton key; none where runs may overlap
    pause_reason    text,
    constraint schedule_name unique (namespace, name),
    constraint schedule_next check (
        (state = 'active') = (next_at is not null) and (next_instant is null or next_at is not null)),
    constraint schedule_paused check (
        (state = 'paused') = (paused_at is not null) and (paused_at is null) = (pause_reason is null))
) with (fillfactor = 70, autovacuum_vacuum_threshold = 500, autovacuum_vacuum_scale_factor = 0.02);

create index schedule_next_at on orrery.schedule (next_at, id) where next_at is not null;
create index schedule_zones on orrery.schedule (zones) where next_at is not null;

-- The definitions of a schedule, as JSON: one row per version, never changed.
create table orrery.schedule_document (
    schedule   bigint not null,
    version    integer not null check (version >= 1),
    created_at timestamptz not null default now(),
    document   text not null,
    primary key (schedule, version)
);

-- What has happened to a schedule, for people.
create table orrery.schedule_event (
    id       bigint generated always as identity primary key,
    schedule bigint not null,
    at       timestamptz not null default now(),
    kind     text not null check (kind in (
                 'created', 'replaced', 'paused', 'resumed', 'completed', 'archived', 'replanned', 'overrun')),
    detail   text not null default ''
);

create index schedule_event_schedule on orrery.schedule_event (schedule, id);
create index schedule_event_at on orrery.schedule_event (at);

-- Keys that one run at a time may hold, or as many as there are slots. The row stays when the key is free, so that its
-- fencing token only grows. Who holds which slot is in the occurrences.
create table orrery.singleton (
    namespace integer not null,
    key       text not null check (length(key) between 1 and 256),
    token     bigint not null default 0,   -- the greatest that was given to a holder
    slots     smallint not null default 1 check (slots between 1 and 64),
    held      smallint not null default 0 check (held >= 0),
    wanted    boolean not null default false,   -- occurrences may wait for it
    primary key (namespace, key)
) with (fillfactor = 70, autovacuum_vacuum_threshold = 500, autovacuum_vacuum_scale_factor = 0.02);

create index singleton_free on orrery.singleton (namespace, key) where wanted and held < slots;

-- Every claim draws one. They grow over all keys, and so for each; the key's row refuses one that is not greater.
create sequence orrery.fencing_token;

create type orrery.occurrence_status as enum (
    'pending', 'claimed', 'running', 'completed', 'failed', 'cancelled',
    'skipped_misfire', 'skipped_overlap', 'missed_deadline', 'cancelled_by_archive');

create type orrery.occurrence_trigger as enum ('cron', 'manual', 'backfill');

-- What an occurrence does that finds its key held. 'queue' waits as long as it takes: it is for occurrences that are made
-- many at once, whatever their schedule says.
create type orrery.overlap as enum (
    'skip', 'buffer_one', 'buffer_all', 'cancel_other', 'terminate_other', 'allow', 'queue');

--             claim            start, with its key            end
--  pending ------------> claimed ------------------> running -----> completed, failed, cancelled
--   ^  |  ^                |   |                        |
--   |  |  +--- deferred ---+   | lease over: claimed    | failed, and to be tried again: retry + 1
--   |  |       or buffered     | again, attempt + 1     |
--   |  |                       +---> failed (refused)   |
--   +--|------------------------------------------------+
--      +--> skipped_overlap, missed_deadline, cancelled, cancelled_by_archive
--
-- One row per instant that is to run, per trigger by hand, and per stretch of instants that were missed (skipped_misfire).
-- A claim is owned by its number, which no other claim of the row has (claims given back do not count as attempts). The
-- start of an execution ends the lease: from there on the execution's own durability is it.
create table orrery.occurrence (
    id               bigint generated by default as identity primary key,
    schedule         bigint not null,
    instant          timestamptz not null,   -- the nominal one
    due_at           timestamptz not null,   -- with the schedule's own offset
    deadline_at      timestamptz,   -- too late for a first start
    look_at          timestamptz,   -- pending: may be claimed; under a lease: its end
    claimed_at       timestamptz,
    started_at       timestamptz,
    ended_at         timestamptz,
    expires_at       timestamptz,   -- may be deleted
    skipped_from     timestamptz,   -- the first of the instants that were missed; instant is the last
    skipped          bigint check (skipped > 0),
    token            bigint,   -- fencing token
    execution        bigint,
    namespace        integer not null,
    schedule_version integer not null,
    workflow_version integer,   -- that its tries run
    retry            integer not null default 0 check (retry >= 0),
    attempt          integer not null default 0 check (attempt >= 0),       -- of this try
    claim            integer not null default 0 check (claim >= attempt),   -- names who owns it
    deferrals        integer not null default 0 check (deferrals >= 0),     -- in a row
    slot             smallint check (slot >= 1),
    status           orrery.occurrence_status not null default 'pending',
    trigger          orrery.occurrence_trigger not null,
    overlap          orrery.overlap not null,
    direct           boolean not null,
    buffered         boolean not null default false,   -- waits for its key
    title            text not null,
    key              text,
    claimant         text,
    trace            text,   -- trace id (W3C, hexadecimal) of the last start
    reason           text,
    cancelled_by     text,   -- who asked for its end, while a runner has yet to see it
    cancel_reason    text,
    request_key      text check (length(request_key) between 1 and 256),   -- idempotency key of a trigger
    request_hash     bytea,
    input            text,   -- in place of the schedule's, JSON
    constraint occurrence_claim check ((status in ('claimed', 'running')) = (claimant is not null)),
    constraint occurrence_look check (
        case status
        when 'pending' then (look_at is null) = buffered
        when 'claimed' then look_at is not null
        when 'running' then (look_at is null) = (execution is not null)
        else look_at is null and not buffered end),
    constraint occurrence_start check (status <> 'running' or (started_at is not null and not buffered)),
    constraint occurrence_end check (
        (status in ('pending', 'claimed', 'running')) = (ended_at is null) and (ended_at is null) = (expires_at is null)),
    constraint occurrence_slot_held check (
        slot is null or (key is not null and token is not null and status in ('claimed', 'running'))),
    constraint occurrence_key_held check (status <> 'running' or (key is null) = (slot is null)),
    constraint occurrence_key check ((overlap = 'allow') = (key is null)),
    constraint occurrence_skipped check (
        (status = 'skipped_misfire') = (skipped is not null) and (skipped is null) = (skipped_from is null)),
    constraint occurrence_request check (
        (request_key is null) = (request_hash is null) and (request_key is null or trigger = 'manual')),
    constraint occurrence_cancel check ((cancelled_by is null) = (cancel_reason is null))
) with (fillfactor = 80, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_scale_factor = 0.02,
        autovacuum_analyze_threshold = 2000, autovacuum_analyze_scale_factor = 0.05);

-- An instant has one row, whatever made it; a trigger by hand never clashes with it.
create unique index occurrence_instant on orrery.occurrence (schedule, instant)
    where trigger <> 'manual' and status <> 'skipped_misfire';
create unique index occurrence_missed on orrery.occurrence (schedule, instant) where status = 'skipped_misfire';
create unique index occurrence_request_key on orrery.occurrence (schedule, request_key) where request_key is not null;
-- No two runs hold one slot.
create unique index occurrence_slot on orrery.occurrence (namespace, key, slot) where slot is not null;
create index occurrence_list on orrery.occurrence (schedule, id);
create index occurrence_look_at on orrery.occurrence (direct, look_at, id) where look_at is not null;
create index occurrence_deadline on orrery.occurrence (deadline_at) where deadline_at is not null and status = 'pending';
create index occurrence_waiting on orrery.occurrence (namespace, key, instant, id)
    where key is not null and status in ('pending', 'claimed');
create index occurrence_buffer on orrery.occurrence (namespace, key, instant, id) where buffered;
create index occurrence_expires on orrery.occurrence (expires_at) where expires_at is not null;

-- The ledger: one row per start, written before the work begins.
create table orrery.trace (
    occurrence bigint not null,
    started_at timestamptz not null,
    ended_at   timestamptz,
    token      bigint,
    execution  bigint,
    claim      integer not null check (claim >= 1),
    retry      integer not null,
    attempt    integer not null,
    status     text not null default 'running' check (status in ('running', 'completed', 'failed', 'cancelled', 'lost')),
    claimant   text not null,
    context    text not null,   -- W3C traceparent that the work got
    error      text,
    result     text,
    primary key (occurrence, claim),
    constraint trace_end check ((status = 'running') = (ended_at is null))
) with (fillfactor = 80, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_scale_factor = 0.02);

-- Occurrences whose tries are used up, or that came too late for their start (no tries), until somebody has looked.
create table orrery.dead_letter (
    occurrence bigint primary key,
    schedule   bigint not null,
    at         timestamptz not null default now(),
    namespace  integer not null,
    tries      integer not null constraint dead_letter_tries check (tries >= 0),
    reason     text not null
);

create index dead_letter_list on orrery.dead_letter (namespace, occurrence);

-- What commits leave to be written.

-- A task that is handed over in the commit of its turn has no row at first: most are reported before anybody but the owner
-- asks for them. Neither is the timer that comes with it written. The commit names the executions instead: the incarnation
-- that owns them writes the rows and the timers of those that are not over soon, and whoever takes or is given a
-- partition inherits the debt in that transaction. A row goes when all its executions are paid for. origin is who
-- handed out.
create table orrery.debt (
    id         bigint generated always as identity primary key,
    fence      integer not null,
    origin     integer not null,
    inherited  boolean not null default false,
    executions bigint[] not null check (cardinality(executions) > 0)
) with (autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_scale_factor = 0);
