-- Lets occurrences go on whose executions go on after their end: each takes a slot of its key again, after lock_retakes, and
-- keeps the token of its start, so that what a later run has written stays protected from it. Raises for those whose keys are
-- held, and for occurrences that were tried again or are not kept any more.
with mine as (
    select o.id, o.namespace, o.key, o.claim, g.execution
    from unnest(@executions::bigint[], @occurrences::bigint[]) as g (execution, occurrence)
    join orrery.occurrence o
      on o.id = g.occurrence and o.execution = g.execution and o.status in ('failed', 'cancelled')
),
asked as (
    select m.id, m.namespace, m.key, row_number() over (partition by m.namespace, m.key order by m.id) as nth
    from mine m
    where m.key is not null
),
free as (
    select k.namespace, k.key, i as slot, row_number() over (partition by k.namespace, k.key order by i) as nth
    from orrery.singleton k
    cross join lateral generate_series(1, k.slots) i
    where (k.namespace, k.key) in (select namespace, key from asked)
      and not exists (
          select from orrery.occurrence o where o.namespace = k.namespace and o.key = k.key and o.slot = i)
),
going as (
    select m.id, m.namespace, m.key, m.claim, m.execution, f.slot
    from mine m
    left join asked a on a.id = m.id
    left join free f on f.namespace = a.namespace and f.key = a.key and f.nth = a.nth
    where m.key is null or f.slot is not null
),
moved as (
    update orrery.occurrence o
    set status = 'running', slot = g.slot, claimant = 'redrive', ended_at = null, expires_at = null, reason = null
    from going g
    where o.id = g.id
),
opened as (
    update orrery.trace t
    set status = 'running', ended_at = null, error = null, result = null
    from going g
    where t.occurrence = g.id and t.claim = g.claim
),
counted as (
    update orrery.singleton k
    set held = k.held + g.slots
    from (select namespace, key, count(*) as slots from going where key is not null group by namespace, key) g
    where k.namespace = g.namespace and k.key = g.key
),
answered as (
    delete from orrery.dead_letter d
    using going g
    where d.occurrence = g.id
)
select orrery.forbid('OR012', 'occurrences cannot go on with their executions', array(
    select g.execution
    from unnest(@executions::bigint[]) as g (execution)
    where g.execution not in (select execution from going)))
