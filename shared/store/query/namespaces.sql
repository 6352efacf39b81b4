select name from orrery.namespace order by name
