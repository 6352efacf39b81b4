select s.id::text as id, s.namespace, s.worker, s.language, s.tasks, s.versions, s.registered_at,
       (extract(epoch from coalesce(@now::timestamptz, now()) - s.seen_at) * 1000)::bigint as age, 0::bigint as in_flight
from orrery.session s
where s.id = @session::text::uuid and s.seen_at > '-infinity'
