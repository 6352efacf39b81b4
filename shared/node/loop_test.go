package node

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/orrery-dev/orrery/shared/history"
	"github.com/orrery-dev/orrery/shared/store"
)

func TestTaskIsHandedOverInItsCommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, oneTask)
		n := c.join("a")
		got := make(chan []store.Assignment)
		go func() { got <- c.poll(n, "s1", "p1", 1) }()
		time.Sleep(time.Second)
		claims := c.db.count("Claim")
		id := c.mustStart(n)
		a := (<-got)[0]
		if a.Execution != id || a.Name != "e1" || a.Claim.PollID != "p1" || a.Deadline == 0 {
			t.Errorf("assignment %+v", a)
		}
		if out := c.complete(n, a); out != store.ReportAccepted {
			t.Errorf("report: %v", out)
		}
		c.wantEnd(id, history.Succeeded, time.Second)
		if commits := c.db.count("Commit"); commits != 2 {
			t.Errorf("%d commits, want 2: the start with its hand-over, and the end", commits)
		}
		if more := c.db.count("Claim") - claims; more != 0 {
			t.Errorf("%d claims, want none", more)
		}
		if n := countOf(c.events(id), history.EventDispatched); n != 1 {
			t.Errorf("%d dispatch events", n)
		}
	})
}

func TestIdlePollsCostNoStatements(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, oneTask)
		n := c.join("a")
		time.Sleep(10 * time.Second)
		ctx, cancel := context.WithCancel(context.Background())
		for i := range 20 {
			session := string(rune('a' + i))
			go func() {
				for poll := 0; ctx.Err() == nil; poll++ {
					time.Sleep(time.Duration(i) * time.Millisecond)
					q := pollOf(session, string(rune('0'+poll)), 1)
					if got, _ := n.Poll(ctx, q, time.Now().Add(20*time.Second)); len(got) > 0 {
						t.Errorf("a task out of nowhere")
					}
				}
			}()
		}
		time.Sleep(5 * time.Second)
		before := c.db.total()
		time.Sleep(time.Minute)
		if n := c.db.total() - before; n > 60+15 {
			t.Errorf("%d statements in an idle minute: %v", n, c.db.calls)
		}
		cancel()
	})
}

func TestClaimServesAllWaitingPolls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, oneTask)
		a, b := c.join("a"), c.join("b")
		for range 10 {
			c.mustStart(a)
		}
		got := make(chan []store.Assignment, 10)
		for i := range 10 {
			go func() { got <- c.poll(b, string(rune('a'+i)), "p", 1) }()
		}
		seen := map[history.ExecutionID]bool{}
		for range 10 {
			x := (<-got)[0]
			seen[x.Execution] = true
			if out := c.complete(b, x); out != store.ReportAccepted {
				t.Errorf("report: %v", out)
			}
		}
		if len(seen) != 10 {
			t.Errorf("%d different executions handed out, want 10", len(seen))
		}
		for id := range seen {
			c.wantEnd(id, history.Succeeded, time.Second)
		}
		if n := c.db.count("Claim"); n > 4 {
			t.Errorf("%d claims for 10 polls", n)
		}
	})
}

func TestTimersFireOnTime(t *testing.T) {
	const waits = `{"StartAt": "W", "States": {"W": {"Type": "Wait", "Seconds": 90, "End": true}}}`
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, waits)
		n := c.join("a")
		id := c.mustStart(n)
		begin := time.Now()
		time.Sleep(80 * time.Second)
		if n.gauges.loaded.Load() != 0 {
			t.Errorf("a sleeping execution stays in memory")
		}
		c.wantEnd(id, history.Succeeded, 11*time.Second)
		if late := time.Since(begin) - 90*time.Second; late < 0 || late > 100*time.Millisecond {
			t.Errorf("the timer was %v late", late)
		}
	})
}

func TestTimerWrittenByAnotherIsOnTime(t *testing.T) {
	const waits = `{"StartAt": "W", "States": {"W": {"Type": "Wait", "Seconds": 2, "End": true}}}`
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, waits)
		c.join("a")
		time.Sleep(time.Minute)
		id := c.db.startElsewhere(t, c.machine, "x")
		begin := time.Now()
		c.wantEnd(id, history.Succeeded, 5*time.Second)
		if late := time.Since(begin) - 2*time.Second; late < 0 || late > 100*time.Millisecond {
			t.Errorf("the timer was %v late", late)
		}
	})
}

func TestMemoryIsBounded(t *testing.T) {
	const waits = `{"StartAt": "W", "States": {"W": {"Type": "Wait", "Seconds": 3600, "End": true}}}`
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, waits)
		n := c.join("a", func(f *Config) { f.Memory = 1 << 20 })
		for range 2000 {
			c.mustStart(n)
		}
		time.Sleep(time.Second)
		if m := n.gauges.memory.Load(); m > 1<<20 {
			t.Errorf("%d bytes in memory, the limit is %d", m, 1<<20)
		}
		time.Sleep(20 * time.Second)
		if l, m := n.gauges.loaded.Load(), n.gauges.memory.Load(); l != 0 || m != 0 {
			t.Errorf("%d executions with %d bytes stay in memory with nothing to do", l, m)
		}
		time.Sleep(time.Hour)
		for _, id := range c.db.ids() {
			c.wantEnd(id, history.Succeeded, time.Second)
		}
	})
}

func TestClaimsOfOthersAreRecordedWithinASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, oneTask)
		n := c.join("a")
		var ids []history.ExecutionID
		for range 20 {
			ids = append(ids, c.mustStart(n))
		}
		commits := c.db.count("Commit")
		if _, err := c.db.Claim(context.Background(), store.ClaimRequest{Polls: []store.Poll{pollOf("s", "p", 20)}}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2500 * time.Millisecond)
		for _, id := range ids {
			if n := countOf(c.events(id), history.EventDispatched); n != 1 {
				t.Errorf("execution %d has %d dispatch events", id, n)
			}
		}
		if n := c.db.count("Commit") - commits; n > 2 {
			t.Errorf("%d commits for 20 claims", n)
		}
	})
}

func TestBacklogIsDrainedWithoutWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, oneTask)
		n := c.join("a")
		for range 10 {
			c.mustStart(n)
		}
		begin := time.Now()
		for i := range 10 {
			c.poll(n, "s", fmt.Sprint("p", i), 1)
		}
		if d := time.Since(begin); d > 100*time.Millisecond {
			t.Errorf("ten polls took %v while tasks were waiting", d)
		}
	})
}

// TestClaimForOneRowLeavesPollsToHandOvers has one task in the queue that the node knows of, and two polls.
func TestClaimForOneRowLeavesPollsToHandOvers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, oneTask)
		n := c.join("a")
		if got, err := n.Poll(t.Context(), pollOf("s", "p0", 1), time.Now()); err != nil || len(got) != 0 {
			t.Fatalf("poll: %d tasks, %v", len(got), err)
		}
		c.mustStart(n)
		c.db.do(func() { c.db.slowClaim = func() { time.Sleep(500 * time.Millisecond) } })
		got := make(chan store.Assignment, 2)
		for _, id := range []string{"p1", "p2"} {
			go func() { got <- c.poll(n, "s", id, 1)[0] }()
			synctest.Wait()
		}
		begin := time.Now()
		second := c.mustStart(n)
		if x := <-got; x.Execution != second || time.Since(begin) > 100*time.Millisecond {
			t.Errorf("execution %d was handed out first, after %v", x.Execution, time.Since(begin))
		}
		<-got
		if n := c.db.count("Claim"); n != 2 {
			t.Errorf("%d claims", n)
		}
	})
}

// TestKeyedMessageGoesToTheInbox: its key is written with the entry, and the node is rung for the reply.
func TestKeyedMessageGoesToTheInbox(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, signalled)
		n := c.join("a")
		id := c.mustStart(n)
		m := store.Message{Namespace: 1, Name: "e1", Key: "k", Command: history.Command{Kind: history.KindSignal, Signal: "go", Output: []byte("1")}}
		sent, err := n.Send(t.Context(), m)
		if err != nil || sent.Outcome != store.SendQueued || c.db.sent.From != n.serving().fence {
			t.Fatalf("signal: %+v from %d, %v", sent, c.db.sent.From, err)
		}
		rung, forget := n.AwaitReply(sent.Entry)
		defer forget()
		<-rung
		if r, err := c.db.Reply(t.Context(), sent.Entry); err != nil || r == nil || r.Outcome != history.Applied {
			t.Errorf("reply %+v, %v", r, err)
		}
		c.wantEnd(id, history.Succeeded, time.Second)
	})
}

func TestReportOlderThanItsClaim(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, oneTask)
		n := c.join("a")
		id := c.mustStart(n)
		r, err := c.db.Claim(t.Context(), store.ClaimRequest{Polls: []store.Poll{pollOf("s", "p", 1)}})
		if err != nil || len(r.Tasks) != 1 {
			t.Fatalf("claim: %d tasks, %v", len(r.Tasks), err)
		}
		c.complete(n, r.Tasks[0].Assignment)
		c.wantEnd(id, history.Succeeded, time.Second)
		if n := countOf(c.events(id), history.EventDispatched); n != 1 {
			t.Errorf("%d dispatch events", n)
		}
	})
}

// TestSlowReadBringsNothingTwice has a look at the inbox that answers when its entries have been applied.
func TestSlowReadBringsNothingTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, `{"StartAt": "Wait", "States": {"Wait": {"Type": "Task", "Resource": "signal:end", "End": true}}}`)
		n := c.join("a")
		id := c.mustStart(n)
		c.db.do(func() { c.db.slowInbox = func() { time.Sleep(2 * time.Second) } })
		m := store.Message{Namespace: 1, Name: "e1", Command: history.Command{Kind: history.KindSignal, Signal: "one", Output: []byte("1")}}
		if _, err := c.db.Send(t.Context(), m); err != nil {
			t.Fatal(err)
		}
		time.Sleep(500 * time.Millisecond) // the look is under way
		m.Command.Signal = "two"
		if sent, err := n.Send(t.Context(), m); err != nil || sent.Reply == nil {
			t.Fatalf("signal: %+v, %v", sent, err)
		}
		time.Sleep(5 * time.Second)
		if got := countOf(c.events(id), history.EventSignalled); got != 2 || c.db.count("refused") != 0 {
			t.Errorf("%d signals in the history, %d commits refused", got, c.db.count("refused"))
		}
	})
}

// TestTimerBesideTheFirstLook has the first look at wake-up times answer without an execution that began meanwhile.
func TestTimerBesideTheFirstLook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, `{"StartAt": "Rest", "States": {"Rest": {"Type": "Wait", "Seconds": 5, "End": true}}}`)
		c.db.do(func() { c.db.slowDue = func() { time.Sleep(time.Second) } })
		id := c.mustStart(c.join("a"))
		c.wantEnd(id, history.Succeeded, 6*time.Second)
	})
}

func TestEndRingsWhoWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, oneTask)
		n := c.join("a")
		id := c.mustStart(n)
		rung, forget, err := n.AwaitEnd(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		defer forget()
		c.complete(n, c.poll(n, "s", "p", 1)[0])
		<-rung
		if s := c.db.row(id).Status; s != history.Succeeded {
			t.Errorf("rung while it is %v", s)
		}
		if c.db.count("AwaitEnd") != 0 {
			t.Error("a flag for an execution of this node")
		}
		_, forget, err = n.AwaitEnd(t.Context(), 12345)
		if err != nil || c.db.count("AwaitEnd") != 1 {
			t.Errorf("no flag for an execution of another node: %v", err)
		}
		forget()
	})
}

func TestGonePollGivesItsTaskBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, oneTask)
		n := c.join("a")
		ctx, cancel := context.WithCancel(context.Background())
		c.db.onCommit(func(store.Batch) error { cancel(); time.Sleep(time.Millisecond); return nil })
		gone := make(chan error)
		go func() {
			_, err := n.Poll(ctx, pollOf("s1", "p1", 1), time.Now().Add(20*time.Second))
			gone <- err
		}()
		time.Sleep(time.Second)
		id := c.mustStart(n)
		if err := <-gone; err != context.Canceled {
			t.Errorf("poll: %v", err)
		}
		a := c.poll(n, "s2", "p2", 1)[0]
		if a.Execution != id || a.Row.Offer != 2 || a.Work.Redelivery != 1 {
			t.Errorf("second hand-out %+v", a)
		}
		if c.complete(n, a) != store.ReportAccepted {
			t.Error("report not accepted")
		}
		c.wantEnd(id, history.Succeeded, time.Second)
	})
}

func TestRepeatedPollGetsTheSameTasks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, oneTask)
		a, b := c.join("a"), c.join("b")
		c.mustStart(a)
		first := c.poll(a, "s", "p", 1)[0]
		for _, n := range []*member{a, b} {
			again := c.poll(n, "s", "p", 1)[0]
			if again.Execution != first.Execution || again.Row != first.Row {
				t.Errorf("repeat got %+v, the first was %+v", again.Row, first.Row)
			}
		}
	})
}

// TestPollThatDoesNotWaitGetsWhatIsThere polls with no time to wait: for what others have queued, for what is claimed under
// the poll's id, and for nothing.
func TestPollThatDoesNotWaitGetsWhatIsThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, oneTask)
		a := c.join("a")
		for range 3 {
			c.mustStart(a)
		}
		time.Sleep(5 * time.Second)
		poll := func(id string, max, want int) {
			t.Helper()
			began := time.Now()
			got, err := a.Poll(context.Background(), pollOf("s", id, max), began)
			if err != nil || len(got) != want {
				t.Errorf("poll %s got %d tasks, %v, want %d", id, len(got), err, want)
			}
			if d := time.Since(began); d >= deliveryGrace {
				t.Errorf("poll %s took %v", id, d)
			}
		}
		poll("p1", 2, 2)
		poll("p1", 2, 2)
		poll("p2", 2, 1)
		poll("p3", 2, 0)
		poll("p4", 2, 0)
	})
}

func TestSilentSessionLosesItsTasks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, oneTask)
		n := c.join("a", func(f *Config) { f.SessionTimeout = 5 * time.Second })
		time.Sleep(6 * time.Second)
		id := c.mustStart(n)
		c.poll(n, "s1", "p1", 1)
		begin := time.Now()
		a := c.poll(n, "s2", "p2", 1)[0]
		if a.Execution != id || a.Work.Redelivery != 1 || a.Row.Attempt != 1 {
			t.Errorf("second hand-out %+v", a)
		}
		if d := time.Since(begin); d > 6*time.Second+100*time.Millisecond {
			t.Errorf("offered again after %v", d)
		}
	})
}

func TestHeartbeatTimeoutAsksTheSession(t *testing.T) {
	const beats = `{"StartAt": "Do", "States": {"Do": {"Type": "Task", "Resource": "task:work@1", "TimeoutSeconds": 600, "HeartbeatSeconds": 5, "End": true}}}`
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, beats)
		n := c.join("a")
		id := c.mustStart(n)
		c.poll(n, "s1", "p1", 1)
		for range 20 {
			time.Sleep(time.Second)
			_, _ = n.Touch(context.Background(), []store.Touch{{Session: "s1"}})
		}
		if s := c.db.row(id).Status; s != history.Running {
			t.Fatalf("an execution whose worker beats is %v", s)
		}
		c.wantEnd(id, history.Failed, 8*time.Second)
	})
}
