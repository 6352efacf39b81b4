-- The owner can serve what another incarnation could not: the check of its fence has come before.
delete from orrery.blocked b
where b.execution = @execution::bigint and b.fence is not null
