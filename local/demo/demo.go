package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/orrery-dev/orrery/local/stack"
	"github.com/orrery-dev/orrery/shared/wire"
)

const workflow = "order"

// demo drives the orders and watches them.
type demo struct {
	stack  *stack.Stack
	client *wire.Client
	orders []order

	begun   time.Time
	started atomic.Int64
	signals atomic.Int64
	killed  string
	epochs  map[int]int64 // of the partitions, before the kill
}

func (d *demo) run(ctx context.Context, limit time.Duration) error {
	if err := d.publish(ctx); err != nil {
		return err
	}
	fmt.Printf("demo: starting %d orders through the functions\n", len(d.orders))
	d.begun = time.Now()
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("the orders have not ended within %s", limit))
	defer cancel()
	if err := d.startSchedule(ctx); err != nil {
		return err
	}
	var warehouse sync.WaitGroup
	defer warehouse.Wait()
	work, running := errgroup.WithContext(ctx)
	work.Go(func() error { return d.start(running, &warehouse) })
	work.Go(func() error { return d.watch(running) })
	if err := work.Wait(); err != nil {
		return err
	}
	return d.report(ctx)
}

func (d *demo) publish(ctx context.Context) error {
	text, err := os.ReadFile("local/examples/orders/order.asl.yaml")
	if err != nil {
		return err
	}
	document, err := json.Marshal(string(text))
	if err != nil {
		return err
	}
	return d.post(ctx, wire.Path("workflows"), wire.PublishRequest{Name: workflow, Document: document}, nil)
}

// start begins the orders, a few at a time, and packs each that will be packed. The signal may come before the order
// waits for it: it is kept.
func (d *demo) start(ctx context.Context, warehouse *sync.WaitGroup) error {
	var starts errgroup.Group
	starts.SetLimit(4)
	for _, o := range d.orders {
		starts.Go(func() error {
			req := wire.StartRequest{Workflow: workflow, Name: o.ID, Input: o.text}
			if err := d.post(ctx, wire.Path("executions"), req, nil); err != nil {
				return fmt.Errorf("start %s: %w", o.ID, err)
			}
			d.started.Add(1)
			if o.Packing != nil {
				warehouse.Go(func() { d.pack(ctx, o) })
			}
			return nil
		})
	}
	return starts.Wait()
}

// pack sends the signal of the warehouse. An order that has ended by then (rejected, out of stock) is not packed.
func (d *demo) pack(ctx context.Context, o order) {
	select {
	case <-ctx.Done():
		return
	case <-time.After(o.packedAfter()):
	}
	payload, err := json.Marshal(map[string]any{"parcels": o.Packing.Parcels})
	if err == nil {
		err = d.post(ctx, wire.Path("executions", o.ID, "signals", "packed"), wire.SignalRequest{Payload: payload}, nil)
	}
	switch {
	case err == nil:
		d.signals.Add(1)
	case !errors.Is(err, &wire.Error{Code: wire.ExecutionFinished}) && ctx.Err() == nil:
		fmt.Printf("demo: signal to %s: %v\n", o.ID, err)
	}
}

// watch shows progress each second, kills a node when a quarter of the orders have ended, and returns when all have.
func (d *demo) watch(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(time.Second):
		}
		all, err := d.list(ctx)
		if err != nil {
			return err
		}
		ended := 0
		for _, e := range all {
			if e.Status.Ended() {
				ended++
			}
		}
		fmt.Printf("demo: %3.0f s  started %3d  running %3d  ended %3d  packed %3d\n", time.Since(d.begun).Seconds(),
			d.started.Load(), len(all)-ended, ended, d.signals.Load())
		if ended == len(d.orders) {
			return nil
		}
		if d.killed == "" && ended >= len(d.orders)/4 {
			if err := d.kill(ctx); err != nil {
				return err
			}
		}
	}
}

func (d *demo) kill(ctx context.Context) error {
	var err error
	if d.epochs, err = d.partitions(ctx); err != nil {
		return err
	}
	n := d.stack.Nodes[0]
	fmt.Printf("demo: kill -9 %s (pid %d)\n", n.ID, n.Pid())
	d.killed = n.ID
	return n.Kill()
}

// partitions gives the epoch of each partition.
func (d *demo) partitions(ctx context.Context) (map[int]int64, error) {
	var l wire.PartitionList
	if err := d.get(ctx, wire.Path("partitions"), &l); err != nil {
		return nil, err
	}
	epochs := map[int]int64{}
	for _, p := range l.Partitions {
		epochs[p.Partition] = p.Epoch
	}
	return epochs, nil
}

func (d *demo) list(ctx context.Context) ([]wire.Execution, error) {
	var l wire.ExecutionList
	err := d.get(ctx, wire.Path("executions")+"?limit=1000&workflow="+workflow, &l)
	return l.Executions, err
}

func (d *demo) get(ctx context.Context, path string, answer any) error {
	return d.call(ctx, http.MethodGet, path, nil, answer)
}

func (d *demo) post(ctx context.Context, path string, body, answer any) error {
	return d.call(ctx, http.MethodPost, path, body, answer)
}

// call repeats what is temporary: every call of the demo can be repeated safely.
func (d *demo) call(ctx context.Context, method, path string, body, answer any) error {
	for {
		_, err := d.client.Call(ctx, method, path, nil, body, answer)
		if err == nil || !wire.Temporary(err) {
			return err
		}
		select {
		case <-ctx.Done():
			return errors.Join(err, context.Cause(ctx))
		case <-time.After(250 * time.Millisecond):
		}
	}
}
