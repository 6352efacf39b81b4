with contact as (
    select session, age
    from unnest(@sessions::text[]::uuid[], @ages::bigint[]) as c (session, age)
),
-- Contact is an age: who finds the row locked leaves it, another contact is under way.
known as (
    select s.id, c.age
    from orrery.session s
    join contact c on c.session = s.id and s.seen_at > '-infinity'
    order by s.id
    for no key update of s skip locked
),
touched as (
    update orrery.session s
    set seen_at = greatest(s.seen_at, coalesce(@now::timestamptz, now()) - k.age * interval '1 millisecond')
    from known k
    where s.id = k.id
)
select c.session::text
from contact c
where not exists (select from orrery.session s where s.id = c.session and s.seen_at > '-infinity')
