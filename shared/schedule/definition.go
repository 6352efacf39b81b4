package schedule

import (
	"slices"
	"time"
)

// Definition is what the author of a schedule writes about time. The zero value
// of a field means its default; there must be a spec.
type Definition struct {
	Timing
	// Limit is the number of runs after which the schedule is over; 0: none.
	Limit int64
	// Jitter spreads the starts of many schedules: each starts later than its
	// instants by an offset of its own in [0, Jitter), whole milliseconds, at
	// most MaxJitter.
	Jitter time.Duration
	// Misfire says what becomes of instants that nobody planned in time.
	Misfire Misfire
	// StartDeadline is how long after it is due an occurrence may still start;
	// 0: for ever.
	StartDeadline time.Duration
}

// Timing is the part of a definition that says when. Two schedules with equal
// timings have the same instants.
type Timing struct {
	// Specs are 1 to MaxSpecs texts; an instant of any of them counts, once.
	//
	//	30 2 * * 1-5                             cron, in the Dialect
	//	@daily                                   a macro
	//	every 1h30m                              even distances in real time, units w d h m s
	//	every 90s anchor 2026-01-01T00:00:00Z    the same through an anchor, else 1970
	//	at 2026-11-01T01:30                      once, by the clocks of the zone
	//	at 2026-11-01T01:30 America/New_York     once, by the clocks elsewhere
	//	at 2026-11-01T05:30:00Z                  once, at an instant
	Specs []string
	// Exclude are up to MaxExclusions texts: cron in the Dialect, which covers
	// whole minutes if the dialect has no seconds, or a day such as 2026-12-25.
	Exclude  []string
	Dialect  Dialect  // how cron texts are read; unix
	Zone     string   // name in the time zone database; UTC
	DayMatch DayMatch // or
	Gap      Gap      // shift
	Repeat   Repeat   // first
	// Start and End bound the instants: Start is included, End is not. Zero: no
	// bound.
	Start, End time.Time
}

// Bounds of a definition.
const (
	MaxSpecs      = 16
	MaxExclusions = 64
	MaxSpecBytes  = 1024
	MaxJitter     = 24 * time.Hour
	MaxCatchUp    = 1000 // of Misfire.Max
	MaxGrace      = 5 * time.Minute
	MaxDuration   = 3660 * 24 * time.Hour // of periods, windows and deadlines
)

// Dialect says which fields a cron text has and how weekdays are numbered.
type Dialect string

const (
	Unix    Dialect = "unix"    // minute hour day-of-month month day-of-week
	Seconds Dialect = "seconds" // the same after a second
	Year    Dialect = "year"    // the same before a year
	// Quartz has six fields as Seconds has, or seven as Year has; weekdays go
	// from 1 for Sunday to 7.
	Quartz Dialect = "quartz"
	// Vixie has five fields as Unix has, or six as Seconds has; a day field that
	// begins with * does not widen the other one.
	Vixie Dialect = "vixie"
)

// DayMatch says which days count where both day fields are restricted. Only a
// bare * (or ?) is unrestricted.
type DayMatch string

const (
	DayOr  DayMatch = "or"  // those in either of them, as crontab(5) has it
	DayAnd DayMatch = "and" // those in both
)

// Gap says what becomes of wall times that the clocks leave out.
type Gap string

const (
	GapShift Gap = "shift" // one run at the first instant after the gap
	GapSkip  Gap = "skip"
)

// Repeat says which showing counts of wall times that the clocks show twice.
type Repeat string

const (
	RepeatFirst Repeat = "first"
	RepeatBoth  Repeat = "both"
)

// Misfire is the policy for instants that are planned later than Grace after
// they are due, be it because nothing was running.
type Misfire struct {
	Policy MisfirePolicy // latest
	// Max is how many instants All runs, the oldest first; 100.
	Max int
	// Window is how late an instant may be and still run; 0: as late as it likes.
	Window time.Duration
	// Grace is how late an instant may be and still count as in time; 5 s.
	Grace time.Duration
}

// MisfirePolicy says which late instants run. The others are counted.
type MisfirePolicy string

const (
	MisfireNone   MisfirePolicy = "none"
	MisfireLatest MisfirePolicy = "latest" // the newest instant that is due stands for all
	MisfireAll    MisfirePolicy = "all"
)

// withDefaults is the definition with the zero values replaced.
func (d Definition) withDefaults() Definition {
	fill(&d.Dialect, Unix)
	fill(&d.Zone, "UTC")
	fill(&d.DayMatch, DayOr)
	fill(&d.Gap, GapShift)
	fill(&d.Repeat, RepeatFirst)
	fill(&d.Misfire.Policy, MisfireLatest)
	fill(&d.Misfire.Max, 100)
	fill(&d.Misfire.Grace, 5*time.Second)
	return d
}

func fill[T comparable](value *T, otherwise T) {
	var zero T
	if *value == zero {
		*value = otherwise
	}
}

// equal reports whether two timings, with their defaults, read the same.
func (t Timing) equal(u Timing) bool {
	return slices.Equal(t.Specs, u.Specs) && slices.Equal(t.Exclude, u.Exclude) &&
		t.Dialect == u.Dialect && t.Zone == u.Zone && t.DayMatch == u.DayMatch &&
		t.Gap == u.Gap && t.Repeat == u.Repeat &&
		t.Start.Equal(u.Start) && t.End.Equal(u.End)
}
