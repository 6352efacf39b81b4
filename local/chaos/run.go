package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"sync"
	"time"
)

// report is what a run has come to.
type report struct {
	mu       sync.Mutex
	breaches []string // of promises

	starts, signals, cancels int // acknowledged
	answers, temporary       int64
	histories, events        int
	keys, effects            int
	redeliveries, retries    int
	harm                     string
}

func (r *report) breach(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.breaches = append(r.breaches, fmt.Sprintf(format, args...))
}

// run does the whole. Its error is for what is not Orrery's: a run that was not possible, or interrupted.
func run(ctx context.Context, o options, out io.Writer) (_ *report, err error) {
	began := time.Now()
	say := func(format string, args ...any) {
		fmt.Fprintf(out, "%7.2fs  %s\n", time.Since(began).Seconds(), fmt.Sprintf(format, args...))
	}
	say("starting %d nodes, functions, %d workers; seed %d", nodes, workers, o.seed)
	g, err := newRig(ctx, o)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, g.close()) }()
	rep := &report{}
	c := &clients{rig: g, report: rep}
	if err := c.publish(ctx); err != nil {
		return nil, err
	}
	stopWork := g.work()
	defer stopWork()
	t := &trouble{rig: g, random: rand.New(rand.NewPCG(o.seed, 0)), report: rep, say: say, counts: map[string]int{}}
	until := time.Now().Add(time.Duration(o.seconds) * time.Second)
	var list []one
	loaded := make(chan struct{})
	go func() {
		defer close(loaded)
		list = c.load(ctx, until, o.rate)
	}()
	say("%d s of harm", o.seconds)
	progress := c.progress(say)
	t.run(ctx, until)
	say("no more harm")
	<-loaded
	progress()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	rep.harm = t.String()
	say("every client has its answers; checking %d executions", len(list))
	k := &checker{clients: c, clean: o.clean, units: map[visit]work{}}
	if err := k.check(ctx, list, stopWork); err != nil {
		return nil, err
	}
	say("checked")
	return rep, nil
}

// progressEvery is the time between two lines that tell how far the load is.
const progressEvery = 5 * time.Second

// progress tells how far the load is until the returned stop is called.
func (c *clients) progress(say func(string, ...any)) (stop func()) {
	ended := make(chan struct{})
	var telling sync.WaitGroup
	telling.Go(func() {
		for tick := time.NewTicker(progressEvery); ; {
			select {
			case <-tick.C:
				say("%d answers, %d of them 'try again'; %d effects", c.ledger.answers.Load(), c.ledger.temporary.Load(), c.ledger.effects.Load())
			case <-ended:
				tick.Stop()
				return
			}
		}
	})
	return func() { close(ended); telling.Wait() }
}
