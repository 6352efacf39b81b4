package node_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/orrery-dev/orrery/shared/wire"
)

// Workflows that start each other.
const (
	ships   = `{"StartAt": "Pack", "States": {"Pack": {"Type": "Task", "Resource": "task:work@1", "ResultPath": "$.packed", "End": true}}}`
	asks    = `{"StartAt": "Hear", "States": {"Hear": {"Type": "Task", "Resource": "signal:go", "End": true}}}`
	parents = `{"StartAt": "Ship", "States": {
		"Ship": {"Type": "Task", "Resource": "workflow:ships", "Parameters": {"to": "Bern"}, "ResultPath": "$.shipped", "Next": "Named"},
		"Named": {"Type": "Task", "Resource": "arn:aws:states:::states:startExecution", "Parameters": {"StateMachineArn": "ships", "Name.$": "$.name"}, "ResultPath": null, "Next": "Again"},
		"Again": {"Type": "Task", "Resource": "arn:aws:states:::states:startExecution.sync", "Parameters": {"StateMachineArn": "ships", "Name.$": "$.name"},
			"Catch": [{"ErrorEquals": ["StepFunctions.ExecutionAlreadyExistsException"], "ResultPath": null, "Next": "Nobody"}], "End": true},
		"Nobody": {"Type": "Task", "Resource": "workflow:nobody", "Catch": [{"ErrorEquals": ["StepFunctions.StateMachineDoesNotExistException"], "ResultPath": null, "Next": "Done"}], "End": true},
		"Done": {"Type": "Succeed", "OutputPath": "$.shipped"}}}`
	stops = `{"StartAt": "Pay", "States": {
		"Pay": {"Type": "Task", "Resource": "task:work@1", "Compensate": {"Resource": "task:work@1"}, "Next": "Ask"},
		"Ask": {"Type": "Task", "Resource": "workflow:asks", "End": true}}}`
	spreads = `{"StartAt": "M", "States": {"M": {"Type": "Map", "MaxConcurrency": 50, "End": true, "ItemProcessor": {
		"ProcessorConfig": {"Mode": "DISTRIBUTED", "ExecutionType": "STANDARD"}, "StartAt": "W", "States": {
		"W": {"Type": "Task", "Resource": "task:work@1", "End": true}}}}}}`
	waits = `{"StartAt": "Ask", "States": {"Ask": {"Type": "Task", "Resource": "task:work@1.waitForTaskToken",
		"Parameters": {"token.$": "$$.Task.Token"}, "TimeoutSeconds": 60, "End": true}}}`
)

// workers serve the system through any of its processes until the test ends.
func (s *system) workers(n int, pick func() *process) {
	session := s.register(pick(), "w")
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	for range n {
		running.Go(func() { s.serve(ctx, session, pick) })
	}
	s.t.Cleanup(func() { cancel(); running.Wait() })
}

// result waits for the end of an execution.
func (s *system) result(p *process, name string) wire.Result {
	s.t.Helper()
	s.end(p, name)
	r, err := p.Result(context.Background(), caller, name, wire.ResultQuery{})
	if err != nil {
		s.t.Fatal(err)
	}
	return r
}

// types lists the types of an execution's events.
func (s *system) types(p *process, name string) []string {
	s.t.Helper()
	h, err := p.History(context.Background(), caller, name, wire.HistoryQuery{Limit: 1000})
	if err != nil {
		s.t.Fatal(err)
	}
	var types []string
	for _, e := range h.Events {
		types = append(types, e.Type)
	}
	return types
}

func TestChildren(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	p := s.run("a")
	s.publish(p, "ships", ships)
	s.publish(p, "parents", parents)
	s.workers(2, func() *process { return p })
	const n = 10
	for i := range n {
		q := wire.StartRequest{Workflow: "parents", Name: fmt.Sprint("p", i), Input: json.RawMessage(fmt.Sprintf(`{"name":"c%d"}`, i))}
		if _, _, err := p.Start(t.Context(), caller, q); err != nil {
			t.Fatal(err)
		}
	}
	for i := range n {
		r := s.result(p, fmt.Sprint("p", i))
		if string(r.Output) != `{"to":"Bern","packed":"done"}` {
			t.Errorf("p%d: %s %s %+v", i, r.Status, r.Output, r.Error)
		}
		if r := s.result(p, fmt.Sprint("c", i)); r.Status != wire.Succeeded {
			t.Errorf("c%d: %s %+v", i, r.Status, r.Error)
		}
	}
	if got := s.count("select count(*) from orrery.execution"); got != 3*n {
		t.Errorf("%d executions, want %d", got, 3*n)
	}
	if got := s.count("select count(*) from orrery.inbox"); got != 0 {
		t.Errorf("%d entries are left", got)
	}
	// A child that is waited for shares its parent's partition.
	if got := s.count(`select count(distinct partition) from orrery.execution where name not like 'c%'`); got > n {
		t.Errorf("%d partitions for %d families", got, n)
	}
}

func TestFamilyIsStopped(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	p := s.run("a")
	s.publish(p, "asks", asks)
	s.publish(p, "stops", stops)
	s.workers(1, func() *process { return p })
	s.start(p, "stops", "family")
	s.await("the child", func() bool { return s.count("select count(*) from orrery.execution") == 2 })
	if _, err := p.Cancel(t.Context(), caller, "family", wire.CancelRequest{Reason: "enough"}); err != nil {
		t.Fatal(err)
	}
	if r := s.result(p, "family"); r.Status != wire.Cancelled {
		t.Errorf("parent: %+v", r)
	}
	if got := s.count("select count(*) from orrery.execution where status = 5"); got != 2 {
		t.Errorf("%d executions are cancelled, want 2", got)
	}
	types := s.types(p, "family")
	stopped, undone := slices.Index(types, "ChildStopped"), slices.Index(types, "CompensationStarted")
	if stopped < 0 || undone < stopped || !slices.Contains(types, "CompensationSucceeded") {
		t.Errorf("events: %v", types)
	}
}

// TestTokenIsReportedByAnybody: a worker gets the token and reports that it has passed it on; then a client without a
// session reports with it.
func TestTokenIsReportedByAnybody(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	p := s.run("a")
	s.publish(p, "waits", waits)
	s.start(p, "waits", "e")
	got, err := p.Poll(t.Context(), caller, wire.PollRequest{SessionID: s.register(p, "w"), MaxTasks: 1, WaitMS: 5000, PollID: "p"})
	if err != nil || len(got.Assignments) != 1 {
		t.Fatalf("poll: %+v, %v", got, err)
	}
	var input struct{ Token string }
	if err := json.Unmarshal(got.Assignments[0].Input, &input); err != nil {
		t.Fatal(err)
	}
	report := func(token, output string) wire.ReportOutcome {
		t.Helper()
		a, err := p.Complete(t.Context(), caller, wire.CompleteRequest{Reports: []wire.Completion{{Token: token, Output: json.RawMessage(output)}}})
		if err != nil {
			t.Fatal(err)
		}
		return a.Results[0].Outcome
	}
	if out := report(got.Assignments[0].Token, `"sent"`); out != wire.ReportAccepted {
		t.Errorf("the worker's report: %s", out)
	}
	if out := report(input.Token, `{"answer":42}`); out != wire.ReportAccepted {
		t.Errorf("the token's report: %s", out)
	}
	if r := s.result(p, "e"); string(r.Output) != `{"answer":42}` {
		t.Errorf("result: %+v", r)
	}
	if out := report(input.Token, `0`); out == wire.ReportAccepted {
		t.Errorf("a token is accepted twice")
	}
	s.await("the queue to be empty", func() bool { return s.count("select count(*) from orrery.task") == 0 })
}

// TestFamiliesOutliveTheirNode kills a node while parents and children run.
func TestFamiliesOutliveTheirNode(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	a, b := s.run("a"), s.run("b")
	s.await("b's share", func() bool { return b.node.Health().Node.Partitions > 64 })
	s.publish(a, "ships", ships)
	s.publish(a, "parents", parents)
	const n = 30
	for i := range n {
		q := wire.StartRequest{Workflow: "parents", Name: fmt.Sprint("p", i), Input: json.RawMessage(fmt.Sprintf(`{"name":"c%d"}`, i))}
		if _, _, err := []*process{a, b}[i%2].Start(t.Context(), caller, q); err != nil {
			t.Fatal(err)
		}
	}
	s.workers(2, func() *process { return b })
	time.Sleep(100 * time.Millisecond)
	a.node.Kill()
	for i := range n {
		if r := s.result(b, fmt.Sprint("p", i)); r.Status != wire.Succeeded {
			t.Errorf("p%d: %+v", i, r)
		}
	}
	s.await("all ends", func() bool { return s.count("select count(*) from orrery.execution where status = 2") == 3*n })
}

// TestDistributedMapOutlivesItsNode runs the iterations of a Map on two nodes, of which one dies.
func TestDistributedMapOutlivesItsNode(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	a, b := s.run("a"), s.run("b")
	s.await("b's share", func() bool { return b.node.Health().Node.Partitions > 64 })
	s.publish(a, "spreads", spreads)
	const n = 240
	q := wire.StartRequest{Workflow: "spreads", Name: "m", Input: json.RawMessage(fmt.Sprintf("[%s0]", strings.Repeat("0,", n-1)))}
	if _, _, err := a.Start(t.Context(), caller, q); err != nil {
		t.Fatal(err)
	}
	s.workers(4, func() *process { return b })
	s.await("some ends", func() bool { return s.count("select count(*) from orrery.execution where status = 2") > n/8 })
	a.node.Kill()
	r := s.result(b, "m")
	if want := fmt.Sprintf("[%s\"done\"]", strings.Repeat(`"done",`, n-1)); string(r.Output) != want {
		t.Errorf("result: %s %+v", r.Output, r.Error)
	}
	if got := s.count("select count(*) from orrery.execution where status = 2"); got != n+1 {
		t.Errorf("%d executions have succeeded, want %d", got, n+1)
	}
	if got := s.count("select count(distinct partition) from orrery.execution"); got < 32 {
		t.Errorf("the iterations are in %d partitions", got)
	}
	if got := s.count("select count(*) from orrery.inbox"); got != 0 {
		t.Errorf("%d entries are left", got)
	}
}

// TestDistributedMapIsStopped: a Map that fails stops the executions of its iterations.
func TestDistributedMapIsStopped(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	p := s.run("a")
	s.publish(p, "fails", `{"StartAt": "M", "States": {"M": {"Type": "Map", "End": true, "ItemProcessor": {
		"ProcessorConfig": {"Mode": "DISTRIBUTED", "ExecutionType": "STANDARD"}, "StartAt": "C", "States": {
		"C": {"Type": "Choice", "Choices": [{"Variable": "$", "NumericEquals": 7, "Next": "F"}], "Default": "S"},
		"F": {"Type": "Wait", "Seconds": 1, "Next": "G"}, "G": {"Type": "Fail", "Error": "Seven"},
		"S": {"Type": "Task", "Resource": "signal:go", "End": true}}}}}}`)
	q := wire.StartRequest{Workflow: "fails", Name: "m", Input: json.RawMessage(`[1,2,3,4,5,6,7,8,9]`)}
	if _, _, err := p.Start(t.Context(), caller, q); err != nil {
		t.Fatal(err)
	}
	s.await("the executions", func() bool { return s.count("select count(*) from orrery.execution") == 10 })
	d, err := p.GetExecution(t.Context(), caller, "m")
	if err != nil || len(d.Units) != 1 || d.Units[0].Kind != "map" || d.Units[0].Running != 9 {
		t.Errorf("units: %+v, %v", d.Units, err)
	}
	if r := s.result(p, "m"); r.Status != wire.Failed || r.Error.Code != "States.ExceedToleratedFailureThreshold" {
		t.Errorf("result: %+v", r)
	}
	s.await("the executions to be stopped", func() bool { return s.count("select count(*) from orrery.execution where status = 5") == 8 })
}

// TestChildIsHandedOver: the first task of a child goes to a poll that waits, without a row, and the node dies. Who takes
// its partitions writes the row, and takes the report.
func TestChildIsHandedOver(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	a := s.run("a")
	s.publish(a, "ships", ships)
	s.publish(a, "parents", parents)
	session := s.register(a, "w")
	got := make(chan wire.PollResponse, 1)
	go func() {
		r, err := a.Poll(t.Context(), caller, wire.PollRequest{SessionID: session, MaxTasks: 1, WaitMS: 10_000, PollID: "p"})
		if err != nil {
			t.Error(err)
		}
		got <- r
	}()
	s.await("the poll to wait", func() bool { return a.node.Waiting() > 0 })
	s.start(a, "parents", "p")
	r := <-got
	a.node.Kill()
	if len(r.Assignments) != 1 {
		t.Fatalf("got %+v", r)
	}
	b := s.run("b")
	beat := wire.HeartbeatRequest{SessionID: session, Beat: 1, Tokens: []wire.HeldToken{{Token: r.Assignments[0].Token}}}
	if _, err := b.Heartbeat(t.Context(), caller, beat); err != nil {
		t.Error(err)
	}
	s.await("the row", func() bool { return s.count("select count(*) from orrery.task where state = 'claimed'") == 1 })
	done, err := b.Complete(t.Context(), caller, wire.CompleteRequest{Reports: []wire.Completion{{Token: r.Assignments[0].Token, Output: json.RawMessage(`"done"`)}}})
	if err != nil || done.Results[0].Outcome != wire.ReportAccepted {
		t.Errorf("report: %+v, %v", done, err)
	}
	s.await("the child's end", func() bool { return s.count("select count(*) from orrery.execution where status = 2") == 1 })
	s.await("the debts to be removed", func() bool {
		return s.count("select count(*) from orrery.debt where fence = (select max(fence) from orrery.node)") == 0
	})
}
