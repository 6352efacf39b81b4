package node_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/orrery-dev/orrery/shared/node"
	"github.com/orrery-dev/orrery/shared/store"
	"github.com/orrery-dev/orrery/shared/wire"
)

const (
	oneTask = `{"StartAt": "Do", "States": {"Do": {"Type": "Task", "Resource": "task:work@1", "End": true}}}`
	naps    = `{"StartAt": "Nap", "States": {"Nap": {"Type": "Wait", "Seconds": 2, "Next": "Do"},
		"Do": {"Type": "Task", "Resource": "task:work@1", "End": true}}}`
	listens = `{"StartAt": "Hear", "States": {"Hear": {"Type": "Task", "Resource": "signal:go", "End": true}}}`
)

// TestTransactionsOfOneTask counts what an execution of one task costs at a node where a worker waits.
func TestTransactionsOfOneTask(t *testing.T) {
	s := newSystem(t)
	p := s.run("a")
	s.publish(p, "one", oneTask)
	session := s.register(p, "w")
	ctx, cancel := context.WithCancel(t.Context())
	var worker sync.WaitGroup
	defer worker.Wait()
	defer cancel()
	for range 64 {
		worker.Go(func() { s.serve(ctx, session, func() *process { return p }) })
	}
	ended := func(like string, n int) func() bool {
		return func() bool {
			return s.count("select count(*) from orrery.execution where status = 2 and name like $1", like) == n
		}
	}
	s.start(p, "one", "warm")
	s.await("the first end", ended("warm", 1))
	time.Sleep(300 * time.Millisecond)

	const alone = 20
	before := p.traced.transactions.Load()
	begin := time.Now()
	for i := range alone {
		s.start(p, "one", fmt.Sprintf("alone-%d", i))
		s.await("the end", ended(fmt.Sprintf("alone-%d", i), 1))
	}
	own := p.traced.transactions.Load() - before - looks(time.Since(begin))
	if own > 3*alone {
		t.Errorf("%d executions one after the other took %d transactions, want at most 3 each", alone, own)
	}

	const together = 64
	before = p.traced.transactions.Load()
	var starts sync.WaitGroup
	for i := range together {
		starts.Go(func() { s.start(p, "one", fmt.Sprintf("many-%d", i)) })
	}
	starts.Wait()
	s.await("all ends", ended("many-%", together))
	if own := p.traced.transactions.Load() - before; own >= together {
		t.Errorf("%d executions at once took %d transactions", together, own)
	}
}

// looks is how many reads a node makes in the time for order's sake: lost claims while workers hold tasks, partitions.
func looks(d time.Duration) int64 { return int64(d/(500*time.Millisecond)) + 2 }

// TestIdle counts the statements of two nodes and 20 waiting polls.
func TestIdle(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	slow := func(c *node.Config) { c.NodeTimeout, c.SessionTimeout = 5*time.Second, 30*time.Second }
	nodes := []*process{s.run("a", slow), s.run("b", slow)}
	ctx, cancel := context.WithCancel(t.Context())
	var polls sync.WaitGroup
	defer polls.Wait()
	defer cancel()
	for i := range 20 {
		p := nodes[i%2]
		session := s.register(p, fmt.Sprint("w", i))
		polls.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				q := wire.PollRequest{SessionID: session, MaxTasks: 1, WaitMS: 2000, PollID: fmt.Sprint("p", n)}
				_, _ = p.Poll(ctx, caller, q)
			}
		})
	}
	time.Sleep(3 * time.Second)
	before := nodes[0].traced.transactions.Load() + nodes[1].traced.transactions.Load()
	time.Sleep(6 * time.Second)
	// The heartbeats, one a second each, are on connections of their own.
	own := nodes[0].traced.transactions.Load() + nodes[1].traced.transactions.Load() - before
	if most := int64((200 - 120) * 6 / 60); own > most {
		t.Errorf("%d statements beside the heartbeats in 6 s, want at most %d", own, most)
	}
}

// TestKilledNodeIsReplaced kills one of two nodes while executions of every kind run.
func TestKilledNodeIsReplaced(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	a, b := s.run("a"), s.run("b")
	s.await("b's share", func() bool { return b.node.Health().Node.Partitions > 64 })
	s.publish(a, "one", oneTask)
	s.publish(a, "naps", naps)
	s.publish(a, "listens", listens)
	workflows := []string{"one", "naps", "listens"}
	const each = 30
	for i := range each {
		for _, w := range workflows {
			for k, p := range []*process{a, b} {
				s.start(p, w, fmt.Sprintf("%s-%d-%d", w, k, i))
			}
		}
	}
	// Tasks that are claimed when the node dies, by a worker that goes on, and by one that dies with it.
	live, dying := s.register(a, "live"), s.register(a, "dying")
	var held []wire.Completion
	for _, session := range []string{live, dying} {
		got, err := a.Poll(t.Context(), caller, wire.PollRequest{SessionID: session, MaxTasks: 10, WaitMS: 2000, PollID: "first"})
		if err != nil || len(got.Assignments) != 10 {
			t.Fatalf("poll: %d tasks, %v", len(got.Assignments), err)
		}
		if session == live {
			for _, x := range got.Assignments {
				held = append(held, wire.Completion{Token: x.Token, Output: json.RawMessage("1")})
			}
		}
	}
	a.node.Kill()
	killed := time.Now()
	s.await("the takeover", func() bool { return b.node.Health().Node.Partitions == 256 })
	if d := time.Since(killed); d > nodeTimeout+2*time.Second {
		t.Errorf("the takeover took %v", d)
	}
	if r, err := b.Complete(t.Context(), caller, wire.CompleteRequest{Reports: held}); err != nil {
		t.Errorf("reports to the new owner: %v", err)
	} else {
		for _, x := range r.Results {
			if x.Outcome != wire.ReportAccepted {
				t.Errorf("report to the new owner: %s", x.Outcome)
			}
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	var worker sync.WaitGroup
	defer worker.Wait()
	defer cancel()
	session := s.register(b, "other")
	worker.Go(func() { s.serve(ctx, session, func() *process { return b }) })
	for i := range each {
		for k := range 2 {
			id := fmt.Sprintf("listens-%d-%d", k, i)
			if r, err := b.Signal(t.Context(), caller, id, "go", wire.SignalRequest{Payload: json.RawMessage("1")}); err != nil || !r.Confirmed {
				t.Errorf("signal to %s: %+v, %v", id, r, err)
			}
		}
	}
	for i := range each {
		for _, w := range workflows {
			for k := range 2 {
				id := fmt.Sprintf("%s-%d-%d", w, k, i)
				if got := s.end(b, id); got != wire.Succeeded {
					t.Errorf("%s is %s", id, got)
				}
			}
		}
	}
	s.checkHistories()
}

func TestCleanStopHandsOver(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	a, b := s.run("a"), s.run("b")
	s.await("b's share", func() bool { return b.node.Health().Node.Partitions > 64 })
	s.publish(a, "one", oneTask)
	ctx, cancel := context.WithCancel(t.Context())
	var others sync.WaitGroup
	defer others.Wait()
	defer cancel()
	var stopped atomic.Bool
	pick := func() *process {
		if stopped.Load() {
			return b
		}
		return a
	}
	for i := range 4 {
		session := s.register(a, fmt.Sprint("w", i))
		others.Go(func() { s.serve(ctx, session, pick) })
	}
	const n = 300
	for i := range n {
		if i == n/2 {
			begin := time.Now()
			stopped.Store(true)
			if err := a.stop(); err != nil {
				t.Errorf("stop: %v", err)
			}
			if d := time.Since(begin); d > 5*time.Second {
				t.Errorf("the stop took %v", d)
			}
			if _, _, err := a.Start(ctx, caller, wire.StartRequest{Workflow: "one", Name: "late", Input: json.RawMessage("{}")}); !errors.Is(err, &wire.Error{Code: wire.NotReady}) {
				t.Errorf("start at the stopped node: %v", err)
			}
			if owned := b.node.Health().Node.Partitions; owned < 256 {
				s.await("the rest of the partitions", func() bool { return b.node.Health().Node.Partitions == 256 })
			}
		}
		s.start(pick(), "one", fmt.Sprintf("e-%d", i))
	}
	for i := range n {
		if got := s.end(b, fmt.Sprintf("e-%d", i)); got != wire.Succeeded {
			t.Errorf("e-%d is %s", i, got)
		}
	}
	s.checkHistories()
	if n := s.count("select count(*) from orrery.task where state = 'lost'"); n != 0 {
		t.Errorf("%d claims were called lost at a clean stop", n)
	}
}

// TestConnectionsCut ends the node's sessions under load, so that commits, claims and reports have unknown outcomes.
func TestConnectionsCut(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	a := s.run("a")
	s.publish(a, "one", oneTask)
	ctx, cancel := context.WithCancel(t.Context())
	var others sync.WaitGroup
	defer others.Wait()
	defer cancel()
	for i := range 4 {
		session := s.register(a, fmt.Sprint("w", i))
		others.Go(func() { s.serve(ctx, session, func() *process { return a }) })
	}
	// Cuts go by what has been done and not by the clock: a slow machine that is cut by the clock gets nothing done.
	var cuts atomic.Int64
	cut := make(chan struct{})
	others.Go(func() {
		for range cut {
			var n int64
			err := s.db.QueryRow(ctx, `select count(*) filter (where pg_terminate_backend(pid)) from pg_stat_activity
				where datname = current_database() and application_name = 'node'`).Scan(&n)
			if err == nil {
				cuts.Add(n)
			}
		}
	})
	const n = 200
	for i := range n {
		if i%20 == 19 {
			cut <- struct{}{}
		}
		for {
			q := wire.StartRequest{Workflow: "one", Name: fmt.Sprintf("e-%d", i), Input: json.RawMessage("{}")}
			if _, _, err := a.Start(ctx, caller, q); err == nil {
				break
			}
			time.Sleep(5 * time.Millisecond)
		}
	}
	close(cut)
	for i := range n {
		if got := s.end(a, fmt.Sprintf("e-%d", i)); got != wire.Succeeded {
			t.Errorf("e-%d is %s", i, got)
		}
	}
	if cuts.Load() < 5 {
		t.Errorf("only %d sessions were cut", cuts.Load())
	}
	s.checkHistories()
}

func TestDuplicateNodeID(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	s.run("a")
	quiet := slog.New(slog.DiscardHandler)
	n, err := node.New(node.Config{ID: "a", NodeTimeout: nodeTimeout, SessionTimeout: sessionTimeout, Log: quiet}, s.open(4, &tracer{}), s.open(1, &tracer{}))
	if err != nil {
		t.Fatal(err)
	}
	var other *store.DuplicateNodeError
	if err := n.Run(t.Context()); !errors.As(err, &other) || other.Node != "a" {
		t.Errorf("run: %v", err)
	}
}

// TestFencedNodeJoinsAgain takes a node's fence away under load.
func TestFencedNodeJoinsAgain(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	a := s.run("a")
	s.publish(a, "one", oneTask)
	ctx, cancel := context.WithCancel(t.Context())
	var worker sync.WaitGroup
	defer worker.Wait()
	defer cancel()
	session := s.register(a, "w")
	worker.Go(func() { s.serve(ctx, session, func() *process { return a }) })
	before := a.node.Health().Node.Incarnation
	for i := range 100 {
		if i == 50 {
			s.count("with f as (update orrery.node set ended = 'fenced', ended_at = now() where ended is null returning 1) select count(*) from f")
		}
		for {
			q := wire.StartRequest{Workflow: "one", Name: fmt.Sprintf("e-%d", i), Input: json.RawMessage("{}")}
			if _, _, err := a.Start(ctx, caller, q); err == nil {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
	for i := range 100 {
		if got := s.end(a, fmt.Sprintf("e-%d", i)); got != wire.Succeeded {
			t.Errorf("e-%d is %s", i, got)
		}
	}
	if after := a.node.Health().Node.Incarnation; after == before || after == "" {
		t.Errorf("incarnation %q after %q", after, before)
	}
	s.checkHistories()
}
