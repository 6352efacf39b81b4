package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/orrery-dev/orrery/local/stack"
	"github.com/orrery-dev/orrery/shared/wire"
)

// kinds come in turn; one execution in 50 stays: it runs until the harm is over.
var kinds = []string{"tasks", "signal", "timer", "map", "flaky", "child", "cancel"}

// one is an execution of the load.
type one struct {
	number int
	kind   string
	name   string
	way    *wire.Client
}

func (r *rig) execution(i int) one {
	x := one{number: i, kind: kinds[i%len(kinds)], way: r.ways[i%len(r.ways)]}
	if i%50 == 0 {
		x.kind = "stays"
	}
	x.name = fmt.Sprintf("%s-%d", x.kind, i)
	return x
}

func (x one) input() json.RawMessage {
	ms := 20
	if x.number%40 == 1 {
		ms = 2000 // in work for long
	}
	return stack.MixInput(x.kind, x.number, ms, 1+x.number%8)
}

// The calls as the ledger knows them.
const (
	callStart  = "start"
	callSignal = "signal"
	callNote   = "note"
	callCancel = "cancel"
)

// patience is how long a client tries again: longer than any harm lasts, and what comes right after it.
const patience = 2 * time.Minute

// clients are those that start executions and send them signals. What goes wrong beyond 'try again' is a breach.
type clients struct {
	*rig
	report *report
	all    sync.WaitGroup
}

func (c *clients) publish(ctx context.Context) error {
	for name, text := range map[string]string{"mix-child": stack.MixChildDocument, "mix": stack.MixDocument} {
		body, err := json.Marshal(text)
		if err != nil {
			return err
		}
		if _, err := c.ways[0].Call(ctx, "POST", wire.Path("workflows"), nil, wire.PublishRequest{Name: name, Document: body}, nil); err != nil {
			return fmt.Errorf("publish %s: %w", name, err)
		}
	}
	return nil
}

// load starts executions until the time is over, and gives them when every client has its last answer.
func (c *clients) load(ctx context.Context, until time.Time, rate int) []one {
	var list []one
	tick := time.NewTicker(time.Second / time.Duration(rate))
	defer tick.Stop()
	for time.Now().Before(until) && ctx.Err() == nil {
		x := c.execution(len(list))
		list = append(list, x)
		c.all.Go(func() { c.lead(ctx, x) })
		<-tick.C
	}
	c.all.Wait()
	return list
}

// lead starts an execution and does what it waits for.
func (c *clients) lead(ctx context.Context, x one) {
	start := wire.StartRequest{Workflow: "mix", Name: x.name, Input: x.input()}
	if !c.insist(ctx, x, callStart, "", wire.Path("executions"), nil, start) {
		return
	}
	switch x.kind {
	case "signal":
		key := http.Header{wire.HeaderIdempotencyKey: {"go " + x.name}}
		payload := fmt.Append(nil, x.number)
		c.insist(ctx, x, callSignal, string(payload), wire.Path("executions", x.name, "signals", "go"), key, wire.SignalRequest{Payload: payload})
	case "stays":
		c.once(ctx, x)
	case "cancel":
		c.insist(ctx, x, callCancel, "", wire.Path("executions", x.name, "cancel"), nil, wire.CancelRequest{Reason: "chaos"})
	}
}

// insist makes a call until its answer is final. That the execution has ended is the final answer of a repeat whose
// predecessor was applied without anybody hearing of it.
func (c *clients) insist(ctx context.Context, x one, call, detail, path string, header http.Header, body any) bool {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		status, err := x.way.Call(ctx, "POST", path, header, body, nil)
		if noted := c.ledger.answer(context.WithoutCancel(ctx), call, x.name, detail, status, err); noted != nil {
			c.report.breach("%v", noted)
		}
		switch {
		case err == nil:
			return true
		case errors.Is(err, &wire.Error{Code: wire.ExecutionFinished}) && call != callStart:
			return true
		case !wire.Temporary(err) || !pause(ctx, again(err)):
			c.report.breach("%s %s: %v", call, x.name, err)
			return false
		}
	}
}

// again is the pause before a call is made again: what the server says, else a moment.
func again(err error) time.Duration {
	var e *wire.Error
	if errors.As(err, &e) && e.RetryAfter > 0 {
		return e.RetryAfter
	}
	return 200 * time.Millisecond
}

// once sends a signal without a key and never again, whatever the answer: it is recorded once when that was a success, and
// at most once in any case.
func (c *clients) once(ctx context.Context, x one) {
	payload := fmt.Appendf(nil, `"note %d"`, x.number)
	status, err := x.way.Call(ctx, "POST", wire.Path("executions", x.name, "signals", "note"), nil, wire.SignalRequest{Payload: payload}, nil)
	if noted := c.ledger.answer(context.WithoutCancel(ctx), callNote, x.name, string(payload), status, err); noted != nil {
		c.report.breach("%v", noted)
	}
	if err != nil && !wire.Temporary(err) {
		c.report.breach("%s %s: %v", callNote, x.name, err)
	}
}
