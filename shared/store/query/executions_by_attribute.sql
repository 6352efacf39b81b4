-- The list of executions that have attributes: like executions.sql, over those that have the first.
with window_of_rows as (
    select e.*
    from (
        select a.execution
        from orrery.attribute a
        where a.namespace = @namespace::integer and a.name = (@names::text[])[1] and a.value = (@values::text[])[1]
          and a.execution < @before::bigint
        order by a.execution desc
        limit @window::integer) a
    join orrery.execution e on e.id = a.execution
),
wanted as (
    select w.*
    from window_of_rows w
    where w.namespace = @namespace::integer
      and not exists (
          select from unnest(@names::text[], @values::text[]) as n (name, value)
          where not exists (
              select from orrery.attribute a
              where a.execution = w.id and a.name = n.name and a.value = n.value))
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
