package node

import (
	"context"
	"sync"
	"time"

	"github.com/orrery-dev/orrery/shared/frontend"
)

// results lets requests wait for the ends of executions that are loaded here, without a read of the database. The loop tells
// it what is loaded and what has ended, after the commit (I5); requests wait in it.
//
//	          loaded             ended
//	unknown --------> running ----------> remembered for a while --> unknown
//	   ^                 |
//	   +-----------------+ left: not loaded any more
//
// Of what is unknown the database must be asked. A remembered end is forgotten soon, and when a partition goes: another
// owner may have an execution go on.
type results struct {
	mu      sync.Mutex
	running map[name]chan struct{} // closed when the execution runs here no more; nil until somebody waits
	closed  bool                   // the incarnation is over: everything is unknown

	// young and old have the newest ends; old goes when young is full.
	young, old map[name]remembered
	bytes      int // of young, estimated
}

type remembered struct {
	frontend.Ended
	at time.Time
}

const (
	// endedFor is how long an end is remembered.
	endedFor = 10 * time.Second
	// endedBytes bounds each half of what is remembered, and endedBase is what an end takes beside its output.
	endedBytes = 4 << 20
	endedBase  = 300
)

func newResults() *results {
	return &results{running: map[name]chan struct{}{}, young: map[name]remembered{}}
}

// loaded notes that the execution runs here.
func (r *results) loaded(n name) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, known := r.running[n]; !known {
		r.running[n] = nil
	}
	delete(r.young, n)
	delete(r.old, n)
}

// left notes that the execution is not loaded here any more.
func (r *results) left(n name) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.leave(n)
}

func (r *results) leave(n name) {
	if over := r.running[n]; over != nil {
		close(over)
	}
	delete(r.running, n)
}

// ended notes an end that is committed.
func (r *results) ended(n name, e frontend.Ended) {
	r.mu.Lock()
	defer r.mu.Unlock()
	size := endedBase + len(n.name) + len(e.Output) + len(e.Cause)
	if r.bytes += size; r.bytes > endedBytes {
		r.young, r.old, r.bytes = map[name]remembered{}, r.young, size
	}
	r.young[n] = remembered{e, time.Now()}
	r.leave(n)
}

// forgetEnds forgets what is remembered.
func (r *results) forgetEnds() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.young, r.old, r.bytes = map[name]remembered{}, nil, 0
}

// close makes everything unknown, for good.
func (r *results) close() {
	r.forgetEnds()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	for n := range r.running {
		r.leave(n)
	}
}

// await waits until the execution has ended or until comes; nil is that it runs still. known is false when this process
// cannot tell, or cannot any more.
func (r *results) await(ctx context.Context, n name, until time.Time) (ended *frontend.Ended, known bool) {
	ended, over := r.look(n)
	if ended != nil || over == nil {
		return ended, ended != nil
	}
	t := time.NewTimer(time.Until(until))
	defer t.Stop()
	select {
	case <-over:
		ended, _ = r.look(n)
		return ended, ended != nil
	case <-t.C:
	case <-ctx.Done():
	}
	return nil, true
}

// look gives the end, or a channel that tells when the execution does not run here any more; neither is for unknown.
func (r *results) look(n name) (*frontend.Ended, <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if over, runs := r.running[n]; runs && !r.closed {
		if over == nil {
			over = make(chan struct{})
			r.running[n] = over
		}
		return nil, over
	}
	e, ok := r.young[n]
	if !ok {
		e, ok = r.old[n]
	}
	if !ok || time.Since(e.at) > endedFor {
		return nil, nil
	}
	return &e.Ended, nil
}
