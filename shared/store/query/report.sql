-- Reports of workers, after lock_running and lock_attempts. The first complete or fail of an attempt, by any of its tokens, marks the attempt's rows done in
-- the transaction of its entry: every withdrawal meets them there, and no other report is the first (I6). An attempt without
-- a row was handed over by its owner, who owes the row. It is open where no turn has followed the one that the reporter
-- knows to have left it open; then the row is written here, as done.
with given as (
    select *
    from unnest(@executions::bigint[], @units::text[], @attempts::integer[], @offers::integer[], @kinds::text[],
                @sessions::text[], @workers::text[], @outputs::text[], @reasons::text[], @errors::text[], @causes::text[],
                @details::text[], @finals::boolean[], @requests::text[], @open_ats::integer[]) with ordinality
         as g (execution, unit, attempt, offer, kind, session, worker, output, reason, error, cause, details, final, request,
               open_at, place)
),
-- Locked by the statement before, so nobody is waited for; one that it did not lock is about to end.
running as (
    select e.id, e.partition, e.namespace, e.last_seq
    from orrery.execution e
    where e.id = any (@executions::bigint[]) and e.status = 1 and not e.ending
    order by e.id
    for key share skip locked
),
first as (
    select distinct on (execution, unit, attempt) *
    from given
    order by execution, unit, attempt, place
),
held as (
    select t.execution, t.unit, t.attempt, t.offer, t.state, t.claimed_at, t.report
    from first f
    join running r on r.id = f.execution
    join orrery.task t on t.execution = f.execution and t.unit = f.unit and t.attempt = f.attempt
),
attempt as (
    select execution, unit, attempt, bool_or(state in ('queued', 'claimed', 'lost')) and not bool_or(state = 'done') as open
    from held
    group by execution, unit, attempt
),
bare as (
    select f.*, r.partition, r.namespace, r.last_seq = f.open_at as open
    from first f
    join running r on r.id = f.execution
    where f.open_at > 0 and (f.execution, f.unit, f.attempt) not in (select execution, unit, attempt from attempt)
),
placed as (
    insert into orrery.task (
        execution, namespace, partition, unit, attempt, offer, task, version, idempotency_key, input, state, report)
    select execution, namespace, partition, unit, attempt, offer, '', 0, '', '', 'done', nextval('orrery.inbox_id_seq')
    from bare
    where open and kind <> 'uncertain'
    order by execution, unit, attempt, offer
    on conflict (execution, unit, attempt, offer) do nothing
    returning execution, unit, attempt, report
),
accepted as (
    select f.*, r.partition, h.claimed_at, nextval('orrery.inbox_id_seq') as entry
    from first f
    join running r on r.id = f.execution
    join attempt a on a.execution = f.execution and a.unit = f.unit and a.attempt = f.attempt and a.open
    left join held h on h.execution = f.execution and h.unit = f.unit and h.attempt = f.attempt and h.offer = f.offer
    where f.kind <> 'uncertain' or h.state = 'claimed'
    union all
    select f.*, b.partition, null, coalesce(p.report, nextval('orrery.inbox_id_seq'))
    from first f
    join bare b on b.place = f.place and b.open
    left join placed p on p.execution = f.execution and p.unit = f.unit and p.attempt = f.attempt
    where f.kind = 'uncertain' or p.report is not null
),
entered as (
    insert into orrery.inbox (
        id, execution, partition, kind, awaited, unit, attempt, offer, session, worker, claimed_at, output, reason, error, cause,
        details, final, request)
    select entry, execution, partition, kind::orrery.entry_kind, false, unit, attempt, offer, session::uuid, worker, claimed_at,
           output, reason, error, cause, details, final, request
    from accepted
    order by place
    returning id, execution, unit, attempt, kind
),
marked as (
    update orrery.task t
    set state = 'done', report = n.id
    from held h
    join entered n on n.execution = h.execution and n.unit = h.unit and n.attempt = h.attempt and n.kind <> 'uncertain'
    where t.execution = h.execution and t.unit = h.unit and t.attempt = h.attempt and t.offer = h.offer
      and h.state in ('queued', 'claimed', 'lost')
)
select
    case
        when a.place is not null then 'accepted'
        when e.id is null or e.status <> 1 then 'stale'
        when r.id is null then 'retry'
        -- The same token has reported before: in this call, or in the entry that made its row done.
        when f.offer = g.offer and f.place < g.place and f.place in (select place from accepted) then 'duplicate'
        when i.offer = g.offer and i.kind::text = g.kind and i.session is not distinct from g.session::uuid then 'duplicate'
        -- Other turns have followed, or the owner has just written the row.
        when f.place in (select place from bare) and f.place not in (select place from accepted) then 'unclear'
        else 'stale'
    end as outcome
from given g
join first f on f.execution = g.execution and f.unit = g.unit and f.attempt = g.attempt
left join accepted a on a.place = g.place
left join orrery.execution e on e.id = g.execution
left join running r on r.id = g.execution
left join held h on h.execution = g.execution and h.unit = g.unit and h.attempt = g.attempt and h.offer = g.offer
left join orrery.inbox i on i.execution = h.execution and i.id = h.report
order by g.place
