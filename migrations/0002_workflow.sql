-- Namespaces, and the workflows published in them.

create table orrery.namespace (
    id         integer generated always as identity primary key,
    name       text not null unique check (length(name) between 1 and 128),
    created_at timestamptz not null default now()
);

insert into orrery.namespace (name) values ('default');

-- One row per version, never changed. Executions name their version by its number.
create table orrery.definition (
    id           bigint generated always as identity primary key,
    namespace    integer not null references orrery.namespace (id),
    name         text not null check (length(name) between 1 and 256),
    version      integer not null check (version >= 1),
    hash         text not null check (length(hash) = 64),  -- SHA-256 of the document, hexadecimal
    document     text not null,                            -- normalised JSON
    published_at timestamptz not null default now(),
    unique (namespace, name, version)
);
