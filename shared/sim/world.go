package sim

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/orrery-dev/orrery/shared/definition"
	"github.com/orrery-dev/orrery/shared/history"
	"github.com/orrery-dev/orrery/shared/sim/memory"
	"github.com/orrery-dev/orrery/shared/store"
)

// world is one run: the database, the processes, who uses them, and what was seen.
type world struct {
	schedule Schedule
	begun    time.Time
	db       *memory.Store
	audit    *audit
	clients  *clients
	verbose  bool
	breaks   Break

	running sync.WaitGroup // steps, clients and workers: they are over before the processes are
	nodes   sync.WaitGroup // every life of every node
	calls   sync.WaitGroup // what is on its way to a process or to the database

	mu          sync.Mutex
	lives       map[string]int
	processes   map[string]*process
	meters      []meter // of all lives of nodes
	workers     map[string]*worker
	outageUntil time.Time
	faults      []Step // of calls, by time; those that have happened are gone
	happened    int    // faults that have happened
	over        bool   // nothing begins any more
	notes       []string
	failures    []string
}

// clockOffset is how far the database's clock is ahead of the processes'.
const clockOffset = 75 * time.Minute

func newWorld(s Schedule, o Options) *world {
	w := &world{
		schedule: s, begun: time.Now(), verbose: o.Verbose, breaks: o.Break, lives: map[string]int{}, processes: map[string]*process{},
		workers: map[string]*worker{},
	}
	w.audit = newAudit(w)
	w.clients = newClients(w)
	w.db = memory.New(memory.Options{
		Partitions: s.Shape.Partitions, Offset: clockOffset, Committed: w.audit.committed, Refused: w.audit.refused, Break: memory.Break(o.Break),
	})
	for _, step := range s.Steps {
		if !step.client() && !step.happens() {
			w.faults = append(w.faults, step)
		}
	}
	return w
}

// publish puts the workflows into the database.
func (w *world) publish() {
	for _, name := range workflowNames() {
		doc, problems := definition.Parse(documentOf(name, 1), definition.Options{})
		if err := problems.Err(); err != nil {
			panic(err)
		}
		d := store.Definition{Namespace: memory.Namespace, Name: name, Hash: doc.Hash, Document: doc.Normalised}
		if _, _, err := w.db.Publish(context.Background(), d); err != nil {
			panic(err)
		}
	}
}

// since is the time of the run.
func (w *world) since() time.Duration { return time.Since(w.begun) }

// fail notes a breach of what must hold.
func (w *world) fail(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.failures = append(w.failures, fmt.Sprintf("%.3fs: ", w.since().Seconds())+fmt.Sprintf(format, args...))
}

func (w *world) failed() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.failures) > 0
}

// note keeps what happens, for whoever wants to read it.
func (w *world) note(format string, args ...any) {
	if !w.verbose {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.notes = append(w.notes, fmt.Sprintf("%8.3fs  ", w.since().Seconds())+strings.TrimSpace(fmt.Sprintf(format, args...)))
}

// wait runs f beside the run, which waits for it.
func (w *world) wait(f func()) { w.running.Go(f) }

// later runs f after a while, unless the run is over by then.
func (w *world) later(d time.Duration, f func()) {
	w.wait(func() {
		time.Sleep(d)
		if !w.ended() {
			f()
		}
	})
}

// ended tells that nothing begins any more.
func (w *world) ended() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.over
}

// process is who runs under a name now.
func (w *world) process(name string) *process {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.processes[name]
}

func (w *world) processesNow() (out []*process) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, p := range w.processes {
		out = append(out, p)
	}
	return out
}

// alive lists those that run, by name.
func (w *world) alive() (out []*process) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, p := range w.processes {
		p.mu.Lock()
		if !p.dead && p.thawed == nil {
			out = append(out, p)
		}
		p.mu.Unlock()
	}
	slices.SortFunc(out, func(a, b *process) int { return strings.Compare(a.name, b.name) })
	return out
}

// faultFor takes what goes wrong with the next call of a method by a process.
func (w *world) faultFor(who, method string) Step {
	return w.take(func(s Step) bool { return s.Who == who && s.On == method && !s.inCommit() })
}

// commitFault takes what goes wrong inside the next commit of a process.
func (w *world) commitFault(who string) Step {
	return w.take(func(s Step) bool { return s.Who == who && s.inCommit() })
}

// inCommit tells whether the step goes wrong inside a commit.
func (s Step) inCommit() bool { return s.Do == Stall || s.Do == FreezeWithin || s.Do == Locked }

func (w *world) take(wanted func(Step) bool) Step {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i, s := range w.faults {
		if s.At > w.since() {
			break
		}
		if wanted(s) {
			w.faults = slices.Delete(w.faults, i, i+1)
			w.happened++
			return s
		}
	}
	return Step{}
}

// calm ends what goes wrong: from here on everything must come to its end.
func (w *world) calm() {
	w.mu.Lock()
	w.faults, w.outageUntil = nil, time.Time{}
	w.mu.Unlock()
	for _, p := range w.processesNow() {
		p.mu.Lock()
		p.cutUntil, p.deafTill = time.Time{}, time.Time{}
		p.mu.Unlock()
	}
}

// blocked notes that a node takes an execution out of service: nothing here should make it.
func (w *world) blocked(id history.ExecutionID, reason string) {
	w.fail("execution %d is blocked: %s", id, reason)
}
