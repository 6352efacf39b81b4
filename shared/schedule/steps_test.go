package schedule_test

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/orrery-dev/orrery/shared/schedule"
)

// Searches that have to go far: their steps are bounded, and the bounds are far
// below the budget of two millions. A step is a month, a day, an hour or a
// minute that is looked at, and takes some nanoseconds.
func TestLongSearches(t *testing.T) {
	for _, row := range []struct {
		name, zone, spec string
		days             schedule.DayMatch
		gap              schedule.Gap
		exclude          []string
		found            bool
		steps            int
	}{
		{"leap day", "America/New_York", "0 0 0 29 2 * *", "", "", nil, true, 500},
		{"leap day on a Monday", "America/New_York", "0 0 0 29 2 1 *", "and", "", nil, true, 1000},
		{"the last year", "America/New_York", "59 59 23 31 12 * 2199", "", "", nil, true, 5000},
		{"a year that is over", "America/New_York", "* * * * * * 2020", "", "", nil, false, 6000},
		{"no such date in its years", "UTC", "0 0 0 29 2 * 2025-2027", "", "", nil, false, 6000},
		{"always in a gap", "America/New_York", "0 30 2 8-14 3 0 *", "and", "skip", nil, false, 200_000},
		{"always in a gap of half an hour", "Australia/Lord_Howe", "0 15 2 1-7 10 0 *", "and", "skip", nil, false, 200_000},
		{"always excluded", "America/New_York", "* * * * * * *", "", "", []string{"* * 0-11 * * * *", "* * 12-23 * * * *"}, false, 250_000},
		{"all but one minute in 28 years", "Europe/Berlin", "0 * * * * * *", "", "", []string{"* * * 1-28 * * *", "* * * 30,31 * * *", "* * * * 1,3-12 * *", "* * * * * 1-6 *", "0 1-59 * * * * *"}, true, 30_000},
	} {
		d := defined("year", row.zone, row.spec)
		d.DayMatch, d.Gap, d.Exclude = row.days, row.gap, row.exclude
		steps, found := must(t, d).Steps(utc(t, "2026-01-01"))
		t.Logf("%s: %d steps", row.name, steps)
		if found != row.found || steps > row.steps {
			t.Errorf("%s: found: %v in %d steps, want %v in at most %d", row.name, found, steps, row.found, row.steps)
		}
	}
}

// stray are pieces of texts for mutants.
var stray = strings.Split(`* ? , - / # L W LW L-3 15W 1#2 5L 0 1 5 7 12 23 31 59 60 99 2026 MON sun JAN dec MARCH */2 */0 1-5 5-1 1-5/2 @daily @every every at anchor 90s 2026-11-01T01:30 2026-11-01T05:30:00Z TZ= – é`, " ")

// mutant is a spec, or nearly one.
func mutant(g *rand.Rand, spec string) string {
	words := strings.Split(spec, " ")
	for range g.IntN(4) {
		i := g.IntN(len(words))
		piece := stray[g.IntN(len(stray))]
		switch g.IntN(5) {
		case 0:
			words[i] = piece
		case 1:
			words[i] += piece
		case 2:
			words[i] = words[i][:g.IntN(len(words[i])+1)] + piece
		case 3:
			words = append(words[:i:i], words[i+1:]...)
		case 4:
			words = append(words, piece)
		}
		if len(words) == 0 {
			return piece
		}
	}
	return strings.Join(words, " ")
}

// Texts that are specs or nearly so are read or refused with a field and a
// reason, and whatever is read is searched in few steps.
func TestFuzzedSpecs(t *testing.T) {
	rounds := 5_000
	if soak() {
		rounds = 1_000_000
	}
	g := newSpecSource(38)
	dialects := []schedule.Dialect{"unix", "seconds", "year", "quartz", "vixie"}
	zones := []string{"UTC", "America/New_York", "Australia/Lord_Howe", "Pacific/Apia"}
	read, most := 0, 0
	for range rounds {
		d := defined(dialects[g.IntN(5)], zones[g.IntN(4)], mutant(g.Rand, g.spec().text()))
		if g.IntN(2) == 0 {
			d.DayMatch = schedule.DayAnd
		}
		if g.IntN(4) == 0 {
			d.Exclude = []string{mutant(g.Rand, g.spec().text())}
		}
		s, err := schedule.New("test", d)
		if err != nil {
			refused(t, d, err)
			continue
		}
		read++
		after := time.Unix(g.Int64N(8e9), 0)
		steps, _ := s.Steps(after)
		if most = max(most, steps); steps > 250_000 {
			t.Fatalf("%+v takes %d steps after %s", d.Timing, steps, after.UTC())
		}
	}
	t.Logf("%d of %d were read; at most %d steps", read, rounds, most)
	if read < rounds/20 {
		t.Errorf("only %d of %d were read", read, rounds)
	}
}

// refused checks that a refusal says what and why.
func refused(t *testing.T, d schedule.Definition, err error) {
	t.Helper()
	ps, ok := errors.AsType[schedule.Problems](err)
	if !ok || len(ps) == 0 {
		t.Fatalf("%+v: %v", d, err)
	}
	for _, p := range ps {
		if p.Field == "" || p.Code == "" || p.Message == "" || len(p.Message) > 2000 {
			t.Fatalf("%+v: %+v", d, p)
		}
	}
}

func FuzzSpec(f *testing.F) {
	for _, row := range malformed {
		f.Add(row.spec, "unix", "UTC", int64(0))
	}
	for _, row := range calendarScenarios {
		f.Add(row.spec, string(row.dialect), row.zone, utc(f, row.from).Unix())
	}
	f.Fuzz(func(t *testing.T, spec, dialect, zone string, after int64) {
		d := defined(schedule.Dialect(dialect), zone, spec)
		s, err := schedule.New("fuzz", d)
		if err != nil {
			refused(t, d, err)
			return
		}
		at := time.Unix(after%1e11, 0) // the years from -1200 to 5138
		if steps, _ := s.Steps(at); steps > 250_000 {
			t.Fatalf("%q takes %d steps", spec, steps)
		}
		next, ok := s.Next(at)
		if !ok {
			return
		}
		if !next.After(at) || s.Count(next, next.Add(time.Second)) != 1 || s.Count(at.Add(time.Second), next) != 0 {
			t.Fatalf("%q in %s after %s: next is %s", spec, zone, at.UTC(), next)
		}
	})
}
