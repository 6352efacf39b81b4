select id from orrery.namespace where name = @name
