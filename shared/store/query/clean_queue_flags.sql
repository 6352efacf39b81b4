delete from orrery.queue_flag where raised_at < coalesce(@now::timestamptz, now()) - interval '5 minutes'
