package schedule_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/adhocore/gronx"
	"github.com/hashicorp/cronexpr"
	"github.com/robfig/cron/v3"

	"github.com/orrery-dev/orrery/shared/schedule"
)

// Random specs have the same next instants in UTC as three libraries say, as far
// as a library accepts the spec and means the same by it. Where it does not, the
// generator leaves the form out, and says so here.

// errNoOpinion is an oracle that gave up.
var errNoOpinion = errors.New("no opinion")

type oracle struct {
	name string
	tune func(g *specSource)
	// apart is true for what the library is known to misread; it may be nil.
	apart func(s *randomSpec) bool
	next  func(text string, count int, after time.Time) ([]time.Time, error)
}

var oracles = []oracle{
	{
		name: "robfig/cron",
		// It has no L, W and #, and no 7 for Sunday.
		tune: func(g *specSource) { g.special, g.sunday7 = false, false },
		next: robfig,
	},
	{
		name: "hashicorp/cronexpr",
		// It has no L-n, and takes any range of weekdays that ends on Sunday for
		// one that ends on Saturday.
		tune:  func(g *specSource) { g.fromEnd, g.sunday7 = false, false },
		apart: func(s *randomSpec) bool { return strings.Contains(s.fields[5], "0-0") },
		next:  hashicorp,
	},
	{
		name: "adhocore/gronx",
		// It has no L-n and no LW; a step in a day field widens the other one or not, by
		// rules of its own; and a/n is every nth value from 0 where a is 0.
		tune: func(g *specSource) { g.fromEnd, g.lastWork, g.dayStep, g.openStep = false, false, false, false },
		next: adhocore,
	},
}

var robfigParser = cron.NewParser(cron.Second | cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow)

func robfig(text string, count int, after time.Time) ([]time.Time, error) {
	s, err := robfigParser.Parse(text)
	if err != nil {
		return nil, err
	}
	var out []time.Time
	for at := s.Next(after); len(out) < count; at = s.Next(at) {
		if at.IsZero() { // nothing within five years
			return out, errNoOpinion
		}
		out = append(out, at)
	}
	return out, nil
}

func hashicorp(text string, count int, after time.Time) ([]time.Time, error) {
	e, err := cronexpr.Parse(text + " *")
	if err != nil {
		return nil, err
	}
	out := e.NextN(after, uint(count))
	if len(out) < count { // nothing up to 2099
		return out, errNoOpinion
	}
	return out, nil
}

func adhocore(text string, count int, after time.Time) ([]time.Time, error) {
	if !gronx.IsValid(text) {
		return nil, errors.New("not valid")
	}
	var out []time.Time
	for at := after; len(out) < count; {
		next, err := gronx.NextTickAfter(text, at, false)
		if err != nil { // it gives up after some hundred steps
			return out, errNoOpinion
		}
		out = append(out, next)
		at = next
	}
	return out, nil
}

func TestOracles(t *testing.T) {
	rounds := 500
	if soak() {
		rounds = 20_000
	}
	for i, o := range oracles {
		t.Run(o.name, func(t *testing.T) {
			g := newSpecSource(uint64(i))
			o.tune(g)
			compared := 0
			for range rounds {
				compared += agree(t, o, g)
			}
			t.Logf("%d instants of %d specs", compared, rounds)
			if compared < 3*rounds {
				t.Errorf("only %d instants were compared", compared)
			}
		})
	}
}

// agree compares a few instants of one spec, and gives how many.
func agree(t *testing.T, o oracle, g *specSource) int {
	t.Helper()
	spec := g.spec()
	if o.apart != nil && o.apart(spec) {
		return 0
	}
	after := time.Date(2000+g.IntN(60), time.Month(1+g.IntN(12)), 1+g.IntN(28), g.IntN(24), g.IntN(60), g.IntN(60), 0, time.UTC)
	want, err := o.next(spec.text(), 5, after)
	if err != nil && !errors.Is(err, errNoOpinion) {
		return 0 // not a text that it accepts
	}
	s, err := schedule.New("test", defined("seconds", "UTC", spec.text()))
	if err != nil {
		if len(want) == 0 && strings.Contains(err.Error(), schedule.CodeImpossibleDate) {
			return 0
		}
		t.Fatal(err)
	}
	got := make([]time.Time, 0, 5)
	for at := after; len(got) < len(want); {
		next, ok := s.Next(at)
		if !ok {
			break
		}
		got = append(got, next)
		at = next
	}
	if !slices.EqualFunc(got, want, time.Time.Equal) {
		t.Fatalf("%q after %s\n%s says %v\nwe say %v", spec.text(), after, o.name, texts(want), texts(got))
	}
	return len(got)
}
