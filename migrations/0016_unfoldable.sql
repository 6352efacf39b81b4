-- Executions that one incarnation of a node cannot serve, because a newer version has written to them, wait for another one.

alter table orrery.blocked add column fence integer;   -- for whom alone it is blocked; null for everybody
