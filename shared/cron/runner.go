package cron

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/orrery-dev/orrery/shared/schedule"
	"github.com/orrery-dev/orrery/shared/store"
	"github.com/orrery-dev/orrery/shared/telemetry"
)

// Runner plans schedules and runs their occurrences: in a process that lives long by Run, in a function by Tick, one of them
// at a time. Its other methods may be called by any number of goroutines.
type Runner struct {
	store       Store
	opener      Opener
	options     Options
	log         *slog.Logger
	definitions *definitions
	health      *health
	metrics     metrics

	// runs are the direct targets that are under way. They outlive a Run that ends, and the next one finds their places taken.
	runs *runs

	rung   chan struct{} // capacity 1: look at once
	sooner chan struct{} // capacity 1: next has changed

	mu   sync.Mutex
	next time.Time // when something is due, by this process's monotonic clock; zero for never

	// What follows is of the goroutine in Run or Tick.

	now  time.Time // the database's time in the last look, and when that was answered
	at   time.Time
	full time.Time // when a look last began at the start, and not at what was due lately
}

// New makes a runner. It does not touch the database.
func New(s Store, open Opener, o Options) (*Runner, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	r := &Runner{
		store: s, opener: open, options: o, log: o.Log.With(telemetry.KeyClaimant, o.Claimant), definitions: newDefinitions(s),
		health: &health{}, rung: make(chan struct{}, 1), sooner: make(chan struct{}, 1),
	}
	r.runs = newRuns(r)
	r.metrics = newMetrics(r, o.Metrics)
	r.Ring()
	return r, nil
}

// Level is what the runner knows of definitions.
func (r *Runner) Level() int { return r.options.Level }

// Ring has Run look at once.
func (r *Runner) Ring() { knock(r.rung) }

func knock(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// DueIn tells that something is due after a time, which may have passed.
func (r *Runner) DueIn(d time.Duration) {
	at := time.Now().Add(d)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.next.IsZero() || at.Before(r.next) {
		r.next = at
		knock(r.sooner)
	}
}

const (
	// restless is the pause before another look where what is due could not be done, because others do it or there is no room
	// for it. It grows to mostRestless.
	restless     = 50 * time.Millisecond
	mostRestless = time.Second
)

// Run looks whenever something is due, until the context ends. While ready is false it does nothing. By itself it sends no
// statement: what is due it knows from its last look, from DueIn, or from Ring.
func (r *Runner) Run(ctx context.Context, ready func() bool) {
	var pause time.Duration
	for r.await(ctx, pause) {
		if !ready() {
			pause = mostRestless
			r.DueIn(pause) // whoever has rung is not forgotten
			continue
		}
		done, err := r.pass(ctx, unbounded)
		if done && err == nil {
			pause = 0
			continue
		}
		pause = min(max(2*pause, restless), mostRestless)
	}
}

// await waits until there is something to do, or somebody rings. What is due waits for the pause. False when the context
// ends first.
func (r *Runner) await(ctx context.Context, pause time.Duration) bool {
	earliest := time.Now().Add(pause)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		timer.Stop()
		if at, some := r.nextAt(); some {
			timer.Reset(time.Until(later(at, earliest)))
		}
		select {
		case <-r.rung:
			return ctx.Err() == nil
		case <-timer.C:
			return ctx.Err() == nil
		case <-r.sooner:
		case <-ctx.Done():
			return false
		}
	}
}

func (r *Runner) nextAt() (time.Time, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.next, !r.next.IsZero()
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

const (
	// lookBehind is how far back looks go for what is due; what is older is found by a full look, every fullEvery.
	lookBehind = 30 * time.Second
	fullEvery  = 10 * time.Second
	// unbounded is room for every direct target.
	unbounded = 10 * 366 * 24 * time.Hour
)

// pass plans, claims and starts what is due, until nothing is or nothing can be done about it; then done is false. Direct
// targets are started that end within room.
func (r *Runner) pass(ctx context.Context, room time.Duration) (done bool, err error) {
	for ctx.Err() == nil {
		from := r.from()
		due, err := r.look(ctx, from)
		if err != nil {
			return false, err
		}
		if len(due.Schedules) == 0 && (due.Next.IsZero() || due.Next.After(due.Now)) {
			return true, nil
		}
		planned, err := r.plan(ctx, due)
		r.health.plannedNow(planned, err)
		if err != nil {
			r.log.Warn("schedules could not be planned", telemetry.KeyError, err)
			return false, err
		}
		claimed, err := r.claim(ctx, from, room)
		r.health.claimedNow(err)
		if err != nil {
			r.log.Warn("occurrences could not be claimed; nothing was", telemetry.KeyError, err)
			return false, err
		}
		if planned+claimed == 0 {
			return false, nil
		}
	}
	return false, ctx.Err()
}

// from is where the next look begins: the start, or what was due lately, past the dead rows of everything before it.
func (r *Runner) from() time.Time {
	if time.Since(r.full) >= fullEvery {
		r.full = time.Now()
		return time.Time{}
	}
	return r.now.Add(time.Since(r.at) - lookBehind)
}

// look asks what there is to do.
func (r *Runner) look(ctx context.Context, from time.Time) (store.Due, error) {
	due, err := r.store.DueSchedules(ctx, store.DueQuery{
		From: from, Zones: schedule.ZonesVersion(), Level: r.options.Level, Limit: duesAtOnce, Days: daysAhead,
	})
	if ctx.Err() != nil {
		return due, ctx.Err() // the process stops
	}
	if err != nil {
		r.health.plannedNow(0, err)
		r.log.Warn("the look for due schedules failed", telemetry.KeyError, err)
		return due, err
	}
	if due.Now.Before(from) { // the clock has gone back, and what is due now is before what was due lately
		return r.look(ctx, time.Time{})
	}
	r.now, r.at = due.Now, time.Now()
	r.health.looked()
	if !due.Next.IsZero() && due.Next.Before(due.Now.Add(-lookBehind)) {
		r.full = time.Time{} // there is more that old
	}
	r.mu.Lock()
	r.next = time.Time{}
	if !due.Next.IsZero() {
		r.next = r.at.Add(due.Next.Sub(due.Now))
	}
	r.mu.Unlock()
	return due, nil
}

// claim claims what is due and starts it, and returns how many occurrences something was done about.
func (r *Runner) claim(ctx context.Context, from time.Time, room time.Duration) (int, error) {
	sent := time.Now()
	claimed, err := r.store.ClaimRuns(ctx, store.RunClaim{
		Claimant: r.options.Claimant, Workflows: startsAtOnce, Directs: r.places(room), Room: room, Lease: r.options.Lease,
		Level: r.options.Level, From: from,
	})
	if err != nil {
		return 0, err
	}
	if len(claimed.Idle) > 0 {
		if err := r.store.QuietKeys(ctx, claimed.Idle); err != nil {
			return 0, err
		}
	}
	r.health.missed(claimed.Missed)
	r.start(ctx, claimed.Runs, sent)
	return len(claimed.Runs) + claimed.Missed, nil
}

// places are those for direct targets. A function that may call nothing leaves them to nodes; a node that may not refuses them,
// so that people see it.
func (r *Runner) places(room time.Duration) int {
	if room < unbounded && r.options.HTTP == nil && r.options.Lambda == nil {
		return 0
	}
	return r.runs.free()
}

// Tick is one invocation of the scheduled function: it plans, claims and starts what is due, and waits for no execution.
// Direct targets it runs itself where they end before the context does, less a margin; the others are for nodes, or for
// another tick. With nothing due it is one query. It makes the partitions of history for the days ahead.
func (r *Runner) Tick(ctx context.Context) (Counts, error) {
	before := r.health.counts()
	room := tickRoom
	if deadline, ok := ctx.Deadline(); ok {
		room = time.Until(deadline) - tickMargin
	}
	from := r.from()
	due, err := r.look(ctx, from)
	if err != nil {
		return Counts{}, err
	}
	if len(due.Schedules) > 0 || !due.Next.IsZero() && !due.Next.After(due.Now) {
		_, err = r.pass(ctx, max(room, 0))
	}
	r.runs.wait()
	if due.DaysMissing && err == nil {
		_, err = r.store.MakePartitions(ctx, daysAhead)
	}
	return r.health.counts().since(before), err
}

const (
	// tickMargin is kept back from the function's time for the ends of runs.
	tickMargin = 3 * time.Second
	// tickRoom is what a tick has whose context has no end.
	tickRoom = time.Minute
)

// Drain waits for runs that are under way, after Run has ended, for as long as the options say. Runs that take longer are
// ended, and what is seen to end gives its occurrence and its key back at once; the rest is left to its lease. It returns how
// many were left.
func (r *Runner) Drain() int { return r.runs.drain(r.options.Drain) }
