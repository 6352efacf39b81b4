package cron

import (
	"context"
	"sync"
	"time"

	"github.com/orrery-dev/orrery/shared/store"
	"github.com/orrery-dev/orrery/shared/telemetry"
)

// metrics is what a runner measures; what it counts is read from its health.
type metrics struct {
	startLag, runSeconds telemetry.Histogram
}

// newMetrics declares the metrics of a runner.
func newMetrics(r *Runner, m *telemetry.Metrics) metrics {
	for _, c := range []struct {
		name, help string
		of         func(Counts) int64
	}{
		{"planned", "plans written", func(c Counts) int64 { return c.Planned }},
		{"started", "occurrences started", func(c Counts) int64 { return c.Started }},
		{"completed", "direct targets that have done their work; executions end elsewhere", func(c Counts) int64 { return c.Completed }},
		{"failed", "direct targets that have failed, and occurrences that were refused", func(c Counts) int64 { return c.Failed }},
		{"cancelled", "direct targets that somebody has ended, and occurrences of archived schedules", func(c Counts) int64 { return c.Cancelled }},
		{"deferred", "occurrences given back because they could not be started then", func(c Counts) int64 { return c.Deferred }},
		{"missed", "occurrences that came too late for their start", func(c Counts) int64 { return c.Missed }},
		{"contended", "occurrences that found their key held", func(c Counts) int64 { return c.Contended }},
		{"buffered", "of those, the ones that wait for it", func(c Counts) int64 { return c.Buffered }},
		{"skipped", "of those, the ones that were skipped", func(c Counts) int64 { return c.Skipped }},
		{"overrun", "of those, the ones that found the buffer full", func(c Counts) int64 { return c.Overrun }},
		{"misfired", "instants that nobody planned in time and that do not run", func(c Counts) int64 { return c.Misfired }},
		{"lost", "runs of direct targets whose end does not count, because their lease was over", func(c Counts) int64 { return c.Lost }},
		{"renewal_failures", "renewals of leases that failed", func(c Counts) int64 { return c.NotRenewed }},
		{"settle_failures", "ends of runs that could not be written at once", func(c Counts) int64 { return c.NotSettled }},
	} {
		m.CounterFunc("orrery_schedules_"+c.name+"_total", c.help, func() float64 { return float64(c.of(r.health.counts())) })
	}
	m.GaugeFunc("orrery_schedules_running", "direct targets that run here", func() float64 { return float64(r.options.Workers - r.runs.free()) })
	m.GaugeFunc("orrery_schedules_plan_age_seconds", "time since the last look for due schedules that went well; -1 before the first",
		func() float64 { return r.health.age(func(h *health) time.Time { return h.lastPlan }) })
	m.GaugeFunc("orrery_schedules_claim_age_seconds", "time since claiming last went well; -1 before the first",
		func() float64 { return r.health.age(func(h *health) time.Time { return h.lastClaim }) })
	waiting := &depths{store: r.store}
	for _, g := range []struct {
		name, help string
		of         func(store.CronDepths) float64
	}{
		{"pending", "occurrences that have not started, in the whole cluster, without those that wait for their keys", func(d store.CronDepths) float64 { return float64(d.Pending) }},
		{"waiting", "occurrences that wait for their keys, in the whole cluster", func(d store.CronDepths) float64 { return float64(d.Buffered) }},
		{"due", "occurrences that could start, and leases that are over, in the whole cluster", func(d store.CronDepths) float64 { return float64(d.Due) }},
		{"due_age_seconds", "how long the oldest of those is due", func(d store.CronDepths) float64 { return d.OldestAge.Seconds() }},
		{"dead_letters", "occurrences that wait for somebody to look, in the whole cluster", func(d store.CronDepths) float64 { return float64(d.DeadLetters) }},
	} {
		m.GaugeFunc("orrery_schedules_"+g.name, g.help+"; -1 where the database does not answer", func() float64 { return waiting.read(g.of) })
	}
	return metrics{
		startLag:   m.Histogram("orrery_schedules_start_lag_seconds", "how long after it was due an occurrence was started", telemetry.Seconds),
		runSeconds: m.Histogram("orrery_schedules_run_seconds", "how long the work of a direct target took", telemetry.Seconds),
	}
}

// age is the time since one of the times in seconds, -1 where it is not there.
func (h *health) age(of func(*health) time.Time) float64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	at := of(h)
	if at.IsZero() {
		return -1
	}
	return time.Since(at).Seconds()
}

// depths are what waits in the database. It is asked only when somebody wants to know, at most once in depthsEvery.
type depths struct {
	store Store

	mu    sync.Mutex
	asked time.Time
	known bool
	last  store.CronDepths
}

const (
	depthsEvery   = 10 * time.Second
	depthsTimeout = 2 * time.Second
)

func (d *depths) read(of func(store.CronDepths) float64) float64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.asked.IsZero() || time.Since(d.asked) >= depthsEvery {
		ctx, cancel := context.WithTimeout(context.Background(), depthsTimeout)
		defer cancel()
		var err error
		d.last, err = d.store.CronDepths(ctx)
		d.asked, d.known = time.Now(), err == nil
	}
	if !d.known {
		return -1
	}
	return of(d.last)
}
