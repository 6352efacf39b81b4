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

-- The turn that handed a task over, which its token names; null for one that was claimed.
alter table orrery.task add column turn integer check (turn >= 1);
