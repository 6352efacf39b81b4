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

// TestEligible: partitions go to nodes that can make all decisions of the cluster's level; where none can, to all that run.
func TestEligible(t *testing.T) {
	nodes := []store.Node{{ID: "old", Fence: 1, Behaviour: 1}, {ID: "new", Fence: 2, Behaviour: 2}, {ID: "dead", Fence: 3, Behaviour: 3}}
	running := map[history.FenceNumber]bool{1: true, 2: true}
	for level, want := range map[int][]string{1: {"old", "new"}, 2: {"new"}, 3: {"old", "new"}} {
		if got := eligible(store.Pulse{Nodes: nodes, Behaviour: level}, running); !slices.Equal(got, want) {
			t.Errorf("at level %d: %v, want %v", level, got, want)
		}
	}
}

// TestTakeoverLoadsNothing: what sleeps costs nothing at a takeover, however much it is.
func TestTakeoverLoadsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, listens)
		a, b := c.join("a"), c.join("b")
		time.Sleep(10 * time.Second)
		for range 200 {
			c.mustStart(a)
		}
		time.Sleep(15 * time.Second)
		loads := c.db.count("Load")
		taken := c.db.count("Take")
		a.die()
		for i := 0; c.db.owned("b") < 16 && i < 100; i++ {
			time.Sleep(100 * time.Millisecond)
		}
		if n := c.db.owned("b"); n != 16 {
			t.Fatalf("b owns %d partitions", n)
		}
		time.Sleep(2 * time.Second)
		if loads, taken := c.db.count("Load")-loads, c.db.count("Take")-taken; loads != 0 || taken > 2 {
			t.Errorf("%d loads and %d statements to take", loads, taken)
		}
		if b.gauges.loaded.Load() != 0 {
			t.Error("something is loaded")
		}
	})
}

// TestNobodyIsLostAfterAPause: a node that was not heard of itself calls no worker's silence long. After a pause of everybody a
// worker keeps what it has, if it is heard of again in time.
func TestNobodyIsLostAfterAPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, oneTask)
		a := c.join("a")
		id := c.mustStart(a)
		x := c.poll(a, "s", "p", 1)[0]
		touch := func() { _, _ = a.Touch(context.Background(), []store.Touch{{Session: "s"}}) }
		for range 6 {
			touch()
			time.Sleep(10 * time.Second)
		}
		touch()
		time.Sleep(2 * time.Second)
		c.away(a, 40*time.Second)
		time.Sleep(45 * time.Second) // the session's last contact is 45 s ago, the timeout 30 s
		touch()
		time.Sleep(20 * time.Second)
		if state, _ := c.db.rowOf(id); state != "claimed" {
			t.Errorf("the row is %q: it was called lost", state)
		}
		if out := c.complete(a, x); out != store.ReportAccepted {
			t.Errorf("report: %v", out)
		}
		c.wantEnd(id, history.Succeeded, time.Second)
	})
}

// TestOldUnnoticedClaimIsCaught: a claim that no bell, no beat and no look has shown to its owner for 30 s is recorded when it is
// found, and counted.
func TestOldUnnoticedClaimIsCaught(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, oneTask)
		a := c.join("a")
		id := c.mustStart(a)
		time.Sleep(15 * time.Second)
		if n := a.Counted("orrery_net_unnoticed_claims_total"); n != 0 {
			t.Errorf("%d claims before there is one", n)
		}
		c.db.do(func() {
			for _, k := range c.db.tasks {
				k.state, k.Claim = "claimed", history.Claim{Task: k.Task, Session: "s", Worker: "w", PollID: "p", At: dbNow().Add(-31 * time.Second)}
			}
			c.db.sessions["s"] = time.Now().Add(time.Hour)
		})
		time.Sleep(5 * time.Second)
		if n := countOf(c.events(id), history.EventDispatched); n != 1 {
			t.Errorf("%d dispatches in the history, want 1", n)
		}
		if n := a.Counted("orrery_net_unnoticed_claims_total"); n != 1 {
			t.Errorf("%d claims are counted, want 1", n)
		}
	})
}
