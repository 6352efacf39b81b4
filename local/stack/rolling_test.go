package stack

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/orrery-dev/orrery/shared/wire"
	"github.com/orrery-dev/orrery/shared/worker"
)

// TestRollingRestart replaces each node in turn while executions are on their way, as a deployment does: by itself, or by
// one with another id that comes before it goes. No call needs more than one repeat, nobody is waited for as dead, no task
// is handed out twice.
func TestRollingRestart(t *testing.T) {
	t.Run("same ids", func(t *testing.T) {
		s := newSystem(t, Options{SessionTimeout: 5 * time.Second, Instances: 64})
		s.rolling(append([]*wire.Client{s.functions}, s.nodes...), func() {
			for i, n := range s.Nodes {
				s.stopped(n)
				s.ownedBy(nodeTimeout, s.Nodes[1-i].ID)
				if err := n.Start(); err != nil {
					t.Fatal(err)
				}
				s.serves(n)
				s.ownedBy(30*time.Second, "node-1", "node-2")
			}
		})
	})
	t.Run("new ids", func(t *testing.T) {
		s := newSystem(t, Options{SessionTimeout: 5 * time.Second, Instances: 64})
		s.rolling([]*wire.Client{s.functions}, func() {
			for i, old := range slices.Clone(s.Nodes) {
				n, err := s.AddNode(fmt.Sprintf("node-%d", i+3))
				if err != nil {
					t.Fatal(err)
				}
				s.serves(n)
				s.stopped(old)
			}
			s.ownedBy(30*time.Second, "node-3", "node-4")
		})
	})
}

func (s *system) stopped(n *Node) {
	s.t.Helper()
	if err := n.Stop(); err != nil {
		s.t.Fatal(err)
	}
}

func (s *system) serves(n *Node) {
	s.t.Helper()
	if err := n.WaitReady(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
}

// rolling has executions come in by the ways while both nodes are replaced, and checks what came of them.
func (s *system) rolling(ways []*wire.Client, replace func()) {
	s.t.Helper()
	s.publish("mix", MixDocument)
	l := newLedger()
	w := worker.New(s.workerConfig("of-functions", s.URL))
	l.handle(w, MixWork)
	s.work(w)
	mix := s.mix(200)
	var clients sync.WaitGroup
	clients.Go(func() {
		for i, x := range mix {
			x.at = ways[i%len(ways)]
			clients.Go(func() { s.lead(x, i) })
			time.Sleep(15 * time.Millisecond)
		}
	})
	replace()
	clients.Wait()
	s.awaitEnd(time.Minute)
	histories := s.checkMix(mix)
	l.check(s, histories)
	for id, events := range histories {
		if slices.ContainsFunc(events, func(e wire.Event) bool { return e.Type == "TaskRedelivered" }) {
			s.t.Errorf("a task of %s was handed out twice: %s", id, typesOf(events))
		}
	}
	var left, dead int
	if err := s.db.QueryRow(s.t.Context(), `
		select count(*) filter (where ended = 'left'), count(*) filter (where ended = 'fenced') from orrery.node`).Scan(&left, &dead); err != nil {
		s.t.Fatal(err)
	}
	if left != 2 || dead != 0 {
		s.t.Errorf("%d incarnations have left and %d were given up as dead, want 2 and 0", left, dead)
	}
}

// lead starts an execution and sends it the signal that it may wait for.
func (s *system) lead(x starting, i int) {
	if err := s.withOneRepeat(x.at, wire.Path("executions"), nil, x.StartRequest); err != nil {
		s.t.Errorf("start %s: %v", x.Name, err)
		return
	}
	if i%4 == 1 {
		key := http.Header{wire.HeaderIdempotencyKey: {"go " + x.Name}}
		path := wire.Path("executions", x.Name, "signals", "go")
		if err := s.withOneRepeat(x.at, path, key, wire.SignalRequest{Payload: fmt.Append(nil, i)}); err != nil {
			s.t.Errorf("signal to %s: %v", x.Name, err)
		}
	}
}

// withOneRepeat makes a call, and where the answer is to try again, once more: through the functions, as a load balancer does.
func (s *system) withOneRepeat(at *wire.Client, path string, header http.Header, body any) error {
	ctx, cancel := context.WithTimeout(s.t.Context(), time.Minute)
	defer cancel()
	_, err := at.Call(ctx, "POST", path, header, body, nil)
	if err != nil && wire.Temporary(err) {
		_, err = s.functions.Call(ctx, "POST", path, header, body, nil)
	}
	return err
}
