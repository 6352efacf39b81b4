-- Takes what the dead incarnation still owns, under its fence held exclusively. It is dead when it has ended, or when its
-- heartbeat is still older than the node timeout.
with dead as (
    update orrery.node n
    set ended = coalesce(n.ended, 'fenced'), ended_at = coalesce(n.ended_at, coalesce(@now::timestamptz, now()))
    where n.fence = @from::integer
      and (n.ended is not null
           or n.heartbeat_at <= coalesce(@now::timestamptz, now()) - @timeout::bigint * interval '1 millisecond')
    returning n.fence
),
owned as (
    select p.id
    from orrery.partition p
    where p.id = any (@partitions::smallint[])
      and case when @from::integer = 0 then p.fence is null else p.fence = (select fence from dead) end
    order by p.id
    for no key update
),
taken as (
    update orrery.partition p
    set fence = @by::integer, epoch = p.epoch + 1, changed_at = coalesce(@now::timestamptz, now())
    from owned o
    where p.id = o.id
    returning p.id, p.epoch
),
-- What is owed in the partitions goes with them.
inherited as (
    insert into orrery.debt (fence, origin, inherited, executions)
    select @by::integer, d.origin, true, array_agg(distinct e.id)
    from orrery.debt d
    cross join unnest(d.executions) as x (id)
    join orrery.execution e on e.id = x.id and e.status = 1
    join taken t on t.id = e.partition
    where d.fence = @from::integer
    group by d.origin
),
counted as (
    update orrery.generation
    set value = value + 1
    where name = 'owners' and exists (select from taken)
)
select id, epoch from taken order by id
