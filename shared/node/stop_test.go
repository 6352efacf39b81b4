package node_test

import (
	"testing"
	"time"

	"github.com/orrery-dev/orrery/shared/node"
	"github.com/orrery-dev/orrery/shared/wire"
)

// TestCleanStopIsBounded: a node whose last commit hangs leaves when its time is over, while that hangs still.
func TestCleanStopIsBounded(t *testing.T) {
	s := newSystem(t)
	p := s.run("a", func(c *node.Config) { c.StopTimeout = 10 * time.Second })
	s.publish(p, "listens", listens)
	s.start(p, "listens", "one")
	tx, err := s.db.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback(t.Context())
	for _, sql := range []string{"set local idle_in_transaction_session_timeout = 0", "lock table orrery.history in access exclusive mode"} {
		if _, err := tx.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	confirmed := make(chan bool, 1)
	go func() {
		a, err := p.Signal(t.Context(), caller, "one", "go", wire.SignalRequest{})
		confirmed <- err == nil && a.Confirmed
	}()
	s.await("a commit that hangs", func() bool {
		return s.count("select count(*) from pg_locks where relation = 'orrery.history'::regclass and not granted") > 0
	})
	if err := p.stop(); err != nil {
		t.Errorf("the stop: %v", err)
	}
	if n := s.count("select count(*) from orrery.node where id = 'a' and ended = 'left'"); n != 1 {
		t.Error("the node did not say that it leaves")
	}
	if <-confirmed {
		t.Error("the signal whose commit hung was answered as done")
	}
}
