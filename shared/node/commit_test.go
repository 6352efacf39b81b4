package node

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/orrery-dev/orrery/shared/history"
	"github.com/orrery-dev/orrery/shared/store"
)

const signalled = `{"StartAt": "Wait", "States": {"Wait": {"Type": "Task", "Resource": "signal:go", "End": true}}}`

// lostOnce makes the first commit that want says yes to fail with an unknown outcome, before or after it happened.
func lostOnce(db *memory, happened bool, want func(store.Batch) bool) {
	var once sync.Once
	fault := func(b store.Batch) (err error) {
		if want(b) {
			once.Do(func() { err = &store.CommitError{Kind: store.Unknown, Err: errLost} })
		}
		return err
	}
	db.do(func() {
		if happened {
			db.after = fault
		} else {
			db.before = fault
		}
	})
}

func TestUnknownOutcomeIsFoundOut(t *testing.T) {
	for _, happened := range []bool{true, false} {
		t.Run(fmt.Sprintf("happened %v", happened), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCluster(t, signalled)
				n := c.join("a")
				id := c.mustStart(n)
				lostOnce(c.db, happened, func(b store.Batch) bool { return b.Items[0].New == nil })
				sent, err := n.Send(context.Background(), store.Message{Namespace: 1, Name: "e1", Command: history.Command{
					Kind: history.KindSignal, Signal: "go", Output: []byte(`1`),
				}})
				if err != nil || sent.Reply == nil || sent.Reply.Outcome != history.Applied {
					t.Fatalf("signal: %+v, %v", sent, err)
				}
				c.wantEnd(id, history.Succeeded, time.Second)
				if n := countOf(c.events(id), history.EventSignalled); n != 1 {
					t.Errorf("the signal is in the history %d times", n)
				}
				if n := c.db.count("TakeOwnFence"); n != 1 {
					t.Errorf("the own fence was taken %d times", n)
				}
			})
		})
	}
}

func TestStartWithUnknownOutcome(t *testing.T) {
	for _, happened := range []bool{true, false} {
		t.Run(fmt.Sprintf("happened %v", happened), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCluster(t, oneTask)
				n := c.join("a")
				lostOnce(c.db, happened, func(b store.Batch) bool { return b.Items[0].New != nil })
				got := make(chan store.Assignment, 1)
				go func() { got <- c.poll(n, "s", "p", 1)[0] }()
				time.Sleep(time.Second)
				id := c.mustStart(n)
				// The poll took part in the commit: it gets what is claimed under its id.
				x := <-got
				if x.Execution != id || x.Row.Offer != 1 {
					t.Errorf("handed out %+v", x)
				}
				c.complete(n, x)
				c.wantEnd(id, history.Succeeded, time.Second)
				if n := len(c.db.ids()); n != 1 {
					t.Errorf("%d executions", n)
				}
			})
		})
	}
}

func TestStartOfATakenName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, oneTask)
		n := c.join("a")
		ids := make(chan history.ExecutionID, 10)
		for range 10 {
			go func() {
				id, err := c.startNamed(n, "same")
				if err != nil {
					t.Error(err)
				}
				ids <- id
			}()
		}
		first := <-ids
		for range 9 {
			if id := <-ids; id != first {
				t.Errorf("executions %d and %d under one name", first, id)
			}
		}
		c.complete(n, c.poll(n, "s", "p", 1)[0])
		c.wantEnd(first, history.Succeeded, time.Second)
	})
}

func TestChangedExecutionIsLoadedAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, oneTask)
		n := c.join("a")
		ids := []history.ExecutionID{c.mustStart(n), c.mustStart(n), c.mustStart(n)}
		tasks := c.poll(n, "s", "p", 3)
		// Somebody else has written a turn, which a node never does: the compare-and-set finds it.
		foreign := &history.Turn{Seq: 2, At: dbNow(), FirstEvent: 4, Events: []history.Event{
			{Type: history.EventSignalled, Scope: history.MainScope, Name: "x", Text: history.Text{Literal: []byte("1")}},
		}}
		c.db.do(func() { c.db.write(&store.Item{Turn: foreign}, c.db.rows[ids[1]]) })
		commits := c.db.count("Commit")
		var done sync.WaitGroup
		for _, x := range tasks {
			done.Go(func() {
				if out := c.complete(n, x); out != store.ReportAccepted {
					t.Errorf("report: %v", out)
				}
			})
		}
		done.Wait()
		for _, id := range ids {
			c.wantEnd(id, history.Succeeded, time.Second)
		}
		if n := c.db.count("Commit") - commits; n > 5 {
			t.Errorf("%d commits", n)
		}
	})
}

func TestFenceLostDuringACommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, oneTask)
		n := c.join("a")
		id := c.mustStart(n)
		x := c.poll(n, "s", "p", 1)[0]
		var once sync.Once
		c.db.onCommit(func(store.Batch) error {
			once.Do(func() { c.db.do(func() { c.db.nodes[n.serving().fence].ended = true }) })
			return nil
		})
		if out := c.complete(n, x); out != store.ReportAccepted {
			t.Errorf("report: %v", out)
		}
		c.wantEnd(id, history.Succeeded, 10*time.Second)
		if n.notReady() != "" {
			t.Error("the node has not joined again")
		}
	})
}

func TestReleaseDuringACommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, oneTask)
		a := c.join("a")
		var tasks []store.Assignment
		var ids []history.ExecutionID
		for range 40 {
			ids = append(ids, c.mustStart(a))
		}
		tasks = c.poll(a, "s", "p", 40)
		c.db.onCommit(func(store.Batch) error { time.Sleep(time.Second); return nil })
		var done sync.WaitGroup
		for i, x := range tasks {
			done.Go(func() {
				time.Sleep(time.Duration(i) * 100 * time.Millisecond)
				if out := c.complete(a, x); out != store.ReportAccepted {
					t.Errorf("report %d: %v", i, out)
				}
			})
		}
		b := c.join("b")
		done.Wait()
		for _, id := range ids {
			c.wantEnd(id, history.Succeeded, 10*time.Second)
		}
		if c.db.owned("a") == 0 || c.db.owned("b") == 0 || b.notReady() != "" {
			t.Errorf("a owns %d, b owns %d", c.db.owned("a"), c.db.owned("b"))
		}
	})
}

// TestPoisonStopsOneExecution has one output that the database refuses, in a batch of 100.
func TestPoisonStopsOneExecution(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, oneTask)
		n := c.join("a")
		for range 100 {
			c.mustStart(n)
		}
		tasks := c.poll(n, "s", "p", 100)
		var reports []store.Report
		for i, x := range tasks {
			output := `"fine"`
			if i == 50 {
				output = `"poison"`
			}
			reports = append(reports, reportOf(x, output))
		}
		// Through the inbox, where the bad entry stays.
		if _, err := c.db.Report(context.Background(), reports); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Second)
		for i, x := range tasks {
			row := c.db.row(x.Execution)
			if bad := i == 50; bad && (row.Blocked == "" || row.Status.Ended()) {
				t.Errorf("the bad one: blocked %q, %v", row.Blocked, row.Status)
			} else if !bad && row.Status != history.Succeeded {
				t.Errorf("execution %d is %v", row.ID, row.Status)
			}
		}
		if n := n.Counted("orrery_node_executions_blocked_total"); n != 1 {
			t.Errorf("%d executions blocked", n)
		}
	})
}

func TestPoisonedCallIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, oneTask)
		n := c.join("a")
		id := c.mustStart(n)
		x := c.poll(n, "s", "p", 1)[0]
		if _, err := n.Report(context.Background(), []store.Report{reportOf(x, `"poison"`)}); err == nil {
			t.Error("a report that cannot be written was accepted")
		}
		if row := c.db.row(id); row.Blocked != "" {
			t.Errorf("a call has blocked the execution: %s", row.Blocked)
		}
		c.complete(n, x)
		c.wantEnd(id, history.Succeeded, time.Second)
	})
}

// TestDurableReportBeatsCancel has a report in the inbox that the owner has not read when a cancel is decided.
func TestDurableReportBeatsCancel(t *testing.T) {
	const two = `{"StartAt": "Pay", "States": {
		"Pay": {"Type": "Task", "Resource": "task:work@1", "Next": "Ship"},
		"Ship": {"Type": "Task", "Resource": "task:work@1", "End": true}}}`
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, two)
		n := c.join("a")
		id := c.mustStart(n)
		x := c.poll(n, "s", "p", 1)[0]
		time.Sleep(3 * time.Second)
		var once sync.Once
		c.db.onCommit(func(store.Batch) error {
			once.Do(func() {
				out, err := c.db.Report(context.Background(), []store.Report{reportOf(x, `"paid"`)})
				if err != nil || out[0] != store.ReportAccepted {
					t.Errorf("report: %v, %v", out, err)
				}
			})
			return nil
		})
		sent, err := n.Send(context.Background(), store.Message{Namespace: 1, Name: "e1", Command: history.Command{Kind: history.KindCancel}})
		if err != nil || sent.Reply == nil || sent.Reply.Outcome != history.Applied {
			t.Fatalf("cancel: %+v, %v", sent, err)
		}
		c.wantEnd(id, history.Cancelled, time.Second)
		if n := countOf(c.events(id), history.EventCompleted); n != 1 {
			t.Errorf("the acknowledged report is in the history %d times", n)
		}
	})
}

// TestLaterReportBeatsEarlierCancel has both in the inbox, and the report has the higher number.
func TestLaterReportBeatsEarlierCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, `{"StartAt": "Pay", "States": {
			"Pay": {"Type": "Task", "Resource": "task:work@1", "Next": "Ship"},
			"Ship": {"Type": "Task", "Resource": "task:work@1", "End": true}}}`)
		n := c.join("a")
		id := c.mustStart(n)
		x := c.poll(n, "s", "p", 1)[0]
		time.Sleep(3 * time.Second)
		var once sync.Once
		c.db.onCommit(func(store.Batch) error {
			once.Do(func() {
				if out, err := c.db.Report(context.Background(), []store.Report{reportOf(x, `"paid"`)}); err != nil || out[0] != store.ReportAccepted {
					t.Errorf("report: %v, %v", out, err)
				}
			})
			return nil
		})
		m := store.Message{Namespace: 1, Name: "e1", Command: history.Command{Kind: history.KindCancel}}
		if sent, err := c.db.Send(context.Background(), m); err != nil || sent.Outcome != store.SendQueued {
			t.Fatalf("cancel: %+v, %v", sent, err)
		}
		c.wantEnd(id, history.Cancelled, time.Second)
		if n := countOf(c.events(id), history.EventCompleted); n != 1 {
			t.Errorf("the acknowledged report is in the history %d times", n)
		}
	})
}

// TestReportInTheInboxBeatsWhatIsOlder has an entry that takes a unit away before a report of that unit, and the owner read
// both at once.
func TestReportInTheInboxBeatsWhatIsOlder(t *testing.T) {
	const signalFails = `{"StartAt": "Both", "States": {"Both": {"Type": "Parallel", "End": true, "Branches": [
		{"StartAt": "Pay", "States": {"Pay": {"Type": "Task", "Resource": "task:work@1", "Next": "Ship"},
			"Ship": {"Type": "Wait", "Seconds": 100, "End": true}}},
		{"StartAt": "Stop", "States": {"Stop": {"Type": "Task", "Resource": "signal:stop", "Next": "Bad"}, "Bad": {"Type": "Fail"}}}]}}}`
	for _, x := range []struct {
		name, document string
		older          history.Command
		end            history.Status
	}{
		{"cancel", oneTask, history.Command{Kind: history.KindCancel}, history.Succeeded},
		{"signal", signalFails, history.Command{Kind: history.KindSignal, Signal: "stop"}, history.Failed},
	} {
		t.Run(x.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCluster(t, x.document)
				n := c.join("a")
				id := c.mustStart(n)
				a := c.poll(n, "s", "p", 1)[0]
				time.Sleep(3 * time.Second)
				c.db.do(func() { clear(c.db.listeners) }) // so that the next heartbeat finds both
				m := store.Message{Namespace: 1, Name: "e1", Command: x.older}
				if sent, err := c.db.Send(context.Background(), m); err != nil || sent.Outcome != store.SendQueued {
					t.Fatalf("send: %+v, %v", sent, err)
				}
				out, err := c.db.Report(context.Background(), []store.Report{reportOf(a, `"paid"`)})
				if err != nil || out[0] != store.ReportAccepted {
					t.Fatalf("report: %v, %v", out, err)
				}
				c.wantEnd(id, x.end, 10*time.Second)
				if n := countOf(c.events(id), history.EventCompleted); n != 1 {
					t.Errorf("the acknowledged report is in the history %d times", n)
				}
			})
		})
	}
}

// TestReportBeatsItsLoss has an entry that gives a claim up before the report of the same attempt, which came in time after
// all: a worker whose heartbeats were late. Both are applied, the report first, and the task is done once.
func TestReportBeatsItsLoss(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, oneTask)
		n := c.join("a")
		id := c.mustStart(n)
		a := c.poll(n, "s", "p", 1)[0]
		time.Sleep(3 * time.Second)
		c.db.do(func() {
			clear(c.db.listeners) // so that the next heartbeat finds both
			c.db.enter(c.db.rows[id], history.Command{
				Kind: history.KindLost, Row: a.Row, Claim: a.Claim, Reason: "not listed in two heartbeats",
			})
		})
		out, err := c.db.Report(context.Background(), []store.Report{reportOf(a, `"paid"`)})
		if err != nil || out[0] != store.ReportAccepted {
			t.Fatalf("report: %v, %v", out, err)
		}
		c.wantEnd(id, history.Succeeded, 10*time.Second)
		if n := countOf(c.events(id), history.EventLost); n != 0 {
			t.Errorf("the claim was lost %d times", n)
		}
		c.db.do(func() {
			if len(c.db.inbox) != 0 {
				t.Errorf("%d entries are left", len(c.db.inbox))
			}
		})
	})
}

func TestSignalsKeepTheirOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, `{"StartAt": "Wait", "States": {"Wait": {"Type": "Task", "Resource": "signal:end", "End": true}}}`)
		n := c.join("a")
		id := c.mustStart(n)
		// Entries of others, whose bells are lost, come before a direct call.
		c.db.do(func() { clear(c.db.listeners) })
		send := func(to interface {
			Send(context.Context, store.Message) (store.Sent, error)
		}, signal string) {
			m := store.Message{Namespace: 1, Name: "e1", Command: history.Command{Kind: history.KindSignal, Signal: signal, Output: []byte("1")}}
			if sent, err := to.Send(context.Background(), m); err != nil || sent.Outcome != store.SendQueued {
				t.Fatalf("signal %s: %+v, %v", signal, sent, err)
			}
		}
		send(c.db, "first")
		send(c.db, "second")
		send(n, "third")
		var order []string
		for _, ev := range c.events(id) {
			if ev.Type == history.EventSignalled {
				order = append(order, ev.Name)
			}
		}
		if fmt.Sprint(order) != "[first second third]" {
			t.Errorf("order %v", order)
		}
	})
}

func TestEndAnswersWhatIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, signalled)
		n := c.join("a")
		id := c.mustStart(n)
		c.db.do(func() { clear(c.db.listeners) })
		m := store.Message{Namespace: 1, Name: "e1", Command: history.Command{Kind: history.KindSignal, Signal: "go", Output: []byte("1")}}
		if _, err := n.Send(context.Background(), m); err != nil {
			t.Fatal(err)
		}
		c.wantEnd(id, history.Succeeded, time.Second)
		if sent, err := n.Send(context.Background(), m); err != nil || sent.Outcome != store.SendFinished {
			t.Errorf("signal after the end: %+v, %v", sent, err)
		}
	})
}

func TestUnavailableDatabaseHoldsEverythingUpAndLosesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, oneTask)
		n := c.join("a")
		id := c.mustStart(n)
		x := c.poll(n, "s", "p", 1)[0]
		back := time.Now().Add(60 * time.Second)
		c.db.onCommit(func(store.Batch) error {
			if time.Now().Before(back) {
				return &store.CommitError{Kind: store.Unavailable, Err: store.ErrUnavailable}
			}
			return nil
		})
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if _, err := n.Report(ctx, []store.Report{reportOf(x, `1`)}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("report: %v", err)
		}
		if c.db.row(id).Status != history.Running {
			t.Error("it ended without a commit")
		}
		c.wantEnd(id, history.Succeeded, 70*time.Second)
	})
}

func TestWritesShareCommits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, oneTask)
		n := c.join("a")
		var clients sync.WaitGroup
		for i := range 64 {
			clients.Go(func() {
				for round := range 5 {
					if _, err := c.startNamed(n, fmt.Sprintf("e%d-%d", i, round)); err != nil {
						t.Error(err)
					}
					x := c.poll(n, fmt.Sprint("s", i), fmt.Sprint("p", round), 1)[0]
					if out := c.complete(n, x); out != store.ReportAccepted {
						t.Errorf("report: %v", out)
					}
				}
			})
		}
		clients.Wait()
		if n := c.db.count("Commit"); n > 64*5/4 {
			t.Errorf("%d commits for 320 executions", n)
		}
		for _, id := range c.db.ids() {
			c.wantEnd(id, history.Succeeded, time.Second)
		}
	})
}
