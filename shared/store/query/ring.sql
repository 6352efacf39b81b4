-- Notifies who waits. It follows the COMMIT that it tells of: inside that transaction NOTIFY would hold a database-wide lock
-- through its flush, and a flag raised meanwhile would be overlooked.
with queues as (
    select *
    from unnest(@tasks::text[], @versions::integer[]) as q (task, version)
),
owners as (
    select distinct p.fence
    from orrery.partition p
    join orrery.node n on n.fence = p.fence and n.ended is null
    where p.id = any (@partitions::smallint[])
       or p.id in (select e.partition from orrery.execution e where e.id = any (@executions::bigint[]))
),
bells as (
    select distinct 'orrery_tasks' as channel, f.fence, '' as about
    from queues q
    join orrery.queue_flag f on f.task = q.task and f.version = q.version
    where f.raised_at > coalesce(@now::timestamptz, now()) - interval '1 minute'
    union all
    select 'orrery_inbox', fence, ''
    from owners
    union all
    select 'orrery_done', f.fence, f.execution::text
    from orrery.end_flag f
    where f.execution = any (@ended::bigint[]) and f.raised_at > coalesce(@now::timestamptz, now()) - interval '1 minute'
    union all
    select 'orrery_done', i.waiter, i.execution || ' ' || i.id
    from unnest(@reply_executions::bigint[], @reply_entries::bigint[]) as r (execution, id)
    join orrery.inbox i on i.execution = r.execution and i.id = r.id
    where i.waiter is not null
    union all
    select 'orrery_definitions', n.fence, ''
    from orrery.node n
    where @definitions and n.ended is null
    union all
    select 'orrery_schedules', n.fence, ''
    from orrery.node n
    where @schedules and n.ended is null
)
select pg_notify(channel, fence || ' ' || about)
from bells
where fence <> @fence::integer
