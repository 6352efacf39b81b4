-- The index node_id refuses the row while another incarnation runs under the id.
insert into orrery.node (id, address, behaviour, started_at, heartbeat_at)
values (@node, @address, @behaviour::integer, coalesce(@now::timestamptz, now()), coalesce(@now::timestamptz, now()))
returning fence, incarnation::text as incarnation, started_at as now
