package schedule

import (
	"math"
	"time"
)

// Cursor is how far a schedule has been planned. It is stored with the schedule
// and moves by compare-and-set together with what the plan says, so that every
// instant is decided once.
type Cursor struct {
	// At: each instant up to it, included, is decided.
	At time.Time
	// Runs counts the occurrences that were kept, against Definition.Limit.
	Runs int64
	// CaughtUp counts the late instants that plans kept which had more to keep
	// than they had rows for; a whole plan begins anew.
	CaughtUp int
}

// Limits bound one plan.
type Limits struct {
	// Rows is how many occurrences there may be, at least 1. A plan that has
	// more to keep stops there, and says More.
	Rows int
}

// Plan is what becomes of the instants between a cursor and now.
type Plan struct {
	// Occurrences are to be started, ascending by instant; at most Limits.Rows.
	Occurrences []Occurrence
	// Skipped are the instants that were missed and do not run.
	Skipped Skipped
	// Cursor replaces the one that was planned from. They are equal where there
	// is nothing to write.
	Cursor Cursor
	// More is true where now has not been reached for want of rows: plan again.
	More bool
	// Next is the first instant that is not decided. It is zero where there is
	// none, or where the search for it was too long to end.
	Next time.Time
	// Wake is when to plan again, as no plan before that finds anything: when Next
	// is due, or when the search is to go on. It is zero where Over is true.
	Wake time.Time
	// Over is true where there will never be another occurrence.
	Over bool
	// Zones is the version of the time zone database that Next was found with.
	Zones string
}

// Occurrence is one instant that is to run.
type Occurrence struct {
	Instant time.Time // the nominal one, a whole second
	Due     time.Time // Instant and the schedule's offset
	// Deadline is when it is too late to start; zero: never.
	Deadline time.Time
}

// Late tells by how much an occurrence that has not started by now misses its
// deadline. It may start up to the deadline, included.
func (o Occurrence) Late(now time.Time) (by time.Duration, missed bool) {
	if o.Deadline.IsZero() || !now.After(o.Deadline) {
		return 0, false
	}
	return now.Sub(o.Deadline), true
}

// Skipped counts instants, the first and the last one of which are given. The
// instants between the two that run are not counted.
type Skipped struct {
	Count       int64
	First, Last time.Time
}

// Begin is the cursor of a new schedule: its first instant is after now.
func Begin(now time.Time) Cursor { return Cursor{At: now} }

// Plan decides what becomes of each instant after the cursor that is due at now.
// It depends on its arguments alone, and it never moves the cursor back.
//
// Of the instants that are late by more than the grace, the misfire policy keeps
// none, the newest, or the oldest ones; it counts the others without looking at
// each, so an outage of any length costs a step per day and no memory. With
// latest, an outage is caught up by the one newest instant that is due, be it
// late or in time; the instants before it count as skipped.
func (s *Schedule) Plan(c Cursor, now time.Time, limits Limits) Plan {
	p := s.newPass(c, now, limits)
	switch s.misfire.Policy {
	case MisfireNone:
		p.skip(p.from, p.inTime)
	case MisfireLatest:
		p.latest()
	case MisfireAll:
		p.oldest(s.misfire.Max - c.CaughtUp)
	}
	p.keep(p.at, p.to, math.MaxInt)
	return p.finish()
}

// A pass is a plan in the making. All its times are whole seconds of instants:
// [from, to) is to be decided, up to inTime it is late, and up to window too
// late; [from, at) is decided.
type pass struct {
	s    *Schedule
	walk *walk
	plan Plan
	old  Cursor
	// frontier is now, for instants that are due later by the offset.
	frontier time.Time

	from, window, inTime, to int64
	at                       int64
	rows                     int  // that may still be kept
	cut                      bool // there were not enough
	caughtUp                 int  // late instants kept, where cut among them
}

func (s *Schedule) newPass(c Cursor, now time.Time, limits Limits) *pass {
	p := &pass{s: s, old: c, frontier: now.Add(-s.Offset).UTC(), rows: max(limits.Rows, 1)}
	p.walk = newWalk(s.set, math.MaxInt) // as long as the time since the cursor
	p.plan.Cursor, p.plan.Zones = c, ZonesVersion()
	p.from = c.At.Unix() + 1
	p.to = max(p.frontier.Unix()+1, p.from)
	p.inTime = min(max(ceil(p.frontier.Add(-s.misfire.Grace)), p.from), p.to)
	p.window = p.from
	if s.misfire.Window > 0 {
		p.window = min(max(ceil(p.frontier.Add(-s.misfire.Window)), p.from), p.to)
	}
	p.at = p.from
	return p
}

// latest keeps the newest instant if any is late.
func (p *pass) latest() {
	if _, late := p.s.first(p.walk, p.from, p.inTime); !late {
		return
	}
	newest, _ := p.s.last(p.walk, p.from, p.to)
	if newest < min(p.window, p.inTime) {
		newest = p.to
	}
	p.skip(p.from, newest)
}

// oldest keeps up to n late instants of the window.
func (p *pass) oldest(n int) {
	window := min(p.window, p.inTime)
	p.skip(p.from, window)
	p.keep(window, p.inTime, n)
	if p.cut {
		p.caughtUp = p.old.CaughtUp + len(p.plan.Occurrences)
	}
	p.skip(p.at, p.inTime)
}

// over reports whether the limit of runs is reached.
func (p *pass) over() bool { return p.s.limit > 0 && p.plan.Cursor.Runs >= p.s.limit }

// keep makes up to n occurrences of the instants in [from, to), and decides up
// to the last one of them, or all of [from, to) where there are no more than n.
func (p *pass) keep(from, to int64, n int) {
	if p.cut || p.over() {
		return
	}
	for f := range p.s.instants(p.walk, from, to) {
		if n--; n < 0 {
			return
		}
		if p.rows == 0 {
			p.cut = true
			return
		}
		p.rows--
		p.at = f.at + 1
		p.plan.Occurrences = append(p.plan.Occurrences, p.s.occurrence(f.at))
		if p.plan.Cursor.Runs++; p.over() {
			return
		}
	}
	p.at = to
}

// skip counts the instants in [from, to), which do not run.
func (p *pass) skip(from, to int64) {
	if p.cut || p.over() {
		return
	}
	p.at = to
	first, some := p.s.first(p.walk, from, to)
	if !some {
		return
	}
	newest, _ := p.s.last(p.walk, first, to)
	if p.plan.Skipped.Count == 0 {
		p.plan.Skipped.First = time.Unix(first, 0).UTC()
	}
	p.plan.Skipped.Last = time.Unix(newest, 0).UTC()
	p.plan.Skipped.Count += p.s.count(p.walk, from, to)
}

// finish moves the cursor and looks for what comes next.
func (p *pass) finish() Plan {
	if decided := len(p.plan.Occurrences) > 0 || p.plan.Skipped.Count > 0; decided {
		p.plan.Cursor.At = p.frontier
		if p.cut {
			p.plan.Cursor.At = time.Unix(p.at-1, 0).UTC()
		}
	}
	p.plan.Cursor.CaughtUp, p.plan.More = p.caughtUp, p.cut
	if p.over() {
		p.plan.Over = true
		return p.plan
	}
	p.s.wake(&p.plan, p.at)
	return p.plan
}

// wake says when there is something to plan again, from an instant on.
func (s *Schedule) wake(p *Plan, from int64) {
	w := s.newWalk()
	if at, ok := s.first(w, from, horizon(from)); ok {
		p.Next = time.Unix(at, 0).UTC()
		p.Wake = p.Next.Add(s.Offset)
		return
	}
	if w.spent {
		// Exclusions leave nothing for a long time; the search goes on from there.
		p.Wake = time.Unix(w.reached-lookBack, 0).UTC()
		return
	}
	p.Over = true
}

// occurrence is the one of an instant.
func (s *Schedule) occurrence(instant int64) Occurrence {
	o := Occurrence{Instant: time.Unix(instant, 0).UTC()}
	o.Due = o.Instant.Add(s.Offset)
	if s.startDeadline > 0 {
		o.Deadline = o.Due.Add(s.startDeadline)
	}
	return o
}
