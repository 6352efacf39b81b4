// Command cron is the Lambda function behind a schedule rule: each invocation is one tick, which makes occurrences of due
// instants, starts what is due, and returns. It needs nothing but the database, and is safe beside any number of nodes and of
// other ticks. What it needs is read from its environment (package config); it holds nothing between two ticks but a
// connection or two and the definitions that it has read.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/aws/aws-lambda-go/lambda"

	"github.com/orrery-dev/orrery/shared/builtin"
	"github.com/orrery-dev/orrery/shared/config"
	"github.com/orrery-dev/orrery/shared/cron"
	"github.com/orrery-dev/orrery/shared/frontend"
	"github.com/orrery-dev/orrery/shared/store"
	"github.com/orrery-dev/orrery/shared/telemetry"
)

// function is the folder's name.
const function = "cron"

const (
	// stopEarly is kept back from the function's time: what is claimed by then has its start written.
	stopEarly = 5 * time.Second
	// sendTime is what sending spans may take of it.
	sendTime = 2 * time.Second
)

func main() {
	settings, err := config.Load(config.Cron, nil, os.LookupEnv, os.Stdout)
	log := telemetry.NewLogger(os.Stderr, settings.LogLevel, slog.String(telemetry.KeyFunction, function))
	if err != nil {
		log.Error("settings are wrong", telemetry.KeyError, err)
		os.Exit(1)
	}
	telemetry.OnTraceError(log)
	traces, err := telemetry.NewTraces("orrery-"+function, os.LookupEnv)
	if err != nil {
		log.Error("settings are wrong", telemetry.KeyError, err)
		os.Exit(1)
	}
	runner, err := newRunner(context.Background(), settings, traces, log)
	if err != nil {
		log.Error("the function cannot start", telemetry.KeyError, err)
		os.Exit(1)
	}
	lambda.Start(func(ctx context.Context) (cron.Counts, error) {
		counts, err := tick(ctx, runner, os.Stdout)
		sendSpans(ctx, traces, log)
		return counts, err
	})
}

// sendSpans sends what the tick has recorded, before the process may be frozen. What a collector does not take by then is sent
// after the next tick, or lost.
func sendSpans(ctx context.Context, t *telemetry.Traces, log *slog.Logger) {
	ctx, cancel := context.WithTimeout(ctx, sendTime)
	defer cancel()
	if err := t.Flush(ctx); err != nil {
		log.Warn("spans could not be sent", telemetry.KeyError, err)
	}
}

func newRunner(ctx context.Context, c config.Config, traces *telemetry.Traces, log *slog.Logger) (*cron.Runner, error) {
	// The renewals of leases do not wait for the starts.
	db, err := store.Open(ctx, c.DatabaseURL, store.Options{MaxConns: 2, Application: "orrery-" + function})
	if err != nil {
		return nil, err
	}
	o := cron.Options{
		Claimant: function, Workers: c.ScheduleWorkers, Lease: c.ScheduleLease, Heartbeat: c.ScheduleHeartbeat, Log: log,
		Traces: traces,
	}
	allow, err := builtin.ParseAllow(c.HTTPAllow)
	if err != nil {
		return nil, err
	}
	if caller := builtin.NewHTTP(allow); caller != nil {
		o.HTTP = caller
	}
	caller, err := builtin.NewLambda(ctx, c.LambdaAllow)
	if err != nil {
		return nil, err
	}
	if caller != nil {
		o.Lambda = caller
	}
	return cron.New(db, frontend.New(db, frontend.Options{}), o)
}

// tick is one invocation. What it has counted is its answer, and a line of metrics in its log.
func tick(ctx context.Context, r *cron.Runner, metrics io.Writer) (cron.Counts, error) {
	if end, ok := ctx.Deadline(); ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, end.Add(-stopEarly))
		defer cancel()
	}
	counts, err := r.Tick(ctx)
	if err != nil {
		return counts, fmt.Errorf("tick: %w", err)
	}
	named, err := byName(counts)
	if err != nil {
		return counts, err
	}
	return counts, telemetry.Embedded(metrics, function, time.Now(), named)
}

func byName(c cron.Counts) (map[string]int64, error) {
	text, err := json.Marshal(c)
	if err != nil {
		return nil, err
	}
	var named map[string]int64
	return named, json.Unmarshal(text, &named)
}
