package worker_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/orrery-dev/orrery/shared/wire"
	"github.com/orrery-dev/orrery/shared/worker"
)

// ok is a handler that counts its calls.
func ok(w *worker.Worker, calls *atomic.Int64) {
	worker.Handle(w, "do", 1, func(context.Context, worker.Task, any) (int64, error) { return calls.Add(1), nil })
}

// TestReportsAreBatched: what is finished while a report is under way goes with the next one.
func TestReportsAreBatched(t *testing.T) {
	t.Parallel()
	const tasks = 21
	s := newServer(t)
	s.publish("")
	w := s.worker(func(c *worker.Config) { c.Concurrency = tasks })
	var first sync.Once
	var calls, returned atomic.Int64
	worker.Handle(w, "do", 1, func(_ context.Context, _ worker.Task, in struct{ First bool }) (any, error) {
		calls.Add(1)
		defer returned.Add(1)
		if !in.First {
			await(t, "the report of the first task", func() bool { return returned.Load() > 0 })
		}
		return nil, nil
	})
	held := make(chan bool)
	s.decide(func(c call) fate {
		if c.path == "tasks/complete" {
			first.Do(func() { <-held })
		}
		return pass
	})
	s.start("e-0", `{"First":true}`)
	for i := 1; i < tasks; i++ {
		s.start(name("e", i), `{"First":false}`)
	}
	stop := s.run(w)
	await(t, "all handlers to return", func() bool { return returned.Load() == tasks })
	time.Sleep(50 * time.Millisecond) // what they returned gets to the reporter
	close(held)
	for i := range tasks {
		s.succeeds(name("e", i), "null")
	}
	stop() // calls that were answered are noted then
	reports, _ := seen[wire.CompleteRequest, wire.ReportResponse](s, "tasks/complete")
	n := 0
	for _, r := range reports {
		n += len(r.Reports)
	}
	if n != tasks || len(reports) > 3 {
		t.Errorf("%d reports in %d calls, want %d in 2 or 3", n, len(reports), tasks)
	}
	if calls.Load() != tasks {
		t.Errorf("%d deliveries of %d tasks", calls.Load(), tasks)
	}
}

// TestRefusedReport: one output that the server cannot take spoils its own task alone.
func TestRefusedReport(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	s.publish("")
	w := s.worker(nil)
	var at sync.WaitGroup
	at.Add(3)
	worker.Handle(w, "do", 1, func(_ context.Context, _ worker.Task, in struct{ Size int }) (string, error) {
		at.Done()
		at.Wait() // so that the three go in one report
		return strings.Repeat("x", in.Size), nil
	})
	s.start("small", `{"Size":1}`)
	s.start("large", `{"Size":2000000}`) // more than a body may have
	s.start("little", `{"Size":2}`)
	s.run(w)
	s.succeeds("small", `"x"`)
	s.succeeds("little", `"xx"`)
	e := s.fails("large", worker.CodeOutput, 1)
	if !strings.HasPrefix(e.Message, "the output was refused: BODY_TOO_LARGE") {
		t.Errorf("the cause is %q", e.Message)
	}
}

// TestLostAnswers: what was done is neither done again nor lost when the worker gets no answer.
func TestLostAnswers(t *testing.T) {
	t.Parallel()
	for _, f := range []fate{loseCall, loseAnswer} {
		for _, path := range []string{"workers/register", "workers/poll", "tasks/complete", "workers/heartbeat"} {
			t.Run(path+map[fate]string{loseCall: " call", loseAnswer: " answer"}[f], func(t *testing.T) {
				t.Parallel()
				s := newServer(t)
				s.publish("")
				w := s.worker(nil)
				var calls atomic.Int64
				ok(w, &calls)
				s.first(2, path, f)
				s.start("e", `{}`)
				s.run(w)
				s.succeeds("e", "1")
				if calls.Load() != 1 || s.count("e", "TaskRedelivered") != 0 || s.count("e", "TaskSucceeded") != 1 {
					t.Errorf("%d calls; history %v", calls.Load(), s.history("e"))
				}
			})
		}
	}
}

// TestPollKeepsItsID: the repeat of a poll whose answer was lost gets what the first was given.
func TestPollKeepsItsID(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	s.publish("")
	w := s.worker(func(c *worker.Config) { c.Concurrency = 1 }) // one slot, so one poll at a time
	var calls atomic.Int64
	ok(w, &calls)
	s.start("e", `{}`)
	s.first(2, "workers/poll", loseAnswer)
	s.run(w)
	s.succeeds("e", "1")
	await(t, "a poll after the task", func() bool {
		polls, _ := seen[wire.PollRequest, wire.PollResponse](s, "workers/poll")
		return len(polls) > 3
	})
	polls, answers := seen[wire.PollRequest, wire.PollResponse](s, "workers/poll")
	for i := range 3 {
		if polls[i].PollID != polls[0].PollID || len(answers[i].Assignments) != 1 || answers[i].Assignments[0].Token != answers[0].Assignments[0].Token {
			t.Errorf("poll %d: %+v was answered %+v, the first %+v", i, polls[i], answers[i], answers[0])
		}
	}
	if polls[3].PollID == polls[0].PollID {
		t.Error("the poll after the one that was answered has its id")
	}
}

// TestRetriedReport: the second report of a task whose first was not answered is a duplicate, and no effect.
func TestRetriedReport(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	s.publish(`,"Next":"Rest"},"Rest":{"Type":"Wait","Seconds":2,"End":true`)
	w := s.worker(nil)
	var calls atomic.Int64
	ok(w, &calls)
	s.first(1, "tasks/complete", loseAnswer)
	s.start("e", `{}`)
	stop := s.run(w)
	s.succeeds("e", "1")
	stop()
	_, answers := seen[wire.CompleteRequest, wire.ReportResponse](s, "tasks/complete")
	if len(answers) != 2 || answers[0].Results[0].Outcome != wire.ReportAccepted || answers[1].Results[0].Outcome != wire.ReportDuplicate {
		t.Errorf("the reports were answered %+v", answers)
	}
}

// TestDrain: at its end a worker takes nothing more, finishes what it has, reports it, and gives its session back.
func TestDrain(t *testing.T) {
	t.Parallel()
	const tasks, bound = 6, 2
	s := newServer(t)
	s.publish("")
	w := s.worker(func(c *worker.Config) { c.Concurrency = bound })
	began, goOn := make(chan string, tasks), make(chan bool)
	worker.Handle(w, "do", 1, func(ctx context.Context, task worker.Task, _ any) (string, error) {
		began <- task.Execution
		<-goOn
		return "done", ctx.Err()
	})
	for i := range tasks {
		s.start(name("e", i), `{}`)
	}
	stop := s.run(w)
	mine := []string{receive(t, "a handler", began), receive(t, "a handler", began)}
	ended := make(chan bool)
	go func() {
		stop()
		close(ended)
	}()
	time.Sleep(100 * time.Millisecond)
	select {
	case <-ended:
		t.Error("the worker has ended with handlers at work")
	default:
	}
	// The answer is lost on the way, which a drain waits out as well.
	s.first(1, "tasks/complete", loseAnswer)
	close(goOn)
	receive(t, "the end of the worker", ended)
	for _, e := range mine {
		s.succeeds(e, `"done"`)
	}
	if queued, claimed := s.queue(); queued != tasks-bound || claimed != 0 || len(began) != 0 {
		t.Errorf("%d tasks are queued, %d claimed, and %d more began; want %d, 0 and 0", queued, claimed, len(began), tasks-bound)
	}
	if left := s.sessions(); len(left) != 0 {
		t.Errorf("the sessions %v are left", left)
	}
}

// TestDrainIsOver: what a handler does not finish in time is handed to another worker at once.
func TestDrainIsOver(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	s.publish("")
	slow := s.worker(func(c *worker.Config) { c.Drain = 100 * time.Millisecond })
	began, cause := make(chan bool, 1), make(chan error, 1)
	worker.Handle(slow, "do", 1, func(ctx context.Context, _ worker.Task, _ any) (any, error) {
		began <- true
		<-ctx.Done()
		cause <- context.Cause(ctx)
		return nil, ctx.Err()
	})
	stop := s.run(slow)
	s.start("e", `{}`)
	receive(t, "the handler", began)
	stop()
	if err := receive(t, "the end of the handler's context", cause); !errors.Is(err, worker.ErrStopping) {
		t.Errorf("the context ended by %v", err)
	}
	_, given := seen[wire.DeregisterRequest, wire.DeregisterResponse](s, "workers/deregister")
	if len(given) != 1 || len(given[0].Tokens) != 1 {
		t.Errorf("given back: %+v, want one token", given)
	}
	next := s.worker(func(c *worker.Config) { c.ID = "w2" })
	worker.Handle(next, "do", 1, func(_ context.Context, task worker.Task, _ any) ([]int, error) {
		return []int{task.Attempt, task.Redelivery}, nil
	})
	s.run(next)
	s.succeeds("e", "[1,1]")
}

// TestSessionIsReplaced: a session that is gone is replaced by one other, whoever finds that out, and the work in progress
// counts.
func TestSessionIsReplaced(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	s.publish("")
	w := s.worker(func(c *worker.Config) { c.Concurrency = 2 })
	began, goOn := make(chan bool, 3), make(chan bool)
	var calls atomic.Int64
	worker.Handle(w, "do", 1, func(context.Context, worker.Task, any) (int64, error) {
		n := calls.Add(1)
		began <- true
		<-goOn
		return n, nil
	})
	stop := s.run(w)
	s.start("e", `{}`)
	receive(t, "the handler", began)
	before := s.sessions()
	if len(before) != 1 {
		t.Fatalf("the sessions are %v", before)
	}
	s.call("POST", wire.Path("workers", "deregister"), wire.DeregisterRequest{SessionID: before[0]}, nil)
	await(t, "another session", func() bool { after := s.sessions(); return len(after) == 1 && after[0] != before[0] })
	// The task was given back, and the same worker has it a second time.
	receive(t, "the handler, again", began)
	goOn <- true
	goOn <- true
	r := s.result("e")
	if r.Status != wire.Succeeded || s.count("e", "TaskSucceeded") != 1 || s.count("e", "TaskRedelivered") != 1 {
		t.Errorf("the execution is %s; history %v", r.Status, s.history("e"))
	}
	stop()
	if calls.Load() != 2 {
		t.Errorf("%d deliveries, want 2", calls.Load())
	}
	opened, _ := seen[wire.RegisterRequest, wire.RegisterResponse](s, "workers/register")
	if left := s.sessions(); len(opened) != 2 || len(left) != 0 {
		t.Errorf("%d sessions were opened and %v are left, want 2 and none", len(opened), left)
	}
	_, answers := seen[wire.CompleteRequest, wire.ReportResponse](s, "tasks/complete")
	accepted := 0
	for _, a := range answers {
		for _, r := range a.Results {
			if r.Outcome == wire.ReportAccepted {
				accepted++
			}
		}
	}
	if accepted != 1 {
		t.Errorf("%d reports were accepted, want 1: %+v", accepted, answers)
	}
}

// TestSilence: a worker that nobody hears of for the session timeout loses its task to another one, and goes on with the
// next when it is back.
func TestSilence(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	s.publish("")
	cut := s.worker(func(c *worker.Config) { c.Concurrency = 1 })
	began, goOn := make(chan int, 2), make(chan bool)
	worker.Handle(cut, "do", 1, func(_ context.Context, task worker.Task, _ any) (string, error) {
		began <- task.Redelivery
		<-goOn
		return "late", nil
	})
	stop := s.run(cut)
	s.start("e", `{}`)
	receive(t, "the handler", began)
	s.decide(func(call) fate { return loseCall })
	other := s.worker(func(c *worker.Config) { c.ID, c.URL = "w2", s.client.Base })
	worker.Handle(other, "do", 1, func(_ context.Context, task worker.Task, _ any) ([]int, error) {
		return []int{task.Attempt, task.Redelivery}, nil
	})
	stopOther := s.run(other)
	s.succeeds("e", "[1,1]")
	stopOther()
	s.decide(nil)
	close(goOn)
	s.start("next", `{}`)
	s.succeeds("next", `"late"`)
	s.succeeds("e", "[1,1]") // the late report of it has changed nothing
	stop()
	_, answers := seen[wire.CompleteRequest, wire.ReportResponse](s, "tasks/complete")
	if o := answers[0].Results[0].Outcome; o != wire.ReportStale {
		t.Errorf("the late report is %s", o)
	}
}

// TestServerComesLater: a worker may be started before its server.
func TestServerComesLater(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	s.publish("")
	w := s.worker(nil)
	var calls atomic.Int64
	ok(w, &calls)
	var open atomic.Bool
	s.decide(func(call) fate {
		if open.Load() {
			return pass
		}
		return loseCall
	})
	s.run(w)
	s.start("e", `{}`)
	time.Sleep(200 * time.Millisecond)
	if queued, claimed := s.queue(); queued != 1 || claimed != 0 {
		t.Errorf("%d tasks are queued and %d claimed, want 1 and 0", queued, claimed)
	}
	open.Store(true)
	s.succeeds("e", "1")
}

// TestStopWhileWaiting: a worker that waits for its server ends when it is asked to.
func TestStopWhileWaiting(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	w := s.worker(nil)
	var calls atomic.Int64
	ok(w, &calls)
	tried := make(chan bool, 100)
	s.decide(func(call) fate {
		tried <- true
		return loseCall
	})
	stop := s.run(w)
	receive(t, "a try to register", tried)
	stop()
}
