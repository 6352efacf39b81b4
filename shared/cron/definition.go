package cron

import (
	"encoding/json"
	"fmt"
	"math"
	"time"

	"github.com/orrery-dev/orrery/shared/schedule"
	"github.com/orrery-dev/orrery/shared/store"
	"github.com/orrery-dev/orrery/shared/wire"
)

// Level is what this version knows of definitions of schedules. It rises when a definition can say what an older version
// would not do; a process leaves schedules of a higher level to others.
const Level = 1

// Definition is one version of a schedule, as it is planned and run. It is never changed.
type Definition struct {
	Name string // the schedule's id
	// Timing is when, and Schedule what follows from it.
	Timing   schedule.Definition
	Schedule *schedule.Schedule

	Overlap    store.Overlap
	Key        string // singleton key, empty where runs may overlap
	Slots      int
	KeepOldest bool // buffer_one
	Buffer     int  // buffer_all: how many may wait

	Retries              int
	Backoff, BackoffMost time.Duration
	PauseAfter           int
	OnResume             schedule.Resume
	Timeout, Retention   time.Duration

	Target wire.ScheduleTarget
	Input  []byte // a JSON object
}

// Direct tells whether runners do the work themselves.
func (d *Definition) Direct() bool { return d.Target.Workflow == nil }

// Read makes the definition of a schedule from a document that was accepted before.
func Read(name string, document []byte) (*Definition, error) {
	var w wire.ScheduleDefinition
	if err := json.Unmarshal(document, &w); err != nil {
		return nil, fmt.Errorf("cron: definition of schedule %s: %w", name, err)
	}
	d := define(name, w)
	var err error
	if d.Schedule, err = schedule.New(name, d.Timing); err != nil {
		return nil, fmt.Errorf("cron: definition of schedule %s: %w", name, err)
	}
	return d, nil
}

// Row fills in what the database keeps of the definition beside its document.
func (d *Definition) Row(s *store.Schedule) {
	s.Level, s.Key, s.Slots, s.Direct = Level, d.Key, d.Slots, d.Direct()
	s.Timeout, s.Retention = d.Timeout, d.Retention
	s.Retries, s.Backoff, s.BackoffMost, s.PauseAfter = d.Retries, d.Backoff, d.BackoffMost, d.PauseAfter
}

// The defaults of what an author leaves out; those of the timing are with package schedule.
const (
	defaultBuffer    = 100
	defaultBackoff   = 10 * time.Second
	defaultMost      = time.Hour
	defaultTimeout   = time.Hour
	defaultRetention = 30 * 24 * time.Hour
)

// define takes over what an author has written, with defaults. What is out of bounds stays so, for Check to find.
func define(name string, w wire.ScheduleDefinition) *Definition {
	d := &Definition{
		Name: name, Timing: timing(w), Overlap: store.OverlapSkip, Slots: 1, Buffer: defaultBuffer,
		PauseAfter: count(w.PauseAfter), OnResume: schedule.ResumeSkip,
		Timeout: or(span(w.TimeoutMS), defaultTimeout), Retention: or(span(w.RetentionMS), defaultRetention),
		Target: w.Target, Input: []byte(w.Input),
	}
	if len(d.Input) == 0 {
		d.Input = []byte("{}")
	}
	if w.OnResume != "" {
		d.OnResume = schedule.Resume(w.OnResume)
	}
	if o := w.Overlap; o != nil {
		d.Overlap = or(store.Overlap(o.Policy), d.Overlap)
		d.Slots, d.Buffer = or(count(o.Slots), 1), or(count(o.Limit), defaultBuffer)
		d.Key, d.KeepOldest = o.Key, o.Keep == "oldest"
	}
	switch {
	case d.Overlap == store.OverlapAllow:
		d.Key = ""
	case d.Key == "":
		d.Key = name
	}
	if r := w.Retry; r != nil {
		d.Retries, d.Backoff = count(r.Attempts), or(span(r.BackoffMS), defaultBackoff)
		d.BackoffMost = or(span(r.MaxBackoffMS), max(defaultMost, d.Backoff))
	}
	return d
}

func timing(w wire.ScheduleDefinition) schedule.Definition {
	d := schedule.Definition{
		Timing: schedule.Timing{
			Specs: w.Specs, Exclude: w.Exclude, Dialect: schedule.Dialect(w.Dialect), Zone: w.Zone,
			DayMatch: schedule.DayMatch(w.DayMatch), Gap: schedule.Gap(w.Gap), Repeat: schedule.Repeat(w.Repeat),
			Start: w.StartAt, End: w.EndAt,
		},
		Limit: w.Limit, Jitter: span(w.JitterMS), StartDeadline: span(w.StartDeadlineMS),
	}
	if m := w.Misfire; m != nil {
		d.Misfire = schedule.Misfire{
			Policy: schedule.MisfirePolicy(m.Policy), Max: count(m.Max), Window: span(m.WindowMS), Grace: span(m.GraceMS),
		}
	}
	return d
}

// span is a number of milliseconds; one that is too large for a span is the largest span, which nothing allows.
func span(ms int64) time.Duration {
	if ms > math.MaxInt64/int64(time.Millisecond) {
		return math.MaxInt64
	}
	return time.Duration(max(ms, -1)) * time.Millisecond
}

// count is a number that fits everywhere; what does not fit is as wrong as the largest that does.
func count(n int64) int { return int(min(max(n, -1), math.MaxInt32)) }

func or[T comparable](value, otherwise T) T {
	var zero T
	if value == zero {
		return otherwise
	}
	return value
}
