package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/orrery-dev/orrery/shared/wire"
)

// scheduleID names the demo's schedule: every two seconds, for runs that take three, so that every other one is skipped.
const scheduleID = "stocktaking"

const (
	stocktaking = `{"StartAt": "Count", "States": {"Count": {"Type": "Wait", "Seconds": 3, "End": true}}}`
	// wantRuns is how many runs are waited for.
	wantRuns = 3
)

// startSchedule publishes the workflow and makes the schedule. Both can be repeated.
func (d *demo) startSchedule(ctx context.Context) error {
	q := wire.PublishRequest{Name: scheduleID, Document: json.RawMessage(stocktaking)}
	if err := d.post(ctx, wire.Path("workflows"), q, nil); err != nil {
		return err
	}
	return d.post(ctx, wire.Path("schedules"), wire.ScheduleDefinition{
		ID: scheduleID, Specs: []string{"every 2s"}, Overlap: &wire.ScheduleOverlap{Policy: "skip"},
		Target: wire.ScheduleTarget{Workflow: &wire.WorkflowTarget{Name: scheduleID}},
	}, nil)
}

// awaitSchedule waits until enough of the schedule's runs have ended with one skipped between them, and ends it.
func (d *demo) awaitSchedule(ctx context.Context) ([]wire.Occurrence, error) {
	for {
		list, err := d.occurrences(ctx)
		if err != nil {
			return nil, err
		}
		if n := enough(list); n > 0 {
			return list[:n], d.post(ctx, wire.Path("schedules", scheduleID, "archive"), wire.ArchiveRequest{Reason: "the demo is over"}, nil)
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(fmt.Errorf("the schedule has no %d runs with one skipped between them", wantRuns), context.Cause(ctx))
		case <-time.After(time.Second):
		}
	}
}

// occurrences reads those of the schedule, oldest first.
func (d *demo) occurrences(ctx context.Context) ([]wire.Occurrence, error) {
	var l wire.OccurrenceList
	if err := d.get(ctx, wire.Path("schedules", scheduleID, "occurrences")+"?limit=1000", &l); err != nil {
		return nil, err
	}
	slices.SortFunc(l.Occurrences, func(a, b wire.Occurrence) int { return a.Instant.Compare(b.Instant) })
	return l.Occurrences, nil
}

// enough is how many of the occurrences show what the schedule is to show, 0 for not yet.
func enough(list []wire.Occurrence) int {
	runs, skipped := 0, 0
	for i, o := range list {
		switch o.Status {
		case wire.OccurrenceCompleted:
			runs++
		case wire.OccurrenceSkippedOverlap:
			skipped++
		}
		if runs >= wantRuns && skipped > 0 {
			return i + 1
		}
	}
	return 0
}

// scheduleFaults checks that each instant has one occurrence, and that no two runs overlap.
func scheduleFaults(list []wire.Occurrence) (faults []error) {
	var last wire.Occurrence // that has run
	for i, o := range list {
		if i > 0 && o.Instant.Equal(list[i-1].Instant) {
			faults = append(faults, fmt.Errorf("%s: the instant %s has two occurrences", scheduleID, o.Instant.Format(time.RFC3339)))
		}
		if o.Status != wire.OccurrenceCompleted {
			continue
		}
		if o.StartedAt.Before(last.EndedAt) {
			faults = append(faults, fmt.Errorf("%s: the runs of %s and %s overlap", scheduleID, last.Instant.Format(time.RFC3339), o.Instant.Format(time.RFC3339)))
		}
		last = o
	}
	return faults
}

func scheduleTable(list []wire.Occurrence) {
	fmt.Printf("\nschedule %s, every 2 s, for runs of 3 s, overlap skip:\n", scheduleID)
	t := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "INSTANT\tSTATUS\tSTART LAG\tTOOK\tEXECUTION")
	for _, o := range list {
		lag, took, execution := "-", "-", o.Execution
		if !o.StartedAt.IsZero() && o.Execution != "" {
			lag, took = o.StartedAt.Sub(o.DueAt).String(), o.EndedAt.Sub(o.StartedAt).Round(time.Millisecond).String()
		}
		if execution == "" {
			execution = "-"
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\n", o.Instant.Format(time.TimeOnly), o.Status, lag, took, execution)
	}
	t.Flush()
}
