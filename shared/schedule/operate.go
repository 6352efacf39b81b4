package schedule

import "time"

// Resume is what people choose when they end a pause.
type Resume string

const (
	ResumeSkip   Resume = "skip"   // the instants of the pause are not run
	ResumeLatest Resume = "latest" // the newest of them is run
)

// Resume plans the end of a pause at now: a pause is nobody's fault, so nothing
// counts as skipped, whatever the misfire policy says.
func (s *Schedule) Resume(c Cursor, now time.Time, how Resume) Plan {
	p := s.newPass(c, now, Limits{})
	p.at = p.to
	if how == ResumeLatest {
		if newest, ok := s.last(p.walk, p.from, p.to); ok {
			p.keep(newest, p.to, 1)
		}
	}
	if p.frontier.After(c.At) {
		p.plan.Cursor.At = p.frontier
	}
	return p.finish()
}

// Revise is the cursor after a schedule's definition was replaced at now. While
// the timing stays the same the cursor does, so that no instant that is due is
// lost. With another timing, only instants after now count: no row is made for
// an old instant that the new specs happen to have. What was due by the old
// timing is planned by it before the change, in the same transaction; rows that
// are there already keep their instants.
func Revise(c Cursor, before, after Definition, now time.Time) Cursor {
	if before.withDefaults().Timing.equal(after.withDefaults().Timing) || !now.After(c.At) {
		return c
	}
	return Cursor{At: now, Runs: c.Runs}
}

// Backfill lists the instants from an instant, included, up to another, not
// included, for which occurrences are made by hand: the first ones, at most max,
// and how many there are in all. It bypasses the cursor and the limit of runs.
func (s *Schedule) Backfill(from, to time.Time, max int) (instants []time.Time, all int64) {
	for at := range s.Instants(from, to) {
		if len(instants) == max {
			break
		}
		instants = append(instants, at)
	}
	return instants, s.Count(from, to)
}
