-- By what executions are found, besides their names.

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
