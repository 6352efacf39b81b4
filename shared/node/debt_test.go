package node

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/orrery-dev/orrery/shared/history"
	"github.com/orrery-dev/orrery/shared/store"
)

// twoTasks is a sequence.
const twoTasks = `{"StartAt": "One", "States": {"One": {"Type": "Task", "Resource": "task:work@1", "TimeoutSeconds": 600, "Next": "Two"},
	"Two": {"Type": "Task", "Resource": "task:work@1", "TimeoutSeconds": 600, "End": true}}}`

// handedOver starts an execution whose task goes to a poll that waits.
func (c *cluster) handedOver(m *member, session, poll string) (history.ExecutionID, store.Assignment) {
	c.t.Helper()
	got := make(chan []store.Assignment, 1)
	go func() { got <- c.poll(m, session, poll, 1) }()
	time.Sleep(50 * time.Millisecond)
	id := c.mustStart(m)
	a := (<-got)[0]
	if a.Execution != id {
		c.t.Fatalf("the poll got a task of execution %d, want %d", a.Execution, id)
	}
	return id, a
}

// rowOf gives the state of the one row of an execution, empty for none.
func (m *memory) rowOf(id history.ExecutionID) (state string, claim history.Claim) {
	m.do(func() {
		for _, k := range m.tasks {
			if k.Execution == id {
				state, claim = k.state, k.Claim
			}
		}
	})
	return state, claim
}

// owed counts the debts.
func (m *memory) owed() (n int) {
	m.do(func() { n = len(m.debts) })
	return n
}

func TestHandOverNeedsNoRow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, twoTasks)
		n := c.join("a")
		id, a := c.handedOver(n, "s", "p1")
		if a.Turn != 1 {
			t.Errorf("turn %d, want 1", a.Turn)
		}
		next := make(chan []store.Assignment, 1)
		go func() { next <- c.poll(n, "s", "p2", 1) }()
		time.Sleep(50 * time.Millisecond)
		if out := c.complete(n, a); out != store.ReportAccepted {
			t.Errorf("report: %v", out)
		}
		b := (<-next)[0]
		if state, _ := c.db.rowOf(id); state != "" || c.db.row(id).WakeAt != 0 || c.db.owed() == 0 {
			t.Errorf("row %q, wake %v, %d debts; want neither row nor timer, and a debt", state, c.db.row(id).WakeAt, c.db.owed())
		}
		if out := c.complete(n, b); out != store.ReportAccepted {
			t.Errorf("report: %v", out)
		}
		c.wantEnd(id, history.Succeeded, time.Second)
		if commits := c.db.count("Commit"); commits != 3 {
			t.Errorf("%d commits, want 3", commits)
		}
		time.Sleep(2 * removeEvery)
		if c.db.owed() != 0 || c.db.count("Paid") > 2 {
			t.Errorf("%d debts are left, %d removals", c.db.owed(), c.db.count("Paid"))
		}
	})
}

func TestDebtIsPaidSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, oneTask)
		n := c.join("a")
		id, a := c.handedOver(n, "s", "p")
		time.Sleep(payDelay + 50*time.Millisecond)
		state, claim := c.db.rowOf(id)
		if state != "claimed" || claim.PollID != "p" || claim.Session != "s" || c.db.row(id).WakeAt == 0 {
			t.Errorf("row %s of %+v, wake %v", state, claim, c.db.row(id).WakeAt)
		}
		time.Sleep(2 * removeEvery)
		if c.db.owed() != 0 {
			t.Errorf("%d debts are left", c.db.owed())
		}
		commits := c.db.count("Commit")
		time.Sleep(5 * time.Second)
		if c.db.count("Commit") != commits {
			t.Error("it is paid again")
		}
		if out := c.complete(n, a); out != store.ReportAccepted {
			t.Errorf("report: %v", out)
		}
		c.wantEnd(id, history.Succeeded, time.Second)
		if state, _ := c.db.rowOf(id); state != "" {
			t.Errorf("a row is left, %s", state)
		}
	})
}

// TestHeirPays: the rows that a dead node has not written are written by who takes its partitions.
func TestHeirPays(t *testing.T) {
	for name, end := range map[string]func(*member){"killed": (*member).die, "stopped": func(m *member) { _ = m.stop() }} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCluster(t, oneTask)
				a := c.join("a")
				fence := a.current.Load().fence
				id, got := c.handedOver(a, "s", "p")
				if state, _ := c.db.rowOf(id); state != "" {
					t.Fatalf("there is a row already, %s", state)
				}
				end(a)
				b := c.join("b")
				for i := 0; c.db.owned("b") < 16 && i < 100; i++ {
					time.Sleep(100 * time.Millisecond)
				}
				time.Sleep(time.Second)
				state, claim := c.db.rowOf(id)
				if state != "claimed" || claim.Session != "s" || c.db.row(id).WakeAt == 0 {
					t.Errorf("row %q of %+v, wake %v", state, claim, c.db.row(id).WakeAt)
				}
				var from history.FenceNumber
				c.db.do(func() { from = c.db.tasks[0].from })
				if from != fence {
					t.Errorf("handed out by %d, want %d", from, fence)
				}
				time.Sleep(2 * removeEvery)
				own := 0
				c.db.do(func() {
					for _, d := range c.db.debts {
						if d.fence != fence {
							own++
						}
					}
				})
				if own != 0 {
					t.Errorf("the heir owes %d debts still", own)
				}
				if out := c.complete(b, got); out != store.ReportAccepted {
					t.Errorf("report: %v", out)
				}
				c.wantEnd(id, history.Succeeded, time.Second)
			})
		})
	}
}

// TestRowsForWhoLooks: a repeated poll gets its task again, and a session that is closed gives it back, though no row is due.
func TestRowsForWhoLooks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, oneTask)
		n := c.join("a")
		id, a := c.handedOver(n, "s", "p")
		again := c.poll(n, "s", "p", 1)[0]
		if again.Execution != id || again.Row != a.Row {
			t.Errorf("the repeated poll got %+v, want %+v", again, a)
		}
		other, _ := c.handedOver(n, "t", "p")
		back, err := n.local.Deregister(context.Background(), "t")
		if err != nil || len(back) != 1 || back[0].Execution != other {
			t.Errorf("given back: %+v, %v", back, err)
		}
	})
}

// TestReportElsewhereOfAnOwedRow goes through a process that does not own the execution.
func TestReportElsewhereOfAnOwedRow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, oneTask)
		n := c.join("a")
		id, a := c.handedOver(n, "s", "p")
		r := reportOf(a, `"done"`)
		r.OpenAt = a.Turn
		if out, err := c.db.Report(context.Background(), []store.Report{r}); err != nil || out[0] != store.ReportAccepted {
			t.Errorf("report: %v, %v", out, err)
		}
		c.wantEnd(id, history.Succeeded, time.Second)
		if state, _ := c.db.rowOf(id); state != "" {
			t.Errorf("a row is left, %s", state)
		}
	})
}

// TestCancelOfAnOwedRow writes the row first, so that the worker is told.
func TestCancelOfAnOwedRow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, oneTask)
		n := c.join("a")
		id, _ := c.handedOver(n, "s", "p")
		var owed []store.HandOut
		c.db.onCommit(func(b store.Batch) error {
			for _, it := range b.Items {
				owed = append(owed, it.Owed...)
			}
			return nil
		})
		if _, err := n.Send(context.Background(), store.Message{Namespace: 1, Name: c.db.row(id).Name, Command: history.Command{Kind: history.KindCancel}}); err != nil {
			t.Fatal(err)
		}
		c.wantEnd(id, history.Cancelled, time.Second)
		if len(owed) != 1 || owed[0].Unit != "Do" || owed[0].Claim.Session != "s" {
			t.Errorf("written first: %+v", owed)
		}
	})
}

// TestHandOverOfAnUnknownCommit: what it handed over is found by the load, and the poll gets it.
func TestHandOverOfAnUnknownCommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, oneTask)
		n := c.join("a")
		got := make(chan []store.Assignment, 1)
		go func() { got <- c.poll(n, "s", "p", 1) }()
		time.Sleep(50 * time.Millisecond)
		first := true
		c.db.do(func() {
			c.db.after = func(store.Batch) error {
				if first {
					first = false
					return &store.CommitError{Kind: store.Unknown, Err: errLost}
				}
				return nil
			}
		})
		id := c.mustStart(n)
		a := (<-got)[0]
		if a.Execution != id {
			t.Errorf("the poll got a task of execution %d, want %d", a.Execution, id)
		}
		if out := c.complete(n, a); out != store.ReportAccepted {
			t.Errorf("report: %v", out)
		}
		c.wantEnd(id, history.Succeeded, time.Second)
		if n := countOf(c.events(id), history.EventLost); n != 0 {
			t.Errorf("%d losses", n)
		}
	})
}
