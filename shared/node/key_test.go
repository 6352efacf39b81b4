package node_test

import (
	"sync"
	"testing"

	"github.com/orrery-dev/orrery/shared/wire"
)

// TestSignalsUnderOneKey: of many requests at once under one idempotency key one has an effect, and all are told which.
func TestSignalsUnderOneKey(t *testing.T) {
	s := newSystem(t)
	p := s.run("a")
	s.publish(p, "listens", listens)
	s.start(p, "listens", "one")
	keyed := caller
	keyed.IdempotencyKey = "k"
	const many = 24
	answers := make([]wire.SignalResponse, many)
	var wait sync.WaitGroup
	for i := range many {
		wait.Go(func() {
			a, err := p.Signal(t.Context(), keyed, "one", "go", wire.SignalRequest{})
			if err != nil {
				t.Error(err)
			}
			answers[i] = a
		})
	}
	wait.Wait()
	for i, a := range answers {
		if !a.Confirmed || a.Event != answers[0].Event {
			t.Errorf("request %d: %+v, another one %+v", i, a, answers[0])
		}
	}
	if n := s.count("select count(*) from orrery.idempotency_key"); n != 1 {
		t.Errorf("%d keys", n)
	}
}
