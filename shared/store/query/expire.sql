-- Removes executions that ended longer ago than their namespace keeps them, with all that is about them; their history goes
-- with its day, or here when it was moved. It walks by number, a window at a time: an index by end would cost every
-- execution more than the walk does.
with span as (
    select e.id
    from orrery.execution e
    where e.id > @after::bigint
    order by e.id
    limit @window::integer
),
old as (
    select e.id, e.born
    from orrery.execution e
    join span s on s.id = e.id
    join orrery.namespace n on n.id = e.namespace
    where e.status <> 1 and e.ended_at < coalesce(@now::timestamptz, now()) - n.retention_days * interval '1 day'
    order by e.id
    for update of e skip locked
),
removed as (
    delete from orrery.execution e using old o where e.id = o.id
    returning e.id
),
tasks as (
    delete from orrery.task t using old o where t.execution = o.id
),
entries as (
    delete from orrery.inbox i using old o where i.execution = o.id
),
attributes as (
    delete from orrery.attribute a using old o where a.execution = o.id
),
blocks as (
    delete from orrery.blocked b using old o where b.execution = o.id
),
turns as (
    delete from orrery.history h using old o where h.execution = o.id and h.born = 'infinity' and o.born = 'infinity'
),
states as (
    delete from orrery.snapshot s using old o where s.execution = o.id and s.born = 'infinity' and o.born = 'infinity'
)
select coalesce((select max(id) from span), 0) as last, (select count(*) from span) = @window::integer as more,
       (select count(*) from removed) as removed
