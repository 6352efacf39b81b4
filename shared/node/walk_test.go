package node

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/orrery-dev/orrery/shared/history"
)

// loseRows takes the rows of an execution out of the queue, as no process of ours does.
func (c *cluster) loseRows(id history.ExecutionID, want int) {
	c.t.Helper()
	c.db.do(func() {
		n := len(c.db.tasks)
		c.db.tasks = slices.DeleteFunc(c.db.tasks, func(t *memoryTask) bool { return t.Execution == id })
		if n-len(c.db.tasks) != want {
			c.t.Fatalf("%d rows are lost, want %d", n-len(c.db.tasks), want)
		}
	})
}

// TestLostRowIsFound: a unit in the queue whose row is lost is offered again without anybody's doing, counted once, with the
// attempt and the offer that the history knows; what waits for something else is looked at and left alone.
func TestLostRowIsFound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, oneTask)
		a := c.join("a")
		id := c.mustStart(a)
		time.Sleep(15 * time.Second) // it goes from memory
		c.loseRows(id, 1)
		time.Sleep(walkEvery + 5*time.Second)
		if state, _ := c.db.rowOf(id); state != "queued" {
			t.Errorf("the row is %q, want queued", state)
		}
		x := c.poll(a, "s", "p", 1)[0]
		if x.Row != (history.RowRef{Unit: "Do", Attempt: 1, Offer: 1}) || x.Work.Redelivery != 0 {
			t.Errorf("the task is %+v", x)
		}
		if out := c.complete(a, x); out != "accepted" {
			t.Errorf("report: %v", out)
		}
		c.wantEnd(id, history.Succeeded, time.Second)
		if n := a.Counted("orrery_net_units_without_row_total"); n != 1 {
			t.Errorf("%d units without a row, want 1", n)
		}
	})
}

// TestTokenRowIsFound: the row of a token is written anew as what it was, so that it can be reported, and is offered to nobody;
// the task that brings the token is.
func TestTokenRowIsFound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, `{"StartAt": "Ask", "States": {"Ask": {"Type": "Task", "Resource": "task:work@1.waitForTaskToken",
			"Parameters": {"token.$": "$$.Task.Token"}, "End": true}}}`)
		a := c.join("a")
		id := c.mustStart(a)
		time.Sleep(15 * time.Second)
		c.loseRows(id, 2)
		time.Sleep(walkEvery + 5*time.Second)
		var states []string
		c.db.do(func() {
			for _, k := range c.db.tasks {
				states = append(states, k.state+k.Claim.Session)
			}
		})
		if slices.Sort(states); !slices.Equal(states, []string{"claimed", "queued"}) {
			t.Errorf("rows %v, want one that is queued, and one claimed by nobody", states)
		}
		if n := a.Counted("orrery_net_units_without_row_total"); n != 2 {
			t.Errorf("%d units without a row, want 2", n)
		}
	})
}

// TestWalkLeavesTheOthers: executions that wait for a signal or a time have no rows, and the walk does nothing to them.
func TestWalkLeavesTheOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, `{"StartAt": "Hear", "States": {"Hear": {"Type": "Task", "Resource": "signal:go", "TimeoutSeconds": 900, "End": true}}}`)
		a := c.join("a")
		id := c.mustStart(a)
		time.Sleep(15 * time.Second)
		commits, loads := c.db.count("Commit"), a.Counted(`orrery_node_loads_total{served}`)
		time.Sleep(3 * walkEvery)
		if n := a.Counted(`orrery_node_loads_total{served}`) - loads; n < 2 {
			t.Errorf("%d loads, want one in each step", n)
		}
		if c.db.count("Commit") != commits || a.Counted("orrery_net_units_without_row_total") != 0 || c.db.row(id).Status != history.Running {
			t.Error("the walk has written something")
		}
	})
}
