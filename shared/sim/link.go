package sim

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"sync"
	"time"

	"github.com/orrery-dev/orrery/shared/history"
	"github.com/orrery-dev/orrery/shared/sim/memory"
	"github.com/orrery-dev/orrery/shared/store"
)

// link is the way of one process to the database and back. Everything takes its time on it, which follows from the seed and
// the number of the call alone, and here calls go wrong as the schedule says.
//
//	caller -- frozen? --> before --> cut off? --> database --> after -- frozen? --> caller
//	              ^                                              |
//	              +---- given up (late, or the caller's time) ---+
type link struct {
	*memory.Store // what no process calls goes there by itself

	world   *world
	process *process

	mu    sync.Mutex
	calls map[string]int // by method
}

func newLink(p *process) *link {
	return &link{Store: p.world.db, world: p.world, process: p, calls: map[string]int{}}
}

// trouble is the error of a call that went wrong. Commits have errors of their own kind.
type trouble struct {
	err  error
	kind store.CommitKind
}

var (
	refused  = trouble{store.ErrUnavailable, store.Unavailable}
	conflict = trouble{store.ErrConflict, store.Conflict}
	unknown  = trouble{store.ErrOutcomeUnknown, store.Unknown}
)

// errOf is how a method tells of trouble. A read has no outcome that could be unknown.
func errOf(c call, t trouble) error {
	switch {
	case c.commit:
		return &store.CommitError{Kind: t.kind, Err: fmt.Errorf("sim: %w", t.err)}
	case c.reads && errors.Is(t.err, store.ErrOutcomeUnknown):
		t = refused
	}
	return fmt.Errorf("sim: %s: %w", c.method, t.err)
}

// call says what is called.
type call struct {
	method string
	reads  bool
	commit bool
}

// answer is what a call brings.
type answer[T any] struct {
	value T
	err   error
}

// through makes a call.
func through[T any](l *link, ctx context.Context, c call, f func() (T, error)) (out T, err error) {
	if !l.process.awake() {
		return out, errOf(c, unknown)
	}
	fault := l.world.faultFor(l.process.name, c.method)
	n := l.count(c.method)
	switch fault.Do {
	case CrashBefore:
		l.process.crash(fault.For)
		return out, errOf(c, unknown)
	case FreezeBefore:
		l.process.pause(fault.For)
		l.process.awake()
	}
	answers := make(chan answer[T], 1)
	l.world.calls.Go(func() { answers <- travel(l, c, n, fault, f) })
	var given answer[T]
	switch {
	case fault.Do == Late:
		given.err = errOf(c, unknown)
	default:
		select {
		case given = <-answers:
		case <-ctx.Done():
			given.err = errOf(c, unknown)
		}
	}
	if !l.process.awake() {
		return out, errOf(c, unknown)
	}
	return given.value, given.err
}

// travel is the way of a call to the database and back.
func travel[T any](l *link, c call, n int, fault Step, f func() (T, error)) (a answer[T]) {
	time.Sleep(l.delay(c.method, n, "there"))
	switch fault.Do {
	case Slow, Late:
		time.Sleep(fault.For)
	case Refuse:
		a.err = errOf(c, refused)
		return a
	case Conflict:
		a.err = errOf(c, conflict)
		return a
	case Drop:
		a.err = errOf(c, unknown)
		return a
	}
	if l.world.unreachable(l.process) {
		a.err = errOf(c, refused)
		return a
	}
	a.value, a.err = f()
	if l.world.verbose && !c.reads && c.method != "Heartbeat" {
		l.world.note("%s: %s: %+v %v", l.process.name, c.method, a.value, a.err)
	}
	switch fault.Do {
	case CrashAfter:
		l.process.crash(fault.For)
	case FreezeAfter:
		l.process.pause(fault.For)
	}
	time.Sleep(l.delay(c.method, n, "back"))
	if fault.Do == Lose || l.world.unreachable(l.process) {
		return answer[T]{err: errOf(c, unknown)}
	}
	return a
}

func (l *link) count(method string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls[method]++
	return l.calls[method]
}

// delay is how long a call travels: from 50 µs to 2 ms, no two alike, so that what happens has an order.
func (l *link) delay(method string, n int, way string) time.Duration {
	return 50*time.Microsecond + l.world.chance(2*time.Millisecond, l.process.name, l.process.life, method, n, way)
}

// chance draws from 0 to most what follows from the seed and the name of the occasion.
func (w *world) chance(most time.Duration, occasion ...any) time.Duration {
	h := fnv.New64a()
	fmt.Fprint(h, w.schedule.Seed, occasion)
	x := h.Sum64()
	x ^= x >> 31
	x *= 0x9e3779b97f4a7c15
	x ^= x >> 29
	return time.Duration(x % uint64(most))
}

// write and read make calls of methods with an answer.
func write[T any](l *link, ctx context.Context, method string, f func() (T, error)) (T, error) {
	return through(l, ctx, call{method: method}, f)
}

func read[T any](l *link, ctx context.Context, method string, f func() (T, error)) (T, error) {
	return through(l, ctx, call{method: method, reads: true}, f)
}

// none is the answer of a method that has only an error.
type none struct{}

func writeOnly(l *link, ctx context.Context, method string, f func() error) error {
	_, err := write(l, ctx, method, func() (none, error) { return none{}, f() })
	return err
}

// Commit writes a batch; it alone can stall, or meet locks.
func (l *link) Commit(ctx context.Context, b store.Batch) (store.Committed, error) {
	fault := l.world.commitFault(l.process.name)
	return through(l, ctx, call{method: "Commit", commit: true}, func() (store.Committed, error) {
		if fault.Do == Locked {
			return store.Committed{}, lockedAll(b)
		}
		if l.world.answersFirst() {
			return l.world.promise(l, b)
		}
		if l.world.breaks == Whim {
			l.whims(b)
		}
		return l.Store.CommitSlowly(b, func() {
			if fault.Do == FreezeWithin {
				l.process.pause(fault.For)
			}
			time.Sleep(fault.For)
		})
	})
}

// lockedAll is the error of a commit of which every execution is locked by others.
func lockedAll(b store.Batch) error {
	failed := &store.CommitError{Kind: store.Locked, Err: store.ErrConflict}
	for _, it := range b.Items {
		if it.Turn != nil && it.Turn.Execution != 0 {
			failed.Executions = append(failed.Executions, it.Turn.Execution)
		}
	}
	return failed
}

// Listen hears bells, but while the process is deaf or frozen or cut off.
func (l *link) Listen(ctx context.Context, f history.FenceNumber, hear func(store.Bell)) error {
	if !l.process.awake() || l.world.unreachable(l.process) {
		time.Sleep(l.delay("Listen", l.count("Listen"), "there"))
		return errOf(call{method: "Listen", reads: true}, refused)
	}
	return l.Store.Listen(ctx, f, func(b store.Bell) {
		time.Sleep(l.delay("bell", l.count("bell"), "back"))
		if l.process.awake() && !l.world.unreachable(l.process) && !l.process.deaf() {
			hear(b)
		}
	})
}
