package node

import (
	"context"
	"errors"

	"github.com/orrery-dev/orrery/shared/history"
	"github.com/orrery-dev/orrery/shared/store"
	"github.com/orrery-dev/orrery/shared/telemetry"
)

// blockedLimit bounds the executions of one look at what others could not serve.
const blockedLimit = 1000

// unfoldable takes an execution out of service for this incarnation that a newer version has written to, or whose history or
// definition is damaged. Calls for it go to the inbox, where they wait for a node that can.
func (l *loop) unfoldable(e *execution, x *loaded) {
	l.log.Error("an execution cannot be served by this node", telemetry.KeyExecution, e.id, telemetry.KeyError, x.err)
	held, id, reason := store.Held{Partition: x.row.Partition, Epoch: x.epoch}, e.id, x.err.Error()
	l.stick(e, false)
	e.debts = nil // what it owes, the next owner finds
	l.setWake(e, 0)
	l.forget(e, errElsewhere)
	if errors.Is(x.err, store.ErrNotFound) {
		return // its definition has gone from memory: the next load brings it
	}
	l.node.metrics.blocked.Inc()
	l.aside("an execution could not be blocked", id, func(ctx context.Context) error {
		return l.node.store.BlockHere(ctx, l.fence, held, id, reason)
	})
}

// block takes an execution out of service for everybody.
func (l *loop) block(e *execution, cause error) {
	held, id := store.Held{Partition: e.partition, Epoch: e.epoch}, e.id
	l.setWake(e, 0)
	l.stick(e, false)
	l.forget(e, errElsewhere)
	l.node.metrics.blocked.Inc()
	l.aside("an execution could not be blocked", id, func(ctx context.Context) error {
		return l.node.store.Block(ctx, l.fence, held, id, cause.Error())
	})
}

// unblock says that the execution, which another incarnation could not serve, is served.
func (l *loop) unblock(e *execution) {
	held, id := store.Held{Partition: e.partition, Epoch: e.epoch}, e.id
	l.aside("an execution could not be unblocked", id, func(ctx context.Context) error {
		return l.node.store.Unblock(ctx, l.fence, held, id)
	})
}

// aside has a commit of its own made about an execution.
func (l *loop) aside(failure string, id history.ExecutionID, commit func(context.Context) error) {
	l.spawn(func(ctx context.Context) message {
		if err := commit(ctx); err != nil && !errors.Is(err, store.ErrFenced) {
			l.log.Error(failure, telemetry.KeyExecution, id, telemetry.KeyError, err)
		}
		return nothing{}
	})
}

// lookBlocked begins a read of executions that another incarnation could not serve: with partitions that have come, this one
// tries.
func (l *loop) lookBlocked() {
	if !l.looks.blocked.begin() {
		return
	}
	ps := l.partitions()
	l.spawn(func(ctx context.Context) message {
		list, err := l.node.store.BlockedElsewhere(ctx, l.fence, ps, blockedLimit)
		return seenBlocked{list, err}
	})
}

type seenBlocked struct {
	list []store.Placed
	err  error
}

func (m seenBlocked) apply(l *loop) {
	k := &l.looks.blocked
	k.running = false
	if m.err != nil {
		l.failedLook(k, "blocked executions", m.err)
		return
	}
	l.loadPlaced(m.list)
}

// loadPlaced has executions loaded that are this node's and not in hand.
func (l *loop) loadPlaced(list []store.Placed) {
	for _, x := range list {
		_, owned := l.owned[x.Partition]
		_, stuck := l.stuck[x.Execution]
		if _, known := l.executions[x.Execution]; owned && !stuck && !known {
			l.need(l.entry(x.Execution, x.Partition))
		}
	}
}
