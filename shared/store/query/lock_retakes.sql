-- Locks occurrences that are to go on with their executions, and their keys, for retake_keys. Nobody is waited for: whose rows
-- are locked is named by its execution.
with given as (
    select o.id, o.namespace, o.key, g.execution
    from unnest(@executions::bigint[], @occurrences::bigint[]) as g (execution, occurrence)
    join orrery.occurrence o on o.id = g.occurrence
),
held as (
    select o.id
    from orrery.occurrence o
    where o.id in (select id from given)
    order by o.id
    for no key update skip locked
),
keys as (
    select k.namespace, k.key
    from orrery.singleton k
    where (k.namespace, k.key) in (select namespace, key from given where key is not null)
    order by k.namespace, k.key
    for no key update skip locked
)
select orrery.forbid('OR005', 'occurrences or keys are locked', array(
    select g.execution
    from given g
    where g.id not in (select id from held)
       or (g.key is not null and (g.namespace, g.key) not in (select namespace, key from keys))))
