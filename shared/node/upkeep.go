package node

import (
	"context"
	"log/slog"
	"time"

	"github.com/orrery-dev/orrery/shared/store"
	"github.com/orrery-dev/orrery/shared/telemetry"
)

// upkeep is the goroutine that keeps the database in order: partitions of history for the days ahead, and rows that nobody
// needs any more. Every node does it, and the database lets one at a time.
type upkeep struct {
	node *Node
	log  *slog.Logger
}

const (
	// daysAhead is how many days' partitions are made ahead.
	daysAhead = 4
	// makeEvery is the time between two looks whether they are there.
	makeEvery = time.Hour
	// cleanEvery is the time between two cleanings, cleanLimit the rows of each kind that one removes.
	cleanEvery = 30 * time.Second
	cleanLimit = 1000
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
