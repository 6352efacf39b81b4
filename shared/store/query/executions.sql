-- One page of the list, newest first. It reads a bounded window of rows whatever the filter, and says where the next begins.
with window_of_rows as (
    select *
    from orrery.execution e
    where e.id < @before::bigint
    order by e.id desc
    limit @window::integer
),
wanted as (
    select w.*
    from window_of_rows w
    where w.namespace = @namespace::integer
      and (@status::smallint = 0 or w.status = @status::smallint)
      and (@workflow = '' or w.definition in (
          select d.id
          from orrery.definition d
          where d.namespace = @namespace::integer and d.name = @workflow
            and (@version::integer = 0 or d.version = @version::integer)))
      and (@started_after::timestamptz is null or w.started_at > @started_after::timestamptz)
      and (@started_before::timestamptz is null or w.started_at < @started_before::timestamptz)
    order by w.id desc
    limit @limit::integer
),
extent as (
    select coalesce(min(id), 0) as lowest, count(*) = @window::integer as full
    from window_of_rows
)
select x.lowest, x.full, coalesce(e.id, 0) as id, coalesce(e.namespace, 0) as namespace, coalesce(e.name, '') as name,
       coalesce(e.definition, 0) as definition, coalesce(d.name, '') as workflow, coalesce(d.version, 0) as version,
       coalesce(d.hash, '') as hash, e.input_hash, coalesce(e.trace, '') as trace, coalesce(e.partition, 0::smallint) as partition,
       coalesce(e.status, 0::smallint) as status, coalesce(e.last_seq, 0) as seq, e.wake_at, e.started_at, e.ended_at,
       coalesce(b.reason, '') as blocked
from extent x
left join (
    wanted e
    join orrery.definition d on d.id = e.definition
    left join orrery.blocked b on b.execution = e.id) on true
order by e.id desc
