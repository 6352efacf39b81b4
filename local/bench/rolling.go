package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/orrery-dev/orrery/shared/wire"
)

// rolling has one-task workflows come in at a steady rate through both of two nodes, first while nothing else happens, then while
// the nodes are replaced one after the other, as a deployment does. It prints the latencies from start to end of both times; the
// result is that of the second.
func rolling(ctx context.Context, r *rig, o options) (res result, err error) {
	other, err := r.bench.startNode(ctx, r.database, "bench-2")
	if err != nil {
		return res, err
	}
	defer other.stop()
	if err := r.share(ctx); err != nil {
		return res, err
	}
	s := &steady{rate: o.rate, ways: []*wire.Client{client(r.url, 64), client(other.url, 64)}}
	if err := publish(ctx, s.ways[0], "bench", chain(1)); err != nil {
		return res, err
	}
	for _, url := range []string{r.url, other.url} {
		stop := work(ctx, url, 64, func(json.RawMessage) {})
		defer func() { err = firstError(err, stop()) }()
	}
	if _, err := s.run(ctx, func(ctx context.Context) error { return pause(ctx, o.warmUp) }); err != nil {
		return res, err
	}
	quiet, err := s.run(ctx, func(ctx context.Context) error { return pause(ctx, o.duration) })
	if err != nil {
		return res, err
	}
	if err := r.measure(ctx, o); err != nil {
		return res, err
	}
	s.repeats.Store(0)
	s.more.Store(0)
	moving, err := s.run(ctx, func(ctx context.Context) error { return r.replace(ctx, r.node, other) })
	if err != nil {
		return res, err
	}
	if res, err = r.meter.stop(ctx, len(moving), len(moving), moving); err != nil {
		return res, err
	}
	fmt.Printf("rolling: p99 from start to end %v while nothing happens, %v while both nodes are replaced (%.1f times); "+
		"%d of %d calls were made once more, %d of them more than once\n",
		p99(quiet), p99(moving), float64(p99(moving))/float64(p99(quiet)), s.repeats.Load(), 2*len(moving), s.more.Load())
	return res, nil
}

// p99 is the latency that one of a hundred is above.
func p99(list []time.Duration) time.Duration {
	slices.Sort(list)
	return list[len(list)*99/100].Round(100 * time.Microsecond)
}

// replace stops each node and starts it again, and lets the partitions come to rest before the next one.
func (r *rig) replace(ctx context.Context, nodes ...*node) error {
	for _, n := range nodes {
		n.stop()
		if err := n.start(ctx); err != nil {
			return err
		}
		if err := r.share(ctx); err != nil {
			return err
		}
	}
	r.meter.node = nodes[0].cmd.Process.Pid
	return nil
}

// steady is a load whose rate does not depend on the answers.
type steady struct {
	rate    int
	ways    []*wire.Client
	started int
	// repeats are calls that were answered with 'try again', and made at the other node; more those that it sent away as well.
	repeats, more atomic.Int64
}

// run starts executions until the other function has returned, and gives the latencies from their starts to their ends once all have
// ended.
func (s *steady) run(ctx context.Context, until func(context.Context) error) (latencies []time.Duration, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	over := make(chan error, 1)
	go func() { over <- until(ctx) }()
	tick := time.NewTicker(time.Second / time.Duration(s.rate))
	defer tick.Stop()
	var mu sync.Mutex
	var running sync.WaitGroup
	for {
		select {
		case err := <-over:
			running.Wait()
			return latencies, firstError(context.Cause(ctx), err)
		case <-tick.C:
		}
		s.started++
		first := s.started
		running.Go(func() {
			from := time.Now()
			if err := s.one(ctx, first); err != nil {
				cancel(err)
				return
			}
			took := time.Since(from)
			mu.Lock()
			defer mu.Unlock()
			latencies = append(latencies, took)
		})
	}
}

// one starts an execution and waits for its end.
func (s *steady) one(ctx context.Context, first int) error {
	q := wire.StartRequest{Workflow: "bench", Name: fmt.Sprintf("rolling-%d", first), Input: json.RawMessage("{}"), WaitMS: longestWait.Milliseconds()}
	var a wire.StartResponse
	if err := s.call(ctx, first, http.MethodPost, wire.Path("executions"), q, &a); err != nil {
		return err
	}
	for r := (wire.Result{Status: a.Status}); !r.Status.Ended(); {
		path := wire.Path("executions", a.ID, "result") + fmt.Sprintf("?wait_ms=%d", longestWait.Milliseconds())
		if err := s.call(ctx, first, http.MethodGet, path, nil, &r); err != nil {
			return err
		}
	}
	return nil
}

// call makes a call, and again at the other node where the answer is to try again, as a load balancer does.
func (s *steady) call(ctx context.Context, first int, method, path string, body, answer any) error {
	for try := 0; ; try++ {
		_, err := s.ways[(first+try)%2].Call(ctx, method, path, nil, body, answer)
		switch {
		case err == nil || !wire.Temporary(err) || try == mostTries:
			return err
		case try == 0:
			s.repeats.Add(1)
			continue // at once
		case try == 1:
			s.more.Add(1)
		}
		if err := pause(ctx, 50*time.Millisecond); err != nil {
			return err
		}
	}
}

// mostTries bounds the tries of a call.
const mostTries = 200
