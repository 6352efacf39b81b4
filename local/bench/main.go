// Command bench measures Orrery on this machine, database included: throughput, latency, CPU seconds of database, engine
// and load per 1,000 steps, WAL bytes and commits per step. It is a benchmark, not a test: nothing fails for being slow.
//
//	bench S1 S4            the scenarios, in this order
//	bench -rounds 3 S1     three rounds, with the medians at the end
//	bench -out runs.jsonl  a JSON line a run
//
// The set-up is the one that a user has: PostgreSQL with fsync and synchronous_commit on, a node in a process of its own,
// workers and clients over HTTP. Everything runs on the same cores, the load too.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"
)

// options are the flags.
type options struct {
	duration, warmUp time.Duration
	clients          int
	picks            int
	width, fan       int
	backlog, workers int
	schedules, often int
	rounds           int
	out              string
	cpuProfile       string
	statements       int
	sleepers         int
	rate             int
}

// scenario is one load shape.
type scenario struct {
	name, what string
	run        func(ctx context.Context, r *rig, o options) (result, error)
}

var scenarios = []scenario{
	{"S1", "one-task workflow, start to end, closed loop", func(ctx context.Context, r *rig, o options) (result, error) { return sequence(ctx, r, o, 1) }},
	{"S2", "ten tasks in sequence, closed loop", func(ctx context.Context, r *rig, o options) (result, error) { return sequence(ctx, r, o, 10) }},
	{"S3", "one workflow with 200 parallel tasks, four at once", fanOut},
	{"S4", "pickup: one task to a worker that waits, idle system", pickup},
	{"S5", "backlog: queued tasks drained by one process with 32 workers", drain},
	{"S7", "takeover: one of two nodes is killed, with executions that wait for signals", takeOver},
	{"rolling", "two nodes are replaced one after the other, while one-task workflows come in at a steady rate", rolling},
	{"cron", "2,000 schedules on two nodes, 50 of them each second: start lag; and the plan after 72 h of outage", schedules},
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	o, chosen, err := parse(os.Args[1:])
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(2)
	}
	if err := runAll(ctx, o, chosen); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func parse(args []string) (options, []scenario, error) {
	var o options
	f := flag.NewFlagSet("bench", flag.ContinueOnError)
	f.DurationVar(&o.duration, "dur", 15*time.Second, "measured time of the closed loops")
	f.DurationVar(&o.warmUp, "warm", 2*time.Second, "warm-up before it")
	f.IntVar(&o.clients, "clients", 64, "clients of the closed loops")
	f.IntVar(&o.picks, "picks", 300, "S4: tasks")
	f.IntVar(&o.width, "width", 200, "S3: parallel tasks in one workflow")
	f.IntVar(&o.fan, "fan", 4, "S3: workflows at once")
	f.IntVar(&o.backlog, "backlog", 50000, "S5: tasks queued before the drain")
	f.IntVar(&o.workers, "workers", 32, "S5: workers in the one process")
	f.IntVar(&o.sleepers, "sleepers", 100000, "S7: running executions at the node that is killed")
	f.IntVar(&o.rate, "rate", 50, "rolling: executions started a second")
	f.IntVar(&o.schedules, "schedules", 2000, "cron: schedules")
	f.IntVar(&o.often, "often", 50, "cron: how many of them run each second; the others run each minute")
	f.IntVar(&o.rounds, "rounds", 1, "rounds over the scenarios")
	f.StringVar(&o.out, "out", "", "append each run as a JSON line to this file")
	f.StringVar(&o.cpuProfile, "cpuprofile", "", "write the node's CPU profile of the measured time to this file")
	f.IntVar(&o.statements, "statements", 0, "show so many statements that cost the database most (pg_stat_statements)")
	f.Usage = func() {
		fmt.Fprintln(f.Output(), "usage: bench [flags] [SCENARIO...]\n\nscenarios (all when none is named):")
		for _, s := range scenarios {
			fmt.Fprintf(f.Output(), "  %-7s %s\n", s.name, s.what)
		}
		fmt.Fprintln(f.Output(), "\nflags:")
		f.PrintDefaults()
	}
	if err := f.Parse(args); err != nil {
		return o, nil, err
	}
	var chosen []scenario
	for _, arg := range f.Args() {
		for _, name := range strings.FieldsFunc(arg, func(r rune) bool { return r == ',' }) {
			i := slices.IndexFunc(scenarios, func(s scenario) bool { return strings.EqualFold(s.name, name) })
			if i < 0 {
				return o, nil, fmt.Errorf("there is no scenario %q (--help lists them)", name)
			}
			chosen = append(chosen, scenarios[i])
		}
	}
	if len(chosen) == 0 {
		chosen = scenarios
	}
	return o, chosen, nil
}

// runAll gives every run a fresh database and a fresh node.
func runAll(ctx context.Context, o options, chosen []scenario) error {
	b, err := newBench(ctx, o)
	if err != nil {
		return err
	}
	defer b.close()
	all := map[string][]result{}
	fmt.Println(header)
	for range o.rounds {
		for _, s := range chosen {
			res, err := b.once(ctx, s, o)
			if err != nil {
				return fmt.Errorf("%s: %w", s.name, err)
			}
			all[s.name] = append(all[s.name], res)
			fmt.Println(res)
			if err := res.save(o.out); err != nil {
				return err
			}
		}
	}
	if o.rounds > 1 {
		fmt.Println("medians:")
		for _, s := range chosen {
			fmt.Println(median(all[s.name]))
		}
	}
	return nil
}

func (r result) save(file string) error {
	if file == "" {
		return nil
	}
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(append(text, '\n'))
	return errors.Join(err, f.Close())
}
