package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambdacontext"

	"github.com/orrery-dev/orrery/shared/lambdahttp"
)

// gate is a function whose calls wait until they are let through.
type gate struct {
	entered chan int // the number of the instance
	pass    chan error
	made    atomic.Int64
	ended   atomic.Int64
}

func newGate() *gate { return &gate{entered: make(chan int, 100), pass: make(chan error, 100)} }

func (g *gate) cold() (lambdahttp.Func, func(), error) {
	n := int(g.made.Add(1))
	return func(ctx context.Context, _ json.RawMessage) (events.APIGatewayV2HTTPResponse, error) {
		g.entered <- n
		select {
		case err := <-g.pass:
			return events.APIGatewayV2HTTPResponse{StatusCode: n}, err
		case <-ctx.Done():
			return events.APIGatewayV2HTTPResponse{}, ctx.Err()
		}
	}, func() { g.ended.Add(1) }, nil
}

// calls makes calls at once and gives their errors as they end.
func calls(p *Pool, n int) <-chan error {
	errs := make(chan error, n)
	for range n {
		go func() {
			_, err := p.Invoke(context.Background(), []byte("{}"))
			errs <- err
		}()
	}
	return errs
}

func await(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s does not come", what)
		}
	}
}

func function(timeout time.Duration) Function { return Function{Name: "f", Timeout: timeout} }

// TestQueue runs two calls, has three wait, and refuses the sixth; those that waited run in the same two instances.
func TestQueue(t *testing.T) {
	g := newGate()
	p := InProcess(function(time.Minute), Limits{Instances: 2, Queue: 3, Wait: time.Minute}, g.cold)
	defer p.Close()
	errs := calls(p, 5)
	await(t, "a full queue", func() bool { return p.queued.Load() == 3 && len(g.entered) == 2 })
	if _, err := p.Invoke(t.Context(), nil); !errors.Is(err, ErrBusy) {
		t.Errorf("got %v, want ErrBusy", err)
	}
	for range 5 {
		g.pass <- nil
	}
	for range 5 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	if made := g.made.Load(); made != 2 || p.queued.Load() != 0 {
		t.Errorf("%d instances were made, %d calls wait", made, p.queued.Load())
	}
}

// TestWaitEnds gives up calls in the queue when their wait or their context is over.
func TestWaitEnds(t *testing.T) {
	g := newGate()
	p := InProcess(function(time.Minute), Limits{Instances: 1, Queue: 1, Wait: time.Millisecond}, g.cold)
	defer p.Close()
	first := calls(p, 1)
	<-g.entered
	if _, err := p.Invoke(t.Context(), nil); !errors.Is(err, ErrBusy) {
		t.Errorf("got %v, want ErrBusy", err)
	}
	p.limits.Wait = time.Minute
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.Invoke(ctx, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want canceled", err)
	}
	g.pass <- nil
	if err := <-first; err != nil {
		t.Error(err)
	}
}

// TestUnbounded makes an instance for every call at once, and uses the warm ones again.
func TestUnbounded(t *testing.T) {
	g := newGate()
	p := InProcess(function(time.Minute), Limits{}, g.cold)
	for range 2 {
		errs := calls(p, 20)
		await(t, "all calls", func() bool { return len(g.entered) == 20 })
		seen := map[int]bool{}
		for range 20 {
			seen[<-g.entered] = true
			g.pass <- nil
		}
		for range 20 {
			if err := <-errs; err != nil {
				t.Error(err)
			}
		}
		if len(seen) != 20 {
			t.Errorf("20 calls at once ran in %d instances", len(seen))
		}
	}
	p.Close()
	if g.made.Load() != 20 || g.ended.Load() != 20 {
		t.Errorf("%d instances were made, %d ended", g.made.Load(), g.ended.Load())
	}
}

// TestAbandonedCall lets a call run on whose caller has left; its instance is free only then.
func TestAbandonedCall(t *testing.T) {
	g := newGate()
	p := InProcess(function(time.Minute), Limits{Instances: 1}, g.cold)
	defer p.Close()
	ctx, cancel := context.WithCancel(t.Context())
	left := make(chan error)
	go func() {
		_, err := p.Invoke(ctx, nil)
		left <- err
	}()
	<-g.entered
	cancel()
	if err := <-left; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if _, err := p.Invoke(t.Context(), nil); !errors.Is(err, ErrBusy) {
		t.Errorf("got %v, want ErrBusy", err)
	}
	g.pass <- nil
	await(t, "a free slot", func() bool { return len(p.slots) == 0 })
	g.pass <- nil
	if err := <-calls(p, 1); err != nil || g.made.Load() != 1 {
		t.Errorf("got %v, %d instances were made", err, g.made.Load())
	}
}

// TestTimeout replaces an instance whose call took too long.
func TestTimeout(t *testing.T) {
	g := newGate()
	p := InProcess(function(20*time.Millisecond), Limits{Instances: 1}, g.cold)
	defer p.Close()
	if err := <-calls(p, 1); !errors.Is(err, ErrTimeout) {
		t.Errorf("got %v, want ErrTimeout", err)
	}
	await(t, "the instance's end", func() bool { return g.ended.Load() == 1 })
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.idle)+len(p.live) != 0 {
		t.Errorf("the instance is kept: %v, %v", p.idle, p.live)
	}
}

// TestFunctionError keeps an instance whose function failed, and tells its error.
func TestFunctionError(t *testing.T) {
	g := newGate()
	p := InProcess(function(time.Minute), Limits{Instances: 1}, g.cold)
	defer p.Close()
	g.pass <- errors.New("no luck")
	var failed *FunctionError
	if err := <-calls(p, 1); !errors.As(err, &failed) || err.Error() != "invoking f: *errors.errorString: no luck" {
		t.Errorf("got %v", err)
	}
	g.pass <- nil
	if err := <-calls(p, 1); err != nil || g.made.Load() != 1 {
		t.Errorf("got %v after %d instances", err, g.made.Load())
	}
}

// TestStartFails frees the slot.
func TestStartFails(t *testing.T) {
	broken := errors.New("no connection")
	p := InProcess(function(time.Minute), Limits{Instances: 1}, func() (lambdahttp.Func, func(), error) { return nil, nil, broken })
	defer p.Close()
	for range 3 {
		if err := <-calls(p, 1); !errors.Is(err, broken) {
			t.Errorf("got %v", err)
		}
	}
}

// TestClose ends calls that run and calls that wait, and takes no more.
func TestClose(t *testing.T) {
	g := newGate()
	p := InProcess(function(time.Minute), Limits{Instances: 2, Queue: 2, Wait: time.Minute}, g.cold)
	errs := calls(p, 4)
	await(t, "a full queue", func() bool { return p.queued.Load() == 2 && len(g.entered) == 2 })
	var both sync.WaitGroup
	both.Go(p.Close)
	both.Go(p.Close)
	both.Wait()
	for range 4 {
		if err := <-errs; !errors.Is(err, ErrClosed) {
			t.Errorf("got %v, want ErrClosed", err)
		}
	}
	if _, err := p.Invoke(t.Context(), nil); !errors.Is(err, ErrClosed) {
		t.Errorf("got %v, want ErrClosed", err)
	}
	if g.made.Load() != 2 || g.ended.Load() != 2 || len(p.slots) != 0 {
		t.Errorf("%d instances were made, %d ended, %d slots are taken", g.made.Load(), g.ended.Load(), len(p.slots))
	}
}

// TestLambdaContext gives the function what the runtime gives it.
func TestLambdaContext(t *testing.T) {
	ids := map[string]bool{}
	p := InProcess(function(time.Hour), Limits{}, Shared(func(ctx context.Context, _ json.RawMessage) (resp events.APIGatewayV2HTTPResponse, err error) {
		lc, ok := lambdacontext.FromContext(ctx)
		if end, has := ctx.Deadline(); !ok || !has || time.Until(end) < 59*time.Minute || lc.InvokedFunctionArn[len(lc.InvokedFunctionArn)-11:] != ":function:f" {
			t.Errorf("got %+v, %v", lc, end)
		}
		ids[lc.AwsRequestID] = true
		return resp, nil
	}))
	defer p.Close()
	for range 2 {
		if err := <-calls(p, 1); err != nil {
			t.Error(err)
		}
	}
	if len(ids) != 2 {
		t.Errorf("request ids are %v", ids)
	}
}
