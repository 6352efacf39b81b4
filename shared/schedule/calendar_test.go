package schedule_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/orrery-dev/orrery/shared/schedule"
)

// Cases 06 to 08 planned by looking each second whether it is time to wake, as a
// live planner does, and again as one window of 12 hours.
func TestScenario09(t *testing.T) {
	for _, spec := range []string{"0 30 1 * * *", "0 0 * * * *", "0 */15 * * * *"} {
		for _, repeat := range []schedule.Repeat{"first", "both"} {
			d := defined("seconds", "America/New_York", spec)
			d.Repeat = repeat
			d.Misfire = schedule.Misfire{Policy: schedule.MisfireAll}
			s := must(t, d)
			begin := schedule.Begin(utc(t, "2026-11-01T00:00:00Z"))
			var live []time.Time
			plan := s.Plan(begin, begin.At, schedule.Limits{Rows: 10})
			for second := range 12 * 3600 {
				if now := begin.At.Add(time.Duration(second+1) * time.Second); !now.Before(plan.Wake) {
					plan = s.Plan(plan.Cursor, now, schedule.Limits{Rows: 10})
					live = append(live, instantsOf(plan)...)
				}
			}
			whole := s.Plan(begin, begin.At.Add(12*time.Hour), schedule.Limits{Rows: 100})
			wantTimes(t, live, instantsOf(whole))
			if len(live) == 0 || whole.Skipped.Count > 0 {
				t.Errorf("%s: %d instants, %d skipped", spec, len(live), whole.Skipped.Count)
			}
		}
	}
}

func instantsOf(p schedule.Plan) []time.Time {
	var out []time.Time
	for _, o := range p.Occurrences {
		out = append(out, o.Instant)
	}
	return out
}

// Every 90 s, with the schedule made anew 40 times.
func TestScenario41(t *testing.T) {
	anchor := utc(t, "2026-03-01T00:00:10Z")
	at := utc(t, "2026-03-08T06:00:00Z")
	for range 40 {
		s := must(t, defined("unix", "America/New_York", "every 90s anchor 2026-03-01T00:00:10Z"))
		next, ok := s.Next(at)
		if apart := next.Sub(at); !ok || next.Sub(anchor)%(90*time.Second) != 0 || apart <= 0 || apart > 90*time.Second {
			t.Fatalf("after %s comes %s", at, next)
		}
		at = next.Add(17 * time.Second)
	}
	s := must(t, defined("unix", "UTC", "every 1d2h3m4s"))
	if next, _ := s.Next(utc(t, longAgo)); next.Unix() != 86400+7384 {
		t.Errorf("a day, 2 h, 3 min and 4 s after the anchor is %s", next)
	}
}

func TestScenario42(t *testing.T) {
	for _, row := range []struct {
		spec, zone string
		gap        schedule.Gap
		repeat     schedule.Repeat
		want       string
		mark       schedule.Mark
	}{
		{"at 2026-11-01T01:30", "America/New_York", "", "", "2026-11-01T05:30Z", schedule.FirstShowing},
		{"at 2026-11-01T01:30 America/New_York", "America/New_York", "", "", "2026-11-01T05:30Z", schedule.FirstShowing},
		{"at 2026-11-01T01:30 America/New_York", "UTC", "", "", "2026-11-01T05:30Z", ""},
		{"at 2026-11-01T01:30:15 America/New_York", "UTC", "", "both", "2026-11-01T05:30:15Z 2026-11-01T06:30:15Z", ""},
		{"at 2026-11-01T06:30:00Z", "America/New_York", "", "", "2026-11-01T06:30Z", schedule.SecondShowing},
		{"at 2026-03-08T02:30", "America/New_York", "", "", "2026-03-08T07:00Z", schedule.Shifted},
		{"at 2026-03-08T02:30 America/New_York", "UTC", "", "", "2026-03-08T07:00Z", ""},
	} {
		d := defined("unix", row.zone, row.spec)
		d.Gap, d.Repeat = row.gap, row.repeat
		s, _, err := schedule.Check("test", d, utc(t, "2026-01-01"))
		if err != nil {
			t.Fatal(err)
		}
		preview := s.Preview(utc(t, "2026-01-01"), 5)
		var got []time.Time
		for _, p := range preview {
			got = append(got, p.Instant)
		}
		wantTimes(t, got, all(t, row.want))
		if preview[0].Mark != row.mark {
			t.Errorf("%s: the mark is %q, want %q", row.spec, preview[0].Mark, row.mark)
		}
		plan := s.Plan(schedule.Begin(utc(t, "2026-01-01")), got[len(got)-1], schedule.Limits{Rows: 9})
		if !plan.Over {
			t.Errorf("%s: the schedule is not over after its last run", row.spec)
		}
	}
	d := defined("unix", "America/New_York", "at 2026-03-08T02:30")
	d.Gap = schedule.GapSkip
	wantProblem(t, d, "2026-01-01", "specs[0]", schedule.CodeNoFuture, "at 2026-03-08T02:30")
}

func TestScenario43(t *testing.T) {
	d := defined("unix", "UTC", "0 * * * *")
	d.Jitter = 10 * time.Minute
	offsets := map[time.Duration]int{}
	for i := range 100 {
		id := fmt.Sprintf("schedule-%d", i)
		s, err := schedule.New(id, d)
		if err != nil {
			t.Fatal(err)
		}
		if s.Offset < 0 || s.Offset >= d.Jitter || s.Offset%time.Millisecond != 0 {
			t.Errorf("%s has the offset %v", id, s.Offset)
		}
		offsets[s.Offset]++
		for range 6 { // restarts on two nodes
			if again, err := schedule.New(id, d); err != nil || again.Offset != s.Offset {
				t.Errorf("%s has the offset %v, and then %v: %v", id, s.Offset, again.Offset, err)
			}
		}
		plan := s.Plan(schedule.Begin(utc(t, "2026-01-01T10:20:00Z")), utc(t, "2026-01-01T11:00:00Z").Add(s.Offset), schedule.Limits{Rows: 10})
		if len(plan.Occurrences) != 1 || !plan.Occurrences[0].Instant.Equal(utc(t, "2026-01-01T11:00:00Z")) ||
			plan.Occurrences[0].Due.Sub(plan.Occurrences[0].Instant) != s.Offset {
			t.Errorf("%s: the plan is %+v", id, plan)
		}
	}
	if len(offsets) < 90 {
		t.Errorf("100 schedules have %d offsets", len(offsets))
	}
	// The offset of an id is part of what was promised.
	d.Jitter = time.Hour
	if s, _ := schedule.New("invoices", d); s.Offset != 1448654*time.Millisecond {
		t.Errorf("the offset of invoices has become %v", s.Offset)
	}
}

// Start is included, End is not.
func TestScenario44(t *testing.T) {
	d := defined("unix", "UTC", "0 * * * *")
	d.Start, d.End = utc(t, "2026-01-01T10:00:00Z"), utc(t, "2026-01-01T12:00:00Z")
	got := slices.Collect(must(t, d).Instants(utc(t, "2026-01-01"), utc(t, "2026-01-02")))
	wantTimes(t, got, all(t, "2026-01-01T10:00Z 2026-01-01T11:00Z"))
	d.Start, d.End = d.Start.Add(time.Nanosecond), d.End.Add(time.Nanosecond)
	s := must(t, d)
	wantTimes(t, slices.Collect(s.Instants(utc(t, "2026-01-01"), utc(t, "2026-01-02"))), all(t, "2026-01-01T11:00Z 2026-01-01T12:00Z"))
	if next, ok := s.Next(utc(t, "2026-01-01T12:00:00Z")); ok {
		t.Errorf("after the end comes %s", next)
	}
	ps := problems(t, d, utc(t, "2026-01-01T12:00:00Z"))
	if len(ps) != 1 || ps[0].Code != schedule.CodeNoFuture || !strings.Contains(ps[0].Message, "before 2026-01-01T12:00:00Z") {
		t.Errorf("got %v", ps)
	}
}

func TestScenario45(t *testing.T) {
	d := defined("unix", "Europe/Berlin", "0 9 * * *")
	d.Exclude = []string{"* * * 2 *", "2026-03-02"}
	s := must(t, d)
	got := slices.Collect(s.Instants(utc(t, "2026-01-31"), utc(t, "2026-03-04")))
	wantTimes(t, got, all(t, "2026-01-31T08:00Z 2026-03-01T08:00Z 2026-03-03T08:00Z"))

	d.Exclude = []string{"* 8-9 * * 1-5", "* 0-12 * * 0,6"}
	ps := problems(t, d, utc(t, "2026-01-01"))
	if len(ps) != 1 || ps[0].Field != "exclude" || ps[0].Code != schedule.CodeExcludesAll {
		t.Errorf("all is excluded: %v", ps)
	}
	// An interval that exclusions meet each time is searched for some years only.
	d.Specs, d.Exclude = []string{"every 120s"}, []string{"*/2 * * * *"}
	ps = problems(t, d, utc(t, "2026-01-01"))
	if len(ps) != 1 || ps[0].Code != schedule.CodeExcludesAll || !strings.Contains(ps[0].Message, " up to 202") {
		t.Errorf("all is excluded: %v", ps)
	}
	// A shifted run is excluded by the time that it stands for, and by the time at
	// which it would be.
	for _, exclude := range []string{"30 2 * * *", "0 3 * * *"} {
		d = defined("unix", "America/New_York", "30 2 * * *")
		d.Exclude = []string{exclude}
		if n := must(t, d).Count(utc(t, "2026-03-08"), utc(t, "2026-03-09")); n != 0 {
			t.Errorf("without %s there are %d runs on the day of the gap", exclude, n)
		}
	}
}

// A text without seconds excludes whole minutes, one with seconds those seconds.
func TestExclusionsOfSeconds(t *testing.T) {
	d := defined("unix", "UTC", "every 20s")
	d.Exclude = []string{"1 0 * * *"}
	from, to := utc(t, "2026-01-01"), utc(t, "2026-01-01T00:03:00Z")
	wantTimes(t, slices.Collect(must(t, d).Instants(from, to)),
		all(t, "2026-01-01T00:00:00Z 2026-01-01T00:00:20Z 2026-01-01T00:00:40Z 2026-01-01T00:02:00Z 2026-01-01T00:02:20Z 2026-01-01T00:02:40Z"))
	d.Dialect, d.Exclude = schedule.Seconds, []string{"0-30 * * * * *"}
	wantTimes(t, slices.Collect(must(t, d).Instants(from, to)),
		all(t, "2026-01-01T00:00:40Z 2026-01-01T00:01:40Z 2026-01-01T00:02:40Z"))
}

// An interval that exclusions meet only at another offset than UTC's.
func TestExclusionsAreInTheZone(t *testing.T) {
	d := defined("unix", "America/New_York", "every 1d anchor 2026-01-01T12:00:00Z")
	d.Exclude = []string{"* 12 * * *"}
	if _, _, err := schedule.Check("test", d, utc(t, "2026-01-01")); err != nil {
		t.Error(err)
	}
	d.Exclude = []string{"* 7,8 * * *"}
	if ps := problems(t, d, utc(t, "2026-01-01")); len(ps) != 1 || ps[0].Code != schedule.CodeExcludesAll {
		t.Errorf("got %v", ps)
	}
}

func TestScenario87(t *testing.T) {
	previews := func(d schedule.Definition, after string) []string {
		var out []string
		for _, p := range must(t, d).Preview(utc(t, after), 5) {
			out = append(out, fmt.Sprintf("%s %s %s", p.Local.Format("2006-01-02T15:04:05-07:00 MST"), p.Instant.Format(time.RFC3339), p.Mark))
		}
		return out
	}
	got := previews(defined("unix", "America/New_York", "30 2 * * *"), "2026-03-06T12:00:00Z")
	want := []string{
		"2026-03-07T02:30:00-05:00 EST 2026-03-07T07:30:00Z ",
		"2026-03-08T03:00:00-04:00 EDT 2026-03-08T07:00:00Z shifted",
		"2026-03-09T02:30:00-04:00 EDT 2026-03-09T06:30:00Z ",
		"2026-03-10T02:30:00-04:00 EDT 2026-03-10T06:30:00Z ",
		"2026-03-11T02:30:00-04:00 EDT 2026-03-11T06:30:00Z ",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	got = previews(defined("unix", "America/New_York", "*/30 * * * *"), "2026-11-01T05:00:00Z")
	want = []string{
		"2026-11-01T01:30:00-04:00 EDT 2026-11-01T05:30:00Z first_showing",
		"2026-11-01T01:00:00-05:00 EST 2026-11-01T06:00:00Z second_showing",
		"2026-11-01T01:30:00-05:00 EST 2026-11-01T06:30:00Z second_showing",
		"2026-11-01T02:00:00-05:00 EST 2026-11-01T07:00:00Z ",
		"2026-11-01T02:30:00-05:00 EST 2026-11-01T07:30:00Z ",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	s := must(t, defined("unix", "America/New_York", "30 2 * * *"))
	if note := s.Preview(utc(t, "2026-03-08T00:00:00Z"), 1)[0].Note; note != "stands for 2026-03-08 02:30:00, which the clocks leave out" {
		t.Errorf("the note is %q", note)
	}
	if n := len(s.Preview(utc(t, "2026-03-08T00:00:00Z"), 1<<30)); n != schedule.MaxPreview {
		t.Errorf("a preview has %d instants", n)
	}
}

// Several specs and exclusions are a union and a difference, in any zone; asking
// in parts gives the same; and counting agrees with listing.
func TestCalendarsAreSets(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		g := newSpecSource(rapid.Uint64().Draw(rt, "seed"))
		zone := rapid.SampledFrom([]string{"UTC", "America/New_York", "Australia/Lord_Howe", "Africa/Cairo", "Asia/Kolkata"}).Draw(rt, "zone")
		from := utc(t, "2026-01-01").Add(time.Duration(g.IntN(365*24)) * time.Hour)
		to := from.Add(time.Duration(g.IntN(10*24*3600)) * time.Second)
		d := schedule.Definition{Timing: schedule.Timing{Dialect: "seconds", Zone: zone, Gap: "skip"}}
		want := map[time.Time]bool{}
		for range 1 + g.IntN(3) {
			one := d
			one.Specs = []string{sparse(g)}
			if s, err := schedule.New("one", one); err == nil {
				d.Specs = append(d.Specs, one.Specs...)
				for at := range s.Instants(from, to) {
					want[at] = true
				}
			}
		}
		excluded := g.spec()
		d.Exclude = []string{excluded.text()}
		s, err := schedule.New("all", d)
		if err != nil {
			return // fields of a spec never meet
		}
		location, err := schedule.Location(zone)
		if err != nil {
			t.Fatal(err)
		}
		maps.DeleteFunc(want, func(at time.Time, _ bool) bool { return excluded.matches(at.In(location)) })
		got := slices.Collect(s.Instants(from, to))
		if !slices.EqualFunc(got, slices.SortedFunc(maps.Keys(want), time.Time.Compare), time.Time.Equal) {
			rt.Fatalf("%q less %q in %s: got %v, want %v", d.Specs, d.Exclude, zone, texts(got), want)
		}
		middle := from.Add(to.Sub(from) / 3)
		parts := append(slices.Collect(s.Instants(from, middle)), slices.Collect(s.Instants(middle, to))...)
		if !slices.Equal(got, parts) || s.Count(from, to) != int64(len(got)) || s.Count(from, middle)+s.Count(middle, to) != int64(len(got)) {
			rt.Fatalf("%q less %q in %s: %d at once, %d in parts, %d counted", d.Specs, d.Exclude, zone, len(got), len(parts), s.Count(from, to))
		}
	})
}

// sparse is the text of a spec that does not run each second.
func sparse(g *specSource) string {
	if g.IntN(4) == 0 {
		return fmt.Sprintf("every %ds", 301+g.IntN(100_000))
	}
	s := g.spec()
	s.fields[0] = "0"
	if s.fields[1] == "*" {
		s.fields[1] = "*/10"
	}
	return s.text()
}

// A stretch is read whole, also where that takes more steps than a search may.
func TestLongStretchesAreWhole(t *testing.T) {
	for _, row := range []struct {
		spec    string
		exclude []string
		last    string
		count   int64
	}{
		{"7 * * * *", nil, "2035-12-31T23:07:00Z", 3652 * 24},
		{"every 1h anchor 1970-01-01T00:07:00Z", []string{"* 0-22 * * *"}, "2035-12-31T23:07:00Z", 3652},
	} {
		d := defined("unix", "UTC", row.spec)
		d.Exclude = row.exclude
		s := must(t, d)
		from, to := utc(t, "2026-01-01"), utc(t, "2036-01-01")
		var n int64
		var last time.Time
		for at := range s.Instants(from, to) {
			n, last = n+1, at
		}
		if counted := s.Count(from, to); n != row.count || counted != row.count || last.Format(time.RFC3339) != row.last {
			t.Errorf("%q: %d instants up to %s, counted %d, want %d up to %s", row.spec, n, last, counted, row.count, row.last)
		}
	}
}
