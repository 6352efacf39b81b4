package node

import (
	"context"
	"log/slog"
	"time"

	"github.com/orrery-dev/orrery/shared/history"
	"github.com/orrery-dev/orrery/shared/store"
	"github.com/orrery-dev/orrery/shared/telemetry"
)

// upkeep is the goroutine that keeps the database in order: partitions of history for the days ahead, and rows that nobody
// needs any more. Every node does it, and the database lets one at a time.
type upkeep struct {
	node *Node
	log  *slog.Logger

	walked history.ExecutionID // where the walk has come to that removes executions
	sorted time.Time           // when days were last looked at
}

const (
	// daysAhead is how many days' partitions are made ahead.
	daysAhead = 4
	// makeEvery is the time between two looks whether they are there.
	makeEvery = time.Hour
	// cleanEvery is the time between two cleanings, cleanLimit the rows of each kind that one removes.
	cleanEvery = 30 * time.Second
	cleanLimit = 1000
	// expireWindow is how many executions one step of the walk looks at, and expireSteps how many steps follow one another
	// while they find something to remove.
	expireWindow = 5000
	expireSteps  = 20
	// sortEvery is the time between two looks at days that are over. keepLimit bounds the executions of one that move at once.
	sortEvery = 10 * time.Minute
	keepLimit = 100
	// daysAlarm is how many days must be made ahead, or operators are told.
	daysAlarm = 2
)

func (u *upkeep) run(ctx context.Context) error {
	var made time.Time
	for {
		if time.Since(made) >= makeEvery {
			if err := u.makePartitions(ctx); err == nil {
				made = time.Now()
			}
		}
		if !sleep(ctx, cleanEvery) {
			return context.Cause(ctx)
		}
		u.clean(ctx)
		u.expire(ctx)
		u.countActive(ctx)
		if time.Since(u.sorted) >= sortEvery {
			u.sorted = time.Now()
			u.sortDays(ctx)
		}
	}
}

// expire removes executions that ended longer ago than they are kept.
func (u *upkeep) expire(ctx context.Context) {
	for range expireSteps {
		step, err := u.node.store.Expire(ctx, store.Expiry{After: u.walked, Window: expireWindow})
		if err != nil {
			if ctx.Err() == nil {
				u.log.Warn("executions that are kept no longer could not be removed", telemetry.KeyError, err)
			}
			return
		}
		u.walked = step.Last
		u.node.metrics.expired.Add(float64(step.Removed))
		if step.Busy || step.Removed == 0 || step.Last == 0 {
			return
		}
	}
}

// countActive sets the counts right by which limits of active executions hold.
func (u *upkeep) countActive(ctx context.Context) {
	wrong, err := u.node.store.CountActive(ctx)
	switch {
	case err != nil && ctx.Err() == nil:
		u.log.Warn("active executions could not be counted", telemetry.KeyError, err)
	case wrong > 0:
		u.node.metrics.active.Add(float64(wrong))
		u.log.Warn("the number of active executions was wrong", telemetry.KeyCount, wrong)
	}
}

// sortDays drops days of history that are over, after it has moved what is kept of them. What fails is tried again at the
// next look.
func (u *upkeep) sortDays(ctx context.Context) {
	days, err := u.node.store.Days(ctx)
	if err != nil {
		u.log.Warn("days of history could not be listed", telemetry.KeyError, err)
		return
	}
	ahead := -1
	for _, d := range days {
		ahead = max(ahead, -d.Age)
		if d.Age > 1 {
			u.sortDay(ctx, d)
		}
	}
	u.node.metrics.daysAhead.Set(float64(ahead))
	if ahead < daysAlarm {
		u.log.Error("partitions of history are not made ahead; without them nothing starts", telemetry.KeyCount, ahead)
	}
}

func (u *upkeep) sortDay(ctx context.Context, d store.Day) {
	kept := keepLimit
	for d.Old && kept == keepLimit {
		var err error
		if kept, err = u.node.store.KeepDay(ctx, d.Date, keepLimit); err != nil {
			u.log.Warn("what is kept of a day could not be moved", telemetry.KeyInstant, d.Date, telemetry.KeyError, err)
			return
		}
		u.node.metrics.daysKept.Add(float64(kept))
	}
	dropped, err := u.node.store.DropDay(ctx, d.Date)
	switch {
	case err != nil:
		u.log.Warn("a day of history could not be dropped", telemetry.KeyInstant, d.Date, telemetry.KeyError, err)
	case dropped:
		u.node.metrics.daysDropped.Inc()
		u.log.Info("a day of history was dropped", telemetry.KeyInstant, d.Date)
	}
}

func (u *upkeep) makePartitions(ctx context.Context) error {
	n, err := u.node.store.MakePartitions(ctx, daysAhead)
	switch {
	case err != nil:
		u.log.Warn("partitions of history could not be made", telemetry.KeyError, err)
	case n > 0:
		u.node.metrics.daysMade.Add(float64(n))
		u.log.Info("partitions of history were made", telemetry.KeyCount, n)
	}
	return err
}

func (u *upkeep) clean(ctx context.Context) {
	c := store.Cleaning{SessionTimeout: u.node.config.SessionTimeout, Limit: cleanLimit}
	cleaned, err := u.node.store.Clean(ctx, c)
	if err != nil && ctx.Err() == nil {
		u.log.Warn("the database could not be cleaned", telemetry.KeyError, err)
	}
	for kind, n := range cleaned.Counts() {
		u.node.metrics.cleaned.Of(kind).Add(float64(n))
	}
}
