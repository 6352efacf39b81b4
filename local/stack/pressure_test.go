package stack

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/orrery-dev/orrery/shared/wire"
)

// TestExhaustedPool has every connection of a node taken by reads that hang. Who comes then is sent away with a time to come
// again, while the node stays a ready member: its heartbeats have a connection of their own.
func TestExhaustedPool(t *testing.T) {
	t.Parallel()
	const requests, connections = 20, 2
	server := newServer(t)
	s := &troubled{server: server, system: newSystem(t, Options{
		Nodes: 1, DatabaseURL: server.URL("postgres"), NodeSettings: []string{"ORRERY_POOL_SIZE=2"},
	})}
	s.publish("pause", "StartAt: Pause\nStates:\n  Pause: {Type: Wait, Seconds: 1, End: true}\n")
	history := wire.Path("executions", "paused", "history")
	s.start([]starting{{wire.StartRequest{Workflow: "pause", Name: "paused"}, s.nodes[0]}})
	var sent sync.WaitGroup
	var refused, answered atomic.Int64
	ended := make(chan struct{})
	s.holding("lock table orrery.history in access exclusive mode", func() {
		for range requests {
			sent.Go(func() {
				var e *wire.Error
				_, err := s.nodes[0].Call(t.Context(), "GET", history, nil, nil, nil)
				switch {
				case err == nil:
					answered.Add(1)
				case errors.As(err, &e) && e.Code.Status() == http.StatusServiceUnavailable && e.RetryAfter > 0:
					refused.Add(1)
				default:
					t.Errorf("a read: %v, want 503 with Retry-After", err)
				}
			})
		}
		go func() { sent.Wait(); close(ended) }()
		s.staysReady(func() bool { return refused.Load() >= requests-connections })
	})
	select {
	case <-ended:
	case <-time.After(30 * time.Second):
		t.Fatal("reads are unanswered")
	}
	if refused.Load() < requests-connections || refused.Load()+answered.Load() != requests {
		t.Errorf("%d reads were refused and %d answered, of %d", refused.Load(), answered.Load(), requests)
	}
	s.awaitEnd(time.Minute)
	s.call(s.nodes[0], "GET", history, nil, nil)
}

// staysReady waits for something, at most 20 s, and wants the node to be ready, and its heartbeat young, all the while.
func (s *troubled) staysReady(until func() bool) {
	s.t.Helper()
	for late := time.Now().Add(20 * time.Second); !until(); time.Sleep(100 * time.Millisecond) {
		ctx, cancel := context.WithTimeout(s.t.Context(), nodeTimeout)
		var h wire.Health
		_, err := s.nodes[0].Call(ctx, "GET", "/v1/ready", nil, nil, &h)
		cancel()
		if err != nil || h.Node.HeartbeatAgeMS >= nodeTimeout.Milliseconds() {
			s.t.Errorf("the node is not ready: %+v, %v", h, err)
		}
		if time.Now().After(late) {
			s.t.Error("nobody is sent away")
			return
		}
	}
}
