package sim

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/orrery-dev/orrery/shared/frontend"
	"github.com/orrery-dev/orrery/shared/node"
	"github.com/orrery-dev/orrery/shared/telemetry"
)

// The timeouts are short, so that a run is. All processes have the same.
const (
	nodeTimeout    = time.Second
	sessionTimeout = 3 * time.Second
	beatInterval   = time.Second // of workers
)

// process is one life of a node or a function. A node that begins again has a new one under its name.
type process struct {
	world *world
	name  string
	life  int // counts the lives of the name
	front *frontend.Frontend
	stop  context.CancelFunc // begins a clean stop; nil for a function
	ended chan struct{}      // closed when the node has ended

	ctx  context.Context // ends when the process dies
	over context.CancelFunc

	mu       sync.Mutex
	thawed   chan struct{} // closed at the end of a pause; nil while there is none
	dead     bool
	cutUntil time.Time
	deafTill time.Time
}

// begin starts a node or a function under a name.
func (w *world) begin(name string) *process {
	w.mu.Lock()
	w.lives[name]++
	p := &process{world: w, name: name, life: w.lives[name], ended: make(chan struct{})}
	w.mu.Unlock()
	p.ctx, p.over = context.WithCancel(context.Background())
	l := newLink(p)
	o := frontend.Options{SessionTimeout: sessionTimeout, HeartbeatInterval: beatInterval, NodeTimeout: nodeTimeout, Version: "sim"}
	if name[0] == 'f' {
		close(p.ended)
		p.front = frontend.New(l, o)
	} else {
		n, err := node.New(node.Config{
			ID: name, NodeTimeout: nodeTimeout, SessionTimeout: sessionTimeout, Idle: 2 * time.Second, Log: w.logger(name),
			Metrics: w.metered(name),
		}, l, l)
		if err != nil {
			panic(err)
		}
		p.front = n.Frontend(o)
		ctx, cancel := context.WithCancel(context.Background())
		p.stop = cancel
		w.nodes.Go(func() {
			defer close(p.ended)
			if err := n.Run(ctx); err != nil && p.awake() {
				w.note("node %s has ended: %v", name, err)
				p.die()
			}
		})
	}
	w.mu.Lock()
	w.processes[name] = p
	w.mu.Unlock()
	return p
}

// unitsWithoutRow is the counter of the net for rows of the queue.
const unitsWithoutRow = "orrery_net_units_without_row_total"

// meter is the metrics of a node's life.
type meter struct {
	name    string
	metrics *telemetry.Metrics
}

// metered gives a life of a node its metrics, which are kept to the end of the run.
func (w *world) metered(name string) *telemetry.Metrics {
	m := telemetry.NewMetrics()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.meters = append(w.meters, meter{name, m})
	return m
}

// checkNets looks whether a unit was offered only because the lack of its row was noticed in the end: whatever goes wrong, the
// debts of owners name it, and the net beneath them is for rows that somebody has deleted.
func (w *world) checkNets() {
	for _, x := range w.meters {
		values, err := x.metrics.Values()
		if err != nil {
			w.fail("the metrics of %s: %v", x.name, err)
		}
		if n := values[unitsWithoutRow]; n > 0 {
			w.fail("%s has found %v units in the queue without a row and without a debt", x.name, n)
		}
	}
}

// logger tells what nodes log, when a run is told.
func (w *world) logger(name string) *slog.Logger {
	if !w.verbose {
		return slog.New(slog.DiscardHandler)
	}
	return slog.New(slog.NewTextHandler(noteWriter{w}, &slog.HandlerOptions{Level: slog.LevelDebug})).With("process", name)
}

type noteWriter struct{ w *world }

func (n noteWriter) Write(b []byte) (int, error) {
	n.w.note("%s", b[:len(b)-1])
	return len(b), nil
}

// awake waits while the process is frozen, and tells whether it lives.
func (p *process) awake() bool {
	for {
		p.mu.Lock()
		thawed, dead := p.thawed, p.dead
		p.mu.Unlock()
		if dead || thawed == nil {
			return !dead
		}
		<-thawed
	}
}

// pause freezes the process for a while.
func (p *process) pause(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.dead || p.thawed != nil {
		return
	}
	thawed := make(chan struct{})
	p.thawed = thawed
	time.AfterFunc(d, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.thawed == thawed {
			p.thawed = nil
			close(thawed)
		}
	})
}

// die ends the process at once: nothing that it does reaches anybody any more, and nothing reaches it. It is false for one that
// was dead.
func (p *process) die() bool {
	p.mu.Lock()
	dead := p.dead
	p.dead = true
	if p.thawed != nil {
		close(p.thawed)
		p.thawed = nil
	}
	p.mu.Unlock()
	p.over()
	if !dead && p.stop != nil {
		p.stop()
	}
	return !dead
}

// request has the process serve a client. It is false when the client has no answer: the process died before it gave one.
func request[T any](p *process, f func(context.Context, *frontend.Frontend) (T, error)) (out T, err error, answered bool) {
	if !p.awake() {
		return out, nil, false
	}
	given := make(chan answer[T], 1)
	p.world.calls.Go(func() {
		v, err := f(p.ctx, p.front)
		given <- answer[T]{v, err}
	})
	select {
	case a := <-given:
		if !p.awake() {
			return out, nil, false
		}
		return a.value, a.err, true
	case <-p.ctx.Done():
		return out, nil, false
	}
}

// crash kills the process, and begins another under its name later.
func (p *process) crash(after time.Duration) {
	if p.die() {
		p.world.later(after, func() { p.world.begin(p.name) })
	}
}

func (p *process) cut(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cutUntil = time.Now().Add(d)
}

func (p *process) deafen(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.deafTill = time.Now().Add(d)
}

func (p *process) deaf() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return time.Now().Before(p.deafTill)
}

// unreachable tells whether the process cannot reach the database now.
func (w *world) unreachable(p *process) bool {
	p.mu.Lock()
	cut := p.dead || time.Now().Before(p.cutUntil)
	p.mu.Unlock()
	w.mu.Lock()
	defer w.mu.Unlock()
	return cut || time.Now().Before(w.outageUntil)
}

// happen does what a step says to a process.
func (p *process) happen(s Step) {
	switch s.Do {
	case Pause:
		p.pause(s.For)
	case Kill:
		p.crash(s.For)
	case Cut:
		p.cut(s.For)
	case Deaf:
		p.deafen(s.For)
	case Stop:
		if p.stop == nil {
			return
		}
		p.stop()
		p.world.wait(func() {
			<-p.ended
			if p.awake() { // it was not killed meanwhile
				p.crash(s.For)
			}
		})
	}
}
