package node

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/orrery-dev/orrery/shared/history"
	"github.com/orrery-dev/orrery/shared/store"
)

func TestPartitionsFollowRendezvous(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, oneTask)
		a := c.join("a")
		if n := c.db.owned("a"); n != 16 {
			t.Fatalf("alone, a owns %d of 16 partitions", n)
		}
		c.join("b")
		time.Sleep(4 * time.Second)
		c.db.do(func() {
			for p, o := range c.db.partitions {
				want := rendezvous(history.Partition(p), []string{"a", "b"})
				if got := c.db.nodes[o.Fence].ID; got != want {
					t.Errorf("partition %d belongs to %s, %s owns it", p, want, got)
				}
			}
		})
		if err := a.stop(); err != nil {
			t.Fatal(err)
		}
		if n := c.db.owned("b"); n != 16 {
			t.Errorf("after a's clean stop b owns %d of 16 partitions", n)
		}
	})
}

func TestTakeoverAfterAKill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, oneTask)
		a, b := c.join("a"), c.join("b")
		time.Sleep(10 * time.Second)
		var ids []history.ExecutionID
		for range 40 {
			ids = append(ids, c.mustStart(a), c.mustStart(b))
		}
		held := c.poll(a, "s", "p", 80)
		a.die()
		killed := time.Now()
		for c.db.owned("b") < 16 {
			time.Sleep(10 * time.Millisecond)
			if time.Since(killed) > 7*time.Second {
				t.Fatalf("b owns %d of 16 partitions", c.db.owned("b"))
			}
		}
		if d := time.Since(killed); d < 4*time.Second {
			t.Errorf("taken over after %v, before the node timeout", d)
		}
		for _, x := range held {
			if out := c.complete(b, x); out != store.ReportAccepted {
				t.Errorf("report: %v", out)
			}
		}
		for _, id := range ids {
			c.wantEnd(id, history.Succeeded, time.Second)
		}
	})
}

func TestNobodyIsDeadAfterAPauseOfEverybody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, oneTask)
		for _, id := range []string{"a", "b", "c"} {
			c.join(id)
		}
		time.Sleep(10 * time.Second)
		var before, after int64
		over := time.Now().Add(10 * time.Second)
		c.db.do(func() {
			before = c.db.owners
			c.db.heartbeat = func(f history.FenceNumber) {
				// The first to be heard again sees the others as silent for ten seconds.
				time.Sleep(time.Until(over.Add(time.Duration(f) * 100 * time.Millisecond)))
			}
		})
		time.Sleep(30 * time.Second)
		c.db.do(func() { after = c.db.owners })
		if after != before {
			t.Errorf("partitions moved %d times", after-before)
		}
	})
}

func TestDuplicateNodeIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, oneTask)
		c.join("a")
		begin := time.Now()
		n, err := New(Config{ID: "a", Log: slog.New(slog.DiscardHandler)}, c.db, c.db)
		if err != nil {
			t.Fatal(err)
		}
		err = n.Run(t.Context())
		var other *store.DuplicateNodeError
		if !errors.As(err, &other) || !strings.Contains(err.Error(), `"a"`) {
			t.Errorf("run: %v", err)
		}
		if d := time.Since(begin); d < 15*time.Second || d > 16*time.Second {
			t.Errorf("refused after %v, want three node timeouts", d)
		}
	})
}

func TestQuickRestartWaitsForTheOldOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, oneTask)
		a := c.join("a")
		id := c.mustStart(a)
		a.die()
		again := c.run("a")
		time.Sleep(7 * time.Second)
		if again.notReady() != "" || c.db.owned("a") != 16 {
			t.Fatalf("ready %v, owns %d of 16", again.notReady() == "", c.db.owned("a"))
		}
		c.complete(again, c.poll(again, "s", "p", 1)[0])
		c.wantEnd(id, history.Succeeded, time.Second)
	})
}

// TestFrozenNodeChangesNothing is a process that stops in the middle of a commit and goes on when others have taken its
// partitions.
func TestFrozenNodeChangesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, oneTask)
		a, b := c.join("a"), c.join("b")
		time.Sleep(10 * time.Second)
		id := c.mustStart(a)
		x := c.poll(a, "s", "p", 1)[0]
		time.Sleep(3 * time.Second)
		fence := a.serving().fence
		thaw := make(chan struct{})
		wait := func(f history.FenceNumber) {
			if f == fence {
				<-thaw
			}
		}
		c.db.onCommit(func(b store.Batch) error { wait(b.Fence); return nil })
		c.db.do(func() { c.db.heartbeat = wait })
		late := make(chan store.ReportOutcome, 1)
		go func() { late <- c.complete(a, x) }()
		time.Sleep(8 * time.Second)
		if a.notReady() == "" {
			t.Error("a node without a confirmed heartbeat is ready")
		}
		if n := c.db.owned("b"); n != 16 {
			t.Fatalf("b owns %d of 16 partitions", n)
		}
		if out := c.complete(b, x); out != store.ReportAccepted {
			t.Errorf("report to the taker: %v", out)
		}
		close(thaw)
		if out := <-late; out != store.ReportStale && out != store.ReportDuplicate {
			t.Errorf("the late report: %v", out)
		}
		c.wantEnd(id, history.Succeeded, time.Second)
		time.Sleep(3 * time.Second)
		if a.notReady() != "" || a.serving().fence == fence || c.db.owned("a") == 0 {
			t.Errorf("the woken node: ready %v, fence %d (was %d), owns %d", a.notReady() == "", a.serving().fence, fence, c.db.owned("a"))
		}
	})
}

// TestLoadThatBeganUnderAnOldEpoch has a load under way while its partition goes to another node.
func TestLoadThatBeganUnderAnOldEpoch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, oneTask)
		a := c.join("a", func(f *Config) { f.Idle = time.Second })
		for c.starts < 20 {
			c.mustStart(a)
		}
		tasks := c.poll(a, "s", "p", 20)
		time.Sleep(5 * time.Second)
		if n := a.gauges.loaded.Load(); n != 0 {
			t.Fatalf("%d executions are loaded", n)
		}
		c.db.do(func() { c.db.slowLoad = func() { time.Sleep(5 * time.Second) } })
		var done sync.WaitGroup
		for _, x := range tasks {
			done.Go(func() {
				if out := c.complete(a, x); out != store.ReportAccepted {
					t.Errorf("report: %v", out)
				}
			})
		}
		c.join("b")
		time.Sleep(3 * time.Second)
		c.db.do(func() { c.db.slowLoad = nil })
		done.Wait()
		for _, id := range c.db.ids() {
			c.wantEnd(id, history.Succeeded, time.Second)
		}
		if n := c.db.count("refused"); n > 0 {
			t.Errorf("%d batches were refused: turns were decided on states of an old epoch", n)
		}
	})
}

// TestPartitionTakenUnnoticed loads from a partition that has another owner by now.
func TestPartitionTakenUnnoticed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, oneTask)
		a := c.join("a", func(f *Config) { f.Idle = time.Second })
		id := c.mustStart(a)
		x := c.poll(a, "s", "p", 1)[0]
		time.Sleep(5 * time.Second)
		c.db.do(func() {
			o := &c.db.partitions[x.Partition]
			o.Epoch++
			o.Fence = 999
			c.db.nodes[999] = &memoryNode{Node: store.Node{ID: "z", Fence: 999}, beat: time.Now()}
		})
		if out := c.complete(a, x); out != store.ReportAccepted {
			t.Errorf("report: %v", out)
		}
		if c.db.count("Report") != 1 || c.db.count("refused") != 0 {
			t.Errorf("%d reports to the inbox, %d commits refused", c.db.count("Report"), c.db.count("refused"))
		}
		c.wantEnd(id, history.Succeeded, 20*time.Second) // z is never heard of, and a takes the partition back
		if n := a.Counted("orrery_net_ownership_total"); n != 1 {
			t.Errorf("%d partitions found with another owner, want 1", n)
		}
	})
}

func TestCleanStopAnswersEverybody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, oneTask)
		a := c.join("a")
		c.mustStart(a)
		x := c.poll(a, "s", "p", 1)[0]
		empty := make(chan int, 1)
		go func() {
			got, _ := a.Poll(context.Background(), pollOf("s2", "p2", 1), time.Now().Add(20*time.Second))
			empty <- len(got)
		}()
		time.Sleep(time.Second)
		accepted := make(chan store.ReportOutcome, 1)
		c.db.onCommit(func(store.Batch) error { time.Sleep(500 * time.Millisecond); return nil })
		go func() { accepted <- c.complete(a, x) }()
		time.Sleep(10 * time.Millisecond)
		begin := time.Now()
		if err := a.stop(); err != nil {
			t.Errorf("run: %v", err)
		}
		if out := <-accepted; out != store.ReportAccepted {
			t.Errorf("the report in flight: %v", out)
		}
		if n := <-empty; n != 0 {
			t.Errorf("the open poll got %d tasks", n)
		}
		if d := time.Since(begin); d > time.Second {
			t.Errorf("the stop took %v", d)
		}
		if _, err := c.start(a); !errors.Is(err, errNotReady) {
			t.Errorf("start after the stop: %v", err)
		}
		if c.db.count("Leave") != 1 {
			t.Error("the node did not say that it leaves")
		}
	})
}
