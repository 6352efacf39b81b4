package node_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/orrery-dev/orrery/shared/history"
	"github.com/orrery-dev/orrery/shared/node"
	"github.com/orrery-dev/orrery/shared/store"
	"github.com/orrery-dev/orrery/shared/wire"
)

// loadMeter counts loads, and the most events that one of them has brought to be folded.
type loadMeter struct{ loads, most atomic.Int64 }

// metered is a store whose loads are counted.
type metered struct {
	node.Store
	meter *loadMeter
}

func (m metered) Load(ctx context.Context, ids []history.ExecutionID, from store.LoadFrom) ([]store.Loaded, error) {
	list, err := m.Store.Load(ctx, ids, from)
	for _, l := range list {
		m.meter.loads.Add(1)
		n := int64(0)
		for _, r := range l.Turns {
			events, err := history.DecodeEvents(r.Events)
			if err != nil {
				return nil, err
			}
			n += int64(len(events))
		}
		for most := m.meter.most.Load(); n > most && !m.meter.most.CompareAndSwap(most, n); most = m.meter.most.Load() {
		}
	}
	return list, err
}

// TestLongHistory takes a loop through many turns with a task each, and then through more without, while its owner is killed
// and somebody looks at it all the time: whoever loads it folds at most 500 events, and what a snapshot holds does not
// grow. With ORRERY_SOAK the second loop goes 1,000,000 times round.
func TestLongHistory(t *testing.T) {
	t.Parallel()
	tasks, total, limit := 300, 5_000, 2*time.Minute
	if os.Getenv("ORRERY_SOAK") != "" {
		tasks, total, limit = 5_000, 1_000_000, time.Hour
	}
	s := newSystem(t)
	s.loads = &loadMeter{}
	live := []*process{s.run("a"), s.run("b")}
	var mu sync.Mutex
	pick := func(i int) *process {
		mu.Lock()
		defer mu.Unlock()
		return live[i%len(live)]
	}
	s.publish(live[0], "loops", fmt.Sprintf(`{"StartAt": "Work", "States": {
		"Work": {"Type": "Task", "Resource": "task:work@1", "ResultPath": "$.did", "Next": "Count"},
		"Count": {"Type": "Pass", "Parameters": {"n.$": "States.MathAdd($.n, 1)"}, "Next": "Enough"},
		"Enough": {"Type": "Choice", "Choices": [{"Variable": "$.n", "NumericLessThan": %d, "Next": "Work"}, {"Variable": "$.n", "NumericLessThan": %d, "Next": "Count"}], "Default": "Done"},
		"Done": {"Type": "Succeed"}}}`, tasks, total))
	if _, _, err := live[0].Start(t.Context(), caller, wire.StartRequest{Workflow: "loops", Name: "loop", Input: json.RawMessage(`{"n":0}`)}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var beside sync.WaitGroup
	defer beside.Wait()
	defer cancel()
	beside.Go(func() { s.chain(ctx, pick) })
	var largest atomic.Int64
	beside.Go(func() {
		for i := 0; ctx.Err() == nil; i++ {
			_, _ = pick(i).GetExecution(ctx, caller, "loop") // what a killed node answers is no matter
			var n int64
			if err := s.db.QueryRow(ctx, "select coalesce(max(length(state)), 0) from orrery.snapshot").Scan(&n); err == nil {
				largest.Store(max(largest.Load(), n))
			}
			time.Sleep(10 * time.Millisecond)
		}
	})
	s.await("the loop to go on", func() bool { return s.count("select last_seq from orrery.execution") > tasks/2 })
	owner := s.count("select p.fence from orrery.execution e join orrery.partition p on p.id = e.partition")
	mu.Lock()
	for i, p := range live {
		if s.count("select fence from orrery.node where id = $1 and ended is null", p.node.Health().Node.ID) == owner {
			p.node.Kill()
			live[i] = live[1-i]
			break
		}
	}
	mu.Unlock()
	for end := time.Now().Add(limit); s.count("select status from orrery.execution") == 1; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the loop does not end")
		}
	}
	r := s.result(pick(0), "loop")
	if want := fmt.Sprintf(`{"n":%d}`, total); r.Status != wire.Succeeded || string(r.Output) != want {
		t.Errorf("%s %s, want %s", r.Status, r.Output, want)
	}
	t.Logf("%d turns, %d loads, each of up to %d events; snapshots of up to %d bytes",
		s.count("select last_seq from orrery.execution"), s.loads.loads.Load(), s.loads.most.Load(), largest.Load())
	if s.loads.most.Load() > 500 || s.loads.loads.Load() < 10 || largest.Load() > 3_000 {
		t.Error("that is not what it should be")
	}
	s.checkHistories()
}

// chain does tasks one after the other, each report bringing the next, until the context ends.
func (s *system) chain(ctx context.Context, pick func(int) *process) {
	session := ""
	var reports []wire.Completion
	for i := 0; ctx.Err() == nil; {
		p := pick(i)
		if session == "" {
			if a, err := p.Register(ctx, caller, wire.RegisterRequest{WorkerID: "w", Contracts: []wire.Contract{{Task: "work", Version: 1}}}); err == nil {
				session = a.SessionID
			}
		}
		poll := &wire.PollRequest{SessionID: session, MaxTasks: 1, WaitMS: 500, PollID: rand.Text()}
		var got []wire.Assignment
		var err error
		if len(reports) > 0 {
			var a wire.ReportResponse
			a, err = p.Complete(ctx, caller, wire.CompleteRequest{Reports: reports, SessionID: session, Poll: poll})
			got = a.Assignments
		} else {
			var a wire.PollResponse
			a, err = p.Poll(ctx, caller, *poll)
			got = a.Assignments
		}
		if err != nil { // another process may take it; a task that was under way to this one is given back with its session
			i++
			session = ""
			time.Sleep(20 * time.Millisecond)
			continue
		}
		reports = nil
		for _, x := range got {
			reports = append(reports, wire.Completion{Token: x.Token, Output: json.RawMessage(`"done"`)})
		}
	}
}
