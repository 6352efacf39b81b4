-- What incarnations owed that own nothing any more: others have inherited it.
with old as (
    select d.id
    from orrery.debt d
    where not exists (select from orrery.partition p where p.fence = d.fence)
    order by d.id
    limit @limit::integer
    for update skip locked
)
delete from orrery.debt d
using old o
where d.id = o.id
