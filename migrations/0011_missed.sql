-- Occurrences that came too late for their start wait for somebody as those do whose tries are used up: with no try.
alter table orrery.dead_letter
    drop constraint dead_letter_tries_check,
    add constraint dead_letter_tries check (tries >= 0);
