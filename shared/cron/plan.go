package cron

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/orrery-dev/orrery/shared/history"
	"github.com/orrery-dev/orrery/shared/schedule"
	"github.com/orrery-dev/orrery/shared/store"
)

const (
	// duesAtOnce bounds the schedules that one look gives.
	duesAtOnce = 500
	// rowsAtOnce bounds the occurrences that one plan makes, and planRows those of one write. What is left comes with the next
	// look.
	rowsAtOnce = 200
	planRows   = 2000
	// daysAhead is how many days' partitions of history are made ahead.
	daysAhead = 4
)

// plan plans the schedules that are due, and returns how many plans were written. Those that were not are somebody else's.
func (r *Runner) plan(ctx context.Context, due store.Due) (int, error) {
	list := make([]wanted, len(due.Schedules))
	for i, s := range due.Schedules {
		list[i] = wanted{s.ID, s.Version}
	}
	known, err := r.definitions.get(ctx, list)
	if err != nil {
		return 0, err
	}
	var plans []store.Planned
	rows, written := 0, 0
	flush := func() error {
		won, err := r.store.Plan(ctx, plans)
		written += len(won)
		r.health.misfired(skippedBy(plans, won))
		plans, rows = plans[:0], 0
		return err
	}
	for _, s := range due.Schedules {
		k := known[s.ID]
		switch {
		case k.err != nil:
			r.health.unreadable(k.err)
			continue
		case k.version != s.Version:
			continue // it was changed after the look
		}
		p := planned(k.definition, s, due.Now)
		plans = append(plans, p)
		if rows += 1 + len(p.Plan.Occurrences); rows >= planRows {
			if err := flush(); err != nil {
				return written, err
			}
		}
	}
	if len(plans) > 0 {
		err = flush()
	}
	return written, err
}

// skippedBy counts the instants that the plans which were written do not run.
func skippedBy(plans []store.Planned, won []history.ScheduleID) (n int64) {
	for _, p := range plans {
		if slices.Contains(won, p.Schedule) {
			n += p.Plan.Skipped.Count
		}
	}
	return n
}

// planned plans one schedule.
func planned(d *Definition, s store.DueSchedule, now time.Time) store.Planned {
	p := d.Schedule.Plan(s.Cursor, now, schedule.Limits{Rows: rowsAtOnce})
	return store.Planned{
		Schedule: s.ID, Version: s.Version, Before: s.Cursor, Plan: p, Overlaps: d.overlaps(p, now), Note: moved(s, p),
	}
}

// PlanUpTo plans a schedule as it stands, for whoever is about to change it.
func (d *Definition) PlanUpTo(s *store.Schedule, now time.Time) store.Planned {
	return planned(d, store.DueSchedule{ID: s.ID, Version: s.Version, Cursor: s.Cursor, Next: s.Next, Zones: s.Zones}, now)
}

// PlanResume plans the end of a pause.
func (d *Definition) PlanResume(s *store.Schedule, now time.Time, how schedule.Resume) store.Planned {
	p := d.Schedule.Resume(s.Cursor, now, how)
	return store.Planned{Schedule: s.ID, Version: s.Version, Before: s.Cursor, Plan: p, Overlaps: d.overlaps(p, now)}
}

// overlaps are the policies of a plan's occurrences. Those that catch up were made many at once, so that they would skip each
// other: they queue.
func (d *Definition) overlaps(p schedule.Plan, now time.Time) []store.Overlap {
	out := make([]store.Overlap, len(p.Occurrences))
	grace := or(d.Timing.Misfire.Grace, 5*time.Second)
	for i, o := range p.Occurrences {
		out[i] = d.Overlap
		late := now.Sub(o.Due) > grace
		if late && d.Overlap == store.OverlapSkip && d.Timing.Misfire.Policy == schedule.MisfireAll {
			out[i] = store.OverlapQueue
		}
	}
	return out
}

// moved tells people what another time zone database has changed; empty for nothing.
func moved(s store.DueSchedule, p schedule.Plan) string {
	if s.Zones == p.Zones || s.Next.IsZero() || p.Next.IsZero() || len(p.Occurrences) > 0 || p.Next.Equal(s.Next) {
		return ""
	}
	return fmt.Sprintf("the next instant was %s by the time zones of %s, and is %s by those of %s",
		s.Next.UTC().Format(time.RFC3339), s.Zones, p.Next.Format(time.RFC3339), p.Zones)
}
