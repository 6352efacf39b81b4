package node_test

import (
	"context"
	"encoding/json"
	"sync"
	"testing"
	"time"

	"github.com/orrery-dev/orrery/shared/wire"
)

// TestResultsCostNoTransactions counts what clients cost who wait for ends at the owner: nothing beside the commits.
func TestResultsCostNoTransactions(t *testing.T) {
	s := newSystem(t)
	p := s.run("a")
	s.publish(p, "one", oneTask)
	session := s.register(p, "w")
	ctx, cancel := context.WithCancel(t.Context())
	var worker sync.WaitGroup
	defer worker.Wait()
	defer cancel()
	for range 8 { // a poll always waits
		worker.Go(func() { s.serve(ctx, session, func() *process { return p }) })
	}
	startAndWait := func(name string) wire.StartResponse {
		a, created, err := p.Start(ctx, caller, wire.StartRequest{Workflow: "one", Name: name, Input: json.RawMessage(`{}`), WaitMS: 10_000})
		if err != nil || !created {
			t.Fatalf("start %s: created %v, %v", name, created, err)
		}
		return a
	}
	startAndWait("warm")

	const alone = 20
	before, begin := p.traced.transactions.Load(), time.Now()
	for i := range alone {
		name := string(rune('a' + i))
		if a := startAndWait(name); a.Status != wire.Succeeded || string(a.Output) != `"done"` || a.EndedAt.IsZero() {
			t.Fatalf("%s is %+v", name, a)
		}
		r, err := p.Result(ctx, caller, name, wire.ResultQuery{WaitMS: 10_000})
		if err != nil || r.Status != wire.Succeeded || string(r.Output) != `"done"` {
			t.Fatalf("the result of %s is %+v, %v", name, r, err)
		}
	}
	// A few tasks miss the waiting polls on a busy machine, and are claimed; a read per result would be twenty more.
	if own := p.traced.transactions.Load() - before - looks(time.Since(begin)); own > 2*alone+alone/2 {
		t.Errorf("%d executions and their results took %d transactions, want the two commits of each", alone, own)
	}
}
