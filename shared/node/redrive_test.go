package node_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/orrery-dev/orrery/shared/wire"
)

// goesOn fails until the task is told otherwise, in one of its branches.
const goesOn = `{"StartAt": "P", "States": {"P": {"Type": "Parallel", "End": true, "Branches": [
	{"StartAt": "A", "States": {"A": {"Type": "Task", "Resource": "task:work@1", "End": true}}},
	{"StartAt": "S", "States": {"S": {"Type": "Task", "Resource": "signal:go", "End": true}}}]}},
	"Cleanup": {"StartAt": "C", "States": {"C": {"Type": "Pass", "End": true}}}}`

// TestRedrive lets cancelled executions go on: on another node than the one that has ended them, and more than once.
func TestRedrive(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	a, b := s.run("a"), s.run("b")
	s.await("b's share", func() bool { return b.node.Health().Node.Partitions > 64 })
	s.publish(a, "goesOn", goesOn)
	const n = 10
	for i := range n {
		s.start(a, "goesOn", fmt.Sprint("e", i))
	}
	for i := range n {
		if _, err := a.Cancel(t.Context(), caller, fmt.Sprint("e", i), wire.CancelRequest{Reason: "not now"}); err != nil {
			t.Fatal(err)
		}
	}
	a.node.Kill()
	s.workers(2, func() *process { return b })
	for i := range n {
		name := fmt.Sprint("e", i)
		r, err := b.Redrive(t.Context(), caller, name, wire.RedriveRequest{})
		if err != nil || !r.Confirmed || r.Execution.Status != wire.Running {
			t.Fatalf("redrive: %+v, %v", r, err)
		}
		var refused *wire.Error
		if _, err := b.Redrive(t.Context(), caller, name, wire.RedriveRequest{}); !errors.As(err, &refused) || refused.Code != wire.CommandRefused {
			t.Errorf("redrive of a running one: %v", err)
		}
		if i%2 == 0 {
			if _, err := b.Cancel(t.Context(), caller, name, wire.CancelRequest{}); err != nil {
				t.Fatal(err)
			}
			if r := s.result(b, name); r.Status != wire.Cancelled {
				t.Errorf("%+v", r)
			}
			if _, err := b.Redrive(t.Context(), caller, name, wire.RedriveRequest{}); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := b.Signal(t.Context(), caller, name, "go", wire.SignalRequest{Payload: json.RawMessage("1")}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range n {
		if r := s.result(b, fmt.Sprint("e", i)); string(r.Output) != `["done",1]` {
			t.Errorf("e%d: %+v", i, r)
		}
	}
	var refused *wire.Error
	if _, err := b.Redrive(t.Context(), caller, "e0", wire.RedriveRequest{}); !errors.As(err, &refused) || refused.Code != wire.CommandRefused {
		t.Errorf("redrive of one that has succeeded: %v", err)
	}
	if r := s.result(b, "e0"); r.Status != wire.Succeeded {
		t.Errorf("after a redrive that was refused: %+v", r)
	}
	s.await("the inbox to be empty", func() bool { return s.count("select count(*) from orrery.inbox where outcome is null") == 0 })
	if got := s.count("select count(*) from orrery.task where state in ('queued', 'claimed')"); got != 0 {
		t.Errorf("%d tasks are left", got)
	}
}

// TestRedriveOfWhatWasFoundEnded: a node that has just looked at an execution in vain, because it has ended, takes a redrive of it
// all the same, and at once.
func TestRedriveOfWhatWasFoundEnded(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	a := s.run("a")
	s.publish(a, "goesOn", goesOn)
	session := s.register(a, "w")
	s.start(a, "goesOn", "e")
	got, err := a.Poll(t.Context(), caller, wire.PollRequest{SessionID: session, MaxTasks: 1, WaitMS: 10_000, PollID: "p"})
	if err != nil || len(got.Assignments) != 1 {
		t.Fatalf("poll: %+v, %v", got, err)
	}
	if _, err := a.Cancel(t.Context(), caller, "e", wire.CancelRequest{}); err != nil {
		t.Fatal(err)
	}
	// Its owner looks at the execution for a report that comes too late.
	late := wire.CompleteRequest{Reports: []wire.Completion{{Token: got.Assignments[0].Token, Output: json.RawMessage("1")}}}
	if r, err := a.Complete(t.Context(), caller, late); err != nil || r.Results[0].Outcome != wire.ReportStale {
		t.Fatalf("a late report: %+v, %v", r, err)
	}
	r, err := a.Redrive(t.Context(), caller, "e", wire.RedriveRequest{})
	if err != nil || !r.Confirmed || r.Execution.Status != wire.Running {
		t.Fatalf("redrive: %+v, %v", r, err)
	}
}
