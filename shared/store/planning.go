package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/orrery-dev/orrery/shared/history"
	"github.com/orrery-dev/orrery/shared/schedule"
)

// Overlap is what an occurrence does that finds its key held.
type Overlap string

const (
	OverlapSkip           Overlap = "skip"
	OverlapBufferOne      Overlap = "buffer_one"
	OverlapBufferAll      Overlap = "buffer_all"
	OverlapCancelOther    Overlap = "cancel_other"
	OverlapTerminateOther Overlap = "terminate_other"
	OverlapAllow          Overlap = "allow" // it has no key
	// OverlapQueue waits for its turn as long as it takes. It is for occurrences that are made many at once.
	OverlapQueue Overlap = "queue"
)

// DueQuery asks what there is to do for schedules.
type DueQuery struct {
	// From is a time before which nothing is due, as far as the caller knows: it keeps the look from the dead rows of everything
	// that was due before. Zero looks from the start.
	From time.Time
	// Zones is the version of the caller's time zone database, Level what it knows of definitions: a schedule that needs more is
	// left to others.
	Zones string
	Level int
	Limit int // schedules
	// Days is how many days ahead history should have its partitions.
	Days int
}

// Due is what there is to do.
type Due struct {
	Now       time.Time
	Schedules []DueSchedule
	// Next is when the first plan, occurrence, deadline or lease is due, be it now or passed; zero for never.
	Next time.Time
	// DaysMissing tells that history lacks the partition of the last of the days ahead.
	DaysMissing bool
}

// DueSchedule is a schedule to plan.
type DueSchedule struct {
	ID      history.ScheduleID
	Version int
	Cursor  schedule.Cursor
	Next    time.Time // the instant that was planned with the database of the version Zones
	Zones   string
}

// Planned is a plan on its way to the database.
type Planned struct {
	Schedule history.ScheduleID
	Version  int
	Before   schedule.Cursor // that was planned from
	Plan     schedule.Plan
	// Overlaps are the policies of the plan's occurrences.
	Overlaps []Overlap
	// Note tells people what another time zone database has changed; empty for nothing.
	Note string
}

var (
	dueSchedulesSQL = query("due_schedules")
	planSQL         = query("plan")
)

// DueSchedules looks for what there is to do. It is one statement, and all that a tick sends when nothing is due.
func (s *Store) DueSchedules(ctx context.Context, q DueQuery) (Due, error) {
	type row struct {
		Now         pgtype.Timestamptz
		DaysMissing bool
		NextAt      pgtype.Timestamptz
		ID          int64
		Version     int32
		Runs        int64
		CaughtUp    int32
		Zones       string
		CursorAt    pgtype.Timestamptz
		NextInstant pgtype.Timestamptz
	}
	rows, err := list[row](ctx, s, "look for due schedules", dueSchedulesSQL, args{
		"from": q.From, "zones": q.Zones, "level": int32(q.Level), "limit": int32(q.Limit), "days": int32(q.Days), "now": s.now(),
	})
	if err != nil {
		return Due{}, err
	}
	first := &rows[0]
	out := Due{Now: first.Now.Time, Next: first.NextAt.Time, DaysMissing: first.DaysMissing}
	for _, r := range rows {
		if r.ID != 0 {
			out.Schedules = append(out.Schedules, DueSchedule{
				ID: history.ScheduleID(r.ID), Version: int(r.Version), Next: r.NextInstant.Time, Zones: r.Zones,
				Cursor: schedule.Cursor{At: r.CursorAt.Time, Runs: r.Runs, CaughtUp: int(r.CaughtUp)},
			})
		}
	}
	return out, nil
}

// Plan writes plans, each by compare-and-set on the cursor and the version that it began with, and returns the schedules
// whose plans were written. The others were planned or changed by somebody else, or are being so.
func (s *Store) Plan(ctx context.Context, plans []Planned) ([]history.ScheduleID, error) {
	if len(plans) == 0 {
		return nil, nil
	}
	var rows []struct{ ID *int64 }
	p := s.pipeline()
	collect(p, planSQL, planColumnsOf(plans).args(s, false), &rows)
	if err := p.run(ctx); err != nil {
		return nil, fmt.Errorf("store: write %d plans: %w", len(plans), translateWrite(err))
	}
	var out []history.ScheduleID
	for _, r := range rows {
		if r.ID != nil {
			out = append(out, history.ScheduleID(*r.ID))
		}
	}
	return out, nil
}

// plan adds the statement to a transaction. With strict it raises when a plan is not written.
func (p *pipeline) plan(plans []Planned, strict bool) {
	p.exec(planSQL, planColumnsOf(plans).args(p.store, strict))
}

type planColumns struct {
	schedules           []int64
	versions            []int32
	cursors, newCursors []time.Time
	runs, newRuns       []int64
	caughtUps           []int32
	nexts, wakes        []*time.Time
	skips               []int64
	skipsFrom, skipsTo  []*time.Time
	notes               []string
	rowSchedules        []int64
	instants, dues      []time.Time
	deadlines           []*time.Time
	overlaps            []string
	zones               string
}

func planColumnsOf(plans []Planned) *planColumns {
	c := &planColumns{zones: plans[0].Plan.Zones}
	for i := range plans {
		c.add(&plans[i])
	}
	return c
}

func (c *planColumns) add(x *Planned) {
	after := x.Plan.Cursor
	c.schedules = append(c.schedules, int64(x.Schedule))
	c.versions = append(c.versions, int32(x.Version))
	c.cursors = append(c.cursors, x.Before.At)
	c.newCursors = append(c.newCursors, after.At)
	c.runs = append(c.runs, x.Before.Runs)
	c.newRuns = append(c.newRuns, after.Runs)
	c.caughtUps = append(c.caughtUps, int32(after.CaughtUp))
	c.nexts = append(c.nexts, timePointer(x.Plan.Next))
	c.wakes = append(c.wakes, timePointer(x.Plan.Wake))
	c.skips = append(c.skips, x.Plan.Skipped.Count)
	c.skipsFrom = append(c.skipsFrom, timePointer(x.Plan.Skipped.First))
	c.skipsTo = append(c.skipsTo, timePointer(x.Plan.Skipped.Last))
	c.notes = append(c.notes, x.Note)
	for i, o := range x.Plan.Occurrences {
		c.rowSchedules = append(c.rowSchedules, int64(x.Schedule))
		c.instants = append(c.instants, o.Instant)
		c.dues = append(c.dues, o.Due)
		c.deadlines = append(c.deadlines, timePointer(o.Deadline))
		c.overlaps = append(c.overlaps, string(x.Overlaps[i]))
	}
}

func (c *planColumns) args(s *Store, strict bool) args {
	return args{
		"schedules": c.schedules, "versions": c.versions, "cursors": c.cursors, "new_cursors": c.newCursors, "runs": c.runs,
		"new_runs": c.newRuns, "caught_ups": c.caughtUps, "nexts": c.nexts, "wakes": c.wakes, "skips": c.skips,
		"skips_from": c.skipsFrom, "skips_to": c.skipsTo, "notes": c.notes, "row_schedules": c.rowSchedules,
		"instants": c.instants, "dues": c.dues, "deadlines": c.deadlines, "overlaps": c.overlaps, "zones": c.zones,
		"strict": strict, "now": s.now(),
	}
}
