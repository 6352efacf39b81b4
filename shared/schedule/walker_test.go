package schedule_test

import (
	"fmt"
	"hash/fnv"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/orrery-dev/orrery/shared/schedule"
)

func soak() bool { return os.Getenv("ORRERY_SOAK") == "1" }

// A change is a moment at which the clocks of a zone change.
type change struct {
	zone     string
	location *time.Location
	at       time.Time
}

// changes finds all changes in [from, to) by looking at the offset every three
// hours, and no bounds that anybody else has worked out.
func changes(t testing.TB, name string, from, to time.Time) []change {
	t.Helper()
	location, err := schedule.Location(name)
	if err != nil {
		t.Fatal(err)
	}
	offset := func(at time.Time) int {
		_, seconds := at.In(location).Zone()
		return seconds
	}
	var out []change
	for at := from; at.Before(to); at = at.Add(3 * time.Hour) {
		if offset(at) == offset(at.Add(3*time.Hour)) {
			continue
		}
		low, high := at, at.Add(3*time.Hour)
		for high.Sub(low) > time.Second {
			if middle := low.Add(high.Sub(low) / 2).Truncate(time.Second); offset(middle) == offset(low) {
				low = middle
			} else {
				high = middle
			}
		}
		out = append(out, change{name, location, high})
	}
	return out
}

// TestScenario25 compares the calendar with a scan of every minute around the
// changes of clocks from 2025 to 2027: 20 random specs each, under all policies.
// It takes 8 specs and those of some zones in 2026, unless ORRERY_SOAK asks for
// all.
func TestScenario25(t *testing.T) {
	names, from, to, specs := slices.Sorted(schedule.ZoneNames()), "2025-01-01", "2028-01-01", 20
	if !soak() {
		from, to, specs = "2026-01-01", "2027-01-01", 8
		names = []string{
			"America/New_York", "Europe/Berlin", "Europe/London", "Europe/Dublin", "Australia/Lord_Howe", "Africa/Cairo",
			"America/Santiago", "Antarctica/Troll", "Africa/Casablanca", "Asia/Gaza", "Pacific/Chatham", "America/Nuuk",
		}
	}
	total := 0
	// Days that were left out at the date line.
	for zone, year := range map[string]string{"Pacific/Apia": "2011", "Pacific/Kwajalein": "1993", "Pacific/Kanton": "1994"} {
		for _, c := range changes(t, zone, utc(t, year+"-07-01"), utc(t, year+"-12-31").AddDate(0, 0, 3)) {
			total++
			around(t, c, specs)
		}
	}
	for _, name := range names {
		for _, c := range changes(t, name, utc(t, from), utc(t, to)) {
			total++
			around(t, c, specs)
		}
	}
	t.Logf("%d changes of clocks", total)
	if total < 2*len(names)/3 {
		t.Errorf("only %d changes were found", total)
	}
}

// around compares count random specs within three days of a change.
func around(t *testing.T, c change, count int) {
	t.Helper()
	h := fnv.New64()
	fmt.Fprint(h, c.zone, c.at.Unix())
	g := newSpecSource(h.Sum64())
	g.near = c.at.In(c.location)
	from, to := c.at.Add(-72*time.Hour), c.at.Add(72*time.Hour)
	scan := newScan(c.location, from, to)
	for range count {
		spec := g.spec()
		spec.intersect = g.IntN(4) == 0
		for _, gap := range []schedule.Gap{"shift", "skip"} {
			for _, repeat := range []schedule.Repeat{"first", "both"} {
				compare(t, c, scan, spec, gap, repeat)
			}
		}
	}
}

func compare(t *testing.T, c change, scan *scan, spec *randomSpec, gap schedule.Gap, repeat schedule.Repeat) {
	t.Helper()
	d := defined("seconds", c.zone, spec.text())
	d.Gap, d.Repeat = gap, repeat
	if spec.intersect {
		d.DayMatch = schedule.DayAnd
	}
	s, err := schedule.New("test", d)
	if err != nil {
		if ps, ok := err.(schedule.Problems); ok && ps[0].Code == schedule.CodeImpossibleDate {
			return // the random fields never meet
		}
		t.Fatal(err)
	}
	want := scan.instants(spec, gap, repeat)
	n := 0
	for at := range s.Instants(scan.from, scan.to) {
		if n == len(want) || at.Unix() != want[n] {
			t.Fatalf("%s at %s: %q, and: %v, gap %s, repeat %s: instant %d is %s, want %s", c.zone, c.at.UTC(), spec.text(),
				spec.intersect, gap, repeat, n, at, time.Unix(append(want, 0)[n], 0).UTC())
		}
		n++
	}
	if counted := s.Count(scan.from, scan.to); n != len(want) || counted != int64(n) {
		t.Fatalf("%s at %s: %q, and: %v, gap %s, repeat %s: %d instants, counted %d, want %d", c.zone, c.at.UTC(), spec.text(),
			spec.intersect, gap, repeat, n, counted, len(want))
	}
}

// A scan has what the clocks of a zone show at every minute of a stretch, and of
// a day and a bit before it. All changes of clocks are at full minutes there.
type scan struct {
	from, to time.Time
	minutes  []shown
	found    []int64 // reused
}

type shown struct {
	at    time.Time
	wall  wall
	again bool   // the clocks have shown it before
	left  []wall // what they leave out before it
}

// A wall is a minute that clocks show; day is its midnight, as if it were UTC.
type wall struct {
	day          time.Time
	hour, minute int
}

func wallOf(t time.Time) wall { return wall{midnight(t), t.Hour(), t.Minute()} }

func newScan(location *time.Location, from, to time.Time) *scan {
	s := &scan{from: from, to: to}
	seen := map[time.Time]bool{}
	var next time.Time
	for at := from.Add(-26 * time.Hour).Truncate(time.Minute); at.Before(to); at = at.Add(time.Minute) {
		l := at.In(location)
		shows := time.Date(l.Year(), l.Month(), l.Day(), l.Hour(), l.Minute(), 0, 0, time.UTC)
		m := shown{at: at, wall: wallOf(shows), again: seen[shows]}
		seen[shows] = true
		for ; !next.IsZero() && next.Before(shows); next = next.Add(time.Minute) {
			m.left = append(m.left, wallOf(next))
		}
		next = shows.Add(time.Minute)
		s.minutes = append(s.minutes, m)
	}
	return s
}

// instants is the meaning of a spec, minute by minute: seconds from 1970, valid
// until the next call.
func (s *scan) instants(spec *randomSpec, gap schedule.Gap, repeat schedule.Repeat) []int64 {
	out := s.found[:0]
	in := func(w wall) bool { return spec.minutes[w.minute] && spec.hours[w.hour] && spec.on(w.day) }
	for _, m := range s.minutes {
		if m.at.Before(s.from) {
			continue
		}
		shifted := !spec.elastic && gap == schedule.GapShift && slices.ContainsFunc(m.left, in)
		if shifted {
			out = append(out, m.at.Unix())
		}
		if !in(m.wall) || m.again && !spec.elastic && repeat == schedule.RepeatFirst {
			continue
		}
		for second, is := range spec.seconds {
			if is && (second > 0 || !shifted) {
				out = append(out, m.at.Unix()+int64(second))
			}
		}
	}
	s.found = out
	return out
}
