select c.mac_key, c.behaviour, (select count(*) from orrery.partition) as partitions, coalesce(@now::timestamptz, now()) as now
from orrery.cluster c
