-- Ends the sessions whose commits hold the fence: they are frozen, or their statement hangs.
select count(pg_terminate_backend(l.pid)) as ended
from pg_locks l
where l.locktype = 'advisory' and l.granted
  and l.database = (select oid from pg_database where datname = current_database())
  and l.classid = 20306 and l.objid = @fence::integer and l.objsubid = 2
  and l.pid <> pg_backend_pid()
