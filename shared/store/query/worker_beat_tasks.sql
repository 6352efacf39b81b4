-- Locks the rows that a heartbeat may change: not those that are listed as before.
with listed as (
    select *
    from unnest(@executions::bigint[], @units::text[], @attempts::integer[], @offers::integer[], @details::text[])
         as l (execution, unit, attempt, offer, details)
)
select t.id
from orrery.task t
left join listed l
  on l.execution = t.execution and l.unit = t.unit and l.attempt = t.attempt and l.offer = t.offer
where t.session = @session::text::uuid and t.state in ('claimed', 'cancelled')
  and (l.execution is null or l.details is not null or t.missed is not null or t.fence is not null)
order by t.id
for update of t
