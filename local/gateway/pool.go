package gateway

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// Errors of a call.
var (
	// ErrBusy: every instance was taken and the queue was full, or the wait in it over. The function has not run.
	ErrBusy = errors.New("no instance is free")
	// ErrTimeout: the function ran for longer than its timeout and was ended.
	ErrTimeout = errors.New("the function timed out")
	// ErrClosed: the pool was closed before the call was done.
	ErrClosed = errors.New("the pool is closed")
	// errGone: an instance had ended before it got the call. Another one can take it.
	errGone = errors.New("the instance is gone")
)

// callTries bounds the instances that one call is given to.
const callTries = 3

// FunctionError is a function that ended with an error, or whose process did.
type FunctionError struct {
	Type, Message string
}

func (e *FunctionError) Error() string { return e.Type + ": " + e.Message }

// Limits bound the calls of a function.
type Limits struct {
	// Instances is how many calls run at once. 0 does not bound them.
	Instances int
	// Queue is how many more calls wait, each for at most Wait.
	Queue int
	Wait  time.Duration
}

// instance is a running copy of a function. The pool makes one call at a time.
type instance interface {
	// invoke makes a call. It ends at the function's timeout, and soon after a stop. After errGone the instance is not
	// usable.
	invoke(event []byte) ([]byte, error)
	// usable tells whether it can take another call. It is true after the start.
	usable() bool
	// stop ends it and returns when it has ended. It may be called again, and during a call.
	stop()
}

// Pool runs a function in instances, which it starts when calls need them and keeps for later calls.
type Pool struct {
	name    string
	limits  Limits
	start   func() (instance, error)
	slots   chan struct{} // one for each call that runs; nil when Instances does not bound them
	queued  atomic.Int64
	closing chan struct{}
	running sync.WaitGroup // calls, and instances that end

	mu     sync.Mutex
	idle   []instance // the one used last is at the end
	live   map[instance]bool
	closed bool
}

func newPool(name string, limits Limits, start func() (instance, error)) *Pool {
	p := &Pool{name: name, limits: limits, start: start, closing: make(chan struct{}), live: map[instance]bool{}}
	if limits.Instances > 0 {
		p.slots = make(chan struct{}, limits.Instances)
	}
	return p
}

// Invoke runs the function. When the context ends, a call that waits is given up; one that runs goes on without its
// caller. The error wraps ErrBusy, ErrTimeout, ErrClosed, a *FunctionError or the context's.
func (p *Pool) Invoke(ctx context.Context, event []byte) ([]byte, error) {
	result, err := p.invoke(ctx, event)
	if err != nil {
		return nil, fmt.Errorf("invoking %s: %w", p.name, err)
	}
	return result, nil
}

func (p *Pool) invoke(ctx context.Context, event []byte) ([]byte, error) {
	if err := p.enter(ctx); err != nil {
		return nil, err
	}
	type outcome struct {
		result []byte
		err    error
	}
	done := make(chan outcome, 1)
	go func() {
		result, err := p.call(event)
		p.leave()
		done <- outcome{result, err}
	}()
	select {
	case o := <-done:
		return o.result, o.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// enter takes a slot, and counts the call as running.
func (p *Pool) enter(ctx context.Context) error {
	if err := p.takeSlot(ctx); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		p.leaveSlot()
		return ErrClosed
	}
	p.running.Add(1)
	return nil
}

func (p *Pool) takeSlot(ctx context.Context) error {
	if p.slots == nil {
		return nil
	}
	select {
	case p.slots <- struct{}{}:
		return nil
	default:
	}
	if p.queued.Add(1) > int64(p.limits.Queue) {
		p.queued.Add(-1)
		return ErrBusy
	}
	defer p.queued.Add(-1)
	wait := time.NewTimer(p.limits.Wait)
	defer wait.Stop()
	select {
	case p.slots <- struct{}{}:
		return nil
	case <-wait.C:
		return ErrBusy
	case <-p.closing:
		return ErrClosed
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (p *Pool) leave() {
	p.leaveSlot()
	p.running.Done()
}

func (p *Pool) leaveSlot() {
	if p.slots != nil {
		<-p.slots
	}
}

// call makes the call in an instance, and in another one when that had ended before.
func (p *Pool) call(event []byte) (result []byte, err error) {
	for range callTries {
		var i instance
		if i, err = p.take(); err != nil {
			return nil, err
		}
		result, err = i.invoke(event)
		if closed := p.put(i); err != nil && closed {
			return nil, ErrClosed
		}
		if !errors.Is(err, errGone) {
			break
		}
	}
	return result, err
}

// take gives the instance that was used last, which is the warmest, or starts one.
func (p *Pool) take() (instance, error) {
	p.mu.Lock()
	for n := len(p.idle); n > 0; n = len(p.idle) {
		i := p.idle[n-1]
		p.idle = p.idle[:n-1]
		if i.usable() {
			p.mu.Unlock()
			return i, nil
		}
		p.drop(i)
	}
	p.mu.Unlock()
	i, err := p.start()
	if err != nil {
		return nil, fmt.Errorf("starting an instance: %w", err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		p.drop(i)
		return nil, ErrClosed
	}
	p.live[i] = true
	return i, nil
}

// put takes an instance back after a call, or ends it. It reports whether the pool is closed.
func (p *Pool) put(i instance) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || !i.usable() {
		p.drop(i)
	} else {
		p.idle = append(p.idle, i)
	}
	return p.closed
}

// drop forgets an instance and ends it, which may take a while. The lock is held, by a call that is running.
func (p *Pool) drop(i instance) {
	delete(p.live, i)
	p.running.Go(i.stop)
}

// Close ends every instance, also those that a call runs in, and returns when all have ended.
func (p *Pool) Close() {
	p.mu.Lock()
	if !p.closed {
		p.closed = true
		close(p.closing)
		for i := range p.live {
			p.running.Go(i.stop)
		}
		p.live, p.idle = nil, nil
	}
	p.mu.Unlock()
	p.running.Wait()
}
