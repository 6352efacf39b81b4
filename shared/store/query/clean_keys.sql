with old as (
    select k.namespace, k.key
    from orrery.idempotency_key k
    where k.expires_at < coalesce(@now::timestamptz, now())
    order by k.namespace, k.key
    limit @limit::integer
    for update skip locked
)
delete from orrery.idempotency_key k
using old o
where k.namespace = o.namespace and k.key = o.key
