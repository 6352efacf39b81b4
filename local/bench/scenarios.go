package main

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// sequence is S1 and S2: n tasks one after the other; a client starts an execution and waits for its result.
func sequence(ctx context.Context, r *rig, o options, n int) (res result, err error) {
	c := client(r.url, o.clients)
	if err := publish(ctx, c, "bench", chain(n)); err != nil {
		return res, err
	}
	// More handlers than clients: one is always free for what comes next.
	stop := work(ctx, r.url, 2*o.clients, func(json.RawMessage) {})
	defer func() { err = firstError(err, stop()) }()
	return closedLoop(ctx, r, o, o.clients, n, func(ctx context.Context) error {
		return do(ctx, c, "bench", object{"n": 1})
	})
}

// fanOut is S3: a Map over o.width items, o.fan executions at once.
func fanOut(ctx context.Context, r *rig, o options) (res result, err error) {
	c := client(r.url, o.fan)
	document := object{"StartAt": "Fan", "States": object{"Fan": object{
		"Type": "Map", "End": true, "ItemsPath": "$.items", "ItemProcessor": chain(1),
	}}}
	if err := publish(ctx, c, "bench", document); err != nil {
		return res, err
	}
	items := make([]int, o.width)
	stop := work(ctx, r.url, 200, func(json.RawMessage) {})
	defer func() { err = firstError(err, stop()) }()
	return closedLoop(ctx, r, o, o.fan, o.width, func(ctx context.Context) error {
		return do(ctx, c, "bench", object{"items": items})
	})
}

// pickup is S4: from the call that starts an execution to the first line of its handler.
func pickup(ctx context.Context, r *rig, o options) (res result, err error) {
	c := client(r.url, 4)
	if err := publish(ctx, c, "bench", chain(1)); err != nil {
		return res, err
	}
	handled := make(chan time.Time, 1)
	stop := work(ctx, r.url, 4, func(json.RawMessage) { handled <- time.Now() })
	defer func() { err = firstError(err, stop()) }()
	one := func() (time.Duration, error) {
		from := time.Now()
		if _, err := start(ctx, c, "bench", object{}, 0); err != nil {
			return 0, err
		}
		select {
		case at := <-handled:
			return at.Sub(from), nil
		case <-time.After(30 * time.Second):
			return 0, fmt.Errorf("no worker got the task within 30 s")
		}
	}
	for range 10 {
		if _, err := one(); err != nil {
			return res, err
		}
	}
	if err := r.measure(ctx, o); err != nil {
		return res, err
	}
	var latencies []time.Duration
	for range o.picks {
		if err := pause(ctx, random(20*time.Millisecond, 60*time.Millisecond)); err != nil {
			return res, err
		}
		took, err := one()
		if err != nil {
			return res, err
		}
		latencies = append(latencies, took)
	}
	return r.meter.stop(ctx, len(latencies), len(latencies), latencies)
}

// drain is S5: the tasks are queued first, then one process does them.
func drain(ctx context.Context, r *rig, o options) (res result, _ error) {
	c := client(r.url, o.clients)
	if err := publish(ctx, c, "bench", chain(1)); err != nil {
		return res, err
	}
	if err := queue(ctx, o.clients, o.backlog, func(ctx context.Context) error {
		_, err := start(ctx, c, "bench", object{}, 0)
		return err
	}); err != nil {
		return res, err
	}
	if err := r.measure(ctx, o); err != nil {
		return res, err
	}
	var done atomic.Int64
	all := make(chan struct{})
	stop := work(ctx, r.url, o.workers, func(json.RawMessage) {
		if done.Add(1) == int64(o.backlog) {
			close(all)
		}
	})
	select {
	case <-all:
	case <-time.After(2 * time.Minute):
	case <-ctx.Done():
	}
	// The worker ends when its last report has been answered, so the time covers durable completions.
	if err := stop(); err != nil {
		return res, err
	}
	if ctx.Err() != nil {
		return res, ctx.Err()
	}
	return r.meter.stop(ctx, int(done.Load()), int(done.Load()), nil)
}

// queue makes n calls on so many goroutines and gives the first error.
func queue(ctx context.Context, goroutines, n int, call func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var next atomic.Int64
	var clients sync.WaitGroup
	for range goroutines {
		clients.Go(func() {
			for ctx.Err() == nil && next.Add(1) <= int64(n) {
				if err := call(ctx); err != nil {
					cancel(err)
				}
			}
		})
	}
	clients.Wait()
	return context.Cause(ctx)
}

func firstError(a, b error) error {
	if a != nil {
		return a
	}
	return b
}
