-- Raises the cluster's level of decisions to what all nodes can make that have not ended. It never falls.
update orrery.cluster c
set behaviour = l.level
from (select min(n.behaviour) as level from orrery.node n where n.ended is null) l
where l.level > c.behaviour
