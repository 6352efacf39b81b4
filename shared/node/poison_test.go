package node_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/orrery-dev/orrery/shared/wire"
)

// takes polls for one task as a new worker; nil when there is none.
func (s *system) takes(p *process, worker string) (session string, a *wire.Assignment) {
	s.t.Helper()
	session = s.register(p, worker)
	got, err := p.Poll(s.t.Context(), caller, wire.PollRequest{SessionID: session, MaxTasks: 1, WaitMS: 500, PollID: worker})
	if err != nil {
		s.t.Fatal(err)
	}
	if len(got.Assignments) == 0 {
		return session, nil
	}
	return session, &got.Assignments[0]
}

// waiting lists the uncertain units.
func (s *system) waiting(p *process) (units []string) {
	s.t.Helper()
	a, err := p.ListAttention(s.t.Context(), caller, wire.AttentionQuery{Limit: 10})
	if err != nil {
		s.t.Fatal(err)
	}
	for _, x := range a.Items {
		if x.Kind == wire.AttentionUncertain {
			units = append(units, x.Execution+" "+x.Unit.Key)
		}
	}
	return units
}

// poisonous runs an execution whose workers die, one after the other, until it is offered no more; it gives how often it was
// delivered.
func (s *system) poisonous(p *process, workflow, name string) (deliveries int) {
	s.t.Helper()
	s.start(p, workflow, name)
	for {
		session, a := s.takes(p, fmt.Sprint(name, "-", deliveries))
		if a == nil {
			return deliveries
		}
		if a.Redelivery != deliveries || a.Attempt != 1 || a.IdempotencyKey == "" {
			s.t.Errorf("delivery %d: %+v", deliveries, a)
		}
		if deliveries++; deliveries > 20 {
			s.t.Fatal("the task is delivered for ever")
		}
		if _, err := p.Deregister(s.t.Context(), caller, wire.DeregisterRequest{SessionID: session}); err != nil {
			s.t.Fatal(err)
		}
	}
}

// TestPoisonTaskEnds: a task whose worker dies each time is delivered as often as its document says, and then waits in sight for
// an operator, whose word ends it; or fails, where the document says so.
func TestPoisonTaskEnds(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	p := s.run("a")
	s.publish(p, "waits", `{"StartAt": "Do", "States": {"Do": {"Type": "Task", "Resource": "task:work@1", "MaxRedeliveries": 2, "End": true}}}`)
	s.publish(p, "fails", `{"StartAt": "Do", "States": {"Do": {"Type": "Task", "Resource": "task:work@1", "MaxRedeliveries": 1,
		"WhenUncertain": "FAIL", "Catch": [{"ErrorEquals": ["Orrery.Uncertain"], "Next": "Known"}], "End": true}, "Known": {"Type": "Pass", "End": true}}}`)
	s.publish(p, "default", oneTask)
	if n := s.poisonous(p, "waits", "w"); n != 3 {
		t.Errorf("%d deliveries, want 3", n)
	}
	if got := fmt.Sprint(s.waiting(p)); got != "[w Do]" {
		t.Errorf("waiting for an operator: %s", got)
	}
	r, err := p.Resolve(t.Context(), caller, "w", wire.ResolveRequest{Unit: "Do", Resolution: "completed", Output: json.RawMessage(`7`)})
	if err != nil || !r.Confirmed {
		t.Errorf("resolve: %+v, %v", r, err)
	}
	if got := s.end(p, "w"); got != wire.Succeeded || len(s.waiting(p)) != 0 {
		t.Errorf("after the word: %s, waiting %v", got, s.waiting(p))
	}
	if n := s.poisonous(p, "fails", "f"); n != 2 {
		t.Errorf("%d deliveries, want 2", n)
	}
	if got := s.end(p, "f"); got != wire.Succeeded { // its catcher has met the error
		t.Errorf("the one that fails by itself: %s", got)
	}
	if n := s.poisonous(p, "default", "d"); n != 11 {
		t.Errorf("%d deliveries, want 11", n)
	}
	s.checkHistories()
}

// TestUncertainReports: a worker that does not know gives the attempt back; the last time it waits for an operator, and each of
// his words is followed.
func TestUncertainReports(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	p := s.run("a")
	s.publish(p, "one", `{"StartAt": "Do", "States": {"Do": {"Type": "Task", "Resource": "task:work@1", "MaxRedeliveries": 0, "End": true}}}`)
	unsure := func(name string) {
		t.Helper()
		s.start(p, "one", name)
		_, a := s.takes(p, "worker of "+name)
		if a == nil {
			t.Fatal("no task")
		}
		if _, err := p.Uncertain(t.Context(), caller, wire.UncertainRequest{Reports: []wire.Uncertainty{{Token: a.Token, Reason: "the line broke"}}}); err != nil {
			t.Fatal(err)
		}
		s.await("the operator's list", func() bool { return len(s.waiting(p)) == 1 })
	}
	resolve := func(name string, q wire.ResolveRequest, want wire.Status) {
		t.Helper()
		q.Unit = "Do"
		if r, err := p.Resolve(t.Context(), caller, name, q); err != nil || !r.Confirmed {
			t.Errorf("resolve %s: %+v, %v", name, r, err)
		}
		if got := s.end(p, name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
		s.await("an empty list", func() bool { return len(s.waiting(p)) == 0 })
	}
	unsure("completed")
	resolve("completed", wire.ResolveRequest{Resolution: "completed", Output: json.RawMessage(`1`)}, wire.Succeeded)
	unsure("failed")
	resolve("failed", wire.ResolveRequest{Resolution: "failed", Error: &wire.TaskError{Code: "NotPaid"}}, wire.Failed)

	unsure("again")
	if r, err := p.Resolve(t.Context(), caller, "again", wire.ResolveRequest{Unit: "Do", Resolution: "retry"}); err != nil || !r.Confirmed {
		t.Errorf("retry: %+v, %v", r, err)
	}
	_, a := s.takes(p, "another")
	if a == nil {
		t.Fatal("it is not offered anew")
	}
	if _, err := p.Complete(t.Context(), caller, wire.CompleteRequest{Reports: []wire.Completion{{Token: a.Token, Output: json.RawMessage(`1`)}}}); err != nil {
		t.Fatal(err)
	}
	if got := s.end(p, "again"); got != wire.Succeeded {
		t.Errorf("again: %s", got)
	}
	s.checkHistories()
}
