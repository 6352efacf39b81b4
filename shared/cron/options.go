package cron

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/orrery-dev/orrery/shared/history"
	"github.com/orrery-dev/orrery/shared/store"
	"github.com/orrery-dev/orrery/shared/telemetry"
)

// Store is what this package needs of the database; *store.Store is one.
type Store interface {
	planStore
	runStore
	MakePartitions(ctx context.Context, days int) (int, error)
	CronDepths(ctx context.Context) (store.CronDepths, error)
}

type planStore interface {
	DueSchedules(ctx context.Context, q store.DueQuery) (store.Due, error)
	ScheduleDocuments(ctx context.Context, ids []history.ScheduleID) ([]store.ScheduleDocument, error)
	Plan(ctx context.Context, plans []store.Planned) ([]history.ScheduleID, error)
}

type runStore interface {
	ClaimRuns(ctx context.Context, q store.RunClaim) (store.ClaimedRuns, error)
	QuietKeys(ctx context.Context, keys []store.KeyRef) error
	StartRuns(ctx context.Context, starts []store.RunStart, lease time.Duration) error
	Contend(ctx context.Context, cs []store.Contention) (map[history.OccurrenceID]store.Verdict, error)
	Holders(ctx context.Context, keys []store.KeyRef) ([]store.Holder, error)
	AskCancel(ctx context.Context, ids []history.OccurrenceID, by, reason string) error
	Send(ctx context.Context, m store.Message) (store.Sent, error)
	SettleRuns(ctx context.Context, ends []store.RunEnd) (store.Settled, error)
	Renew(ctx context.Context, refs []store.ClaimRef, lease time.Duration) ([]store.Renewed, error)
}

// Opener makes the first turns of executions, for a transaction that starts them; *frontend.Frontend is one.
type Opener interface {
	Open(ctx context.Context, list []*Opening)
}

// HTTPCaller makes the request of a direct target. The answer's body is bounded by the caller, its status is not judged.
type HTTPCaller interface {
	Call(ctx context.Context, method, url string, header http.Header, body []byte) (status int, answer []byte, err error)
}

// LambdaCaller invokes a function and waits for its answer. The facts reach the function beside its payload. A function that
// fails is an error.
type LambdaCaller interface {
	Invoke(ctx context.Context, function, qualifier string, facts map[string]string, payload []byte) (answer []byte, err error)
}

// Options say how a process runs occurrences. What is zero gets its default.
type Options struct {
	// Claimant names the process, for people: claims are owned by their numbers.
	Claimant string
	// Workers is how many direct targets run at once; 8.
	Workers int
	// Lease is how long a claim holds without renewal, and Heartbeat the time between two renewals; 60 s and a quarter of the
	// lease. All processes should have the same.
	Lease, Heartbeat time.Duration
	// Drain is how long a stop waits for runs before it ends them; 4 s.
	Drain time.Duration
	// HTTP and Lambda do the work of direct targets; nil where it is not allowed.
	HTTP   HTTPCaller
	Lambda LambdaCaller
	// Level is what the process knows of definitions; that of the build.
	Level int
	Log   *slog.Logger
	// Metrics is where the runner declares its own; a registry that nobody reads when nil.
	Metrics *telemetry.Metrics
	// Traces is where the spans of attempts go; nil for nowhere.
	Traces *telemetry.Traces
}

const (
	// marginParts is which part of a lease its work ends before it: enough for the work to see it and to stop.
	marginParts = 10
	minLease    = 500 * time.Millisecond
)

func (o Options) withDefaults() (Options, error) {
	o.Claimant = or(o.Claimant, "cron")
	o.Workers = or(o.Workers, 8)
	o.Lease = or(o.Lease, time.Minute)
	o.Heartbeat = or(o.Heartbeat, o.Lease/4)
	o.Drain = or(o.Drain, 4*time.Second)
	o.Level = or(o.Level, Level)
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.Metrics == nil {
		o.Metrics = telemetry.NewMetrics()
	}
	var faults []error
	if o.Workers < 1 {
		faults = append(faults, fmt.Errorf("cron: the number of workers must be at least 1, not %d", o.Workers))
	}
	if o.Lease < minLease {
		faults = append(faults, fmt.Errorf("cron: the lease must be at least %v, not %v", minLease, o.Lease))
	}
	// Two renewals may fail and the third one is in time.
	if o.Heartbeat <= 0 || o.Heartbeat > o.Lease/3 {
		faults = append(faults, fmt.Errorf("cron: the heartbeat must be at most a third of the lease, not %v", o.Heartbeat))
	}
	return o, errors.Join(faults...)
}

// margin is how long before the end of its lease work is stopped.
func (o *Options) margin() time.Duration { return o.Lease / marginParts }
