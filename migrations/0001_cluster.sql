-- The cluster: its settings, the nodes, and who owns which partition.

create schema if not exists orrery;

-- One row: what is fixed when the database is initialised.
create table orrery.cluster (
    one            boolean primary key default true check (one),
    mac_key        bytea not null check (length(mac_key) = 32),  -- signs task tokens
    behaviour      integer not null default 1 check (behaviour >= 1),
    initialised_at timestamptz not null default now()
);

-- Counters that grow with every change of what they name, so that a look at one row tells whether to read the rest.
-- They are raised last in a transaction.
create table orrery.generation (
    name  text primary key check (name in ('owners', 'definitions')),
    value bigint not null default 1
);

insert into orrery.generation (name) values ('owners'), ('definitions');

-- One row per incarnation of a node. Its fence number names it in locks and in other tables; the database hands out
-- each number once. The heartbeat is the only column that is written often, and is in no index.
create table orrery.node (
    fence        integer generated always as identity primary key,
    id           text not null check (length(id) between 1 and 128),
    incarnation  uuid not null default gen_random_uuid(),
    address      text not null check (length(address) <= 512),
    behaviour    integer not null check (behaviour >= 1),
    started_at   timestamptz not null,
    heartbeat_at timestamptz not null,
    -- fenced: others have taken its partitions, or may; left: it stopped cleanly. Neither commits again.
    ended        text check (ended in ('fenced', 'left')),
    ended_at     timestamptz,
    constraint node_end check ((ended is null) = (ended_at is null))
) with (fillfactor = 50, autovacuum_vacuum_threshold = 200, autovacuum_vacuum_scale_factor = 0);

-- Only one incarnation runs under an id.
create unique index node_id on orrery.node (id) where ended is null;

-- The parts over which executions are spread. Their number never changes. The epoch counts the changes of owner.
create table orrery.partition (
    id         smallint primary key check (id >= 0),
    epoch      bigint not null default 0 check (epoch >= 0),
    fence      integer references orrery.node (fence),
    changed_at timestamptz not null default now(),
    constraint partition_owner check (fence is null or epoch > 0)
) with (fillfactor = 50);

-- Checks raise, because COMMIT travels in the same pipeline as the statement that it checks: a result of no rows would not
-- stop it. The detail of the error names who is at fault, so that the rest of a batch is sent again without them.
--
--   OR001  the incarnation is fenced or gone
--   OR002  partitions have another epoch          detail: their numbers
--   OR003  executions or their inboxes changed    detail: numbers of executions
--   OR004  something durable comes first          detail: numbers of executions
--   OR005  rows are locked by others              detail: numbers of executions

create function orrery.forbid(code text, complaint text, culprits bigint[]) returns void
language plpgsql as $$
begin
    if cardinality(culprits) > 0 then
        raise exception using errcode = code, message = complaint,
            detail = (select string_agg(distinct c::text, ',') from unnest(culprits) as c);
    end if;
end
$$;

create function orrery.expect(code text, complaint text, wanted bigint[], got bigint[]) returns void
language plpgsql as $$
begin
    if cardinality(wanted) is distinct from cardinality(got) then
        perform orrery.forbid(code, complaint, array(select unnest(wanted) except all select unnest(got)));
    end if;
end
$$;

-- Raises unless the incarnation may commit under the given epochs (I1). It stands in a statement of its own after the one
-- that locks the fence, so that it sees what was committed while that waited.
create function orrery.check_fence(own integer, partitions smallint[], epochs bigint[]) returns void
language plpgsql as $$
declare
    lost smallint[];
begin
    if not exists (select from orrery.node n where n.fence = own and n.ended is null) then
        raise exception using errcode = 'OR001', message = 'this incarnation is fenced or gone';
    end if;
    lost := array(
        select w.id
        from unnest(partitions, epochs) as w (id, epoch)
        left join orrery.partition p on p.id = w.id
        where p.fence is distinct from own or p.epoch <> w.epoch);
    if cardinality(lost) > 0 then
        raise exception using errcode = 'OR002', message = 'partitions have another epoch',
            detail = array_to_string(lost, ',');
    end if;
end
$$;
