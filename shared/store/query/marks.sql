-- What is first in each range of the queues after a claim, and the highest number given out: where the next claim may begin.
select r.place, coalesce(t.rank, 0) as rank, coalesce(t.id, 0) as id, coalesce(@now::timestamptz, now()) as now,
       (select last_value from orrery.task_id_seq) as horizon
from unnest(@namespaces::integer[], @tasks::text[], @versions::integer[], @languages::text[],
            @from_ranks::smallint[], @from_ids::bigint[], @last_ranks::smallint[]) with ordinality
     as r (namespace, task, version, language, from_rank, from_id, last_rank, place)
left join lateral (
    select t.rank, t.id
    from orrery.task t
    where t.state = 'queued' and t.namespace = r.namespace and t.task = r.task and t.version = r.version
      and t.language = r.language
      and (t.rank, t.id) >= (r.from_rank, r.from_id) and t.rank <= r.last_rank
    order by t.rank, t.id
    limit 1) t on true
order by r.place
