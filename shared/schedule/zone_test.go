package schedule_test

import (
	"slices"
	"testing"
	"time"

	"github.com/orrery-dev/orrery/shared/schedule"
)

// An update of the database is a change of behaviour, so its version is pinned.
func TestZonesVersion(t *testing.T) {
	if got := schedule.ZonesVersion(); got != "2026f" {
		t.Errorf("the version is %q, want 2026f", got)
	}
}

// The database knows what was decided in the last year before it was made, and
// no machine's own copy is in its place.
func TestZonesAreTheEmbeddedOnes(t *testing.T) {
	for _, row := range []struct {
		zone, at string
		offset   int // hours
	}{
		{"America/Vancouver", "2026-12-01", -7}, // it stays on summer time from 2026 on
		{"America/Winnipeg", "2026-12-01", -5},
		{"Africa/Casablanca", "2026-12-01", 0},
		{"America/Havana", "2026-12-01", -4},
	} {
		location, err := schedule.Location(row.zone)
		if err != nil {
			t.Fatal(err)
		}
		if _, seconds := utc(t, row.at).In(location).Zone(); seconds != row.offset*3600 {
			t.Errorf("%s has the offset %d s at %s, want %d h", row.zone, seconds, row.at, row.offset)
		}
	}
}

func TestUnknownZones(t *testing.T) {
	for _, name := range []string{"Mars/Olympus", "Local", "europe/berlin", "../etc/passwd", "America", "EST5EDT,M3.2.0,M11.1.0", "+02:00"} {
		ps := problems(t, defined("unix", name, "0 0 * * *"), utc(t, "2026-01-01"))
		if len(ps) != 1 || ps[0].Field != "zone" || ps[0].Code != schedule.CodeUnknownZone {
			t.Errorf("%q: %v, want one problem with the zone", name, ps)
		}
	}
}

// What the walker takes for granted of every zone in the database: an offset and
// a change are shorter than a look back of 26 h, and no two changes are as near
// to each other, so a gap or a repeat is over before the next one begins.
func TestPiecesOfAllZones(t *testing.T) {
	const lookBack = 26 * time.Hour
	names, from := slices.Sorted(schedule.ZoneNames()), utc(t, "1800-01-01")
	if len(names) < 500 {
		t.Fatalf("the database has %d zones", len(names))
	}
	for _, name := range names {
		location, err := schedule.Location(name)
		if err != nil {
			t.Fatal(err)
		}
		var last time.Time
		pieces := 0
		for at := from; at.Before(utc(t, "2110-01-01")); pieces++ {
			p := schedule.PieceAt(location, at)
			if hours := max(p.Offset, -p.Offset) / 3600; hours > 25 {
				t.Errorf("%s at %s: the offset is %d h", name, at, hours)
			}
			if change := time.Duration(p.Offset-p.Before) * time.Second; change.Abs() >= lookBack {
				t.Errorf("%s at %s: the clocks change by %v", name, at, change)
			}
			if p.Offset != p.Before && p.Change.Equal(at) {
				if !last.IsZero() && at.Sub(last) < lookBack {
					t.Errorf("%s: changes at %s and %s", name, last, at)
				}
				last = at
			}
			if p.To.IsZero() {
				break
			}
			if !p.To.After(at) {
				t.Fatalf("%s: the piece at %s ends at %s", name, at, p.To)
			}
			at = p.To
		}
		if pieces > 1000 {
			t.Errorf("%s has %d pieces", name, pieces)
		}
	}
}

// Every piece has the offset that the clocks show, and changes only at its ends.
// The last days of leap years are among the samples.
func TestPiecesHaveOneOffset(t *testing.T) {
	for _, name := range []string{"America/New_York", "Australia/Lord_Howe", "Europe/Dublin", "America/Santiago", "Africa/Casablanca", "Pacific/Apia", "Asia/Kolkata", "UTC"} {
		location, err := schedule.Location(name)
		if err != nil {
			t.Fatal(err)
		}
		offset := func(at time.Time) int {
			_, seconds := at.In(location).Zone()
			return seconds
		}
		for at := utc(t, "2007-01-01"); at.Before(utc(t, "2041-01-01")); at = at.Add(11 * time.Hour) {
			p := schedule.PieceAt(location, at)
			if !p.From.Equal(at) || p.Offset != offset(at) {
				t.Fatalf("%s: the piece at %s is %+v", name, at, p)
			}
			if !p.To.IsZero() && (!p.To.After(at) || offset(p.To.Add(-time.Second)) != p.Offset) {
				t.Fatalf("%s: the piece at %s ends at %s", name, at, p.To)
			}
			if p.Offset != p.Before && (offset(p.Change) != p.Offset || offset(p.Change.Add(-time.Second)) != p.Before) {
				t.Fatalf("%s: the piece at %s says that the clocks changed at %s", name, at, p.Change)
			}
		}
	}
}

// From 2100 on a proof over 400 years covers all time: the offset is the same
// 400 years later.
func TestZonesAreRegularFrom2100(t *testing.T) {
	for name := range schedule.ZoneNames() {
		location, err := schedule.Location(name)
		if err != nil {
			t.Fatal(err)
		}
		for day := range 150 {
			at := utc(t, "2100-01-01").AddDate(0, 0, day*29)
			_, now := at.In(location).Zone()
			_, then := time.Unix(at.Unix()+146097*86400, 0).In(location).Zone()
			if now != then {
				t.Errorf("%s: the offset is %d at %s, and %d 400 years later", name, now, at, then)
				break
			}
		}
	}
}
