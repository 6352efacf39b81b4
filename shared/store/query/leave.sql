update orrery.node
set ended = 'left', ended_at = coalesce(@now::timestamptz, now())
where fence = @fence::integer and ended is null
