package stack

import (
	"context"
	"sync"
	"time"

	"github.com/orrery-dev/orrery/shared/wire"
	"github.com/orrery-dev/orrery/shared/worker"
)

// ledger is what workers note outside of the system, under the idempotency keys that they are given: one entry for each
// time that they had the effect.
type ledger struct {
	gate    chan struct{} // while it is open as a channel, no task gets done
	mu      sync.Mutex
	entries map[string][]wire.Assignment
}

// newLedger gives a ledger of workers that do what they get at once.
func newLedger() *ledger {
	l := newGatedLedger()
	close(l.gate)
	return l
}

// newGatedLedger gives a ledger of workers that take tasks, but get none done before the gate is closed as a channel.
func newGatedLedger() *ledger {
	return &ledger{gate: make(chan struct{}), entries: map[string][]wire.Assignment{}}
}

func (l *ledger) note(a wire.Assignment) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.entries[a.IdempotencyKey] = append(l.entries[a.IdempotencyKey], a)
}

// handle has a worker do a task: it notes the effect, then takes its time, and gives back what the input says.
func (l *ledger) handle(w *worker.Worker, task string) {
	worker.Handle(w, task, 1, func(ctx context.Context, t worker.Task, in MixJob) (int, error) {
		l.note(t.Assignment)
		select {
		case <-l.gate:
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		}
		select {
		case <-time.After(time.Duration(in.MS) * time.Millisecond):
			return in.Echo, nil
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		}
	})
}

// visit is a unit of an execution.
type visit struct{ execution, unit string }

// check compares the ledger with the histories of executions that have all succeeded without a failed attempt: every task
// had its effect and one success; an effect was had again only by a redelivery, which is recorded.
func (l *ledger) check(s *system, histories map[string][]wire.Event) {
	s.t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	effects := map[visit][]wire.Assignment{}
	for key, entries := range l.entries {
		at := visit{entries[0].Execution, entries[0].Unit}
		if effects[at] != nil {
			s.t.Errorf("%v has more than one idempotency key", at)
		}
		effects[at] = entries
		redeliveries := map[int]bool{}
		for _, e := range entries {
			if (visit{e.Execution, e.Unit}) != at {
				s.t.Errorf("key %s is that of %v and of %s of %s", key, at, e.Unit, e.Execution)
			}
			if e.Attempt != 1 || redeliveries[e.Redelivery] {
				s.t.Errorf("%v: attempt %d, redelivery %d was delivered twice or more", at, e.Attempt, e.Redelivery)
			}
			redeliveries[e.Redelivery] = true
		}
	}
	for id, events := range histories {
		l.checkHistory(s, id, events, effects)
	}
	for at := range effects {
		s.t.Errorf("%v had an effect and is in no history", at)
	}
}

// checkHistory takes the effects of an execution out of those that are left to explain.
func (l *ledger) checkHistory(s *system, id string, events []wire.Event, effects map[visit][]wire.Assignment) {
	s.t.Helper()
	redelivered, succeeded := map[string]int{}, map[string]int{}
	for _, e := range events {
		switch e.Type {
		case "TaskRedelivered":
			redelivered[e.Unit]++
		case "TaskSucceeded":
			succeeded[e.Unit]++
		}
	}
	for _, e := range events {
		if e.Type != "TaskScheduled" || !isWork(e) {
			continue
		}
		at := visit{id, e.Unit}
		if succeeded[e.Unit] != 1 {
			s.t.Errorf("%v has %d successes: %s", at, succeeded[e.Unit], typesOf(events))
		}
		if len(effects[at]) == 0 {
			s.t.Errorf("%v had no effect", at)
		}
		for _, a := range effects[at] {
			if a.Redelivery > redelivered[e.Unit] {
				s.t.Errorf("%v was delivered a time more than the %d redeliveries that are recorded", at, redelivered[e.Unit])
			}
		}
		delete(effects, at)
	}
}
