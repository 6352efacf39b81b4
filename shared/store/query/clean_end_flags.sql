delete from orrery.end_flag where raised_at < coalesce(@now::timestamptz, now()) - interval '5 minutes'
