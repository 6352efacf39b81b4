package node

import (
	"context"
	"time"

	"github.com/orrery-dev/orrery/shared/history"
	"github.com/orrery-dev/orrery/shared/store"
	"github.com/orrery-dev/orrery/shared/telemetry"
)

// walk is a safety net: step by step, over all executions of the node's partitions, it has those loaded that run, are not in
// memory and have no row in the queue. A load compares the open units with the rows and offers anew what has none. Most of what is
// loaded waits for a signal, a child or a time and needs nothing; the steps are small for that.
type walk struct {
	after   history.ExecutionID // where the walk has come to
	running bool
	last    time.Time // when the last step began
}

const (
	// walkEvery is the time between two steps. A step looks at walkWindow executions, whatever they are, and loads walkLimit
	// at most.
	walkEvery  = 30 * time.Second
	walkWindow = 5000
	walkLimit  = 100
)

// lookRowless begins a step, when it is time.
func (l *loop) lookRowless() {
	w, now := &l.looks.walk, time.Now()
	if w.last.IsZero() {
		w.last = now
	}
	if w.running || now.Sub(w.last) < walkEvery {
		return
	}
	w.running, w.last = true, now
	q := store.RowlessQuery{Partitions: l.partitions(), After: w.after, Window: walkWindow, Limit: walkLimit}
	l.spawn(func(ctx context.Context) message {
		step, err := l.node.store.Rowless(ctx, q)
		return walked{step, err}
	})
}

type walked struct {
	step store.RowlessStep
	err  error
}

func (m walked) apply(l *loop) {
	w := &l.looks.walk
	w.running = false
	if m.err != nil {
		l.log.Warn("a look at the database failed", telemetry.KeyReason, "executions without rows", telemetry.KeyError, m.err)
		return
	}
	w.after = m.step.Last
	l.loadPlaced(m.step.Executions)
}
