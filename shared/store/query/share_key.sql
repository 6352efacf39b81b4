-- Makes a schedule's key, or changes its slots, after the statement that writes the schedule. Raises where schedules share it
-- that say another number of slots.
with made as (
    insert into orrery.singleton as k (namespace, key, slots)
    values (@namespace, @key, @slots)
    on conflict (namespace, key) do update
    set slots = excluded.slots
    where k.slots <> excluded.slots
      and not exists (
          select
          from orrery.schedule s
          where s.namespace = @namespace::integer and s.key = @key and s.state <> 'archived' and s.name <> @name)
    returning k.slots
)
select orrery.forbid('OR011', 'the key has another number of slots', array(
    select k.slots::bigint
    from orrery.singleton k
    where k.namespace = @namespace::integer and k.key = @key and k.slots <> @slots::smallint and not exists (select from made)))
