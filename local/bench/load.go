package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/orrery-dev/orrery/shared/wire"
	"github.com/orrery-dev/orrery/shared/worker"
)

// client makes the API's calls over kept connections.
func client(base string, connections int) *wire.Client {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxIdleConns, t.MaxIdleConnsPerHost = connections, connections
	return &wire.Client{Base: base, HTTP: &http.Client{Transport: t}}
}

// publish stores a document under a name.
func publish(ctx context.Context, c *wire.Client, name string, document any) error {
	text, err := json.Marshal(document)
	if err != nil {
		return err
	}
	_, err = c.Call(ctx, http.MethodPost, wire.Path("workflows"), nil, wire.PublishRequest{Name: name, Document: text}, nil)
	return err
}

type object = map[string]any

// chain is a workflow of n tasks in sequence.
func chain(n int) object {
	states := object{}
	for i := range n {
		s := object{"Type": "Task", "Resource": "task:bench.step", "TimeoutSeconds": 60}
		if i == n-1 {
			s["End"] = true
		} else {
			s["Next"] = fmt.Sprintf("Step%d", i+1)
		}
		states[fmt.Sprintf("Step%d", i)] = s
	}
	return object{"StartAt": "Step0", "States": states}
}

// work runs one worker process' worth of handlers for the contract bench.step until the returned stop is called.
func work(ctx context.Context, base string, concurrency int, f func(input json.RawMessage)) (stop func() error) {
	ctx, cancel := context.WithCancel(ctx)
	w := worker.New(worker.Config{URL: base, ID: "bench", Concurrency: concurrency,
		Log: slog.New(slog.NewTextHandler(io.Discard, nil))})
	worker.Handle(w, "bench.step", 1, func(_ context.Context, t worker.Task, in json.RawMessage) (json.RawMessage, error) {
		f(in)
		return in, nil
	})
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()
	return func() error { cancel(); return <-ended }
}

// start begins an execution and waits for its end as long as it may; zero is not at all.
func start(ctx context.Context, c *wire.Client, workflow string, input any, wait time.Duration) (wire.StartResponse, error) {
	var a wire.StartResponse
	text, err := json.Marshal(input)
	if err != nil {
		return a, err
	}
	q := wire.StartRequest{Workflow: workflow, Input: text, WaitMS: wait.Milliseconds()}
	_, err = c.Call(ctx, http.MethodPost, wire.Path("executions"), nil, q, &a)
	return a, err
}

// do starts an execution and waits for its end, which must be a success.
func do(ctx context.Context, c *wire.Client, workflow string, input any) error {
	a, err := start(ctx, c, workflow, input, longestWait)
	if err != nil {
		return err
	}
	r := wire.Result{ID: a.ID, Status: a.Status}
	for !r.Status.Ended() {
		path := wire.Path("executions", a.ID, "result") + fmt.Sprintf("?wait_ms=%d", longestWait.Milliseconds())
		if _, err := c.Call(ctx, http.MethodGet, path, nil, nil, &r); err != nil {
			return err
		}
	}
	if r.Status != wire.Succeeded {
		return fmt.Errorf("%s ended %s", r.ID, r.Status)
	}
	return nil
}

// longestWait is the longest that one call may wait.
const longestWait = 20 * time.Second

// closedLoop runs call in n clients for the warm-up and the measured time.
func closedLoop(ctx context.Context, r *rig, o options, n, stepsPer int, call func(ctx context.Context) error) (result, error) {
	var (
		mu        sync.Mutex
		latencies []time.Duration
		measuring bool
		failed    atomic.Int64
		lastError atomic.Value
		clients   sync.WaitGroup
	)
	loop, stop := context.WithCancel(ctx)
	defer clients.Wait()
	defer stop()
	for range n {
		clients.Go(func() {
			for loop.Err() == nil {
				from := time.Now()
				if err := call(loop); err != nil {
					if loop.Err() == nil {
						failed.Add(1)
						lastError.Store(err)
						time.Sleep(5 * time.Millisecond)
					}
					continue
				}
				took := time.Since(from)
				mu.Lock()
				if measuring {
					latencies = append(latencies, took)
				}
				mu.Unlock()
			}
		})
	}
	if err := pause(ctx, o.warmUp); err != nil {
		return result{}, err
	}
	if err := r.measure(ctx, o); err != nil {
		return result{}, err
	}
	mu.Lock()
	measuring = true
	mu.Unlock()
	err := pause(ctx, o.duration)
	mu.Lock()
	measuring = false
	taken := latencies
	mu.Unlock()
	if err != nil {
		return result{}, err
	}
	res, err := r.meter.stop(ctx, len(taken), len(taken)*stepsPer, taken)
	res.Errors = int(failed.Load())
	if len(taken) == 0 && res.Errors > 0 {
		return res, fmt.Errorf("no call succeeded: %w", lastError.Load().(error))
	}
	return res, err
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

func random(from, to time.Duration) time.Duration { return from + rand.N(to-from) }
