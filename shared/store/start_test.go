package store_test

import (
	"testing"

	"github.com/orrery-dev/orrery/shared/history"
	"github.com/orrery-dev/orrery/shared/store"
)

func TestStartIsOneRoundTrip(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.start("prepared", 0, offer("A", 1, 0))
	if _, err := w.db.Start(ctx(t), w.first("also prepared", 0, offer("A", 1, 0))); err != nil {
		t.Fatal(err)
	}
	trips, sent := w.sent.during(func() {
		it := w.first("one", 5, offer("A", 1, 0), offer("B", 1, 0))
		it.Turn.WakeAt = 1_700_000_500_000
		if _, err := w.db.Start(ctx(t), it); err != nil {
			t.Fatal(err)
		}
	})
	if trips != 1 || len(sent) != 2 { // start, ring
		t.Errorf("%d round trips with %d statements, want 1 with 2", trips, len(sent))
	}
	w.want(2, "select count(*) from orrery.task t join orrery.execution e on e.id = t.execution where e.name = 'one' and t.partition = 5 and t.state = 'queued'")
	w.want(1, "select count(*) from orrery.execution where name = 'one' and wake_at = to_timestamp(1700000500)")
}

func TestStartLosesItsName(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	n := w.join("n1", 2, 0)
	e := w.start("one", 0, offer("A", 1, 0))

	// Whoever loses the name leaves nothing, be it a function or a node's batch, and is told who has it.
	again, err := w.fn.Start(ctx(t), w.first("one", 1, offer("A", 1, 0)))
	if err != nil || again.Execution != e.id || again.Existing == nil {
		t.Fatalf("started again: %+v, %v", again, err)
	}
	x := again.Existing
	if x.Name != "one" || x.Workflow != "orders" || x.Version != 1 || string(x.InputHash) != "one" || x.Status != history.Running || x.StartedAt != 1_700_000_000_123 {
		t.Errorf("existing: %+v", x)
	}
	other := w.start("other", 1)
	lost, won := w.first("one", 0, offer("A", 1, 0)), w.first("two", 1, offer("A", 1, 0))
	lost.Epoch, won.Epoch = n.epochs[0], n.epochs[1]
	done := w.mustCommit(n, lost, other.turn(n, nil), won)
	if len(done.Started) != 2 || done.Started[0].Execution != e.id || done.Started[0].Existing == nil || done.Started[2].Existing != nil || done.Started[2].Execution == 0 {
		t.Errorf("started: %+v", done.Started)
	}
	w.want(3, "select count(*) from orrery.execution")
	w.want(4, "select count(*) from orrery.history")
	w.want(2, "select count(*) from orrery.task")
}

func TestStartsAtOnceLeaveOne(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	results := make(chan store.Started)
	for range 8 {
		go func() {
			s, err := w.fn.Start(ctx(t), w.first("one", 0, offer("A", 1, 0)))
			if err != nil {
				t.Error(err)
			}
			results <- s
		}()
	}
	won := 0
	ids := map[history.ExecutionID]bool{}
	for range 8 {
		s := <-results
		ids[s.Execution] = true
		if s.Existing == nil {
			won++
		}
	}
	if won != 1 || len(ids) != 1 {
		t.Errorf("%d won, executions %v", won, ids)
	}
	w.want(1, "select count(*) from orrery.task")
}

func TestStartThatEndsAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	it := w.first("one", 0)
	end(it.Turn)
	s, err := w.fn.Start(ctx(t), it)
	if err != nil {
		t.Fatal(err)
	}
	w.want(1, "select count(*) from orrery.execution where id = $1 and status = 2 and ended_at = started_at", s.Execution)
}
