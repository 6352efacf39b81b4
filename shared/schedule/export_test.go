package schedule

import (
	"iter"
	"math"
	"time"
)

// Steps is how many steps the search for the first instant after an instant
// takes, and whether there is one.
func (c *Calendar) Steps(after time.Time) (steps int, ok bool) {
	w := c.newWalk()
	from := after.Unix() + 1
	_, ok = c.first(w, from, horizon(from))
	return w.steps, ok
}

// CountSteps is how many steps it takes to count the instants of a stretch.
func (c *Calendar) CountSteps(from, to time.Time) (steps int, n int64) {
	w := newWalk(c.set, math.MaxInt)
	n = c.count(w, ceil(from), ceil(to))
	return w.steps, n
}

// In is the schedule with another zone, as an update of the database brings one.
func (s *Schedule) In(location *time.Location) *Schedule {
	c := *s.Calendar
	c.zone = zone{location}
	out := *s
	out.Calendar = &c
	return &out
}

// WithBudget is the schedule with another bound on the steps of a search.
func (s *Schedule) WithBudget(steps int) *Schedule {
	c := *s.Calendar
	c.budget = steps
	out := *s
	out.Calendar = &c
	return &out
}

// Location is a zone of the embedded database.
func Location(name string) (*time.Location, error) {
	z, err := loadZone(name)
	return z.location, err
}

// ZoneNames are all zones of the embedded database.
func ZoneNames() iter.Seq[string] {
	return func(yield func(string) bool) {
		files, err := zoneFiles()
		if err != nil {
			return
		}
		for name := range files {
			if !yield(name) {
				return
			}
		}
	}
}

// A Piece is a stretch of time with a constant offset in seconds, as the walker
// sees it; To is zero where it has no end.
type Piece struct {
	From, To, Change time.Time
	Offset, Before   int
}

// PieceAt is the piece from an instant on.
func PieceAt(location *time.Location, at time.Time) Piece {
	p := zone{location}.at(at.Unix())
	out := Piece{time.Unix(p.from, 0), time.Time{}, time.Unix(p.change, 0), int(p.offset), int(p.before)}
	if p.to != math.MaxInt64 {
		out.To = time.Unix(p.to, 0)
	}
	return out
}
