-- Locks the fence for a commit. The check comes in a statement after this one: its snapshot is younger than the lock.
select set_config('lock_timeout', @lock_timeout, true), pg_advisory_xact_lock_shared(20306, @fence::integer)
