-- Which of the instants have an occurrence.
select o.instant
from unnest(@instants::timestamptz[]) as i (instant)
join orrery.occurrence o
  on o.schedule = @schedule::bigint and o.instant = i.instant and o.trigger <> 'manual' and o.status <> 'skipped_misfire'
order by o.instant
