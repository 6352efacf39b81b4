package schedule

import (
	"fmt"
	"time"
)

// Mark tells what a change of the clocks did to an instant.
type Mark string

const (
	// Shifted is an instant that stands for a wall time in a gap.
	Shifted Mark = "shifted"
	// FirstShowing and SecondShowing are instants whose wall time is shown twice.
	FirstShowing  Mark = "first_showing"
	SecondShowing Mark = "second_showing"
)

// Preview is one instant as people see it.
type Preview struct {
	Instant time.Time // in UTC
	Local   time.Time // the same in the zone, with its offset and abbreviation
	Due     time.Time // Instant and the schedule's offset
	Mark    Mark      // empty where the clocks did nothing
	// Note says in a sentence what Mark means here.
	Note string
}

// MaxPreview is the most that a preview shows.
const MaxPreview = 1000

// Preview shows the first n instants after an instant, at most MaxPreview. There
// are fewer where one search does not find so many, because exclusions leave
// next to nothing of an interval.
func (s *Schedule) Preview(after time.Time, n int) []Preview {
	from := after.Unix() + 1
	var out []Preview
	for f := range s.instants(s.newWalk(), from, horizon(from)) {
		if len(out) >= min(n, MaxPreview) {
			break
		}
		out = append(out, s.preview(f))
	}
	return out
}

func (s *Schedule) preview(f found) Preview {
	at := time.Unix(f.at, 0)
	p := Preview{Instant: at.UTC(), Local: at.In(s.zone.location), Due: at.UTC().Add(s.Offset)}
	if f.shifted {
		wall := time.Unix(f.wall, 0).UTC()
		p.Mark, p.Note = Shifted, fmt.Sprintf("stands for %s, which the clocks leave out", wall.Format(time.DateTime))
		return p
	}
	switch nth, of := s.zone.shown(f.at); {
	case of == 2 && nth == 1:
		p.Mark, p.Note = FirstShowing, "the clocks show this time twice; this is the first time"
	case of == 2:
		p.Mark, p.Note = SecondShowing, "the clocks show this time twice; this is the second time"
	}
	return p
}
