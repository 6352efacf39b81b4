-- Waits until no commit of the incarnation is under way, and holds off the next.
select set_config('lock_timeout', @lock_timeout, true), pg_advisory_xact_lock(20306, @fence::integer)
