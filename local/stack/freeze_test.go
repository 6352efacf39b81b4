package stack

import (
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/orrery-dev/orrery/shared/wire"
	"github.com/orrery-dev/orrery/shared/worker"
)

// frozenFor is how long a node stands still.
const frozenFor = 15 * time.Second

// freeze stops a node's process in its tracks and gives what wakes it, once the time is over.
func (s *system) freeze(n *Node) (wake func()) {
	s.t.Helper()
	if err := n.Signal(syscall.SIGSTOP); err != nil {
		s.t.Fatal(err)
	}
	over := time.Now().Add(frozenFor)
	resume := sync.OnceFunc(func() { _ = n.Signal(syscall.SIGCONT) })
	s.t.Cleanup(resume) // a stopped process does not end at a signal
	return func() {
		time.Sleep(time.Until(over))
		resume()
	}
}

// rejoins waits until a node that was fenced is a member again, as another incarnation, and owns its share. Until then it
// must not say that it is ready.
func (s *system) rejoins(n *Node, c *wire.Client, before string) {
	s.t.Helper()
	for late := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		var h wire.Health
		_, err := c.Call(s.t.Context(), "GET", "/v1/ready", nil, nil, &h)
		if err == nil && h.Node.Incarnation == before {
			s.t.Fatalf("%s says that it is ready as the incarnation that was fenced", n.ID)
		}
		if err == nil {
			break
		}
		if time.Now().After(late) {
			s.t.Fatalf("%s is not ready: %v", n.ID, err)
		}
	}
	s.ownedBy(30*time.Second, "node-1", "node-2")
	if now := s.incarnation(n.ID); now == before || now == "" {
		s.t.Errorf("%s is incarnation %q, before the freeze %q", n.ID, now, before)
	}
}

// TestFrozenNode freezes a node at work. The other one takes its executions over; when it wakes, with calls in its memory
// and answers on their way to it, nothing of that counts any more, and it joins again by itself.
func TestFrozenNode(t *testing.T) {
	t.Parallel()
	s := newSystem(t, Options{SessionTimeout: 5 * time.Second, Instances: 64})
	s.publish("mix", MixDocument)
	l := newLedger()
	for id, url := range map[string]string{"of-node-1": s.Nodes[0].URL, "of-node-2": s.Nodes[1].URL, "of-functions": s.URL} {
		w := worker.New(s.workerConfig(id, url))
		l.handle(w, MixWork)
		s.work(w)
	}
	mix := s.mix(200)
	s.start(mix[:100])
	before := s.incarnation("node-1")
	var signals, starts sync.WaitGroup
	wake := s.freeze(s.Nodes[0])
	for i := 1; i < 100; i += 4 {
		signals.Go(func() { s.signal(s.nodes[1], mix[i].Name, i) })
	}
	starts.Go(func() { s.start(mix[100:]) }) // a third of it through the node that stands still
	took := s.ownedBy(nodeTimeout+2*time.Second, "node-2")
	t.Logf("taken over after %v", took)
	signals.Wait()
	wake()
	s.rejoins(s.Nodes[0], s.nodes[0], before)
	starts.Wait()
	for i := 101; i < len(mix); i += 4 {
		signals.Go(func() { s.signal(s.nodes[0], mix[i].Name, i) })
	}
	signals.Wait()
	s.awaitEnd(time.Minute)
	l.check(s, s.checkMix(mix))
}

// TestFrozenInCommit freezes a node whose commit has passed its checks and not yet ended: it holds the fence, and would
// keep its successor from taking over for as long as it stands still.
func TestFrozenInCommit(t *testing.T) {
	t.Parallel()
	const executions = 10
	s := newSystem(t, Options{SessionTimeout: 5 * time.Second})
	g := s.useGate(s.Nodes[0])
	s.settled()
	s.publish("listen", "StartAt: Listen\nStates:\n  Listen: {Type: Task, Resource: 'signal:go', End: true}\n")
	var list []starting
	for i := range executions {
		list = append(list, starting{wire.StartRequest{Workflow: "listen", Name: fmt.Sprintf("listen-%d", i)}, s.nodes[0]})
	}
	s.start(list)
	before := s.incarnation("node-1")

	g.close()
	var early sync.WaitGroup
	for _, x := range list {
		early.Go(func() {
			var a wire.SignalResponse
			err := s.try(s.nodes[0], "POST", wire.Path("executions", x.Name, "signals", "go"), wire.SignalRequest{Payload: json.RawMessage(`"early"`)}, &a)
			if !errors.Is(err, &wire.Error{Code: wire.ExecutionFinished}) {
				t.Errorf("the signal to %s through the node that froze: %+v, %v", x.Name, a, err)
			}
		})
	}
	g.awaitWaiting()
	wake := s.freeze(s.Nodes[0])
	if g.waiting() == 0 {
		t.Fatal("the commit has ended before the node was frozen")
	}
	took := s.ownedBy(nodeTimeout+2*time.Second, "node-2")
	t.Logf("taken over after %v", took)
	if n := g.waiting(); n != 0 {
		t.Errorf("%d commits are at the gate still", n)
	}
	for _, x := range list {
		if d := s.detail(x.Name); d.Turn != 1 || d.Owner.Node != "node-2" {
			t.Errorf("%s is at turn %d and owned by %s", x.Name, d.Turn, d.Owner.Node)
		}
		s.call(s.functions, "POST", wire.Path("executions", x.Name, "signals", "go"), wire.SignalRequest{Payload: json.RawMessage(`"late"`)}, nil)
	}
	g.open()
	wake()
	s.rejoins(s.Nodes[0], s.nodes[0], before)
	early.Wait()
	s.awaitEnd(time.Minute)
	for _, x := range list {
		events := s.events(x.Name, true)
		if got := data(t, *find(events, "SignalReceived", ""), "input"); string(got) != `"late"` || len(events) != 7 {
			t.Errorf("%s has received %s: %s", x.Name, got, typesOf(events))
		}
	}
}
