package stack

import (
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/orrery-dev/orrery/shared/wire"
	"github.com/orrery-dev/orrery/shared/worker"
)

// heldDocument is one task of a contract that only a test's own session does.
const heldDocument = `
StartAt: Hold
States:
  Hold: {Type: Task, Resource: 'task:mix.held', Next: After}
  After: {Type: Pass, End: true}
`

// mix makes n executions of the four kinds in turn, started through the functions and the nodes in turn.
func (s *system) mix(n int) (list []starting) {
	ways := append([]*wire.Client{s.functions}, s.nodes...)
	for i := range n {
		kind := []string{"tasks", "signal", "timer", "map"}[i%4]
		ms := 20
		if i%40 == 0 {
			ms = 2000 // in work for long
		}
		list = append(list, starting{
			wire.StartRequest{Workflow: "mix", Name: fmt.Sprintf("%s-%d", kind, i), Input: MixInput(kind, i, ms, 1+i/4%10)}, ways[i%len(ways)],
		})
	}
	return list
}

// checkMix checks executions of mix that have ended, and gives their histories.
func (s *system) checkMix(list []starting) map[string][]wire.Event {
	s.t.Helper()
	histories := map[string][]wire.Event{}
	for i, x := range list {
		if d := s.detail(x.Name); d.Status != wire.Succeeded || string(d.Output) != fmt.Sprint(i) {
			s.t.Errorf("%s is %s with output %s and error %+v, want %d", x.Name, d.Status, d.Output, d.Error, i)
		}
		histories[x.Name] = s.events(x.Name, true)
	}
	return histories
}

// isWork tells whether an event schedules a task of a worker, and not a wait for a signal.
func isWork(e wire.Event) bool {
	var data struct{ ResourceType string }
	return json.Unmarshal(e.Data, &data) == nil && data.ResourceType == "task"
}

// TestKilledNode kills one of two nodes with executions of every kind on their way. What it owned is taken over, and what it
// had handed out without anybody knowing is handed out again, in time; nothing is lost and nothing is done twice unseen.
func TestKilledNode(t *testing.T) {
	const sessionTimeout = 5 * time.Second
	s := newSystem(t, Options{SessionTimeout: sessionTimeout, Instances: 64})
	s.settled()
	s.publish("mix", MixDocument)
	s.publish("held", heldDocument)
	l := newGatedLedger() // so that all are on their way at the kill, however slow their starts are
	for id, url := range map[string]string{"of-node-1": s.Nodes[0].URL, "of-node-2": s.Nodes[1].URL, "of-functions": s.URL} {
		w := worker.New(s.workerConfig(id, url))
		l.handle(w, MixWork)
		s.work(w)
	}
	mix := s.mix(500)
	var timers, others []starting
	for i, x := range mix {
		if i%4 == 2 {
			timers = append(timers, x)
		} else {
			others = append(others, x)
		}
	}
	s.start(others)
	var signals sync.WaitGroup
	for i := 1; i < 250; i += 4 { // half of those that wait for one
		signals.Go(func() { s.signal(s.functions, mix[i].Name, i) })
	}
	signals.Wait()
	s.start(timers)      // only now: most of them are to be due after the kill
	p := s.startProbes() // only now: their sessions are to live until the kill
	p.handOut()

	if n := len(s.running()); n < 500 {
		t.Fatalf("only %d executions are on their way", n)
	}
	killed := s.now()
	if err := s.Nodes[0].Kill(); err != nil {
		t.Fatal(err)
	}
	close(l.gate)
	for i := 253; i < 500; i += 4 {
		signals.Go(func() { s.signal(s.nodes[1], mix[i].Name, i) })
	}
	signals.Go(p.report)
	signals.Go(p.collect)
	took := s.ownedBy(nodeTimeout+2*time.Second, "node-2")
	t.Logf("taken over after %v", took)
	signals.Wait()

	s.awaitEnd(time.Minute)
	histories := s.checkMix(mix)
	l.check(s, histories)
	s.checkTakeover(histories, killed)
	p.check(killed, sessionTimeout)

	// The same node comes back, and gets its share.
	if err := s.Nodes[0].Start(); err != nil {
		t.Fatal(err)
	}
	if err := s.Nodes[0].WaitReady(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.ownedBy(30*time.Second, "node-1", "node-2")
}

func (s *system) signal(c *wire.Client, id string, payload int) {
	var a wire.SignalResponse
	err := s.try(c, "POST", wire.Path("executions", id, "signals", "go"), wire.SignalRequest{Payload: fmt.Append(nil, payload)}, &a)
	if err != nil || !a.Confirmed {
		s.t.Errorf("signal to %s: %+v, %v", id, a, err)
	}
}

// checkTakeover checks that what was due after the kill was late by no more than the takeover took.
func (s *system) checkTakeover(histories map[string][]wire.Event, killed time.Time) {
	s.t.Helper()
	taken := killed.Add(nodeTimeout + 2*time.Second)
	timers := 0
	for id, events := range histories {
		for i, e := range events {
			switch e.Type {
			case "WaitStateExited":
				var in struct{ Seconds int64 }
				if err := json.Unmarshal(data(s.t, events[i-1], "input"), &in); err != nil {
					s.t.Fatalf("%s: %v", id, err)
				}
				due := events[i-1].At.Add(time.Duration(in.Seconds) * time.Second)
				if due.Before(killed) {
					continue
				}
				timers++
				if e.At.Before(due) || e.At.After(later(due, taken).Add(time.Second)) {
					s.t.Errorf("%s: a timer that was due %v after the kill fired %v after it", id, due.Sub(killed), e.At.Sub(killed))
				}
			case "SignalReceived":
				if e.At.After(taken) {
					s.t.Errorf("%s: a signal was received %v after the kill", id, e.At.Sub(killed))
				}
			}
		}
	}
	if timers < 10 {
		s.t.Errorf("%d timers were due after the kill, want at least 10", timers)
	}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// data gives a member of an event's data.
func data(t *testing.T, e wire.Event, name string) json.RawMessage {
	t.Helper()
	var members map[string]json.RawMessage
	if err := json.Unmarshal(e.Data, &members); err != nil {
		t.Fatal(err)
	}
	return members[name]
}

// probes are executions of one task each that sessions driven by hand hold when node-1 is killed.
type probes struct {
	s *system
	// known is heard of all the time; silent only until the kill.
	known, silent *session
	// reported are reported through a function right after the kill. The assignments of the others are never received, as
	// if the answers had died with the node that gave them.
	reported, lost, forsaken []wire.Assignment
	// again is what came of lost and forsaken.
	again []wire.Assignment
	// ofDead tells which executions node-1 owned.
	ofDead map[string]bool
}

const probesEach = 5

// startProbes starts the executions, the last third at the node that lives on, and has node-1 hand out those that get lost.
func (s *system) startProbes() *probes {
	s.t.Helper()
	p := &probes{s: s, known: s.register(s.functions, "known", "mix.held"), silent: s.register(s.nodes[0], "silent", "mix.held")}
	var list []starting
	for i := range 4 * probesEach {
		c := s.nodes[0]
		if i >= 3*probesEach {
			c = s.nodes[1]
		}
		list = append(list, starting{wire.StartRequest{Workflow: "held", Name: fmt.Sprintf("probe-%d", i)}, c})
	}
	s.start(list[:probesEach])
	p.reported = p.known.collect(s.functions, probesEach)
	s.start(list[probesEach : 2*probesEach])
	p.forsaken = p.silent.collect(s.nodes[0], probesEach)
	s.start(list[2*probesEach:])
	return p
}

// handOut has node-1 hand out tasks of its own executions and of the other node's.
func (p *probes) handOut() {
	p.s.t.Helper()
	p.lost = p.known.collect(p.s.nodes[0], 2*probesEach)
	owners := map[string]int{}
	p.ofDead = map[string]bool{}
	for _, a := range slices.Concat(p.lost, p.forsaken, p.reported) {
		owner := p.s.detail(a.Execution).Owner.Node
		owners[owner]++
		p.ofDead[a.Execution] = owner == "node-1"
	}
	if owners["node-1"] != 3*probesEach || owners["node-2"] != probesEach {
		p.s.t.Fatalf("the probes are owned by %v", owners)
	}
}

// report reports to executions of the dead node.
func (p *probes) report() { p.complete(p.s.functions, p.reported) }

// collect polls at the other node until all that was lost is there again, and reports it.
func (p *probes) collect() {
	p.again = p.known.collect(p.s.nodes[1], len(p.lost)+len(p.forsaken))
	p.complete(p.s.nodes[1], p.again)
}

func (p *probes) complete(c *wire.Client, list []wire.Assignment) {
	q := wire.CompleteRequest{}
	for _, a := range list {
		q.Reports = append(q.Reports, wire.Completion{Token: a.Token, Output: json.RawMessage(`"done"`)})
	}
	var r wire.ReportResponse
	if err := p.s.try(c, "POST", wire.Path("tasks", "complete"), q, &r); err != nil {
		p.s.t.Errorf("report: %v", err)
	}
	for i, x := range r.Results {
		if x.Outcome != wire.ReportAccepted {
			p.s.t.Errorf("the report to %s was %s", list[i].Execution, x.Outcome)
		}
	}
}

// check checks that all came again once, and in time: those of the dead node cannot come before its end is known.
func (p *probes) check(killed time.Time, sessionTimeout time.Duration) {
	t := p.s.t
	t.Helper()
	taken := killed.Add(nodeTimeout + 2*time.Second)
	keys := map[string]string{}
	for _, a := range slices.Concat(p.lost, p.forsaken) {
		keys[a.Execution] = a.IdempotencyKey
	}
	for _, a := range p.again {
		if a.Attempt != 1 || a.Redelivery != 1 || a.IdempotencyKey != keys[a.Execution] {
			t.Errorf("%s came again as attempt %d, redelivery %d, key %s, was %s", a.Execution, a.Attempt, a.Redelivery, a.IdempotencyKey, keys[a.Execution])
		}
		again := find(p.s.events(a.Execution, true), "TaskRedelivered", "Hold")
		limit := killed.Add(sessionTimeout + time.Second)
		if p.ofDead[a.Execution] {
			limit = later(limit, taken)
		}
		if again.At.After(limit) {
			t.Errorf("%s was offered again %v after the kill: %s", a.Execution, again.At.Sub(killed), data(t, *again, "cause"))
		}
	}
	for _, a := range p.reported {
		events := p.s.events(a.Execution, true)
		done := find(events, "TaskSucceeded", "Hold")
		if done.At.After(taken) {
			t.Errorf("the report to %s was applied %v after the kill", a.Execution, done.At.Sub(killed))
		}
		if find(events, "TaskRedelivered", "Hold") != nil {
			t.Errorf("%s was reported in time and offered again: %s", a.Execution, typesOf(events))
		}
	}
}
