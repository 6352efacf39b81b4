package schedule_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/orrery-dev/orrery/shared/schedule"
)

const longAgo = "1970-01-01T00:00:00Z"

// utc reads an instant: 2026-03-07T07:30:00Z, 2026-03-07T07:30Z or 2026-03-07.
func utc(t testing.TB, text string) time.Time {
	t.Helper()
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04Z07:00", time.DateOnly} {
		if at, err := time.Parse(layout, text); err == nil {
			return at
		}
	}
	t.Fatalf("%q is no time", text)
	return time.Time{}
}

func all(t testing.TB, texts string) []time.Time {
	t.Helper()
	var out []time.Time
	for _, text := range strings.Fields(texts) {
		out = append(out, utc(t, text))
	}
	return out
}

// must makes a schedule that is right.
func must(t testing.TB, d schedule.Definition) *schedule.Schedule {
	t.Helper()
	s, err := schedule.New("test", d)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// defined is the definition of one spec.
func defined(dialect schedule.Dialect, zone, spec string) schedule.Definition {
	return schedule.Definition{Timing: schedule.Timing{Specs: []string{spec}, Dialect: dialect, Zone: zone}}
}

func wantTimes(t *testing.T, got, want []time.Time) {
	t.Helper()
	if !slices.EqualFunc(got, want, time.Time.Equal) {
		t.Errorf("got  %v\nwant %v", texts(got), texts(want))
	}
}

func texts(times []time.Time) []string {
	out := make([]string, len(times))
	for i, at := range times {
		out[i] = at.UTC().Format(time.RFC3339)
	}
	return out
}

// problems gives the codes of what is wrong with a definition by their fields.
func problems(t *testing.T, d schedule.Definition, now time.Time) schedule.Problems {
	t.Helper()
	_, _, err := schedule.Check("test", d, now)
	if err == nil {
		return nil
	}
	ps, ok := err.(schedule.Problems)
	if !ok {
		t.Fatalf("%v is no list of problems", err)
	}
	return ps
}
