-- Names that stand for versions of workflows.

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
