package node

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/orrery-dev/orrery/shared/history"
	"github.com/orrery-dev/orrery/shared/store"
	"github.com/orrery-dev/orrery/shared/telemetry"
)

// outcome is what became of one item of a batch.
type outcome int

const (
	pending     outcome = iota
	written             // committed
	changed             // the execution is not what was loaded: load it again
	reportFirst         // a report is durable that the turn would overrule: load again, apply it first
	locked              // rows are locked by others: load again, try in the next batch
	notNow              // conflicts or a database that cannot, again and again: the same
	ownerGone           // the partition has another owner or epoch
	nameTaken           // a child has lost its name: decide anew, knowing that
	keyHeld             // the occurrence of an execution that had ended cannot go on with it: the same
	badData             // the database refuses the turn, found alone in a batch of its own
	unknown             // may be committed or not; no transaction of this node is under way any more
)

// committer writes batches, one at a time. It never decides: a turn that cannot be written goes back to the loop.
type committer struct {
	store   historyStore
	fence   history.FenceNumber
	log     *slog.Logger
	metrics *metrics
	freed   func() // is told that occurrences of schedules may wait for keys that are free now
}

const (
	// mostTries bounds the sending anew of a batch after failures that name nobody: conflicts, lock time-outs, a database
	// that cannot. After them the turns are given up, so that one which always fails does not hold up the others for ever.
	mostTries  = 20
	firstRetry = 5 * time.Millisecond
	mostRetry  = time.Second
)

// run takes batches and sends each back with its outcomes. It returns errFenced when the incarnation may not commit any
// more.
func (c *committer) run(ctx context.Context, batches <-chan []*item, done func([]*item)) error {
	for {
		select {
		case b := <-batches:
			err := c.write(ctx, b)
			done(b)
			if err != nil {
				return err
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// write sends a batch until every item has its outcome. The error is errFenced, or that of the context.
//
// What a check names goes back, and the rest is sent again at once: it was decided on states that the failed
// transaction has not touched.
func (c *committer) write(ctx context.Context, batch []*item) error {
	pause := backoff{next: firstRetry, most: mostRetry}
	for tries := 1; ; tries++ {
		left := unwritten(batch)
		if len(left) == 0 {
			return nil
		}
		err := c.send(ctx, left)
		var failed *store.CommitError
		switch {
		case err == nil:
			return nil
		case !errors.As(err, &failed):
			return err
		}
		switch failed.Kind {
		case store.Unknown:
			return c.findOut(ctx, left, err)
		case store.FenceLost:
			if len(failed.Executions)+len(failed.Partitions) == 0 {
				mark(left, ownerGone, err)
				return errFenced
			}
		case store.Data:
			return c.split(ctx, left, err)
		}
		if c.blame(left, failed) {
			continue
		}
		if failed.Kind == store.Unavailable && tries == 1 {
			c.log.Warn("a commit failed and is sent again", telemetry.KeyCount, len(left), telemetry.KeyError, err)
		}
		if tries >= mostTries {
			c.log.Error("a commit fails again and again; its turns are decided anew", telemetry.KeyCount, len(left), telemetry.KeyError, err)
			mark(left, notNow, err)
			return nil
		}
		if !pause.wait(ctx) {
			return context.Cause(ctx)
		}
	}
}

// send commits the items once, and marks them when that went well.
func (c *committer) send(ctx context.Context, items []*item) error {
	b := store.Batch{Fence: c.fence, Items: make([]store.Item, len(items)), Bells: store.Bells{From: c.fence}}
	for i, it := range items {
		b.Items[i] = it.Item
		b.Bells.Add(it.Item)
	}
	began := time.Now()
	done, err := c.store.Commit(ctx, b)
	c.metrics.commits.Of(commitOutcome(err)).Inc()
	if err != nil {
		return err
	}
	c.metrics.commitSeconds.Observe(time.Since(began).Seconds())
	c.metrics.commitTurns.Observe(float64(len(items)))
	if done.BellsFailed != nil {
		c.log.Warn("bells were not rung after a commit", telemetry.KeyError, done.BellsFailed)
	}
	if done.Wanted {
		c.freed()
	}
	for i, it := range items {
		it.outcome, it.started, it.born, it.debts = written, done.Started[i], done.Children[i], done.Debts
	}
	return nil
}

// blame marks the items that the error names, and tells whether there were any.
func (c *committer) blame(items []*item, failed *store.CommitError) bool {
	outcomes := map[store.CommitKind]outcome{
		store.Stale: changed, store.ReportFirst: reportFirst, store.Locked: locked, store.FenceLost: ownerGone,
		store.NameTaken: nameTaken, store.KeyHeld: keyHeld,
	}
	out, ok := outcomes[failed.Kind]
	if !ok {
		return false
	}
	any := false
	for _, it := range items {
		id := it.execution.id
		if id != 0 && slices.Contains(failed.Executions, id) || slices.Contains(failed.Partitions, it.Partition) {
			it.outcome, it.err, any = out, failed, true
		}
	}
	return any
}

// split finds whose data the database refuses, by halves.
func (c *committer) split(ctx context.Context, items []*item, err error) error {
	if len(items) == 1 {
		mark(items, badData, err)
		return nil
	}
	half := len(items) / 2
	return errors.Join(c.write(ctx, items[:half]), c.write(ctx, items[half:]))
}

// findOut makes sure that the transaction with the unknown outcome is over. What it did, the next load shows.
func (c *committer) findOut(ctx context.Context, items []*item, cause error) error {
	c.log.Warn("a commit has an unknown outcome", telemetry.KeyCount, len(items), telemetry.KeyError, cause)
	pause := backoff{next: firstRetry, most: mostRetry}
	for {
		err := c.store.TakeOwnFence(ctx, c.fence)
		if err == nil {
			mark(items, unknown, cause)
			return nil
		}
		if errors.Is(err, store.ErrFenced) {
			mark(items, unknown, cause)
			return errFenced
		}
		c.log.Warn("the end of a commit could not be made sure", telemetry.KeyError, err)
		if !pause.wait(ctx) {
			mark(items, unknown, cause)
			return context.Cause(ctx)
		}
	}
}

func unwritten(items []*item) []*item {
	var out []*item
	for _, it := range items {
		if it.outcome == pending {
			out = append(out, it)
		}
	}
	return out
}

func mark(items []*item, o outcome, err error) {
	for _, it := range items {
		it.outcome, it.err = o, err
	}
}

// backoff gives pauses that grow to double, up to most.
type backoff struct{ next, most time.Duration }

// wait pauses; false when the context ended first.
func (b *backoff) wait(ctx context.Context) bool {
	d := b.next
	b.next = min(2*b.next, b.most)
	return sleep(ctx, d)
}

func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
