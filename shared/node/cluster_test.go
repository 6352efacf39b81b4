package node

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/orrery-dev/orrery/shared/decide"
	"github.com/orrery-dev/orrery/shared/definition"
	"github.com/orrery-dev/orrery/shared/history"
	"github.com/orrery-dev/orrery/shared/store"
)

// oneTask is a workflow of one task.
const oneTask = `{"StartAt": "Do", "States": {"Do": {"Type": "Task", "Resource": "task:work@1", "TimeoutSeconds": 600, "End": true}}}`

var work = history.Contract{Task: "work", Version: 1}

// cluster is nodes over one database in memory, in a bubble of time.
type cluster struct {
	t       *testing.T
	db      *memory
	machine *definition.Machine
	starts  int
}

func newCluster(t *testing.T, document string) *cluster {
	db := newMemory(16)
	return &cluster{t: t, db: db, machine: db.document(t, 1, document)}
}

// member is a node that runs, with what its frontend uses, and how to stop it.
type member struct {
	*Node
	local
	host
	stop func() error
}

// join starts a node and waits until it is ready.
func (c *cluster) join(id string, change ...func(*Config)) *member {
	c.t.Helper()
	m := c.run(id, change...)
	time.Sleep(10 * time.Millisecond)
	synctest.Wait()
	if m.notReady() != "" {
		c.t.Fatalf("node %s is not ready: %s", id, m.notReady())
	}
	return m
}

// run starts a node.
func (c *cluster) run(id string, change ...func(*Config)) *member {
	c.t.Helper()
	config := Config{ID: id, Log: slog.New(slog.DiscardHandler)}
	if testing.Verbose() {
		config.Log = slog.New(slog.NewTextHandler(c.t.Output(), nil))
	}
	for _, f := range change {
		f(&config)
	}
	n, err := New(config, c.db, c.db)
	if err != nil {
		c.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- n.Run(ctx) }()
	stopped := false
	m := &member{Node: n, local: local{c.db, n}, host: host{n}}
	m.stop = func() error {
		if stopped {
			return nil
		}
		stopped = true
		cancel()
		return <-done
	}
	c.t.Cleanup(func() { _ = m.stop() })
	return m
}

// die ends the node as if its process had been killed.
func (m *member) die() {
	(*m.kill.Load())(errKilled)
	_ = m.stop()
}

// start starts an execution through the node.
func (c *cluster) start(m *member) (history.ExecutionID, error) {
	c.starts++
	return c.startNamed(m, fmt.Sprintf("e%d", c.starts))
}

func (c *cluster) startNamed(m *member, name string) (history.ExecutionID, error) {
	_, turn, err := decide.Start(c.machine, 0, history.Start{Namespace: "default", Name: name, Input: []byte(`{}`)}, dbNow())
	if err != nil {
		c.t.Fatal(err)
	}
	started, err := m.local.Start(context.Background(), store.Item{Turn: &turn, New: &store.NewExecution{
		Namespace: 1, Name: name, Definition: 1, InputHash: []byte("x"),
	}})
	return started.Execution, err
}

func (c *cluster) mustStart(m *member) history.ExecutionID {
	c.t.Helper()
	id, err := c.start(m)
	if err != nil {
		c.t.Fatalf("start: %v", err)
	}
	return id
}

// pollOf is a worker's poll.
func pollOf(session, id string, max int) store.Poll {
	return store.Poll{
		ID: id, Session: session, Worker: "w-" + session, Namespace: 1, Contracts: []history.Contract{work}, Max: max,
	}
}

// poll polls and fails the test unless it brings exactly n tasks. It may be called in any goroutine.
func (c *cluster) poll(m *member, session, id string, n int) []store.Assignment {
	c.t.Helper()
	got, err := m.host.Poll(context.Background(), pollOf(session, id, max(n, 1)), time.Now().Add(20*time.Second))
	if err != nil || len(got) != n {
		c.t.Errorf("poll %s of %s: got %d tasks, %v; want %d", id, session, len(got), err, n)
		return make([]store.Assignment, n)
	}
	return got
}

// reportOf is the completion of an assignment.
func reportOf(a store.Assignment, output string) store.Report {
	return store.Report{
		Kind: history.KindComplete, Execution: a.Execution, Row: a.Row, Session: a.Claim.Session, Worker: a.Claim.Worker,
		Output: []byte(output),
	}
}

// complete reports a task done and returns the outcome. As a frontend does, it asks again after an unknown one.
func (c *cluster) complete(m *member, a store.Assignment) store.ReportOutcome {
	c.t.Helper()
	reports := []store.Report{reportOf(a, `"done"`)}
	out, err := m.Report(context.Background(), reports)
	if errors.Is(err, store.ErrOutcomeUnknown) {
		out, err = m.Report(context.Background(), reports)
	}
	if err != nil {
		c.t.Errorf("complete: %v", err)
		return ""
	}
	return out[0]
}

// row gives the execution as the database has it.
func (m *memory) row(id history.ExecutionID) (x store.Execution) {
	m.do(func() { x = m.rows[id].Execution })
	return x
}

// owned counts the partitions of a node by its id.
func (m *memory) owned(id string) (n int) {
	m.do(func() {
		for _, p := range m.partitions {
			if x := m.nodes[p.Fence]; x != nil && x.ID == id && !x.ended {
				n++
			}
		}
	})
	return n
}

// events gives the history of an execution, and fails the test when it has a gap or does not fold.
func (c *cluster) events(id history.ExecutionID) (all []history.Event) {
	c.t.Helper()
	state := history.New()
	c.db.do(func() {
		for _, r := range c.db.rows[id].turns {
			events, err := history.DecodeEvents(r.Events)
			if err == nil {
				err = state.Apply(r.Seq, r.At, r.First, events)
			}
			if err != nil {
				c.t.Errorf("turn %d: %v", r.Seq, err)
			}
			all = append(all, events...)
		}
	})
	return all
}

// countOf counts the events of a type.
func countOf(events []history.Event, t history.EventType) int {
	n := 0
	for _, e := range events {
		if e.Type == t {
			n++
		}
	}
	return n
}

// wantEnd fails the test unless the execution ends in the given status within d.
func (c *cluster) wantEnd(id history.ExecutionID, want history.Status, d time.Duration) {
	c.t.Helper()
	for end := time.Now().Add(d); ; time.Sleep(5 * time.Millisecond) {
		switch got := c.db.row(id).Status; {
		case got == want:
			if n := countOf(c.events(id), history.EventEnded); n != 1 {
				c.t.Errorf("execution %d has %d ends", id, n)
			}
			return
		case got.Ended() || time.Now().After(end):
			c.t.Fatalf("execution %d is %v, want %v", id, got, want)
		}
	}
}
