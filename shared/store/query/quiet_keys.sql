-- Notes that nothing waits for keys, after lock_keys: so nobody makes something wait meanwhile.
update orrery.singleton k
set wanted = false
from unnest(@namespaces::integer[], @keys::text[]) as g (namespace, key)
where k.namespace = g.namespace and k.key = g.key and k.wanted
  and not exists (
      select
      from orrery.occurrence o
      join orrery.schedule s on s.id = o.schedule and (s.state <> 'paused' or o.trigger <> 'cron')
      where o.namespace = k.namespace and o.key = k.key and o.status = 'pending' and o.buffered)
