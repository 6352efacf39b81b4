-- Executions that start others: what a child's end tells its parent, and what a parent that does not wait any more tells
-- the child.

-- How and when the child ended; and a cancel that nobody waits for, sent by a parent.
alter table orrery.inbox
    add column ended_at timestamptz,
    add column status smallint,
    drop constraint inbox_awaited,
    add constraint inbox_awaited check (awaited = (kind in ('signal', 'cancel', 'resolve', 'redrive')) or kind = 'cancel'),
    add constraint inbox_child check (
        (kind = 'child_ended') = (status is not null) and (status is null) = (ended_at is null)
        and (kind <> 'child_ended' or (unit is not null and attempt is not null)));

-- Published under the rules of the reference service alone.
alter table orrery.definition add column strict boolean not null default false;
