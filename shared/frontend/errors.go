package frontend

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/orrery-dev/orrery/shared/store"
	"github.com/orrery-dev/orrery/shared/wire"
)

// noThing says what was not found.
type noThing struct {
	code wire.Code
	noun string
}

var (
	noNamespace = noThing{wire.NamespaceNotFound, "namespace"}
	noWorkflow  = noThing{wire.WorkflowNotFound, "workflow"}
	noAlias     = noThing{wire.AliasNotFound, "alias"}
	noContract  = noThing{wire.ContractNotFound, "contract"}
	noExecution = noThing{wire.ExecutionNotFound, "execution"}
	noSession   = noThing{wire.SessionNotFound, "session"}
	noSchedule  = noThing{wire.ScheduleNotFound, "schedule"}
)

// notFound is the error of a read that asks for a named thing.
func notFound(err error, what noThing, name string) error {
	if errors.Is(err, store.ErrNotFound) {
		return wire.Errorf(what.code, "there is no %s %q", what.noun, name)
	}
	return failed("read the "+what.noun+" "+name, err)
}

// failed is the one place where an error of the store becomes one of the API; what the table does not have is a fault
// of the server and keeps its text for the log.
func failed(operation string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, store.ErrOutcomeUnknown):
		return wire.Errorf(wire.OutcomeUnknown, "the database was lost on the way: it may have happened").After(time.Second)
	case errors.Is(err, store.ErrUnavailable), errors.Is(err, store.ErrConflict):
		return wire.Errorf(wire.Unavailable, "the database has no capacity or cannot be reached").After(time.Second)
	case errors.Is(err, store.ErrChanged):
		return wire.Errorf(wire.Unavailable, "others change the same all the time").After(time.Second)
	case errors.Is(err, store.ErrKeySlots):
		return wire.Errorf(wire.KeyShared, "other schedules share the singleton key, and say another number of slots")
	case errors.Is(err, store.ErrVersionExists):
		return wire.Errorf(wire.VersionExists, "the version is there with other content")
	}
	return fmt.Errorf("frontend: %s: %w", operation, err)
}

// conflictTries bounds the tries of a transaction that deadlocks or cannot be serialised.
const conflictTries = 4

// retried calls write again after a conflict, and after an unknown outcome where a repeat has no second effect.
func retried(ctx context.Context, repeatable bool, write func() error) error {
	for try := 1; ; try++ {
		err := write()
		again := errors.Is(err, store.ErrConflict) || repeatable && errors.Is(err, store.ErrOutcomeUnknown)
		if !again || try == conflictTries {
			return err
		}
		if !pause(ctx, time.Duration(try)*5*time.Millisecond) {
			return err
		}
	}
}

// pause waits; false when the context ended first.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// pauses gives the spans between looks at the database: they grow by half, from next to most.
type pauses struct{ next, most time.Duration }

func (p *pauses) take() time.Duration {
	d := p.next
	p.next = min(p.next*3/2, p.most)
	return d
}

// answerTime is kept back from the context's deadline for the last look at the database.
const answerTime = 250 * time.Millisecond

// waitUntil is the end of a wait of the given length, brought forward to fit the context's deadline.
func waitUntil(ctx context.Context, wait time.Duration) time.Time {
	end := time.Now().Add(wait)
	if deadline, ok := ctx.Deadline(); ok && deadline.Add(-answerTime).Before(end) {
		end = deadline.Add(-answerTime)
	}
	return end
}

// waitFor waits until another look is worth it: it was rung, or a pause is over. False when the wait ends instead.
func (p *pauses) waitFor(ctx context.Context, rung <-chan struct{}, end time.Time) bool {
	left := time.Until(end)
	if left <= 0 {
		return false
	}
	t := time.NewTimer(min(p.take(), left))
	defer t.Stop()
	select {
	case <-rung:
	case <-t.C:
	case <-ctx.Done():
		return false
	}
	return true
}
