-- Locks claimed occurrences, and raises for those that are not under the caller's claim any more, or whose schedule is archived.
with held as (
    select o.id, o.schedule
    from unnest(@occurrences::bigint[], @claims::integer[]) as g (occurrence, claim)
    join orrery.occurrence o on o.id = g.occurrence and o.claim = g.claim and o.status in ('claimed', 'running')
    order by o.id
    for no key update of o
)
select
    orrery.expect('OR006', 'occurrences are claimed by others', @occurrences::bigint[], array(select id from held)),
    orrery.forbid('OR009', 'schedules are archived', array(
        select h.id
        from held h
        join orrery.schedule s on s.id = h.schedule
        where s.state = 'archived'))
