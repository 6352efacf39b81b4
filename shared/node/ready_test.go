package node_test

import (
	"testing"

	"github.com/orrery-dev/orrery/shared/wire"
)

// TestNodeWithoutPartitionsStarts: a ready node starts executions from its first moment on, also when it owns nothing.
func TestNodeWithoutPartitionsStarts(t *testing.T) {
	s := newSystem(t)
	if _, err := s.db.Exec(t.Context(), "delete from orrery.partition where id > 0"); err != nil {
		t.Fatal(err)
	}
	owner := s.begin("a")
	s.await("the first node", func() bool { return owner.node.Health().Node.Partitions == 1 })
	other := s.begin("b")
	s.await("the second node", func() bool { return other.node.Health().Ready })
	if other.node.Health().Node.Partitions != 0 {
		owner, other = other, owner
	}
	s.publish(other, "ends", `{"StartAt": "Nap", "States": {"Nap": {"Type": "Wait", "Seconds": 1, "End": true}}}`)
	s.start(other, "ends", "x")
	if got := s.end(other, "x"); got != wire.Succeeded {
		t.Errorf("the execution is %v", got)
	}
	if n := s.count("select count(*) from orrery.partition where fence is null"); n != 0 {
		t.Errorf("%d partitions without an owner", n)
	}
}
