-- Has a schedule's key looked at: what waits for it may go on.
update orrery.singleton k
set wanted = true
where k.namespace = @namespace::integer and k.key = @key and not k.wanted
