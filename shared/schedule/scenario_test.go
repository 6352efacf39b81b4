package schedule_test

import (
	"slices"
	"testing"

	"github.com/orrery-dev/orrery/shared/schedule"
)

// The tests named Scenario have the numbers of the list of cases that schedules
// must pass. Most calendar cases are rows of this table; each has the instants
// from an instant, included, up to another, not included.
var calendarScenarios = []struct {
	number     string
	dialect    schedule.Dialect
	spec, zone string
	from, to   string
	gap        schedule.Gap
	repeat     schedule.Repeat
	want       string
}{
	{"01 skip", "seconds", "0 30 2 * * *", "America/New_York", "2026-03-07", "2026-03-10", "skip", "both", "2026-03-07T07:30Z 2026-03-09T06:30Z"},
	{"01 shift", "seconds", "0 30 2 * * *", "America/New_York", "2026-03-07", "2026-03-10", "shift", "first", "2026-03-07T07:30Z 2026-03-08T07:00Z 2026-03-09T06:30Z"},
	{"02 shift", "seconds", "0 0 2 * * *", "America/New_York", "2026-03-08T05:00Z", "2026-03-09T05:00Z", "shift", "first", "2026-03-08T07:00Z"},
	{"02 skip", "seconds", "0 0 2 * * *", "America/New_York", "2026-03-08T05:00Z", "2026-03-10T06:01Z", "skip", "first", "2026-03-09T06:00Z 2026-03-10T06:00Z"},
	{"03 shift", "seconds", "0 0 3 * * *", "America/New_York", "2026-03-08T05:00Z", "2026-03-09T05:00Z", "shift", "first", "2026-03-08T07:00Z"},
	{"03 skip", "seconds", "0 0 3 * * *", "America/New_York", "2026-03-08T05:00Z", "2026-03-09T05:00Z", "skip", "both", "2026-03-08T07:00Z"},
	{"04", "seconds", "0 0,30 2,3 * * *", "America/New_York", "2026-03-08T05:00Z", "2026-03-09T05:00Z", "shift", "first", "2026-03-08T07:00Z 2026-03-08T07:30Z"},
	{"05 shift", "seconds", "0 */30 * * * *", "America/New_York", "2026-03-08T06:00Z", "2026-03-08T08:01Z", "shift", "first", "2026-03-08T06:00Z 2026-03-08T06:30Z 2026-03-08T07:00Z 2026-03-08T07:30Z 2026-03-08T08:00Z"},
	{"05 skip", "seconds", "0 */30 * * * *", "America/New_York", "2026-03-08T06:00Z", "2026-03-08T08:01Z", "skip", "both", "2026-03-08T06:00Z 2026-03-08T06:30Z 2026-03-08T07:00Z 2026-03-08T07:30Z 2026-03-08T08:00Z"},
	{"06 both", "seconds", "0 30 1 * * *", "America/New_York", "2026-11-01", "2026-11-03", "skip", "both", "2026-11-01T05:30Z 2026-11-01T06:30Z 2026-11-02T06:30Z"},
	{"06 first", "seconds", "0 30 1 * * *", "America/New_York", "2026-11-01", "2026-11-03", "shift", "first", "2026-11-01T05:30Z 2026-11-02T06:30Z"},
	{"07 first", "seconds", "0 0 * * * *", "America/New_York", "2026-11-01T04:00Z", "2026-11-01T08:01Z", "shift", "first", "2026-11-01T04:00Z 2026-11-01T05:00Z 2026-11-01T06:00Z 2026-11-01T07:00Z 2026-11-01T08:00Z"},
	{"07 both", "seconds", "0 0 * * * *", "America/New_York", "2026-11-01T04:00Z", "2026-11-01T08:01Z", "skip", "both", "2026-11-01T04:00Z 2026-11-01T05:00Z 2026-11-01T06:00Z 2026-11-01T07:00Z 2026-11-01T08:00Z"},
	{"08", "seconds", "0 */15 * * * *", "America/New_York", "2026-11-01T05:00Z", "2026-11-01T07:01Z", "shift", "first", "2026-11-01T05:00Z 2026-11-01T05:15Z 2026-11-01T05:30Z 2026-11-01T05:45Z 2026-11-01T06:00Z 2026-11-01T06:15Z 2026-11-01T06:30Z 2026-11-01T06:45Z 2026-11-01T07:00Z"},
	{"10 skip", "seconds", "0 30 2 * * *", "Europe/Berlin", "2026-03-28", "2026-03-31", "skip", "both", "2026-03-28T01:30Z 2026-03-30T00:30Z"},
	{"10 shift", "seconds", "0 30 2 * * *", "Europe/Berlin", "2026-03-28", "2026-03-31", "shift", "first", "2026-03-28T01:30Z 2026-03-29T01:00Z 2026-03-30T00:30Z"},
	{"11 both", "seconds", "0 30 2 * * *", "Europe/Berlin", "2026-10-25", "2026-10-26", "skip", "both", "2026-10-25T00:30Z 2026-10-25T01:30Z"},
	{"11 first", "seconds", "0 30 2 * * *", "Europe/Berlin", "2026-10-25", "2026-10-26", "shift", "first", "2026-10-25T00:30Z"},
	{"12 both", "seconds", "0 30 1 * * *", "Europe/London", "2026-10-25", "2026-10-26", "skip", "both", "2026-10-25T00:30Z 2026-10-25T01:30Z"},
	{"12 first", "seconds", "0 30 1 * * *", "Europe/London", "2026-10-25", "2026-10-26", "shift", "first", "2026-10-25T00:30Z"},
	{"13 skip", "seconds", "0 15 2 * * *", "Australia/Lord_Howe", "2026-10-03T14:00Z", "2026-10-04T13:00Z", "skip", "both", ""},
	{"13 shift", "seconds", "0 15 2 * * *", "Australia/Lord_Howe", "2026-10-03T14:00Z", "2026-10-04T13:00Z", "shift", "first", "2026-10-03T15:30Z"},
	{"14 skip", "seconds", "0 45 2 * * *", "Australia/Lord_Howe", "2026-10-03T14:00Z", "2026-10-04T13:00Z", "skip", "both", "2026-10-03T15:45Z"},
	{"14 shift", "seconds", "0 45 2 * * *", "Australia/Lord_Howe", "2026-10-03T14:00Z", "2026-10-04T13:00Z", "shift", "first", "2026-10-03T15:45Z"},
	{"15 both", "seconds", "0 45 1 * * *", "Australia/Lord_Howe", "2026-04-04T13:00Z", "2026-04-05T13:00Z", "skip", "both", "2026-04-04T14:45Z 2026-04-04T15:15Z"},
	{"15 first", "seconds", "0 45 1 * * *", "Australia/Lord_Howe", "2026-04-04T13:00Z", "2026-04-05T13:00Z", "shift", "first", "2026-04-04T14:45Z"},
	{"16 both", "seconds", "0 0 2 * * *", "Australia/Lord_Howe", "2026-04-04T13:00Z", "2026-04-05T13:00Z", "skip", "both", "2026-04-04T15:30Z"},
	{"16 first", "seconds", "0 0 2 * * *", "Australia/Lord_Howe", "2026-04-04T13:00Z", "2026-04-05T13:00Z", "shift", "first", "2026-04-04T15:30Z"},
	{"17 skip", "seconds", "0 0 0 * * *", "Africa/Cairo", "2026-04-23", "2026-04-24T12:00Z", "skip", "both", ""},
	{"17 shift", "seconds", "0 0 0 * * *", "Africa/Cairo", "2026-04-23", "2026-04-24T12:00Z", "shift", "first", "2026-04-23T22:00Z"},
	{"18 skip", "seconds", "0 0 9 * * 5", "Africa/Cairo", "2026-04-18", "2026-05-02", "skip", "both", "2026-04-24T06:00Z 2026-05-01T06:00Z"},
	{"18 shift", "seconds", "0 0 9 * * 5", "Africa/Cairo", "2026-04-18", "2026-05-02", "shift", "first", "2026-04-24T06:00Z 2026-05-01T06:00Z"},
	{"19 skip", "seconds", "0 0 0 * * 0", "America/Santiago", "2026-09-01", "2026-09-14", "skip", "both", "2026-09-13T03:00Z"},
	{"19 shift", "seconds", "0 0 0 * * 0", "America/Santiago", "2026-09-01", "2026-09-14", "shift", "first", "2026-09-06T04:00Z 2026-09-13T03:00Z"},
	{"20 both", "seconds", "0 30 23 * * 6", "America/Santiago", "2026-04-04", "2026-04-06", "skip", "both", "2026-04-05T02:30Z 2026-04-05T03:30Z"},
	{"20 first", "seconds", "0 30 23 * * 6", "America/Santiago", "2026-04-04", "2026-04-06", "shift", "first", "2026-04-05T02:30Z"},
	{"21 skip", "seconds", "0 30 2 * * *", "Antarctica/Troll", "2026-03-29", "2026-03-30", "skip", "both", ""},
	{"21 shift", "seconds", "0 30 2 * * *", "Antarctica/Troll", "2026-03-29", "2026-03-30", "shift", "first", "2026-03-29T01:00Z"},
	{"22 both", "seconds", "0 30 2 * * *", "Antarctica/Troll", "2026-10-25", "2026-10-26", "skip", "both", "2026-10-25T00:30Z 2026-10-25T02:30Z"},
	{"22 first", "seconds", "0 30 2 * * *", "Antarctica/Troll", "2026-10-25", "2026-10-26", "shift", "first", "2026-10-25T00:30Z"},
	{"23 skip", "seconds", "0 0 9 30 12 *", "Pacific/Apia", "2011-12-01", "2013-01-01", "skip", "both", "2012-12-29T19:00Z"},
	{"23 shift", "seconds", "0 0 9 30 12 *", "Pacific/Apia", "2011-12-01", "2012-01-01", "shift", "first", "2011-12-30T10:00Z"},
	{"24", "seconds", "30 15 2 * * *", "Asia/Kolkata", "2026-09-01", "2026-09-03", "shift", "first", "2026-09-01T20:45:30Z 2026-09-02T20:45:30Z"},
	{"27", "seconds", "0 0 0 29 2 *", "UTC", "2096-03-01", "2108-01-01", "shift", "first", "2104-02-29"},
	{"28 or", "seconds", "0 0 0 13 * 5", "UTC", "2026-02-01", "2026-03-01", "shift", "first", "2026-02-06 2026-02-13 2026-02-20 2026-02-27"},
	{"29", "seconds", "0 0 0 */10 * 1", "UTC", "2026-02-01", "2026-03-01", "shift", "first", "2026-02-01 2026-02-02 2026-02-09 2026-02-11 2026-02-16 2026-02-21 2026-02-23"},
	{"29 vixie", "vixie", "0 0 */10 * 1", "UTC", "2026-02-01", "2026-06-02", "shift", "first", "2026-05-11 2026-06-01"},
	{"29 vixie with seconds", "vixie", "0 0 0 */10 * 1", "UTC", "2026-02-01", "2026-06-02", "shift", "first", "2026-05-11 2026-06-01"},
	{"30", "seconds", "0 0 0 LW * *", "UTC", "2026-01-01", "2026-07-01", "shift", "first", "2026-01-30 2026-02-27 2026-03-31 2026-04-30 2026-05-29 2026-06-30"},
	{"31", "seconds", "0 0 0 1W 8 *", "UTC", "2026-01-01", "2027-01-01", "shift", "first", "2026-08-03"},
	{"32", "seconds", "0 0 0 31W * *", "UTC", "2026-01-01", "2026-07-01", "shift", "first", "2026-01-30 2026-03-31 2026-05-29"},
	{"33", "seconds", "0 0 0 L-3 2 *", "UTC", "2026-01-01", "2029-01-01", "shift", "first", "2026-02-25 2027-02-25 2028-02-26"},
	{"34", "seconds", "0 0 0 * * 1#5", "UTC", "2026-01-01", "2027-01-01", "shift", "first", "2026-03-30 2026-06-29 2026-08-31 2026-11-30"},
	{"35", "seconds", "0 0 0 * * 5L", "UTC", "2026-01-01", "2026-05-01", "shift", "first", "2026-01-30 2026-02-27 2026-03-27 2026-04-24"},
	{"36 number", "unix", "0 0 * * 1", "UTC", "2026-02-01", "2026-02-10", "shift", "first", "2026-02-02 2026-02-09"},
	{"36 quartz", "quartz", "0 0 0 ? * 1", "UTC", "2026-02-01", "2026-02-10", "shift", "first", "2026-02-01 2026-02-08"},
	{"39", "unix", "15 2 * * *", "UTC", "2026-02-01", "2026-02-03", "shift", "first", "2026-02-01T02:15Z 2026-02-02T02:15Z"},
}

func TestScenario(t *testing.T) {
	for _, row := range calendarScenarios {
		t.Run(row.number, func(t *testing.T) {
			d := defined(row.dialect, row.zone, row.spec)
			d.Gap, d.Repeat = row.gap, row.repeat
			s := must(t, d)
			from, to := utc(t, row.from), utc(t, row.to)
			want := all(t, row.want)
			wantTimes(t, slices.Collect(s.Instants(from, to)), want)
			if n := s.Count(from, to); n != int64(len(want)) {
				t.Errorf("counted %d, want %d", n, len(want))
			}
		})
	}
}
