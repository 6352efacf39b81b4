insert into orrery.session (namespace, worker, language, tasks, versions, registered_at, seen_at)
values (@namespace::integer, @worker, @language, @tasks::text[], @versions::integer[],
        coalesce(@now::timestamptz, now()), coalesce(@now::timestamptz, now()))
returning id::text as id, registered_at
