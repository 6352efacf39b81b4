package sim

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/orrery-dev/orrery/shared/sim/memory"
)

// Break names a rule that is not kept, so that a test can show that the simulation notices: one of the database, or of those
// below.
type Break = memory.Break

// AnswerFirst: a commit is answered before it is written, and lost when its process dies or is cut off meanwhile.
const AnswerFirst Break = "answer first"

// Whim: what is decided depends on which life of its node decides.
const Whim Break = "whim"

// Options are how a schedule is run.
type Options struct {
	Break   Break
	Verbose bool // keep notes of what happens
}

// Outcome is what a run has shown.
type Outcome struct {
	// Failures are the breaches of what must hold; none is as it should be.
	Failures []string
	Notes    []string
	// Happened counts the faults of calls that have found their call, Ended the executions that have ended, Effects what workers
	// did, Turns what was written.
	Happened, Ended, Effects, Turns int
	// Commits are the times at which each node has written turns, Taken counts the partitions that have changed owner.
	Commits map[string][]time.Duration
	Taken   int
	// Trace is a digest of all turns in their order: equal for two runs that went alike.
	Trace string
}

const (
	// patience is how long everything may take to come to its end after things stop going wrong.
	patience = 60 * time.Second
	// rest is how long leftovers may take to go.
	rest = 5 * time.Second
)

// Run runs a schedule in a bubble of time.
func Run(t *testing.T, s Schedule, o Options) (out Outcome) {
	synctest.Test(t, func(*testing.T) {
		w := newWorld(s, o)
		w.run()
		out = w.outcome()
	})
	return out
}

func (w *world) run() {
	w.publish()
	for i := range w.schedule.Shape.Nodes {
		w.begin(nodeName(i))
		time.Sleep(7 * time.Millisecond)
	}
	for i := range w.schedule.Shape.Functions {
		w.begin(functionName(i))
	}
	for i := range w.schedule.Shape.Workers {
		w.hire(workerName(i))
	}
	w.play()
	w.calm()
	w.settle()
	w.end()
	w.checkNets()
	if !w.failed() {
		w.clients.check()
	}
}

// play has the steps happen, each at its time.
func (w *world) play() {
	for _, s := range w.schedule.Steps {
		if !s.client() && !s.happens() {
			continue
		}
		time.Sleep(s.At - w.since())
		w.note("%v", s)
		w.step(s)
	}
	time.Sleep(active - w.since())
}

func (w *world) step(s Step) {
	switch {
	case s.client():
		w.wait(func() { w.clients.ask(s) })
	case s.Do == Outage:
		w.mu.Lock()
		w.outageUntil = time.Now().Add(s.For)
		w.mu.Unlock()
	case s.Who[0] == 'w':
		w.worker(s.Who).happen(s)
	default:
		w.process(s.Who).happen(s)
	}
}

// settle has the clients send the signals that are missing, until every execution has ended and nothing is left over.
func (w *world) settle() {
	for end := time.Now().Add(patience); !w.failed(); time.Sleep(250 * time.Millisecond) {
		waiting := w.audit.waiting()
		if len(waiting) == 0 && w.rests() {
			return
		}
		if len(waiting) > 0 && time.Now().After(end) {
			w.fail("executions do not end: %s", strings.Join(waiting, "; "))
		}
		w.clients.help()
	}
}

// rests waits until nothing is left over. False: an execution goes on, by a redrive that was late.
func (w *world) rests() bool {
	for end := time.Now().Add(rest); ; time.Sleep(100 * time.Millisecond) {
		left := w.audit.left()
		switch {
		case len(left) == 0:
			return true
		case len(w.audit.waiting()) > 0:
			return false
		case time.Now().After(end):
			w.fail("left over: %s", strings.Join(left, "; "))
			return true
		}
	}
}

// end stops everything: first who asks, then who serves, then what is on its way.
func (w *world) end() {
	w.mu.Lock()
	w.over = true
	w.mu.Unlock()
	for _, x := range w.workersNow() {
		x.fire()
	}
	w.running.Wait()
	for _, p := range w.processesNow() {
		p.die()
	}
	w.nodes.Wait()
	w.calls.Wait()
	w.running.Wait()
}

func (w *world) outcome() Outcome {
	w.mu.Lock()
	defer w.mu.Unlock()
	return Outcome{
		Failures: w.failures, Notes: w.notes, Happened: w.happened, Ended: w.audit.ended(), Effects: w.audit.effects(),
		Turns: w.audit.turns, Commits: w.audit.commits, Taken: w.audit.taken, Trace: fmt.Sprintf("%x", w.audit.trace.Sum64()),
	}
}
