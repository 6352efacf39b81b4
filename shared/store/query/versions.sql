select d.version
from orrery.definition d
where d.namespace = @namespace::integer and d.name = @name
order by d.version desc
