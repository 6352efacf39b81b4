package node_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/orrery-dev/orrery/shared/cron"
	"github.com/orrery-dev/orrery/shared/node"
	"github.com/orrery-dev/orrery/shared/store"
	"github.com/orrery-dev/orrery/shared/wire"
)

// endless is a host whose answers take until the caller gives up.
type endless struct{ called chan string }

func (e endless) Call(ctx context.Context, _, url string, _ http.Header, _ []byte) (int, []byte, error) {
	e.called <- url
	<-ctx.Done()
	return 0, nil, context.Cause(ctx)
}

// scheduled is a system whose nodes run schedules, with a workflow whose executions take a tenth of a second. The heartbeats
// are so rare that what happens soon happens without them.
func scheduled(t *testing.T) (*system, *store.Store, endless) {
	t.Helper()
	s, e := newSystem(t), endless{make(chan string, 100)}
	db := s.open(2, &tracer{})
	s.scheduler = func(p *process) node.Scheduler {
		r, err := cron.New(db, p.Frontend, cron.Options{HTTP: e, Drain: 50 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	return s, db, e
}

func rarely(c *node.Config) {
	c.NodeTimeout, c.SessionTimeout, c.Heartbeat = time.Minute, time.Minute, 15*time.Second
}

// soon waits for less than the time between two rare heartbeats.
func (s *system) soon(what string, holds func() bool) {
	s.t.Helper()
	begun := time.Now()
	s.await(what, holds)
	if d := time.Since(begun); d > 10*time.Second {
		s.t.Errorf("%s took %v: it was found by a heartbeat only", what, d)
	}
}

// schedule makes a schedule.
func (s *system) schedule(p *process, name string, w wire.ScheduleDefinition) {
	s.t.Helper()
	w.ID = name
	if _, _, err := p.CreateSchedule(s.t.Context(), caller, w); err != nil {
		s.t.Fatalf("%+v", err)
	}
}

func (s *system) trigger(db *store.Store, name string) {
	s.t.Helper()
	outcome, _, err := db.Trigger(s.t.Context(), store.Trigger{Namespace: 1, Schedule: name, Own: store.OverlapBufferAll})
	if err != nil || outcome != store.TriggerCreated {
		s.t.Fatalf("trigger %s: %s, %v", name, outcome, err)
	}
}

const yearly = "0 0 1 1 *"

// TestBellsRunSchedules: a trigger rings, and so does the end of an execution for what waits for its key.
func TestBellsRunSchedules(t *testing.T) {
	s, db, _ := scheduled(t)
	p := s.run("a", rarely)
	s.publish(p, "short", `{"StartAt":"Wait","States":{"Wait":{"Type":"Wait","Seconds":1,"End":true}}}`)
	s.schedule(p, "short", wire.ScheduleDefinition{
		Specs: []string{yearly}, Target: wire.ScheduleTarget{Workflow: &wire.WorkflowTarget{Name: "short"}},
	})
	for range 2 {
		s.trigger(db, "short")
	}
	s.soon("two runs, one after the other", func() bool {
		return s.count(`select count(*) from orrery.occurrence where status = 'completed'`) == 2
	})
	if n := s.count(`select count(*) from orrery.trace a join orrery.trace b on a.occurrence < b.occurrence
		where a.started_at < b.ended_at and b.started_at < a.ended_at`); n != 0 {
		t.Errorf("%d pairs of runs overlap", n)
	}
	if n := s.count(`select held from orrery.singleton`); n != 0 {
		t.Errorf("%d slots of the key are held", n)
	}
	if h := p.node.Health().Node.Scheduler; h == nil || h.Started != 2 || len(h.Faults) > 0 {
		t.Errorf("health says %+v", h)
	}
	if n := p.node.Counted("orrery_node_occurrences_ended_total{SUCCEEDED}"); n != 2 {
		t.Errorf("%d ends of occurrences are counted, want 2", n)
	}
}

// TestHeartbeatsRunSchedules: nobody rings, and the heartbeat finds what is due.
func TestHeartbeatsRunSchedules(t *testing.T) {
	s, db, _ := scheduled(t)
	p := s.run("a")
	s.publish(p, "short", `{"StartAt":"Pass","States":{"Pass":{"Type":"Pass","End":true}}}`)
	s.schedule(p, "short", wire.ScheduleDefinition{
		Specs: []string{yearly}, Target: wire.ScheduleTarget{Workflow: &wire.WorkflowTarget{Name: "short"}},
	})
	s.trigger(db, "short")
	s.await("a run", func() bool { return s.count(`select count(*) from orrery.occurrence where status = 'completed'`) == 1 })
	if _, err := s.db.Exec(t.Context(), `
		update orrery.occurrence set status = 'pending', look_at = now(), ended_at = null, expires_at = null, retry = 1`); err != nil {
		t.Fatal(err)
	}
	s.await("another run", func() bool { return s.count(`select count(*) from orrery.trace where status = 'completed'`) == 2 })
}

// TestCleanStopEndsRuns: a node that leaves gives back what it runs itself, so that another one has it at once.
func TestCleanStopEndsRuns(t *testing.T) {
	s, db, outside := scheduled(t)
	a := s.run("a")
	s.schedule(a, "call", wire.ScheduleDefinition{
		Specs: []string{yearly}, Target: wire.ScheduleTarget{HTTP: &wire.HTTPTarget{URL: "http://outside/"}},
	})
	s.trigger(db, "call")
	<-outside.called
	if err := a.stop(); err != nil {
		t.Fatal(err)
	}
	if n := s.count(`select count(*) from orrery.occurrence o join orrery.trace t on t.occurrence = o.id
		where o.status = 'pending' and o.slot is null and t.status = 'cancelled'`); n != 1 {
		t.Error("the occurrence was not given back")
	}
	s.run("b")
	<-outside.called
	if n := s.count(`select attempt from orrery.occurrence where status = 'running'`); n != 2 {
		t.Errorf("it runs for the %d. time, want the second", n)
	}
}

// TestRedriveTakesTheKey: an execution that goes on after its end holds the key of its occurrence again, or is refused while
// another run does.
func TestRedriveTakesTheKey(t *testing.T) {
	s, db, _ := scheduled(t)
	p := s.run("a")
	s.publish(p, "signal", `{"StartAt":"S","States":{"S":{"Type":"Task","Resource":"signal:go","End":true}}}`)
	s.schedule(p, "signal", wire.ScheduleDefinition{
		Specs: []string{yearly}, Target: wire.ScheduleTarget{Workflow: &wire.WorkflowTarget{Name: "signal"}},
	})
	next := func() (name string) {
		s.trigger(db, "signal")
		s.await("another run", func() bool { return s.count(`select count(*) from orrery.execution where status = 1`) == 1 })
		if err := s.db.QueryRow(t.Context(), `select name from orrery.execution where status = 1`).Scan(&name); err != nil {
			t.Fatal(err)
		}
		return name
	}
	cancel := func(name string) {
		t.Helper()
		if _, err := p.Cancel(t.Context(), caller, name, wire.CancelRequest{Reason: "not now"}); err != nil {
			t.Fatal(err)
		}
		s.await("its end", func() bool { return s.count(`select count(*) from orrery.execution where status = 1`) == 0 })
	}
	held := `select held from orrery.singleton`
	first := next()
	cancel(first)
	if s.count(held) != 0 || s.count(`select count(*) from orrery.occurrence where status = 'cancelled'`) != 1 {
		t.Error("the end of the execution is not that of its occurrence")
	}
	second := next()
	var refused *wire.Error
	if _, err := p.Redrive(t.Context(), caller, first, wire.RedriveRequest{}); !errors.As(err, &refused) || refused.Code != wire.CommandRefused {
		t.Errorf("redrive while another run holds the key: %v", err)
	}
	cancel(second)
	if r, err := p.Redrive(t.Context(), caller, first, wire.RedriveRequest{}); err != nil || r.Execution.Status != wire.Running {
		t.Fatalf("redrive: %+v, %v", r, err)
	}
	if s.count(held) != 1 || s.count(`select count(*) from orrery.trace where status = 'running'`) != 1 {
		t.Error("the execution goes on without its key")
	}
	if _, err := p.Redrive(t.Context(), caller, second, wire.RedriveRequest{}); !errors.As(err, &refused) || refused.Code != wire.CommandRefused {
		t.Errorf("redrive of the other one: %v", err)
	}
	if _, err := p.Signal(t.Context(), caller, first, "go", wire.SignalRequest{Payload: json.RawMessage("1")}); err != nil {
		t.Fatal(err)
	}
	s.await("its end", func() bool { return s.count(`select count(*) from orrery.occurrence where status = 'completed'`) == 1 })
	if s.count(held) != 0 || s.count(`select count(*) from orrery.trace where status = 'completed'`) != 1 {
		t.Error("the key is held still")
	}
	s.checkHistories()
}

// TestTerminateOtherEndsTheFamily: the run that is replaced ends at once with the children that it waits for, and the new one
// starts after its end.
func TestTerminateOtherEndsTheFamily(t *testing.T) {
	s, db, _ := scheduled(t)
	p := s.run("a")
	s.publish(p, "asks", asks)
	s.publish(p, "family", `{"StartAt":"Ask","States":{"Ask":{"Type":"Task","Resource":"workflow:asks","End":true}},
		"Cleanup":{"StartAt":"Tidy","States":{"Tidy":{"Type":"Task","Resource":"signal:never","End":true}}}}`)
	s.schedule(p, "family", wire.ScheduleDefinition{
		Specs: []string{yearly}, Target: wire.ScheduleTarget{Workflow: &wire.WorkflowTarget{Name: "family"}},
		Overlap: &wire.ScheduleOverlap{Policy: "terminate_other"},
	})
	both := `select count(*) from orrery.execution where status = 1`
	trigger := func() {
		t.Helper()
		outcome, _, err := db.Trigger(t.Context(), store.Trigger{Namespace: 1, Schedule: "family", Own: store.OverlapTerminateOther})
		if err != nil || outcome != store.TriggerCreated {
			t.Fatalf("trigger: %s, %v", outcome, err)
		}
	}
	trigger()
	s.await("parent and child", func() bool { return s.count(both) == 2 })
	trigger()
	s.await("the end of both, and parent and child anew", func() bool {
		return s.count(`select count(*) from orrery.execution where status = 5`) == 2 && s.count(both) == 2
	})
	if n := s.count(`select count(*) from orrery.occurrence where status = 'cancelled'`); n != 1 {
		t.Errorf("%d occurrences are cancelled, want 1", n)
	}
	if n := s.count(`select count(*) from orrery.trace a join orrery.trace b on a.occurrence < b.occurrence where b.started_at < a.ended_at`); n != 0 {
		t.Error("the runs overlap")
	}
	s.checkHistories()
}

// TestTasksCarryTheFencingToken: workers get the token of the key that the execution of their task holds, with a task from the
// queue as with one that is handed over.
func TestTasksCarryTheFencingToken(t *testing.T) {
	s, db, _ := scheduled(t)
	p := s.run("a")
	s.publish(p, "two", `{"StartAt":"A","States":{"A":{"Type":"Task","Resource":"task:work@1","Next":"B"},"B":{"Type":"Task","Resource":"task:work@1","End":true}}}`)
	s.schedule(p, "two", wire.ScheduleDefinition{Specs: []string{yearly}, Target: wire.ScheduleTarget{Workflow: &wire.WorkflowTarget{Name: "two"}}})
	s.start(p, "two", "by hand")
	session := s.register(p, "w")
	got := map[string][]int64{}
	triggered := false
	for late := time.Now().Add(30 * time.Second); len(got["A"]) < 2 || len(got["B"]) < 2; {
		a, err := p.Poll(t.Context(), caller, wire.PollRequest{SessionID: session, MaxTasks: 1, WaitMS: 500, PollID: rand.Text()})
		if err != nil || time.Now().After(late) {
			t.Fatalf("got %v: %v", got, err)
		}
		for _, x := range a.Assignments {
			got[x.Unit] = append(got[x.Unit], x.FencingToken)
			if _, err := p.Complete(t.Context(), caller, wire.CompleteRequest{Reports: []wire.Completion{{Token: x.Token, Output: json.RawMessage("1")}}}); err != nil {
				t.Fatal(err)
			}
		}
		if len(got["B"]) == 1 && !triggered {
			triggered = true
			s.trigger(db, "two")
		}
	}
	token := int64(s.count(`select token::integer from orrery.trace`))
	for unit, tokens := range got {
		if token == 0 || !slices.Equal(tokens, []int64{0, token}) {
			t.Errorf("%s got the tokens %v, want none by hand and %d from the schedule", unit, tokens, token)
		}
	}
	s.end(p, "by hand")
}
