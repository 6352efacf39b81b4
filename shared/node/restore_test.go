package node_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/orrery-dev/orrery/migrations"
	"github.com/orrery-dev/orrery/shared/wire"
)

// TestRestored: after the command no token from before is accepted, every partition has a new epoch, and the nodes join
// again and bring everything to its end.
func TestRestored(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	p := s.run("a")
	s.publish(p, "one", oneTask)
	session := s.register(p, "w")
	s.start(p, "one", "x")
	got, err := p.Poll(t.Context(), caller, wire.PollRequest{SessionID: session, MaxTasks: 1, WaitMS: 5000, PollID: "p"})
	if err != nil || len(got.Assignments) != 1 {
		t.Fatalf("poll: %+v, %v", got, err)
	}
	before := p.node.Health().Node.Incarnation
	epochs := s.count("select sum(epoch) from orrery.partition")

	conn, err := pgx.Connect(t.Context(), s.url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	if err := migrations.Restored(t.Context(), conn); err != nil {
		t.Fatal(err)
	}
	s.await("a new incarnation that owns everything", func() bool {
		h := p.node.Health()
		return h.Ready && h.Node.Incarnation != before && h.Node.Partitions == 256
	})
	if n := s.count("select sum(epoch) from orrery.partition"); n < epochs+512 {
		t.Errorf("the epochs add up to %d after %d: each must be raised by the command and by the takeover", n, epochs)
	}
	if n := s.count("select count(*) from orrery.node where ended is null"); n != 1 {
		t.Errorf("%d incarnations run", n)
	}
	// A frontend that has started since knows the new key only.
	fresh := s.run("b")
	report := wire.CompleteRequest{Reports: []wire.Completion{{Token: got.Assignments[0].Token, Output: json.RawMessage("1")}}}
	var refused *wire.Error
	if _, err := fresh.Complete(t.Context(), caller, report); !errors.As(err, &refused) || refused.Code != wire.TokenNotFound {
		t.Errorf("a token from before the restore: %v", err)
	}
}
