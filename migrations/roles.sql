-- Settings of the role that runs this, in this database. Every process connects with such a role: through a pooler in
-- transaction mode these are the only session settings that a statement can count on.
--
--   idle_in_transaction_session_timeout   a process that freezes between two statements holds its locks no longer
--   statement_timeout                     nor one whose statement hangs
--
-- A deployment that migrates with one role and runs with another sets both for the other by the same statements, and
-- grants it the schema:
--
--   grant usage on schema orrery to app;
--   grant select, insert, update, delete on all tables in schema orrery to app;
--   grant usage, select on all sequences in schema orrery to app;
--   alter default privileges in schema orrery grant select, insert, update, delete on tables to app;
do $$
begin
    execute format('alter role current_user in database %I set idle_in_transaction_session_timeout = %L', current_database(), '2s');
    execute format('alter role current_user in database %I set statement_timeout = %L', current_database(), '10s');
exception when insufficient_privilege then
    raise notice 'the role may not change its own settings; see migrations/roles.sql';
end
$$;
