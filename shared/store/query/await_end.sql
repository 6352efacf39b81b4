insert into orrery.end_flag as f (execution, fence, raised_at)
values (@execution::bigint, @fence::integer, coalesce(@now::timestamptz, now()))
on conflict (execution, fence) do update set raised_at = excluded.raised_at
