package stack

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/orrery-dev/orrery/local/gateway"
	"github.com/orrery-dev/orrery/shared/builtin"
	"github.com/orrery-dev/orrery/shared/config"
	"github.com/orrery-dev/orrery/shared/cron"
	"github.com/orrery-dev/orrery/shared/frontend"
	"github.com/orrery-dev/orrery/shared/store"
	"github.com/orrery-dev/orrery/shared/telemetry"
)

// tick is one invocation of a scheduled function.
type tick func(ctx context.Context) error

// startTicks invokes a scheduled function at the rate of its rule, the first time at once, until the stack is closed.
func (s *Stack) startTicks(ctx context.Context, f gateway.Function, bootstrap string) error {
	once, err := s.ticker(ctx, f, bootstrap)
	if err != nil {
		return fmt.Errorf("function %s: %w", f.Name, err)
	}
	every := f.Every
	if s.options.TickEvery > 0 {
		every = s.options.TickEvery
	}
	s.ticks.Go(func() {
		wait := time.NewTicker(every)
		defer wait.Stop()
		for {
			ctx, cancel := context.WithTimeout(s.ticking, f.Timeout)
			err := once(ctx)
			cancel()
			if err != nil && s.ticking.Err() == nil {
				s.options.Log.Error("function failed", telemetry.KeyFunction, f.Name, telemetry.KeyError, err)
			}
			select {
			case <-wait.C:
			case <-s.ticking.Done():
				return
			}
		}
	})
	return nil
}

// ticker gives the invocation of a scheduled function: its own binary under the emulator, or the same in this process.
func (s *Stack) ticker(ctx context.Context, f gateway.Function, bootstrap string) (tick, error) {
	if !s.options.RIE {
		return s.tickHere(ctx, f)
	}
	pool, err := s.pool(ctx, f, bootstrap)
	if err != nil {
		return nil, err
	}
	s.pools = append(s.pools, pool)
	return func(ctx context.Context) error {
		event, err := json.Marshal(map[string]any{"source": "aws.events", "detail-type": "Scheduled Event", "time": time.Now().UTC().Format(time.RFC3339)})
		if err == nil {
			_, err = pool.Invoke(ctx, event)
		}
		return err
	}, nil
}

// tickHere makes the scheduled function in this process, from the same settings as its binary.
func (s *Stack) tickHere(ctx context.Context, f gateway.Function) (tick, error) {
	c, err := s.settings(config.Cron, f)
	if err != nil {
		return nil, err
	}
	db, err := store.Open(ctx, c.DatabaseURL, store.Options{MaxConns: 2, Application: "orrery-" + f.Name})
	if err != nil {
		return nil, err
	}
	s.closers = append(s.closers, db.Close)
	o := cron.Options{Claimant: f.Name, Workers: c.ScheduleWorkers, Lease: c.ScheduleLease, Heartbeat: c.ScheduleHeartbeat, Log: s.options.Log}
	allow, err := builtin.ParseAllow(c.HTTPAllow)
	if err != nil {
		return nil, err
	}
	if caller := builtin.NewHTTP(allow); caller != nil {
		o.HTTP = caller
	}
	if caller, err := builtin.NewLambda(ctx, c.LambdaAllow); err != nil {
		return nil, err
	} else if caller != nil {
		o.Lambda = caller
	}
	runner, err := cron.New(db, frontend.New(db, frontend.Options{}), o)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) error {
		_, err := runner.Tick(ctx)
		return err
	}, nil
}

// passedOn are settings of the nodes' environment that functions must have as well.
var passedOn = []string{"ORRERY_HTTP_ALLOW", "ORRERY_LAMBDA_ALLOW", "ORRERY_SCHEDULE_LEASE"}

// passOn gives those that are set.
func passOn(v map[string]string) {
	for _, name := range passedOn {
		if value, ok := os.LookupEnv(name); ok {
			v[name] = value
		}
	}
}
