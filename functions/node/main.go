// Command node is the long-lived container: a function whose trigger is 'always'. It owns partitions, drives their
// executions, and serves every route of the API. SIGTERM and SIGINT stop it cleanly. With `check` before the settings it asks
// the node that runs under them whether it is ready, and exits with 0 or 1.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/orrery-dev/orrery/shared/api"
	"github.com/orrery-dev/orrery/shared/auth"
	"github.com/orrery-dev/orrery/shared/builtin"
	"github.com/orrery-dev/orrery/shared/config"
	"github.com/orrery-dev/orrery/shared/cron"
	"github.com/orrery-dev/orrery/shared/errand"
	"github.com/orrery-dev/orrery/shared/frontend"
	"github.com/orrery-dev/orrery/shared/node"
	"github.com/orrery-dev/orrery/shared/store"
	"github.com/orrery-dev/orrery/shared/telemetry"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	switch err := start(ctx); {
	case errors.Is(err, config.ErrHelp):
	case err != nil:
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// start runs the node until ctx ends or it cannot go on.
func start(ctx context.Context) error {
	args := os.Args[1:]
	checking := len(args) > 0 && args[0] == "check"
	if checking {
		args = args[1:]
	}
	c, err := config.Load(config.Node, args, os.LookupEnv, os.Stdout)
	if err != nil {
		return err
	}
	if checking {
		return check(ctx, c)
	}
	callers := auth.Open{}
	if err := auth.CheckListen(c.Listen, callers, c.Insecure); err != nil {
		return err
	}
	stopDebug, err := telemetry.ServeDebug(c.DebugListen)
	if err != nil {
		return err
	}
	defer stopDebug()
	log := telemetry.NewLogger(os.Stderr, c.LogLevel)
	db, err := store.Open(ctx, c.DirectURL, store.Options{MaxConns: c.PoolSize, Direct: true, Application: "orrery-node " + c.NodeID})
	if err != nil {
		return err
	}
	defer db.Close()
	beats, err := store.Open(ctx, c.DirectURL, store.Options{MaxConns: 1, Direct: true, Application: "orrery-heartbeat " + c.NodeID})
	if err != nil {
		return err
	}
	defer beats.Close()
	telemetry.OnTraceError(log)
	traces, err := telemetry.NewTraces("orrery-node", os.LookupEnv)
	if err != nil {
		return err
	}
	defer closeTraces(traces, log)
	metrics := telemetry.NewMetrics()
	metrics.Process()
	db.Show(metrics)
	n, err := node.New(node.Config{
		ID: c.NodeID, Address: c.Address, NodeTimeout: c.NodeTimeout, SessionTimeout: c.SessionTimeout, Memory: c.Memory, Log: log, Metrics: metrics,
	}, db, beats)
	if err != nil {
		return err
	}
	front := n.Frontend(frontend.Options{
		SessionTimeout: c.SessionTimeout, HeartbeatInterval: c.HeartbeatInterval, NodeTimeout: c.NodeTimeout,
		MaxPayload: c.MaxPayload, Version: telemetry.Version(),
		NoHTTP: c.HTTPAllow == "", NoLambda: c.LambdaAllow == "", NoS3: c.S3Allow == "",
	})
	runner, err := scheduler(ctx, c, db, front, metrics, traces, log)
	if err != nil {
		return err
	}
	n.UseScheduler(runner)
	errands, err := errand.New(ctx, errand.Config{
		ID: c.NodeID, HTTPAllow: c.HTTPAllow, LambdaAllow: c.LambdaAllow, Connections: c.HTTPConnections, Concurrency: c.ServerTasks,
		S3Allow: c.S3Allow, S3PathStyle: c.S3PathStyle, Executions: front, Namespaces: db.Namespaces, Log: log,
	}, front)
	if err != nil {
		return err
	}
	handler := api.New(
		api.Services{Workers: front, Tasks: front, Executions: front, Workflows: front, Schedules: front, Cluster: front, Readiness: n},
		api.Options{
			Authenticator: callers, Log: log, MaxBody: c.MaxBody, MaxPayload: c.MaxPayload, Deadline: c.RequestTimeout,
			Metrics: metrics,
		})
	listener, err := net.Listen("tcp", c.Listen)
	if err != nil {
		return err
	}
	log.Info("listening", telemetry.KeyAddress, listener.Addr().String())
	return api.Serve(ctx, listener, handler, c.RequestTimeout, errands.Beside(n.Run))
}

// closeTraces sends the last spans.
func closeTraces(t *telemetry.Traces, log *slog.Logger) {
	ctx, cancel := context.WithTimeout(context.Background(), lastSpans)
	defer cancel()
	if err := t.Close(ctx); err != nil {
		log.Warn("the last spans could not be sent", telemetry.KeyError, err)
	}
}

// lastSpans bounds the time that a stop gives the last spans.
const lastSpans = 2 * time.Second

// scheduler makes what runs the schedules, with the calls to the outside that the settings allow.
func scheduler(
	ctx context.Context, c config.Config, db cron.Store, open cron.Opener, metrics *telemetry.Metrics, traces *telemetry.Traces,
	log *slog.Logger,
) (*cron.Runner, error) {
	o := cron.Options{
		Claimant: c.NodeID, Workers: c.ScheduleWorkers, Lease: c.ScheduleLease, Heartbeat: c.ScheduleHeartbeat, Metrics: metrics,
		Traces: traces, Log: log,
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
	return cron.New(db, open, o)
}
