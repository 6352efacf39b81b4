package main

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/orrery-dev/orrery/shared/schedule"
	"github.com/orrery-dev/orrery/shared/wire"
)

// schedules is the scenario of schedules: o.often run each second, the others each minute, on two nodes. What is measured goes
// past one whole minute, at which all of them are due at once. A latency is the time from when an occurrence is due until its
// execution's start is committed, by the database's clock.
func schedules(ctx context.Context, r *rig, o options) (res result, err error) {
	if err := outage(); err != nil {
		return res, err
	}
	second, err := r.bench.startNode(ctx, r.database, "bench-2")
	if err != nil {
		return res, err
	}
	defer second.stop()
	c := client(r.url, o.clients)
	pass := object{"StartAt": "Done", "States": object{"Done": object{"Type": "Pass", "End": true}}}
	if err := publish(ctx, c, "bench", pass); err != nil {
		return res, err
	}
	if err := makeSchedules(ctx, c, o); err != nil {
		return res, err
	}
	if err := r.measure(ctx, o); err != nil {
		return res, err
	}
	from := r.meter.from.at
	until := from.Truncate(time.Minute).Add(time.Minute + o.duration)
	if err := pause(ctx, time.Until(until)); err != nil {
		return res, err
	}
	return startLags(ctx, r, from, until)
}

// makeSchedules makes all of them, a few at a time.
func makeSchedules(ctx context.Context, c *wire.Client, o options) error {
	var group errgroup.Group
	group.SetLimit(8)
	for i := range o.schedules {
		d := wire.ScheduleDefinition{
			ID: fmt.Sprintf("s%d", i), Specs: []string{"* * * * *"}, Overlap: &wire.ScheduleOverlap{Policy: "allow"},
			Target: wire.ScheduleTarget{Workflow: &wire.WorkflowTarget{Name: "bench"}},
		}
		if i < o.often {
			d.Specs, d.Dialect = []string{"* * * * * *"}, "seconds"
		}
		group.Go(func() error {
			_, err := c.Call(ctx, http.MethodPost, wire.Path("schedules"), nil, d, nil)
			return err
		})
	}
	return group.Wait()
}

// startLags reads how late the occurrences of a time have started. One that has not counts as an error.
func startLags(ctx context.Context, r *rig, from, until time.Time) (res result, err error) {
	rows, err := r.meter.conn.Query(ctx, `
		select started_at is not null, coalesce(extract(epoch from started_at - due_at) * 1000000, 0)::bigint
		from orrery.occurrence where due_at >= $1 and due_at < $2 and skipped is null`, from, until.Add(-2*time.Second))
	if err != nil {
		return res, err
	}
	defer rows.Close()
	var lags []time.Duration
	missing := 0
	for rows.Next() {
		var started bool
		var lag int64
		if err := rows.Scan(&started, &lag); err != nil {
			return res, err
		}
		if !started {
			missing++
			continue
		}
		lags = append(lags, time.Duration(lag)*time.Microsecond)
	}
	if err := rows.Err(); err != nil {
		return res, err
	}
	res, err = r.meter.stop(ctx, len(lags), len(lags), lags)
	res.Errors = missing
	fmt.Printf("     start lag of %d occurrences: p50 %.1f ms, p99 %.1f ms, most %.1f ms; %d did not start\n", len(lags), res.P50, res.P99, res.Max, missing)
	return res, err
}

// outage prints how long the plan of a schedule takes that runs each second, after 72 h without a planner.
func outage() error {
	const down = 72 * time.Hour
	s, err := schedule.New("bench", schedule.Definition{Timing: schedule.Timing{
		Specs: []string{"* * * * * *"}, Dialect: schedule.Seconds, Zone: "America/New_York",
	}})
	if err != nil {
		return err
	}
	now := time.Now()
	p := s.Plan(schedule.Begin(now.Add(-down)), now, schedule.Limits{Rows: 200})
	fmt.Printf("     a plan after %v: %d occurrences, %d instants missed, in %v\n", down, len(p.Occurrences), p.Skipped.Count, time.Since(now).Round(10*time.Microsecond))
	return nil
}
