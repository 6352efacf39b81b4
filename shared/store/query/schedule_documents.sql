-- The newest definitions of schedules.
select s.id, s.version, s.name, s.namespace, d.document
from orrery.schedule s
join orrery.schedule_document d on d.schedule = s.id and d.version = s.version
where s.id = any (@schedules::bigint[])
