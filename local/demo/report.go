package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"text/tabwriter"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/orrery-dev/orrery/shared/wire"
)

// checked is what was found of one order.
type checked struct {
	got          outcome
	took         time.Duration
	redeliveries int
	faults       []string
}

// report prints the tables and gives an error unless every order ended as its document expects, and the schedule ran each
// instant once.
func (d *demo) report(ctx context.Context) error {
	found := make([]checked, len(d.orders))
	var reads errgroup.Group
	reads.SetLimit(4)
	for i, o := range d.orders {
		reads.Go(func() (err error) {
			found[i], err = d.check(ctx, o)
			return err
		})
	}
	if err := reads.Wait(); err != nil {
		return err
	}
	epochs, err := d.partitions(ctx)
	if err != nil {
		return err
	}
	occurrences, err := d.awaitSchedule(ctx)
	if err != nil {
		return err
	}
	d.table(found, epochs)
	scheduleTable(occurrences)
	faults := scheduleFaults(occurrences)
	for i, c := range found {
		for _, f := range c.faults {
			faults = append(faults, fmt.Errorf("%s: %s", d.orders[i].ID, f))
		}
	}
	if d.killed == "" {
		faults = append(faults, errors.New("the orders ended before a node was killed"))
	}
	return errors.Join(faults...)
}

// check reads how one order ended, and its whole history: gapless, with one end.
func (d *demo) check(ctx context.Context, o order) (checked, error) {
	var c checked
	var e wire.ExecutionDetail
	if err := d.get(ctx, wire.Path("executions", o.ID), &e); err != nil {
		return c, fmt.Errorf("%s: %w", o.ID, err)
	}
	c.got = outcome{Status: string(e.Status)}
	if e.Error != nil {
		c.got.Error = e.Error.Code
	}
	c.took = e.EndedAt.Sub(e.StartedAt)
	if c.got != o.Expect {
		c.faults = append(c.faults, fmt.Sprintf("ended %s, its document expects %s", c.got, o.Expect))
	}
	var h wire.HistoryPage
	if err := d.get(ctx, wire.Path("executions", o.ID, "history")+"?limit=1000", &h); err != nil {
		return c, fmt.Errorf("%s: %w", o.ID, err)
	}
	ends := 0
	for i, ev := range h.Events {
		if ev.ID != int64(i+1) {
			c.faults = append(c.faults, fmt.Sprintf("event %d of the history has number %d", i+1, ev.ID))
			break
		}
		switch ev.Type {
		case "ExecutionSucceeded", "ExecutionFailed", "ExecutionTimedOut", "ExecutionAborted":
			ends++
		case "TaskRedelivered":
			c.redeliveries++
		}
	}
	if ends != 1 {
		c.faults = append(c.faults, fmt.Sprintf("the history has %d ends", ends))
	}
	return c, nil
}

func (d *demo) table(found []checked, epochs map[int]int64) {
	expected, got, took := map[outcome]int{}, map[outcome]int{}, map[outcome][]time.Duration{}
	redeliveries := 0
	for i, c := range found {
		expected[d.orders[i].Expect]++
		got[c.got]++
		took[c.got] = append(took[c.got], c.took)
		redeliveries += c.redeliveries
	}
	takeovers := 0
	for p, before := range d.epochs {
		if epochs[p] > before {
			takeovers++
		}
	}
	all := maps.Clone(expected)
	maps.Copy(all, got)
	rows := slices.SortedFunc(maps.Keys(all), func(a, b outcome) int { return expected[b] - expected[a] })

	fmt.Println()
	t := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "STATUS\tCOUNT\tEXPECTED\tP50\tP99")
	for _, o := range rows {
		slices.Sort(took[o])
		fmt.Fprintf(t, "%s\t%d\t%d\t%s\t%s\n", o, got[o], expected[o], quantile(took[o], .5), quantile(took[o], .99))
	}
	t.Flush()
	fmt.Printf("\n%d orders in %s; %s killed; redeliveries %d; takeovers %d partitions\n", len(found),
		time.Since(d.begun).Round(100*time.Millisecond), d.killed, redeliveries, takeovers)
}

func quantile(sorted []time.Duration, q float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(int(q*float64(len(sorted))), len(sorted)-1)].Round(time.Millisecond)
}
