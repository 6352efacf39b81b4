select h.seq, h.at, h.first_event, h.events
from orrery.execution e
join orrery.history h on h.born = e.born and h.execution = e.id and h.seq <= @from::integer
where e.id = @execution::bigint
order by h.seq desc
limit @limit::integer
