-- Records what a session holds, and answers what it should know. What only a numbered beat may show depends on news. The
-- session and the rows are locked by the statements before.
with listed as (
    select *, execution || '/' || attempt || '/' || offer || '/' || unit as holding
    from unnest(@executions::bigint[], @units::text[], @attempts::integer[], @offers::integer[], @handed::boolean[])
         with ordinality as l (execution, unit, attempt, offer, handed, place)
),
known as (
    select s.id, s.beat < @beat::bigint as news
    from orrery.session s
    where s.id = @session::text::uuid and s.seen_at > '-infinity'
),
mine as (
    select t.execution, t.unit, t.attempt, t.offer, t.state, t.claimed_at, t.missed, t.fence, l.place
    from known k
    join orrery.task t on t.session = k.id and t.state in ('claimed', 'cancelled')
    left join listed l
      on l.execution = t.execution and l.unit = t.unit and l.attempt = t.attempt and l.offer = t.offer
    where k.news
),
-- A claim that is listed was received: it no longer depends on the node that handed it out. One that is not listed, a
-- heartbeat interval after it, is missed for the first time.
seen as (
    update orrery.task t
    set missed = case when m.place is null then @beat::bigint end, fence = case when m.place is null then t.fence end
    from mine m
    where t.execution = m.execution and t.unit = m.unit and t.attempt = m.attempt and t.offer = m.offer and m.state = 'claimed'
      and case
          when m.place is null then m.missed is null
              and m.claimed_at <= coalesce(@now::timestamptz, now()) - @interval::bigint * interval '1 millisecond'
          else m.missed is not null or m.fence is not null
      end
),
-- The worker knows that its work is not wanted.
forgotten as (
    delete from orrery.task t
    using mine m
    where t.execution = m.execution and t.unit = m.unit and t.attempt = m.attempt and t.offer = m.offer
      and m.state = 'cancelled' and m.place is null
),
beaten as (
    update orrery.session s
    set seen_at = coalesce(@now::timestamptz, now()),
        beat = greatest(s.beat, @beat::bigint),
        beat_at = case when k.news then coalesce(@now::timestamptz, now()) else s.beat_at end,
        -- Unchanged lists stay where they are stored.
        held = case
            when k.news and s.held <> array(select holding from listed order by holding)
            then array(select holding from listed order by holding)
            else s.held
        end
    from known k
    where s.id = k.id
)
select
    k.news,
    array(
        select l.place::integer
        from listed l
        join orrery.task t
          on t.execution = l.execution and t.unit = l.unit and t.attempt = l.attempt and t.offer = l.offer
        where t.session = k.id and t.state = 'cancelled'
        order by l.place) as cancelled,
    array(
        select l.place::integer
        from listed l
        left join orrery.task t
          on t.execution = l.execution and t.unit = l.unit and t.attempt = l.attempt and t.offer = l.offer
        where case
            -- The row of a task that was handed over may be owed.
            when t.id is null then
                not l.handed or not exists (select from orrery.execution e where e.id = l.execution and e.status = 1)
            else t.session is distinct from k.id or t.state = 'done'
        end
        order by l.place) as unknown
from known k
