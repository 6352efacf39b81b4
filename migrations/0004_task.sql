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
