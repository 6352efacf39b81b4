-- Gives partitions away under the own fence held exclusively, so that no commit under the old epoch is under way.
with wanted as (
    select *
    from unnest(@partitions::smallint[], @owners::integer[]) as w (partition, fence)
),
owned as (
    select p.id, w.fence
    from orrery.partition p
    join wanted w on w.partition = p.id
    join orrery.node n on n.fence = w.fence and n.ended is null
    where p.fence = @by::integer and w.fence <> @by::integer
    order by p.id
    for no key update of p
),
given as (
    update orrery.partition p
    set fence = o.fence, epoch = p.epoch + 1, changed_at = coalesce(@now::timestamptz, now())
    from owned o
    where p.id = o.id
    returning p.id, p.fence
),
-- What is owed in the partitions goes with them.
inherited as (
    insert into orrery.debt (fence, origin, inherited, executions)
    select g.fence, d.origin, true, array_agg(distinct e.id)
    from orrery.debt d
    cross join unnest(d.executions) as x (id)
    join orrery.execution e on e.id = x.id and e.status = 1
    join given g on g.id = e.partition
    where d.fence = @by::integer
    group by g.fence, d.origin
),
counted as (
    update orrery.generation
    set value = value + 1
    where name = 'owners' and exists (select from given)
)
select id from given order by id
