package node

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/orrery-dev/orrery/shared/history"
	"github.com/orrery-dev/orrery/shared/store"
)

const listens = `{"StartAt": "Hear", "States": {"Hear": {"Type": "Task", "Resource": "signal:go", "End": true}}}`

// TestEntryGoesWithItsOwnTurn: an entry of the inbox is consumed by the turn that applies it and by no other: a turn that fails
// takes nothing with it, and neither does what is written beside it.
func TestEntryGoesWithItsOwnTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, listens)
		a := c.join("a")
		kept, other := c.mustStart(a), c.mustStart(a)
		failures := 0
		c.db.onCommit(func(b store.Batch) error {
			for i := range b.Items {
				if t := b.Items[i].Turn; t != nil && t.Execution == kept && failures < 5 {
					failures++
					return &store.CommitError{Kind: store.Stale, Executions: []history.ExecutionID{kept}, Err: store.ErrConflict}
				}
			}
			return nil
		})
		entries := func(id history.ExecutionID) (n int) {
			c.db.do(func() {
				for _, e := range c.db.inbox {
					if e.Execution == id && e.reply == nil {
						n++
					}
				}
			})
			return n
		}
		signal := func(id history.ExecutionID) {
			t.Helper()
			cmd := history.Command{Kind: history.KindSignal, Signal: "go", Output: []byte("1"), Awaited: true}
			if _, err := c.db.Send(context.Background(), store.Message{Namespace: 1, Name: c.db.row(id).Name, Command: cmd}); err != nil {
				t.Fatal(err)
			}
		}
		signal(kept)
		signal(other)
		c.wantEnd(other, history.Succeeded, 3*time.Second)
		if n := entries(other); n != 0 {
			t.Errorf("%d entries of the one that has ended are left", n)
		}
		if c.db.row(kept).Status == history.Running && entries(kept) != 1 {
			t.Errorf("%d entries of the one whose turn has failed", entries(kept))
		}
		c.wantEnd(kept, history.Succeeded, 10*time.Second)
		if failures != 5 {
			t.Errorf("%d failed turns, want 5", failures)
		}
		if n := countOf(c.events(kept), history.EventSignalled); n != 1 {
			t.Errorf("%d signals in the history, want 1", n)
		}
	})
}

// TestReportOutlivesAFailedCommit: the row of a task that was reported here goes with the turn that applies the report, also when
// that turn had to be decided again; none is left behind as handed out, and none is done without its effect.
func TestReportOutlivesAFailedCommit(t *testing.T) {
	for _, kind := range []store.CommitKind{store.Stale, store.Unavailable, store.Conflict, store.Unknown, store.Locked} {
		t.Run(kind.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCluster(t, oneTask)
				a := c.join("a")
				id, x := c.handedOver(a, "s", "p")
				time.Sleep(time.Second) // its row is written
				if state, _ := c.db.rowOf(id); state != "claimed" {
					t.Fatalf("the row is %q", state)
				}
				failures := 0
				c.db.onCommit(func(b store.Batch) error {
					if failures++; failures > 3 {
						return nil
					}
					failed := &store.CommitError{Kind: kind, Err: store.ErrConflict}
					if kind == store.Stale || kind == store.Locked {
						failed.Executions = []history.ExecutionID{id}
					}
					return failed
				})
				if out := c.complete(a, x); out != store.ReportAccepted && out != store.ReportDuplicate {
					t.Errorf("report: %v", out)
				}
				c.wantEnd(id, history.Succeeded, 10*time.Second)
				if state, _ := c.db.rowOf(id); state != "" {
					t.Errorf("the row is left, %s", state)
				}
				if n := countOf(c.events(id), history.EventCompleted); n != 1 {
					t.Errorf("%d results in the history", n)
				}
			})
		})
	}
}

// TestNewOwnerQueuesNothingAgain: a takeover writes no row and gives no task back for its own sake.
func TestNewOwnerQueuesNothingAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, oneTask)
		a := c.join("a")
		for range 10 {
			c.mustStart(a)
		}
		held := c.poll(a, "s", "p", 5)
		time.Sleep(2 * time.Second)
		rows := func() (out []string) {
			c.db.do(func() {
				for _, k := range c.db.tasks {
					out = append(out, k.state+" "+string(k.Row.Unit)+k.Claim.Session)
				}
			})
			slices.Sort(out)
			return out
		}
		before := rows()
		a.die()
		b := c.join("b")
		for i := 0; c.db.owned("b") < 16 && i < 100; i++ {
			time.Sleep(100 * time.Millisecond)
		}
		time.Sleep(5 * time.Second)
		if after := rows(); !slices.Equal(before, after) {
			t.Errorf("rows before %v, after %v", before, after)
		}
		for _, x := range held {
			if out := c.complete(b, x); out != store.ReportAccepted {
				t.Errorf("report: %v", out)
			}
		}
		if n := b.Counted("orrery_net_units_without_row_total"); n != 0 {
			t.Errorf("%d units were offered again", n)
		}
	})
}
