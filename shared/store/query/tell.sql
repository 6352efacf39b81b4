-- Tells parents that their children have ended. A parent that has ended too hears nothing; one that is about to end, or is
-- locked because it does, takes the child with it into the next batch.
with given as (
    select *
    from unnest(@culprits::bigint[], @parents::bigint[], @units::text[], @attempts::integer[], @statuses::smallint[],
                @ats::timestamptz[], @outputs::text[], @errors::text[], @causes::text[])
         as g (culprit, parent, unit, attempt, status, ended_at, output, error, cause)
),
running as (
    select e.id
    from orrery.execution e
    where e.id = any (@parents::bigint[]) and e.status = 1
),
held as (
    select e.id, e.partition
    from orrery.execution e
    where e.id = any (@parents::bigint[]) and e.status = 1 and not e.ending
    order by e.id
    for key share skip locked
),
entered as (
    insert into orrery.inbox (execution, partition, kind, awaited, unit, attempt, status, ended_at, output, error, cause)
    select h.id, h.partition, 'child_ended', false, g.unit, g.attempt, g.status, g.ended_at, g.output, g.error, g.cause
    from given g
    join held h on h.id = g.parent
)
select orrery.forbid('OR005', 'parents are locked', array(
    select culprit from given where parent in (select id from running except select id from held)))
