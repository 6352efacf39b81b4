package schedule_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/orrery-dev/orrery/shared/schedule"
)

// wantProblem checks that exactly one thing is wrong, and what.
func wantProblem(t *testing.T, d schedule.Definition, now, field, code, part string) {
	t.Helper()
	ps := problems(t, d, utc(t, now))
	if len(ps) != 1 || ps[0].Field != field || ps[0].Code != code || !strings.Contains(ps[0].Message, part) {
		t.Errorf("%q: got %v, want %s at %s with %q", d.Specs, ps, code, field, part)
	}
}

func TestScenario26(t *testing.T) {
	for _, spec := range []string{"0 0 0 30 2 *", "0 0 0 31 4 *", "0 0 0 31 2,4,6,9,11 *"} {
		d := defined("seconds", "America/New_York", spec)
		wantProblem(t, d, "2026-01-01", "specs[0].day_of_month", schedule.CodeImpossibleDate, "day_of_month")
		wantProblem(t, d, "2026-01-01", "specs[0].day_of_month", schedule.CodeImpossibleDate, "month")
	}
	// The planner alone: a date that no year has, and that no check has refused.
	s := must(t, defined("year", "America/New_York", "0 0 0 29 2 * 2027"))
	plan := s.Plan(schedule.Begin(utc(t, "2026-01-01")), utc(t, "2026-01-02"), schedule.Limits{Rows: 10})
	if !plan.Over || len(plan.Occurrences) > 0 || !plan.Next.IsZero() {
		t.Errorf("the plan is %+v, want none", plan)
	}
	if steps, ok := s.Steps(utc(t, "2026-01-01")); ok || steps > 6000 {
		t.Errorf("found: %v after %d steps, want none after at most 6,000", ok, steps)
	}
}

func TestScenario27(t *testing.T) {
	s, _, err := schedule.Check("test", defined("seconds", "UTC", "0 0 0 29 2 *"), utc(t, "2096-03-01"))
	if err != nil {
		t.Fatal(err)
	}
	if next, ok := s.Next(utc(t, "2096-03-01")); !ok || !next.Equal(utc(t, "2104-02-29")) {
		t.Errorf("the next instant is %v", next)
	}
}

func TestScenario28(t *testing.T) {
	d := defined("seconds", "UTC", "0 0 0 13 * 5")
	d.DayMatch = schedule.DayAnd
	got := slices.Collect(must(t, d).Instants(utc(t, "2026-02-01"), utc(t, "2026-03-01")))
	wantTimes(t, got, all(t, "2026-02-13"))
}

func TestScenario29(t *testing.T) {
	for dialect, part := range map[schedule.Dialect]string{"seconds": "in either day field counts", "vixie": "has to be in both"} {
		_, warnings, err := schedule.Check("test", defined(dialect, "UTC", "0 0 0 */10 * 1"), utc(t, "2026-02-01"))
		if err != nil {
			t.Fatal(err)
		}
		if len(warnings) != 1 || warnings[0].Field != "specs[0].day_of_month" || warnings[0].Code != schedule.CodeDayStep || !strings.Contains(warnings[0].Message, part) {
			t.Errorf("%s: the warnings are %v", dialect, warnings)
		}
	}
	if _, warnings, _ := schedule.Check("test", defined("seconds", "UTC", "*/10 */10 */2 1-10/3 * *"), utc(t, "2026-02-01")); len(warnings) > 0 {
		t.Errorf("warned of %v", warnings)
	}
}

func TestScenario36(t *testing.T) {
	days := func(dialect schedule.Dialect, spec string) []time.Time {
		return slices.Collect(must(t, defined(dialect, "UTC", spec)).Instants(utc(t, "2026-02-01"), utc(t, "2026-02-15")))
	}
	for _, sunday := range []string{"0", "7", "SUN", "sun", "Sun"} {
		wantTimes(t, days("unix", "0 0 * * "+sunday), all(t, "2026-02-01 2026-02-08"))
	}
	wantTimes(t, days("unix", "0 0 * * 1"), all(t, "2026-02-02 2026-02-09"))
	wantTimes(t, days("quartz", "0 0 0 * * 2"), all(t, "2026-02-02 2026-02-09"))
	wantTimes(t, days("quartz", "0 0 0 ? * SUN"), all(t, "2026-02-01 2026-02-08"))
	wantTimes(t, days("quartz", "0 0 0 ? * L"), all(t, "2026-02-07 2026-02-14"))
	wantTimes(t, days("quartz", "0 0 0 ? * 1#2 2026"), all(t, "2026-02-08"))
	wantTimes(t, days("quartz", "0 0 0 ? * FRI-SUN"), all(t, "2026-02-01 2026-02-06 2026-02-07 2026-02-08 2026-02-13 2026-02-14"))
	wantProblem(t, defined("quartz", "UTC", "0 0 0 ? * 0"), "2026-01-01", "specs[0].day_of_week", schedule.CodeOutOfRange, "from 1 to 7")
}

func TestScenario37(t *testing.T) {
	from, to := utc(t, "2026-02-01"), utc(t, "2026-03-01")
	for spec, want := range map[string]string{
		"0 0 * * THU":     "2026-02-05 2026-02-12 2026-02-19 2026-02-26",
		"0 0 * * thu":     "2026-02-05 2026-02-12 2026-02-19 2026-02-26",
		"0 0 * * THU-FRI": "2026-02-05 2026-02-06 2026-02-12 2026-02-13 2026-02-19 2026-02-20 2026-02-26 2026-02-27",
		"0 0 * * THU#2":   "2026-02-12",
		"0 0 * * FRIL":    "2026-02-27",
		"0 0 * * SAT-SUN": "2026-02-01 2026-02-07 2026-02-08 2026-02-14 2026-02-15 2026-02-21 2026-02-22 2026-02-28",
		"0 0 9 jan-MAR *": "2026-02-09",
	} {
		wantTimes(t, slices.Collect(must(t, defined("unix", "UTC", spec)).Instants(from, to)), all(t, want))
	}
	wantProblem(t, defined("unix", "UTC", "0 0 1 MARCH *"), "2026-01-01", "specs[0].month", schedule.CodeLongName, "write MAR")
	wantProblem(t, defined("unix", "UTC", "0 0 * * Thursday"), "2026-01-01", "specs[0].day_of_week", schedule.CodeLongName, "write THU")
}

// malformed are texts in the dialect unix that are refused, with the field and
// the code.
var malformed = []struct{ spec, field, code string }{
	{"", "", schedule.CodeRequired},
	{" \t ", "", schedule.CodeRequired},
	{"5,,7 * * * *", ".minute", schedule.CodeEmptyItem},
	{",5 * * * *", ".minute", schedule.CodeEmptyItem},
	{"* 1, * * *", ".hour", schedule.CodeEmptyItem},
	{"+5 * * * *", ".minute", schedule.CodeSyntax},
	{"-5 * * * *", ".minute", schedule.CodeSyntax},
	{"5- * * * *", ".minute", schedule.CodeSyntax},
	{"5-1 * * * *", ".minute", schedule.CodeReversedRange},
	{"* 22-2 * * *", ".hour", schedule.CodeReversedRange},
	{"* * * * FRI-MON", ".day_of_week", schedule.CodeReversedRange},
	{"*/0 * * * *", ".minute", schedule.CodeStep},
	{"*/61 * * * *", ".minute", schedule.CodeStep},
	{"* */25 * * *", ".hour", schedule.CodeStep},
	{"*/ * * * *", ".minute", schedule.CodeSyntax},
	{"*/5/2 * * * *", ".minute", schedule.CodeSyntax},
	{"/5 * * * *", ".minute", schedule.CodeSyntax},
	{"1-2-3 * * * *", ".minute", schedule.CodeSyntax},
	{"** * * * *", ".minute", schedule.CodeSyntax},
	{"*5 * * * *", ".minute", schedule.CodeSyntax},
	{"60 * * * *", ".minute", schedule.CodeOutOfRange},
	{"* 24 * * *", ".hour", schedule.CodeOutOfRange},
	{"* * 0 * *", ".day_of_month", schedule.CodeOutOfRange},
	{"* * 32 * *", ".day_of_month", schedule.CodeOutOfRange},
	{"* * * 13 *", ".month", schedule.CodeOutOfRange},
	{"* * * * 8", ".day_of_week", schedule.CodeOutOfRange},
	{"* * * * 1#0", ".day_of_week", schedule.CodeOutOfRange},
	{"* * * * 1#6", ".day_of_week", schedule.CodeOutOfRange},
	{"* * * * #2", ".day_of_week", schedule.CodeSyntax},
	{"* * * * L", ".day_of_week", schedule.CodeSyntax},
	{"* * L-31 * *", ".day_of_month", schedule.CodeOutOfRange},
	{"* * 32W * *", ".day_of_month", schedule.CodeOutOfRange},
	{"* * W * *", ".day_of_month", schedule.CodeSyntax},
	{"* * 1-5W * *", ".day_of_month", schedule.CodeSyntax},
	{"1–5 * * * *", ".minute", schedule.CodeSyntax},
	{"99999999999999999999 * * * *", ".minute", schedule.CodeOutOfRange},
	{"*/99999999999999999999 * * * *", ".minute", schedule.CodeOutOfRange},
	{"? * * * *", ".minute", schedule.CodeSyntax},
	{"* * ?,5 * *", ".day_of_month", schedule.CodeSyntax},
	{"1.5 * * * *", ".minute", schedule.CodeSyntax},
	{"0x5 * * * *", ".minute", schedule.CodeSyntax},
	{"* * * FOO *", ".month", schedule.CodeSyntax},
	{"* * * * frı", ".day_of_week", schedule.CodeSyntax},
	{"* * * *\u00a0*", "", schedule.CodeFieldCount},
	{"* * * *", "", schedule.CodeFieldCount},
	{"0 0 0 1 1 * 2030", "", schedule.CodeFieldCount},
	{"0 0 0 1 1 * 2030 8", "", schedule.CodeFieldCount},
	{"TZ=UTC", "", schedule.CodeZonePrefix},
	{"TZ= 0 0 * * *", "", schedule.CodeZonePrefix},
	{"CRON_TZ=Europe/Berlin 0 0 * * *", "", schedule.CodeZonePrefix},
	{"@reboot", "", schedule.CodeNoMacro},
	{"@daily 5", "", schedule.CodeNoMacro},
	{"@", "", schedule.CodeNoMacro},
	{"every", "", schedule.CodeSyntax},
	{"every 90", "", schedule.CodeSyntax},
	{"every 1.5h", "", schedule.CodeSyntax},
	{"every -5s", "", schedule.CodeSyntax},
	{"every 0s", "", schedule.CodeOutOfRange},
	{"every 99999d", "", schedule.CodeOutOfRange},
	{"every 99999999999999999999d", "", schedule.CodeSyntax},
	{"every 999999999w999999999w", "", schedule.CodeOutOfRange},
	{"every 90s from noon", "", schedule.CodeSyntax},
	{"every 90s anchor noon", "", schedule.CodeSyntax},
	{"every 90s anchor 2026-01-01T00:00:00.5Z", "", schedule.CodeSyntax},
	{"at", "", schedule.CodeSyntax},
	{"at noon", "", schedule.CodeSyntax},
	{"at 2026-02-30T00:00", "", schedule.CodeSyntax},
	{"at 2026-11-01T05:30:00.25Z", "", schedule.CodeSyntax},
	{"at 2526-11-01T05:30", "", schedule.CodeOutOfRange},
	{"at 2026-11-01T05:30 Mars/Olympus", "", schedule.CodeUnknownZone},
	{"at 2026-11-01T05:30:00Z Europe/Berlin", "", schedule.CodeSyntax},
	{strings.Repeat("*", schedule.MaxSpecBytes+1), "", schedule.CodeTooLong},
}

func TestScenario38(t *testing.T) {
	for _, row := range malformed {
		wantProblem(t, defined("unix", "UTC", row.spec), "2026-01-01", "specs[0]"+row.field, row.code, "")
	}
	if len(malformed) < 35 {
		t.Errorf("there are %d texts", len(malformed))
	}
}

func TestScenario39(t *testing.T) {
	ps := problems(t, defined("", "UTC", "0 15 2 * * *"), utc(t, "2026-01-01"))
	if len(ps) != 1 || ps[0].Code != schedule.CodeFieldCount {
		t.Fatalf("got %v", ps)
	}
	for _, reading := range []string{
		`in the dialect seconds it is second "0", minute "15", hour "2", day of month "*"`,
		`minute "0", hour "15", day of month "2", month "*", day of week "*", year "*"`,
	} {
		if !strings.Contains(ps[0].Message, reading) {
			t.Errorf("%q does not say %q", ps[0].Message, reading)
		}
	}
}

func TestScenario40(t *testing.T) {
	d := defined("year", "UTC", "0 0 0 1 1 * 2020")
	wantProblem(t, d, "2026-01-01", "specs[0]", schedule.CodeNoFuture, "after 2026-01-01T00:00:00Z")
	if ps := problems(t, d, utc(t, "2019-01-01")); ps != nil {
		t.Errorf("in 2019 got %v", ps)
	}
}

// What is wrong is told together, in the order of the fields.
func TestAllProblemsTogether(t *testing.T) {
	d := schedule.Definition{
		Timing: schedule.Timing{
			Specs: []string{"61 25 * * *", "0 0 30 2 *", "at noon"}, Exclude: []string{"2026-02-30", "every 5s", "* * * *"},
			Dialect: "vixy", Zone: "Nowhere", DayMatch: "xor", Gap: "jump", Repeat: "last",
			Start: utc(t, "2026-02-01"), End: utc(t, "2026-01-01"),
		},
		Limit: -1, Jitter: 25 * time.Hour, StartDeadline: time.Nanosecond,
		Misfire: schedule.Misfire{Policy: "some", Max: 5000, Window: -1, Grace: time.Hour},
	}
	_, warnings, err := schedule.Check("test", d, utc(t, "2026-01-01"))
	ps, _ := err.(schedule.Problems)
	var got []string
	for _, p := range ps {
		got = append(got, p.Field+" "+p.Code)
	}
	want := []string{
		"dialect unknown", "day_match unknown", "gap unknown", "repeat unknown", "zone unknown_zone",
		"misfire.policy unknown", "misfire.max out_of_range", "misfire.window out_of_range", "misfire.grace out_of_range",
		"jitter out_of_range", "start_deadline out_of_range", "limit out_of_range", "end out_of_range",
		"specs[0].minute out_of_range", "specs[0].hour out_of_range", "specs[1].day_of_month impossible_date", "specs[2] syntax",
		"exclude[0] field_count", "exclude[1] syntax", "exclude[2] field_count",
	}
	if !slices.Equal(got, want) || len(warnings) > 0 {
		t.Errorf("got  %v\nwant %v", got, want)
	}
	if !strings.Contains(err.Error(), "specs[0].minute: values are from 0 to 59, not 61 (out_of_range)") {
		t.Errorf("the error is %v", err)
	}
}

func TestListsAreBounded(t *testing.T) {
	many := slices.Repeat([]string{"@daily"}, schedule.MaxSpecs+1)
	days := slices.Repeat([]string{"2026-12-25"}, schedule.MaxExclusions+1)
	ps := problems(t, schedule.Definition{Timing: schedule.Timing{Specs: many, Exclude: days}}, utc(t, "2026-01-01"))
	if len(ps) != 2 || ps[0].Field != "specs" || ps[1].Field != "exclude" || ps[0].Code != schedule.CodeTooMany || ps[1].Code != schedule.CodeTooMany {
		t.Errorf("got %v", ps)
	}
	ps = problems(t, defined("unix", "UTC", strings.Repeat(",", 1000)+" * * * *"), utc(t, "2026-01-01"))
	if len(ps) != schedule.MaxProblems || len(ps.Error()) > 200*schedule.MaxProblems {
		t.Errorf("a thousand commas have %d problems in %d bytes", len(ps), len(ps.Error()))
	}
	ps = problems(t, schedule.Definition{}, utc(t, "2026-01-01"))
	if len(ps) != 1 || ps[0].Field != "specs" || ps[0].Code != schedule.CodeRequired {
		t.Errorf("without a spec got %v", ps)
	}
}

// A spec that can never be is refused in a zone as well: half past two on the
// second Sunday of March is left out each year where that is when clocks change.
func TestNeverInAZone(t *testing.T) {
	d := defined("unix", "America/New_York", "30 2 8-14 3 0")
	d.DayMatch, d.Gap = schedule.DayAnd, schedule.GapSkip
	wantProblem(t, d, "2026-01-01", "specs[0]", schedule.CodeNoFuture, "30 2 8-14 3 0")
	d.Gap = schedule.GapShift
	if ps := problems(t, d, utc(t, "2026-01-01")); ps != nil {
		t.Errorf("shifted: %v", ps)
	}
}

func TestMacros(t *testing.T) {
	for macro, want := range map[string]string{
		"@yearly": "2027-01-01", "@annually": "2027-01-01", "@monthly": "2026-06-01", "@weekly": "2026-05-17",
		"@daily": "2026-05-14", "@midnight": "2026-05-14", "@hourly": "2026-05-13T11:00Z", "@Hourly": "2026-05-13T11:00Z", "@every 1h": "2026-05-13T11:00Z",
	} {
		// A macro means the same in every dialect.
		next, ok := must(t, defined("quartz", "UTC", macro)).Next(utc(t, "2026-05-13T10:20:00Z"))
		if !ok || !next.Equal(utc(t, want)) {
			t.Errorf("%s: the next instant is %v, want %s", macro, next, want)
		}
	}
}
