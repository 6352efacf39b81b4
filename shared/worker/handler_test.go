package worker_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/orrery-dev/orrery/shared/wire"
	"github.com/orrery-dev/orrery/shared/worker"
)

type order struct {
	Number int      `json:"number"`
	Items  []string `json:"items"`
}

type receipt struct {
	Paid int `json:"paid"`
}

func TestTypedHandler(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	s.publish(`,"TimeoutSeconds":60`)
	w := s.worker(nil)
	tasks := make(chan worker.Task, 1)
	worker.Handle(w, "do", 1, func(_ context.Context, task worker.Task, in order) (receipt, error) {
		tasks <- task
		return receipt{Paid: in.Number * len(in.Items)}, nil
	})
	s.run(w)
	s.start("e", `{"number":21,"items":["a","b"],"other":true}`)
	s.succeeds("e", `{"paid":42}`)
	a := receive(t, "the task", tasks)
	if a.Execution != "e" || a.Workflow != "w" || a.Version != 1 || a.Unit != "Do" || a.Task != "do" || a.ContractVersion != 1 {
		t.Errorf("the task says where it is from: %+v", a.Assignment)
	}
	if a.Attempt != 1 || a.Redelivery != 0 || a.IdempotencyKey == "" || a.TimeoutMS != 60_000 {
		t.Errorf("the task says which try it is: %+v", a.Assignment)
	}
}

// TestFailures: what a handler does, and what becomes of a task that may be tried once more whatever the error is.
func TestFailures(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	s.publish(`,"TimeoutSeconds":60,"Retry":[{"ErrorEquals":["States.ALL"],"IntervalSeconds":1,"MaxAttempts":1}]`)
	w := s.worker(nil)
	worker.Handle(w, "do", 1, func(_ context.Context, _ worker.Task, in struct{ How string }) (any, error) {
		switch in.How {
		case "named":
			return nil, worker.Errorf("Card.Declined", "limit of %d", 100)
		case "wrapped":
			return nil, errors.Join(errors.New("charge"), worker.Errorf("Card.Declined", "limit"))
		case "final":
			return nil, worker.Finalf("Card.Stolen", "keep it")
		case "plain":
			return nil, errors.New("no luck")
		case "nameless":
			return nil, &worker.Error{Message: "no code"}
		case "long":
			return nil, worker.Errorf(strings.Repeat("é", 300), "%s", strings.Repeat("é", 40_000))
		case "panic":
			panic("out of paper")
		case "odd":
			return make(chan int), nil
		case "large":
			return strings.Repeat("x", maxPayload), nil
		}
		return nil, nil
	})
	s.run(w)
	tests := []struct {
		name, input string
		code        string
		cause       string // how the message begins
		attempts    int
	}{
		{"named", `{"How":"named"}`, "Card.Declined", "limit of 100", 2},
		{"wrapped", `{"How":"wrapped"}`, "Card.Declined", "limit", 2},
		{"final", `{"How":"final"}`, "Card.Stolen", "keep it", 1},
		{"plain", `{"How":"plain"}`, worker.CodeError, "no luck", 2},
		{"nameless", `{"How":"nameless"}`, worker.CodeError, "no code", 2},
		{"long", `{"How":"long"}`, strings.Repeat("é", 256), strings.Repeat("é", 32_768), 2},
		{"panic", `{"How":"panic"}`, worker.CodePanic, "out of paper", 2},
		{"input", `{"How":7}`, worker.CodeInput, "json: cannot unmarshal number", 1},
		{"odd", `{"How":"odd"}`, worker.CodeOutput, "json: unsupported type: chan int", 1},
		{"large", `{"How":"large"}`, worker.CodeOutput, "the output was refused: PAYLOAD_TOO_LARGE", 1},
	}
	for _, test := range tests {
		s.start(test.name, test.input)
	}
	for _, test := range tests {
		e := s.fails(test.name, test.code, test.attempts)
		if !strings.HasPrefix(e.Message, test.cause) {
			t.Errorf("%s: %.200q (%d bytes), want %.200q", test.name, e.Message, len(e.Message), test.cause)
		}
	}
	if queued, claimed := s.queue(); queued+claimed != 0 {
		t.Errorf("%d tasks are queued and %d claimed after all has ended", queued, claimed)
	}
}

// TestPanicHasStack: what a handler's author needs is in the history.
func TestPanicHasStack(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	s.publish("")
	w := s.worker(nil)
	worker.Handle(w, "do", 1, func(context.Context, worker.Task, any) (any, error) { panic("out of paper") })
	s.run(w)
	s.start("e", `{}`)
	s.fails("e", worker.CodePanic, 1)
	var p wire.HistoryPage
	s.call("GET", wire.Path("executions", "e", "history"), nil, &p)
	for _, e := range p.Events {
		if e.Type == "TaskFailed" && strings.Contains(string(e.Data), "handler_test.go") {
			return
		}
	}
	t.Errorf("no failure with the place of the panic in %+v", p.Events)
}

// TestUncertain: the same attempt is delivered again under the same key.
func TestUncertain(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	s.publish("")
	w := s.worker(nil)
	var mu sync.Mutex
	var got []worker.Task
	worker.Handle(w, "do", 1, func(_ context.Context, task worker.Task, _ any) (int, error) {
		mu.Lock()
		defer mu.Unlock()
		if got = append(got, task); len(got) < 3 {
			return 0, &worker.Uncertain{Reason: "no answer from the bank"}
		}
		return len(got), nil
	})
	s.run(w)
	s.start("e", `{}`)
	s.succeeds("e", "3")
	for i, task := range got {
		if task.Attempt != 1 || task.Redelivery != i || task.IdempotencyKey != got[0].IdempotencyKey {
			t.Errorf("delivery %d: attempt %d, redelivery %d, key %s, at first %s", i, task.Attempt, task.Redelivery, task.IdempotencyKey, got[0].IdempotencyKey)
		}
	}
	if n := s.count("e", "TaskRedelivered"); n != 2 || len(got) != 3 {
		t.Errorf("%d redeliveries are recorded and %d deliveries were made", n, len(got))
	}
}

// TestCancelReachesHandler: a heartbeat brings it.
func TestCancelReachesHandler(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	s.publish("")
	w := s.worker(nil)
	began, cause := make(chan bool, 1), make(chan error, 1)
	worker.Handle(w, "do", 1, func(ctx context.Context, _ worker.Task, _ any) (any, error) {
		began <- true
		<-ctx.Done()
		cause <- context.Cause(ctx)
		return nil, ctx.Err()
	})
	s.run(w)
	s.start("e", `{}`)
	receive(t, "the handler to begin", began)
	s.call("POST", wire.Path("executions", "e", "cancel"), wire.CancelRequest{}, nil)
	if err := receive(t, "the end of the handler's context", cause); !errors.Is(err, worker.ErrCancelled) {
		t.Errorf("the context ended by %v", err)
	}
	if r := s.result("e"); r.Status != wire.Cancelled {
		t.Errorf("the execution is %s", r.Status)
	}
	await(t, "the worker to let go of the task", func() bool {
		beats, _ := seen[wire.HeartbeatRequest, wire.HeartbeatResponse](s, "workers/heartbeat")
		return len(beats[len(beats)-1].Tokens) == 0
	})
}

// TestTimeoutEndsContext: the handler hears of it by its own clock.
func TestTimeoutEndsContext(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	s.publish(`,"TimeoutSeconds":1`)
	w := s.worker(nil)
	cause := make(chan error, 1)
	worker.Handle(w, "do", 1, func(ctx context.Context, _ worker.Task, _ any) (any, error) {
		<-ctx.Done()
		cause <- context.Cause(ctx)
		return "too late", nil
	})
	s.decide(func(c call) fate {
		if c.path == "workers/heartbeat" {
			return loseCall // it may bring the news as well
		}
		return pass
	})
	s.run(w)
	s.start("e", `{}`)
	if err := receive(t, "the end of the handler's context", cause); !errors.Is(err, worker.ErrTimedOut) {
		t.Errorf("the context ended by %v", err)
	}
	s.result("e") // the worker's answer or the time-out comes first
	if n := s.count("e", "TaskScheduled"); n != 1 {
		t.Errorf("%d attempts, want 1", n)
	}
}

// TestProgress: what a handler tells is in the history once for each change.
func TestProgress(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	s.publish("")
	w := s.worker(nil)
	worker.Handle(w, "do", 1, func(_ context.Context, task worker.Task, _ any) (any, error) {
		for step := range 2 {
			if err := task.Progress(map[string]int{"step": step}); err != nil {
				return nil, err
			}
			await(t, "the progress in the history", func() bool { return s.count("e", "TaskProgressed") == step+1 })
		}
		return nil, task.Progress(make(chan int))
	})
	s.run(w)
	s.start("e", `{}`)
	s.fails("e", worker.CodeError, 1)
	if n := s.count("e", "TaskProgressed"); n != 2 {
		t.Errorf("%d records of progress, want 2", n)
	}
}

// TestConcurrency: no more handlers at once than the bound, and as many as it.
func TestConcurrency(t *testing.T) {
	t.Parallel()
	const bound, tasks = 3, 12
	s := newServer(t)
	s.publish("")
	w := s.worker(func(c *worker.Config) { c.Concurrency = bound })
	began, goOn := make(chan bool, tasks), make(chan bool)
	worker.Handle(w, "do", 1, func(ctx context.Context, _ worker.Task, _ any) (any, error) {
		began <- true
		select {
		case <-goOn:
		case <-ctx.Done():
		}
		return nil, nil
	})
	s.run(w)
	for i := range tasks {
		s.start(name("e", i), `{}`)
	}
	for done := 0; done < tasks; done++ {
		atWork := min(bound, tasks-done)
		await(t, "all slots to be taken", func() bool { return len(began) == done+atWork })
		if done == 0 || done == tasks/2 {
			time.Sleep(100 * time.Millisecond) // a handler too many would begin now
		}
		if len(began) != done+atWork {
			t.Fatalf("after %d tasks %d have begun, and %d may be at work", done, len(began), bound)
		}
		goOn <- true
	}
	for i := range tasks {
		s.succeeds(name("e", i), "null")
	}
	polls, _ := seen[wire.PollRequest, wire.PollResponse](s, "workers/poll")
	for _, p := range polls {
		if p.MaxTasks < 1 || p.MaxTasks > bound {
			t.Errorf("a poll asked for %d tasks", p.MaxTasks)
		}
	}
}

// TestConfiguration: what cannot work is told before any work.
func TestConfiguration(t *testing.T) {
	none := func(context.Context, worker.Task, json.RawMessage) (any, error) { return nil, nil }
	t.Run("no handler", func(t *testing.T) {
		if err := worker.New(worker.Config{URL: "http://127.0.0.1:1", ID: "w"}).Run(t.Context()); err == nil {
			t.Error("a worker without a handler runs")
		}
	})
	t.Run("two handlers", func(t *testing.T) {
		w := worker.New(worker.Config{URL: "http://127.0.0.1:1", ID: "w"})
		worker.Handle(w, "do", 1, none)
		worker.Handle(w, "do", 2, none)
		defer func() {
			if p := recover(); p == nil {
				t.Error("a second handler of a contract is taken")
			}
		}()
		worker.Handle(w, "do", 1, none)
	})
	t.Run("refused", func(t *testing.T) {
		s := newServer(t)
		w := s.worker(func(c *worker.Config) { c.ID = strings.Repeat("w", 129) })
		worker.Handle(w, "do", 1, none)
		if err := w.Run(t.Context()); !errors.Is(err, &wire.Error{Code: wire.InvalidRequest}) || !strings.Contains(err.Error(), "worker_id") {
			t.Errorf("a worker with an id that is too long ended with %v", err)
		}
	})
}
