select h.execution, h.seq, h.at, h.first_event, h.events
from orrery.execution e
left join lateral (
    select s.seq
    from orrery.snapshot s
    where @snapshots and s.born = e.born and s.execution = e.id
    order by s.seq desc
    limit 1) s on true
join orrery.history h on h.born = e.born and h.execution = e.id and h.seq > coalesce(s.seq, 0)
where e.id = any (@executions::bigint[])
order by h.execution, h.seq
