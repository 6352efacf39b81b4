-- What the tasks of contracts take and give.

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
