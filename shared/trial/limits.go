package trial

import (
	"errors"
	"fmt"
	"time"

	"github.com/orrery-dev/orrery/shared/history"
)

// Limits bound a run. A field that is zero means its default.
type Limits struct {
	Turns  int           // default 10,000
	Events int           // default 100,000
	Bytes  int           // of what the events tell; default 64 MiB
	Span   time.Duration // that the clock may go on; default 200 years
}

// The default limits.
const (
	DefaultTurns  = 10_000
	DefaultEvents = 100_000
	DefaultBytes  = 64 << 20
	DefaultSpan   = 200 * 365 * 24 * time.Hour
)

// ErrLimit is a run that was stopped by one of its limits.
var ErrLimit = errors.New("stopped")

func (l Limits) withDefaults() Limits {
	if l.Turns <= 0 {
		l.Turns = DefaultTurns
	}
	if l.Events <= 0 {
		l.Events = DefaultEvents
	}
	if l.Bytes <= 0 {
		l.Bytes = DefaultBytes
	}
	if l.Span <= 0 {
		l.Span = DefaultSpan
	}
	return l
}

// check compares what a run has used up with its limits.
func (l Limits) check(r *Run) error {
	what := ""
	switch {
	case r.turns >= l.Turns:
		what = fmt.Sprintf("%d turns", l.Turns)
	case r.events >= l.Events:
		what = fmt.Sprintf("%d events", l.Events)
	case r.bytes >= l.Bytes:
		what = fmt.Sprintf("%d bytes of history", l.Bytes)
	default:
		return nil
	}
	return fmt.Errorf("%w after %s: the execution still runs, its clock is %s after the start", ErrLimit, what, r.Clock())
}

// jump refuses a time that is too far away.
func (l Limits) jump(r *Run, to history.Time) error {
	if span := to.Sub(r.Start); span > l.Span {
		return fmt.Errorf("%w: the clock would have to go on for %s, %s are allowed", ErrLimit, span, l.Span)
	}
	return nil
}
