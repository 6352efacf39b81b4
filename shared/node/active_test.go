package node_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/orrery-dev/orrery/shared/wire"
)

// limitActive limits the active executions, and has them counted.
func (s *system) limitActive(most int) {
	s.t.Helper()
	if _, err := s.db.Exec(s.t.Context(), "update orrery.namespace set max_active = $1", most); err != nil {
		s.t.Fatal(err)
	}
	if _, err := s.db.Exec(s.t.Context(), "select orrery.count_active(now())"); err != nil {
		s.t.Fatal(err)
	}
}

// counted compares the counters with the running executions.
func (s *system) counted() {
	s.t.Helper()
	running := s.count("select count(*) from orrery.execution where status = 1")
	if n := s.count("select coalesce(sum(running), 0)::integer from orrery.active"); n != running {
		s.t.Errorf("%d active executions are counted, %d run", n, running)
	}
}

// TestActiveLimit: a node refuses what is too much, and only that; an end makes room. An execution costs no more transactions
// under a limit than without.
func TestActiveLimit(t *testing.T) {
	s := newSystem(t)
	p := s.run("a")
	s.publish(p, "one", oneTask)
	s.publish(p, "listens", listens)
	s.limitActive(2)
	s.start(p, "listens", "first")
	s.start(p, "listens", "second")
	_, _, err := p.Start(t.Context(), caller, wire.StartRequest{Workflow: "listens", Name: "third", Input: json.RawMessage(`{}`)})
	var refused *wire.Error
	if !errors.As(err, &refused) || refused.Code != wire.TooManyExecutions || refused.RetryAfter <= 0 {
		t.Fatalf("one too many: %v", err)
	}
	s.counted()
	if _, err := p.Signal(t.Context(), caller, "first", "go", wire.SignalRequest{}); err != nil {
		t.Fatal(err)
	}
	s.await("the end", func() bool { return s.count("select count(*) from orrery.execution where status = 2") == 1 })

	session := s.register(p, "w")
	ctx, cancel := context.WithCancel(t.Context())
	var worker sync.WaitGroup
	defer worker.Wait()
	defer cancel()
	worker.Go(func() { s.serve(ctx, session, func() *process { return p }) })
	run := func(name string) {
		s.start(p, "one", name)
		s.await("the end", func() bool {
			return s.count("select count(*) from orrery.execution where status = 2 and name = $1", name) == 1
		})
	}
	run("warm")
	const alone = 10
	before, begin := p.traced.transactions.Load(), time.Now()
	for i := range alone {
		run(fmt.Sprint("alone-", i))
	}
	if own := p.traced.transactions.Load() - before - looks(time.Since(begin)); own > 3*alone {
		t.Errorf("%d executions took %d transactions, want at most 3 each", alone, own)
	}
	s.counted()
}

// TestActiveLimitLetsFamiliesBe: the children of a running execution start beyond the limit, waited for or not.
func TestActiveLimitLetsFamiliesBe(t *testing.T) {
	s := newSystem(t)
	p := s.run("a")
	s.publish(p, "inner", `{"StartAt": "Hear", "States": {"Hear": {"Type": "Task", "Resource": "signal:go", "TimeoutSeconds": 1,
		"Catch": [{"ErrorEquals": ["States.ALL"], "Next": "Over"}], "End": true}, "Over": {"Type": "Pass", "End": true}}}`)
	s.publish(p, "outer", `{"StartAt": "Many", "States": {"Many": {"Type": "Map", "ItemProcessor": {
		"ProcessorConfig": {"Mode": "DISTRIBUTED", "ExecutionType": "STANDARD"}, "StartAt": "In", "States": {
		"In": {"Type": "Task", "Resource": "workflow:inner", "End": true}}}, "End": true}}}`)
	s.limitActive(1)
	q := wire.StartRequest{Workflow: "outer", Name: "family", Input: json.RawMessage(`[1,2,3]`)}
	if _, _, err := p.Start(t.Context(), caller, q); err != nil {
		t.Fatal(err)
	}
	s.await("the children", func() bool { return s.count("select count(*) from orrery.execution where status = 1") > 3 })
	s.counted()
	if got := s.end(p, "family"); got != wire.Succeeded {
		t.Errorf("the family has %s", got)
	}
	s.counted()
}
