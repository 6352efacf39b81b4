package stack

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/orrery-dev/orrery/local/tap"
	"github.com/orrery-dev/orrery/shared/storetest"
	"github.com/orrery-dev/orrery/shared/wire"
	"github.com/orrery-dev/orrery/shared/worker"
)

// newTapped runs a system whose database is reached through a tap.
func newTapped(t *testing.T, o Options) (*system, *tap.Tap) {
	t.Helper()
	p := tap.New(t, storetest.URL(t))
	o.DatabaseURL = p.URL
	return newSystem(t, o), p
}

// byItself are what a node sends once in a while, whatever it has to do.
var byItself = []string{"due", "inbox", "unnoticed", "lost_claims", "partitions", "clean_lock", "make_days", "paid", "rowless", "count_active", "blocked"}

// ofNodes gives the transactions of nodes but for their heartbeats, and apart those that come once in a while.
func ofNodes(list []tap.Transaction) (own, looks []tap.Transaction) {
	for _, x := range list {
		switch {
		case !strings.HasPrefix(x.Application, "orrery-node"):
		case slices.ContainsFunc(byItself, x.Has):
			looks = append(looks, x)
		default:
			own = append(own, x)
		}
	}
	return own, looks
}

// TestTransactionsOfOneTask: an execution of one task, started by its version through a node at which a worker waits, takes
// three transactions at most when it is alone: its start, its end, and the bell for who waits for that. Many at once
// share theirs.
func TestTransactionsOfOneTask(t *testing.T) {
	s, p := newTapped(t, Options{Nodes: 1})
	s.publish("one", "StartAt: Do\nStates:\n  Do: {Type: Task, Resource: 'task:one.do', End: true}\n")
	c := s.workerConfig("one", s.Nodes[0].URL)
	c.Concurrency = 100
	w := worker.New(c)
	var begun, ended atomic.Int64
	worker.Handle(w, "one.do", 1, func(context.Context, worker.Task, any) (any, error) {
		begun.Add(1)
		return nil, nil
	})
	s.work(w)
	started := 0
	run := func(n int) {
		t.Helper()
		var starts sync.WaitGroup
		for range n {
			name := fmt.Sprintf("one-%d", started)
			started++
			starts.Go(func() {
				if err := s.try(s.nodes[0], "POST", wire.Path("executions"), wire.StartRequest{Workflow: "one", Version: 1, Name: name}, nil); err != nil {
					t.Errorf("start %s: %v", name, err)
				}
			})
		}
		starts.Wait()
		for late := time.Now().Add(20 * time.Second); ended.Load() != int64(started); time.Sleep(5 * time.Millisecond) {
			var n int64
			if err := s.db.QueryRow(t.Context(), "select count(*) from orrery.execution where status <> 1").Scan(&n); err != nil {
				t.Fatal(err)
			}
			if ended.Store(n); time.Now().After(late) {
				t.Fatalf("%d of %d have ended, %d tasks were begun", n, started, begun.Load())
			}
		}
	}
	run(1) // caches fill, connections open
	p.Drain()

	const alone = 20
	for range alone {
		run(1)
	}
	time.Sleep(50 * time.Millisecond)
	own, looks := ofNodes(p.Drain())
	if len(own) > 3*alone || len(own) < 2*alone || len(looks) > alone/2 {
		t.Errorf("%d executions one after the other took %d transactions, want 2 or 3 each:%s\nbeside looks:%s", alone, len(own), tap.Summary(own), tap.Summary(looks))
	}

	const together = 64
	run(together)
	time.Sleep(50 * time.Millisecond)
	own, looks = ofNodes(p.Drain())
	if len(own)+len(looks) >= together || len(own) < 2 {
		t.Errorf("%d executions at once took %d transactions, want fewer:%s\nbeside looks:%s", together, len(own), tap.Summary(own), tap.Summary(looks))
	}
	if begun.Load() != int64(started) {
		t.Errorf("%d tasks were begun for %d executions", begun.Load(), started)
	}
}

// settle waits until the polls have arrived and the nodes have shared out the partitions: a node that comes second gets
// its half one partition at a time.
func settle(t *testing.T, p *tap.Tap) {
	t.Helper()
	for range 20 {
		p.Drain()
		time.Sleep(3 * time.Second)
		moving := func(x tap.Transaction) bool { return x.Has("release") || x.Has("take") }
		if !slices.ContainsFunc(p.Drain(), moving) {
			return
		}
	}
	t.Fatal("partitions still move after a minute")
}

// TestIdleSystem: two nodes, at which 20 polls wait for 20 s each, send at most 200 statements a minute.
func TestIdleSystem(t *testing.T) {
	const polls, wait, perMinute = 20, 20 * time.Second, 200
	span := 21 * time.Second
	if os.Getenv("ORRERY_SOAK") != "" {
		span = time.Minute
	}
	s, p := newTapped(t, Options{})
	ctx, cancel := context.WithCancel(t.Context())
	var waiting sync.WaitGroup
	defer waiting.Wait()
	defer cancel()
	for i := range polls {
		c := s.nodes[i%2]
		x := s.register(c, fmt.Sprintf("idle-%d", i), fmt.Sprintf("idle.task-%d", i%5))
		waiting.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				q := wire.PollRequest{SessionID: x.SessionID, WaitMS: wait.Milliseconds(), PollID: fmt.Sprintf("idle-%d-%d", i, n)}
				var a wire.PollResponse
				_, err := c.Call(ctx, "POST", wire.Path("workers", "poll"), nil, q, &a)
				if ctx.Err() == nil && (err != nil || len(a.Assignments) > 0) {
					t.Errorf("poll: %+v, %v", a, err)
				}
			}
		})
	}
	settle(t, p)
	time.Sleep(span)
	seen := p.Drain()
	statements := 0
	for _, x := range seen {
		statements += len(x.Statements)
	}
	if most := int(perMinute * span / time.Minute); statements > most || statements < int(span/time.Second) {
		t.Errorf("%d statements in %v, want at most %d, and the heartbeats:%s", statements, span, most, tap.Summary(seen))
	}
}
