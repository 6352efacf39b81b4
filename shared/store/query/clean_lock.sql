-- One cleaner works at a time: another one raises.
select orrery.forbid('OR005', 'another cleaner is at work',
    case when pg_try_advisory_xact_lock(20307, 3) then array[]::bigint[] else array[0] end)
