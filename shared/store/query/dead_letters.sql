-- One page of the occurrences that wait for a human, by number.
select d.occurrence, s.name as schedule, o.instant, d.tries, d.reason, d.at
from orrery.dead_letter d
join orrery.occurrence o on o.id = d.occurrence
join orrery.schedule s on s.id = d.schedule
where d.namespace = @namespace::integer and d.occurrence > @after_occurrence::bigint
order by d.occurrence
limit @limit::integer
