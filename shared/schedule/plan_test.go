package schedule_test

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/orrery-dev/orrery/shared/schedule"
)

var enough = schedule.Limits{Rows: 2000}

func hourly(t *testing.T, misfire schedule.Misfire) *schedule.Schedule {
	t.Helper()
	d := defined("unix", "UTC", "0 * * * *")
	d.Misfire = misfire
	return must(t, d)
}

func TestScenario46(t *testing.T) {
	s := hourly(t, schedule.Misfire{})
	begin := schedule.Begin(utc(t, "2026-01-01T10:20:00Z"))
	plan := s.Plan(begin, utc(t, "2026-01-01T10:20:00Z"), enough)
	if len(plan.Occurrences) > 0 || plan.Skipped.Count > 0 || plan.Cursor != begin {
		t.Errorf("the plan is %+v", plan)
	}
	if next := utc(t, "2026-01-01T11:00:00Z"); !plan.Next.Equal(next) || !plan.Wake.Equal(next) {
		t.Errorf("next is %s at %s, want 11:00", plan.Next, plan.Wake)
	}
	if plan.Zones != schedule.ZonesVersion() {
		t.Errorf("the version is %q", plan.Zones)
	}
}

// A pass that was killed before or within its write is made again from the same
// cursor, with the same result; from the cursor that it wrote nothing is left.
func TestScenario47And48(t *testing.T) {
	s := hourly(t, schedule.Misfire{Policy: schedule.MisfireAll, Max: 2})
	begin := schedule.Begin(utc(t, "2026-01-01T10:30:00Z"))
	now := utc(t, "2026-01-01T14:10:00Z")
	first, again := s.Plan(begin, now, enough), s.Plan(begin, now, enough)
	wantTimes(t, instantsOf(again), instantsOf(first))
	if again.Skipped != first.Skipped || again.Cursor != first.Cursor {
		t.Errorf("first %+v, again %+v", first, again)
	}
	after := s.Plan(first.Cursor, now, enough)
	if len(after.Occurrences) > 0 || after.Skipped.Count > 0 || after.Cursor != first.Cursor {
		t.Errorf("after it %+v", after)
	}
}

// Three nodes, 1,000 passes, clocks of their own: whoever wins the cursor, each
// instant is decided once, and whoever loses has planned nothing that differs.
func TestScenario49(t *testing.T) {
	d := defined("seconds", "UTC", "*/7 * * * * *")
	d.Misfire = schedule.Misfire{Policy: schedule.MisfireAll, Max: 1000}
	s := must(t, d)
	g := newSpecSource(49)
	cursor := schedule.Begin(utc(t, "2026-01-01"))
	rows := map[time.Time]int{}
	now := cursor.At
	for range 1000 {
		now = now.Add(time.Duration(g.IntN(20_000)) * time.Millisecond)
		plans := make([]schedule.Plan, 3)
		for i := range plans {
			plans[i] = s.Plan(cursor, now.Add(time.Duration(g.IntN(3))*time.Second), enough)
		}
		won := plans[g.IntN(3)]
		for _, o := range won.Occurrences {
			rows[o.Instant]++
		}
		cursor = won.Cursor
	}
	want := s.Count(utc(t, "2026-01-01T00:00:01Z"), cursor.At.Add(time.Nanosecond))
	if int64(len(rows)) != want || want < 1000 {
		t.Errorf("%d instants have rows, want %d", len(rows), want)
	}
	for at, n := range rows {
		if n != 1 {
			t.Errorf("%s has %d rows", at, n)
		}
	}
}

// outage plans what a schedule has missed.
type outage struct {
	name          string
	spec          string
	misfire       schedule.Misfire
	down, now     string
	want          string // instants that run
	skipped       int64
	first, newest string // of the skipped ones
}

func TestScenario50To53(t *testing.T) {
	const down, up = "2026-01-01T10:30:00Z", "2026-01-01T14:10:00Z"
	const at11, at12, at13, at14 = "2026-01-01T11:00:00Z", "2026-01-01T12:00:00Z", "2026-01-01T13:00:00Z", "2026-01-01T14:00:00Z"
	for _, o := range []outage{
		{"50 none", "0 * * * *", schedule.Misfire{Policy: "none"}, down, up, "", 4, at11, at14},
		{"50 latest", "0 * * * *", schedule.Misfire{}, down, up, at14, 3, at11, at13},
		{"50 all(2)", "0 * * * *", schedule.Misfire{Policy: "all", Max: 2}, down, up, at11 + " " + at12, 2, at13, at14},
		{"50 all(100)", "0 * * * *", schedule.Misfire{Policy: "all"}, down, up, at11 + " " + at12 + " " + at13 + " " + at14, 0, "", ""},
		{"51 none", "0 * * * *", schedule.Misfire{Policy: "none"}, down, "2026-01-01T14:00:02Z", at14, 3, at11, at13},
		{"51 latest", "0 * * * *", schedule.Misfire{}, down, "2026-01-01T14:00:02Z", at14, 3, at11, at13},
		{"51 all(2)", "0 * * * *", schedule.Misfire{Policy: "all", Max: 2}, down, "2026-01-01T14:00:02Z", at11 + " " + at12 + " " + at14, 1, at13, at13},
		{"51 at the end of the grace", "0 * * * *", schedule.Misfire{Policy: "none"}, down, "2026-01-01T14:00:05Z", at14, 3, at11, at13},
		{"51 after the grace", "0 * * * *", schedule.Misfire{Policy: "none"}, down, "2026-01-01T14:00:05.001Z", "", 4, at11, at14},
		{"52", "every 1s", schedule.Misfire{}, "2026-01-01T00:00:00Z", "2026-01-04T00:00:01Z", "2026-01-04T00:00:01Z", 259_200, "2026-01-01T00:00:01Z", "2026-01-04T00:00:00Z"},
		{"53", "*/10 * * * *", schedule.Misfire{Policy: "all", Window: time.Hour}, "2026-01-01T10:05:00Z", "2026-01-01T13:05:00Z",
			"2026-01-01T12:10:00Z 2026-01-01T12:20:00Z 2026-01-01T12:30:00Z 2026-01-01T12:40:00Z 2026-01-01T12:50:00Z " + at13, 12, "2026-01-01T10:10:00Z", at12},
		{"53 at its edge", "*/10 * * * *", schedule.Misfire{Policy: "all", Window: time.Hour, Max: 2}, "2026-01-01T11:55:00Z", at13,
			at12 + " 2026-01-01T12:10:00Z " + at13, 4, "2026-01-01T12:20:00Z", "2026-01-01T12:50:00Z"},
		{"53 latest too late", "0 12 * * *", schedule.Misfire{Window: time.Hour}, down, "2026-01-01T13:00:01Z", "", 1, at12, at12},
		{"53 latest in time", "0 12 * * *", schedule.Misfire{Window: time.Hour}, down, at13, at12, 0, "", ""},
	} {
		t.Run(o.name, func(t *testing.T) { missed(t, o) })
	}
}

func missed(t *testing.T, o outage) {
	d := defined("unix", "UTC", o.spec)
	d.Misfire = o.misfire
	s := must(t, d)
	now := utc(t, o.now)
	plan := s.Plan(schedule.Begin(utc(t, o.down)), now, enough)
	wantTimes(t, instantsOf(plan), all(t, o.want))
	if plan.Skipped.Count != o.skipped {
		t.Errorf("%d are skipped, want %d", plan.Skipped.Count, o.skipped)
	}
	if o.skipped > 0 && (!plan.Skipped.First.Equal(utc(t, o.first)) || !plan.Skipped.Last.Equal(utc(t, o.newest))) {
		t.Errorf("skipped from %s to %s, want %s to %s", plan.Skipped.First, plan.Skipped.Last, o.first, o.newest)
	}
	if !plan.Cursor.At.Equal(now) || plan.More || plan.Over || !plan.Next.After(now) {
		t.Errorf("the plan is %+v", plan)
	}
}

// An outage of 72 h costs a schedule that runs each second, or each 13 s at odd
// distances beside exclusions, a bounded number of steps, and one of 50 years not
// a step per instant.
func TestScenario52IsBounded(t *testing.T) {
	second := must(t, defined("seconds", "America/New_York", "* * * * * *"))
	odd := defined("seconds", "America/New_York", "every 13s")
	odd.Exclude = []string{"30-59 * * * * *"}
	for _, row := range []struct {
		s     *schedule.Schedule
		years int
		days  int
		n     int64
		steps int
	}{
		{second, 0, 3, 259_200, 8_000},
		{must(t, odd), 0, 3, 9970, 8_000},
		{second, 50, 0, 1_577_836_800, 300_000},
	} {
		from := utc(t, "2026-01-01")
		steps, n := row.s.CountSteps(from, from.AddDate(row.years, 0, row.days))
		if steps > row.steps || n != row.n {
			t.Errorf("%d years and %d days: %d instants in %d steps, want %d in at most %d", row.years, row.days, n, steps, row.n, row.steps)
		}
	}
}

func TestScenario54(t *testing.T) {
	d := defined("unix", "UTC", "0 * * * *")
	d.StartDeadline = 120 * time.Second
	plan := must(t, d).Plan(schedule.Begin(utc(t, "2026-01-01T10:30:00Z")), utc(t, "2026-01-01T11:00:01Z"), enough)
	if len(plan.Occurrences) != 1 {
		t.Fatalf("the plan is %+v", plan)
	}
	o := plan.Occurrences[0]
	for after, want := range map[time.Duration]time.Duration{0: 0, 2 * time.Minute: 0, 10 * time.Minute: 8 * time.Minute} {
		by, missed := o.Late(o.Instant.Add(after))
		if by != want || missed != (want > 0) {
			t.Errorf("%v after its instant it is late by %v: %v", after, by, missed)
		}
	}
	forever := hourly(t, schedule.Misfire{}).Plan(schedule.Begin(utc(t, "2026-01-01T10:30:00Z")), utc(t, "2026-01-01T11:00:01Z"), enough)
	if by, missed := forever.Occurrences[0].Late(utc(t, "2036-01-01")); missed {
		t.Errorf("without a deadline it is late by %v", by)
	}
}

func TestScenario55And56(t *testing.T) {
	before := defined("unix", "UTC", "0 * * * *")
	cursor := schedule.Cursor{At: utc(t, "2026-01-01T10:30:00Z"), Runs: 7}
	now := utc(t, "2026-01-01T12:30:00Z")
	// 56: what is not the timing keeps the cursor, also where a default is spelled
	// out, and 11:00 and 12:00 are still due.
	same := before
	same.Misfire, same.Limit, same.Zone, same.Gap = schedule.Misfire{Policy: "all"}, 100, "UTC", schedule.GapShift
	kept := schedule.Revise(cursor, before, same, now)
	if kept != cursor {
		t.Errorf("the cursor moves to %+v", kept)
	}
	wantTimes(t, instantsOf(must(t, same).Plan(kept, now, enough)), all(t, "2026-01-01T11:00Z 2026-01-01T12:00Z"))
	// 55: another timing has instants after the change only.
	for name, change := range map[string]func(*schedule.Definition){
		"specs":   func(d *schedule.Definition) { d.Specs = []string{"*/10 * * * *"} },
		"exclude": func(d *schedule.Definition) { d.Exclude = []string{"2026-12-25"} },
		"dialect": func(d *schedule.Definition) { d.Dialect = "vixie" },
		"zone":    func(d *schedule.Definition) { d.Zone = "Asia/Kolkata" },
		"days":    func(d *schedule.Definition) { d.DayMatch = "and" },
		"gap":     func(d *schedule.Definition) { d.Gap = "skip" },
		"repeat":  func(d *schedule.Definition) { d.Repeat = "both" },
		"start":   func(d *schedule.Definition) { d.Start = utc(t, "2020-01-01") },
		"end":     func(d *schedule.Definition) { d.End = utc(t, "2030-01-01") },
	} {
		after := before
		change(&after)
		after.Misfire = schedule.Misfire{Policy: "all"}
		moved := schedule.Revise(cursor, before, after, now)
		if want := (schedule.Cursor{At: now, Runs: 7}); moved != want {
			t.Errorf("%s: the cursor is %+v, want %+v", name, moved, want)
		}
		for _, at := range instantsOf(must(t, after).Plan(moved, now.Add(24*time.Hour), enough)) {
			if !at.After(now) {
				t.Errorf("%s: there is a row for %s", name, at)
			}
		}
	}
	if back := schedule.Revise(schedule.Cursor{At: now.Add(time.Hour)}, before, defined("unix", "UTC", "@daily"), now); !back.At.Equal(now.Add(time.Hour)) {
		t.Errorf("the cursor moved back to %s", back.At)
	}
}

func TestScenario57(t *testing.T) {
	s := hourly(t, schedule.Misfire{Policy: schedule.MisfireAll})
	paused, now := schedule.Begin(utc(t, "2026-01-01T10:30:00Z")), utc(t, "2026-01-01T12:30:00Z")
	for how, want := range map[schedule.Resume]string{schedule.ResumeSkip: "", schedule.ResumeLatest: "2026-01-01T12:00Z"} {
		plan := s.Resume(paused, now, how)
		wantTimes(t, instantsOf(plan), all(t, want))
		if plan.Skipped.Count != 0 || !plan.Cursor.At.Equal(now) || plan.Cursor.Runs != int64(len(plan.Occurrences)) {
			t.Errorf("%s: the plan is %+v", how, plan)
		}
		if !plan.Next.Equal(utc(t, "2026-01-01T13:00:00Z")) {
			t.Errorf("%s: next is %s", how, plan.Next)
		}
	}
	if plan := s.Resume(paused, utc(t, "2026-01-01T10:40:00Z"), schedule.ResumeLatest); len(plan.Occurrences) > 0 {
		t.Errorf("a pause without an instant has %+v", plan)
	}
}

// The plan knows no clock but the one that it is given: nodes with others plan
// alike, and a clock that goes back decides nothing again and leaves nothing out.
func TestScenario59And60(t *testing.T) {
	s := hourly(t, schedule.Misfire{})
	cursor := schedule.Begin(utc(t, "2026-01-01T10:30:00Z"))
	plan := s.Plan(cursor, utc(t, "2026-01-01T11:00:01Z"), enough)
	back := s.Plan(plan.Cursor, utc(t, "2026-01-01T10:00:01Z"), enough)
	if len(back.Occurrences) > 0 || back.Skipped.Count > 0 || back.Cursor != plan.Cursor || !back.Next.Equal(plan.Next) {
		t.Errorf("an hour earlier the plan is %+v", back)
	}
	wantTimes(t, instantsOf(s.Plan(back.Cursor, utc(t, "2026-01-01T12:00:00Z"), enough)), all(t, "2026-01-01T12:00Z"))
}

// With another database the next instant moves, and what is decided does not.
func TestScenario61(t *testing.T) {
	moved, err := schedule.Location("Europe/Helsinki")
	if err != nil {
		t.Fatal(err)
	}
	s := must(t, defined("unix", "Europe/Berlin", "0 9 * * *"))
	plan := s.Plan(schedule.Begin(utc(t, "2026-01-01T00:00:00Z")), utc(t, "2026-01-02T08:00:00Z"), enough)
	if !plan.Next.Equal(utc(t, "2026-01-03T08:00:00Z")) {
		t.Fatalf("next is %s", plan.Next)
	}
	again := s.In(moved).Plan(plan.Cursor, utc(t, "2026-01-02T08:00:00Z"), enough)
	if len(again.Occurrences) > 0 || again.Cursor != plan.Cursor || !again.Next.Equal(utc(t, "2026-01-03T07:00:00Z")) {
		t.Errorf("with another database the plan is %+v", again)
	}
}

func TestScenario62(t *testing.T) {
	s := must(t, defined("unix", "UTC", "@daily"))
	from, to := utc(t, "2026-01-01"), utc(t, "2026-02-01")
	instants, n := s.Backfill(from, to, 1000)
	if len(instants) != 31 || n != 31 || !instants[0].Equal(from) || !instants[30].Equal(utc(t, "2026-01-31")) {
		t.Errorf("%d of %d instants: %v", len(instants), n, texts(instants))
	}
	if some, n := s.Backfill(from, to, 10); len(some) != 10 || n != 31 {
		t.Errorf("%d of %d instants", len(some), n)
	}
	// A row has its instant for a key, so the ten that exist are the same rows.
	rows := map[time.Time]bool{}
	for _, at := range instants[5:15] {
		rows[at] = true
	}
	for _, at := range instants {
		rows[at] = true
	}
	if len(rows) != 10+21 {
		t.Errorf("there are %d rows", len(rows))
	}
}

func TestLimitOfRuns(t *testing.T) {
	d := defined("unix", "UTC", "0 * * * *")
	d.Limit, d.Misfire = 3, schedule.Misfire{Policy: "all", Max: 2}
	s := must(t, d)
	plan := s.Plan(schedule.Begin(utc(t, "2026-01-01T10:30:00Z")), utc(t, "2026-01-01T14:10:00Z"), enough)
	if len(plan.Occurrences) != 2 || plan.Skipped.Count != 2 || plan.Over || plan.Cursor.Runs != 2 {
		t.Fatalf("the plan is %+v", plan)
	}
	plan = s.Plan(plan.Cursor, utc(t, "2026-01-01T18:10:00Z"), enough)
	wantTimes(t, instantsOf(plan), all(t, "2026-01-01T15:00Z"))
	if !plan.Over || plan.Skipped.Count != 0 || !plan.Wake.IsZero() || plan.Cursor.Runs != 3 {
		t.Errorf("the plan is %+v", plan)
	}
	plan = s.Plan(plan.Cursor, utc(t, "2026-01-02T18:10:00Z"), enough)
	if !plan.Over || len(plan.Occurrences) > 0 || plan.Skipped.Count > 0 {
		t.Errorf("after the last run the plan is %+v", plan)
	}
}

// A plan that has too few rows goes on where it stopped, and the bound on late
// instants counts across plans.
func TestRowsAreBounded(t *testing.T) {
	d := defined("unix", "UTC", "* * * * *")
	d.Misfire = schedule.Misfire{Policy: "all", Max: 25}
	s := must(t, d)
	cursor, now := schedule.Begin(utc(t, "2026-01-01T10:00:30Z")), utc(t, "2026-01-01T11:00:00Z")
	var got []time.Time
	var skipped int64
	for plans := 1; ; plans++ {
		plan := s.Plan(cursor, now, schedule.Limits{Rows: 10})
		if len(plan.Occurrences) > 10 {
			t.Fatalf("a plan has %d rows", len(plan.Occurrences))
		}
		got, skipped, cursor = append(got, instantsOf(plan)...), skipped+plan.Skipped.Count, plan.Cursor
		if !plan.More {
			if plans != 3 || cursor.CaughtUp != 0 || !cursor.At.Equal(now) {
				t.Errorf("%d plans, the cursor is %+v", plans, cursor)
			}
			break
		}
		if plan.Wake.After(now) {
			t.Errorf("there is more, and the plan wakes at %s", plan.Wake)
		}
	}
	if len(got) != 26 || skipped != 34 || !got[24].Equal(utc(t, "2026-01-01T10:25:00Z")) || !got[25].Equal(now) {
		t.Errorf("%d rows, %d skipped: %v", len(got), skipped, texts(got))
	}
}

// A search that exclusions make too long is not the end of the schedule.
func TestLongSearchGoesOn(t *testing.T) {
	d := defined("seconds", "UTC", "every 2s anchor 2026-01-01T00:00:00Z")
	d.Exclude = []string{"*/2 * * * 1-2 *"}
	s := must(t, d).WithBudget(20_000)
	cursor, now := schedule.Begin(utc(t, "2026-01-01")), utc(t, "2026-01-01T00:00:01Z")
	plan := s.Plan(cursor, now, enough)
	if plan.Over || !plan.Next.IsZero() || !plan.Wake.After(now) || plan.Wake.After(utc(t, "2026-03-01")) {
		t.Fatalf("the plan is %+v", plan)
	}
	for range 100 {
		if plan = s.Plan(plan.Cursor, plan.Wake, enough); !plan.Next.IsZero() {
			break
		}
	}
	if !plan.Next.Equal(utc(t, "2026-03-01")) {
		t.Errorf("next is %s", plan.Next)
	}
}

// Whatever the schedule, the policy, the outages and the rows: each instant runs
// once or is counted once, in order, and nothing before its time.
func TestEveryInstantIsDecidedOnce(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		g := newSpecSource(rapid.Uint64().Draw(rt, "seed"))
		d := defined("seconds", rapid.SampledFrom([]string{"UTC", "America/New_York", "Australia/Lord_Howe"}).Draw(rt, "zone"), sparse(g))
		d.Misfire = schedule.Misfire{
			Policy: rapid.SampledFrom([]schedule.MisfirePolicy{"none", "latest", "all"}).Draw(rt, "policy"),
			Max:    1 + g.IntN(20), Window: time.Duration(g.IntN(3)) * 24 * time.Hour, Grace: time.Duration(1+g.IntN(60)) * time.Second,
		}
		d.Jitter = time.Duration(g.IntN(2)) * time.Hour
		s, err := schedule.New(fmt.Sprint(g.Uint64()), d)
		if err != nil {
			return // fields that never meet
		}
		begin := utc(t, "2026-03-01")
		cursor, now := schedule.Begin(begin), begin
		var runs, skipped int64
		for range 1 + g.IntN(20) {
			now = now.Add(time.Duration(g.IntN(5*24*3600*1000)) * time.Millisecond / time.Duration(1+g.IntN(1000)))
			for more := true; more; {
				plan := s.Plan(cursor, now, schedule.Limits{Rows: 1 + g.IntN(30)})
				for _, o := range plan.Occurrences {
					if o.Due.After(now) || !o.Instant.After(cursor.At) {
						rt.Fatalf("%+v is planned at %s from %+v", o, now, cursor)
					}
				}
				if plan.Cursor.At.Before(cursor.At) || !plan.Wake.IsZero() && !plan.More && !plan.Wake.After(now) {
					rt.Fatalf("at %s the plan is %+v", now, plan)
				}
				runs, skipped, cursor, more = runs+int64(len(plan.Occurrences)), skipped+plan.Skipped.Count, plan.Cursor, plan.More
			}
		}
		due := s.Count(begin.Add(time.Second), now.Add(-s.Offset).Add(time.Nanosecond))
		if runs+skipped != due || cursor.Runs != runs {
			rt.Fatalf("%q, %+v: %d run and %d are skipped, %d are due", d.Specs, d.Misfire, runs, skipped, due)
		}
	})
}
