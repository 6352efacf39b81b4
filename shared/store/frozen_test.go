package store_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/orrery-dev/orrery/shared/history"
	"github.com/orrery-dev/orrery/shared/store"
)

// TestFrozenFunctionHoldsNobodyUp stops a function inside each of its transactions, with all its locks, before the COMMIT. Nobody
// waits for it: a commit of the owner leaves out the execution that it has locked, where it has, and writes the others; claims,
// other starts, heartbeats, a takeover and the cleaner go on.
func TestFrozenFunctionHoldsNobodyUp(t *testing.T) {
	key := 40
	for name, freeze := range map[string]func(w *world, fn *store.Store, e *execution, s store.Session) error{
		"start": func(w *world, fn *store.Store, _ *execution, _ store.Session) error {
			_, err := fn.Start(ctx(w.t), w.first("frozen", 0, offer("A", 1, 0)))
			return err
		},
		"report": func(w *world, fn *store.Store, e *execution, s store.Session) error {
			_, err := fn.Report(ctx(w.t), []store.Report{complete(e, history.RowRef{Unit: "A", Attempt: 1}, s)})
			return err
		},
		"signal": func(w *world, fn *store.Store, e *execution, _ store.Session) error {
			_, err := fn.Send(ctx(w.t), store.Message{Namespace: namespace, Name: e.name, Key: "k", Command: history.Command{Kind: history.KindSignal, Signal: "go"}})
			return err
		},
		"worker's heartbeat": func(w *world, fn *store.Store, e *execution, s store.Session) error {
			h := store.HeldTask{Holding: store.Holding{Execution: e.id, Row: history.RowRef{Unit: "A", Attempt: 1}}, Details: []byte(`1`)}
			_, err := fn.WorkerBeat(ctx(w.t), store.WorkerBeat{Session: s.ID, Number: 1, Held: []store.HeldTask{h}})
			return err
		},
		"deregister": func(w *world, fn *store.Store, _ *execution, s store.Session) error {
			_, err := fn.Deregister(ctx(w.t), s.ID)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.exec("update orrery.namespace set max_active = 1000")
			if _, err := w.db.CountActive(ctx(t)); err != nil {
				t.Fatal(err)
			}
			n := w.join("n1", 2, 0)
			s, others := w.session("a"), w.session("b")
			e, other := w.start("e", 0, offer("A", 1, 0)), w.start("other", 1, offer("A", 1, 0), offer("B", 1, 0))
			w.claim(s, "p", 1)
			key++
			slow, open := w.heldWith(w.url, key, store.Options{})
			frozen := make(chan error, 1)
			go func() { frozen <- freeze(w, slow, e, s) }()
			w.waits(gateClass)

			// Everything here would fail by its lock timeout, or hang, if it waited.
			withdraw := func(t *history.Turn) { t.Resolved = []history.Resolved{{Unit: "A", Attempt: 1}} }
			for _, turn := range []func(*history.Turn){withdraw, end} {
				_, err := w.commit(n, e.turn(n, turn), other.turn(n, nil))
				var failed *store.CommitError
				switch {
				case err == nil:
					e.seq++
				case !errors.As(err, &failed) || failed.Kind != store.Locked || fmt.Sprint(failed.Executions) != fmt.Sprint([]history.ExecutionID{e.id}):
					t.Errorf("a commit beside it: %v, want none, or the one execution left out", err)
				default:
					w.mustCommit(n, other.turn(n, nil))
				}
				other.seq++
			}
			if got := w.claim(others, "p", 2); len(got) != 2 {
				t.Errorf("claimed %d tasks, want the 2 of the other execution", len(got))
			}
			w.start("free", 65)
			if pulse, err := w.db.Heartbeat(ctx(t), store.Beat{Fence: n.Fence, Node: "n1", Touched: []store.Touch{{Session: s.ID}, {Session: others.ID}}}); err != nil || pulse.Standing != store.Member {
				t.Errorf("heartbeat: %+v, %v", pulse, err)
			}
			if _, err := w.db.Clean(ctx(t), store.Cleaning{SessionTimeout: sessionTimeout, Limit: 100}); err != nil {
				t.Errorf("clean: %v", err)
			}
			w.dies(n)
			next := w.join("n2", 0, 0)
			w.take(next, n.Fence, 2)
			w.mustCommit(next, other.turn(next, nil))
			open()
			if err := <-frozen; err != nil && !errors.Is(err, store.ErrConflict) {
				t.Errorf("the frozen one: %v", err)
			}
		})
	}
}
