-- Holds off the end (for redrive: the next beginning) of an execution until the entry is in its inbox.
select e.id
from orrery.execution e
where e.namespace = @namespace::integer and e.name = @name and (e.status = 1) <> @ended and not e.ending
for key share
