-- Executions with their owners and newest snapshots. load_turns is read in the same snapshot of the database.
select e.id, e.namespace, e.name, e.definition, d.name as workflow, d.version, d.hash, e.input_hash, coalesce(e.trace, '') as trace,
       e.partition, e.status, e.last_seq as seq, e.wake_at, e.started_at, e.ended_at, coalesce(case when coalesce(b.fence, p.fence) is not distinct from p.fence then b.reason end, '') as blocked,
       coalesce(b.fence, 0) as blocked_by,
       p.epoch, coalesce(p.fence, 0) as fence, coalesce(s.seq, 0) as snapshot_seq, s.state
from orrery.execution e
join orrery.partition p on p.id = e.partition
join orrery.definition d on d.id = e.definition
left join orrery.blocked b on b.execution = e.id
left join lateral (
    select s.seq, s.state
    from orrery.snapshot s
    where @snapshots and s.born = e.born and s.execution = e.id
    order by s.seq desc
    limit 1) s on true
where e.id = any (@executions::bigint[])
order by e.id
