-- Claims for many polls at once. Polls with the same contracts, namespace and language are one group, whose rows are dealt
-- round robin to its polls: a slot is one row for one poll. Each queue is a range scan of its own, so a backlog of others
-- costs nothing, and begins at a low-water key, so dead rows cost nothing either. Rows are locked best first and only as
-- many as are wanted: what other claimers hold is passed over. It locks no execution (I12).
with poll as (
    select *
    from unnest(@polls::text[], @sessions::text[]::uuid[], @recalls::boolean[], @maxes::integer[]) with ordinality
         as p (poll, session, recall, most, place)
),
-- What an earlier try of the same poll has claimed: the answer to that may have been lost. No more than this try asks for: what
-- is left over comes back by the heartbeats. The limit keeps the planner from beginning with all rows that anybody holds.
recalled as (
    select p.place, t.execution, t.unit, t.attempt, t.offer
    from poll p
    cross join lateral (
        select *
        from orrery.task t
        where t.session = p.session and t.state = 'claimed' and t.poll = p.poll
          and t.claimed_at > coalesce(@now::timestamptz, now()) - interval '1 minute'
        order by t.rank, t.id
        limit p.most) t
    where p.recall
),
-- A group wants so many rows, for its slots in the list of all.
want as (
    select *
    from unnest(@want_groups::integer[], @want_rows::integer[], @first_slots::integer[]) as w (grp, rows, first_slot)
),
look as (
    select l.*, w.rows
    from unnest(@look_groups::integer[], @namespaces::integer[], @tasks::text[], @versions::integer[], @languages::text[],
                @from_ranks::smallint[], @from_ids::bigint[], @last_ranks::smallint[])
         as l (grp, namespace, task, version, language, from_rank, from_id, last_rank)
    join want w on w.grp = l.grp
),
-- More than wanted, because other claimers may hold some.
seen as materialized (
    select l.grp, t.*
    from look l
    cross join lateral (
        select t.execution, t.unit, t.attempt, t.offer, t.rank, t.id
        from orrery.task t
        where t.state = 'queued' and t.namespace = l.namespace and t.task = l.task and t.version = l.version
          and t.language = l.language
          and (t.rank, t.id) >= (l.from_rank, l.from_id) and t.rank <= l.last_rank
        order by t.rank, t.id
        limit l.rows + 32) t
),
-- One by one in their order, until there are enough. (What is neither claimed nor reported is queued; said this way, the
-- planner cannot take the queue's index for the primary key.)
held as (
    select w.grp, w.first_slot, h.*
    from want w
    cross join lateral (
        select t.*
        from (select * from seen s where s.grp = w.grp order by s.rank, s.id) s
        cross join lateral (
            select t.execution, t.unit, t.attempt, t.offer, t.rank, t.id
            from orrery.task t
            where t.execution = s.execution and t.unit = s.unit and t.attempt = s.attempt and t.offer = s.offer
              and t.claimed_at is null and t.report is null
            for update skip locked) t
        limit w.rows) h
),
-- Two groups may look at one queue: a row goes to one of them, and to the poll of the group's next slot.
got as (
    select g.*, (@slot_polls::integer[])[g.first_slot + row_number() over (partition by g.grp order by g.rank, g.id)] as place
    from (select distinct on (id) * from held order by id, grp) g
),
claimed as (
    update orrery.task t
    set state = 'claimed', claimed_at = coalesce(@now::timestamptz, now()), fence = nullif(@fence::integer, 0),
        session = (@sessions::text[])[g.place]::uuid, worker = (@workers::text[])[g.place], poll = (@polls::text[])[g.place]
    from got g
    where t.execution = g.execution and t.unit = g.unit and t.attempt = g.attempt and t.offer = g.offer
      and g.place <> all (array(select place from recalled))
    returning g.place, t.*
),
answer as (
    select * from claimed
    union all
    select r.place, t.*
    from recalled r
    join orrery.task t
      on t.execution = r.execution and t.unit = r.unit and t.attempt = r.attempt and t.offer = r.offer
),
total as (
    select coalesce(@now::timestamptz, now()) as now, (select count(*) from seen) > (select count(*) from got) as more
)
select
    n.now, n.more, coalesce(a.place, 0) as place, a.id, a.partition, a.execution, e.name, d.name as workflow,
    d.version as workflow_version, e.trace, e.fencing_token, a.unit, a.attempt, a.offer, a.task, a.version, a.input,
    a.idempotency_key, a.redelivery, a.timeout_ms, a.heartbeat_ms, a.session::text as session, a.worker, a.poll, a.claimed_at,
    coalesce(a.turn, 0) as turn
from total n
left join (
    answer a
    join orrery.execution e on e.id = a.execution
    join orrery.definition d on d.id = e.definition) on true
order by a.place, a.rank, a.id
