select s.id::text as id, s.namespace, s.worker, s.language, s.tasks, s.versions, s.registered_at,
       (extract(epoch from coalesce(@now::timestamptz, now()) - s.seen_at) * 1000)::bigint as age,
       (select count(*) from orrery.task t where t.session = s.id and t.state = 'claimed') as in_flight
from orrery.session s
where s.namespace = @namespace::integer
  and s.seen_at >= coalesce(@now::timestamptz, now()) - @session_timeout::bigint * interval '1 millisecond'
order by s.worker, s.id
