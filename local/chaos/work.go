package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/orrery-dev/orrery/local/stack"
	"github.com/orrery-dev/orrery/shared/worker"
)

const (
	workers     = 20
	concurrency = 4
)

// errBusy is the failure that the document tries again after.
var errBusy = &worker.Error{Code: "Busy", Message: "the first attempt fails"}

// work runs the workers, spread over all ways in, until stop is called. Its error is the first that a worker ended with.
func (r *rig) work() (stop func() error) {
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	errs := make([]error, workers)
	for i := range workers {
		way := r.ways[i%len(r.ways)]
		w := worker.New(worker.Config{
			ID: fmt.Sprintf("worker-%d", i+1), URL: way.Base, Concurrency: concurrency, Drain: time.Second,
			Log: slog.New(slog.NewTextHandler(r.log, &slog.HandlerOptions{Level: slog.LevelError})),
		})
		id := fmt.Sprintf("worker-%d", i+1)
		worker.Handle(w, stack.MixWork, 1, func(ctx context.Context, t worker.Task, in stack.MixJob) (int, error) {
			if err := r.ledger.effect(context.WithoutCancel(ctx), id, t.Assignment); err != nil {
				return 0, err
			}
			select {
			case <-time.After(time.Duration(in.MS) * time.Millisecond):
			case <-ctx.Done():
				return 0, context.Cause(ctx)
			}
			if in.Fails && t.Attempt == 1 {
				return 0, errBusy
			}
			return in.Echo, nil
		})
		running.Go(func() { errs[i] = w.Run(ctx) })
	}
	return sync.OnceValue(func() error {
		cancel()
		running.Wait()
		return errors.Join(errs...)
	})
}
