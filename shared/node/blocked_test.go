package node_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/orrery-dev/orrery/shared/node"
	"github.com/orrery-dev/orrery/shared/wire"
)

// TestUnknownEventStopsOneExecution: an execution to which a newer version has written an event is blocked, shown with its
// reason, and its signal waits, while its neighbours of the same partition go on. A node that can fold it takes it up by itself,
// with what has waited.
func TestUnknownEventStopsOneExecution(t *testing.T) {
	s := newSystem(t)
	quick := func(c *node.Config) { c.Idle = 50 * time.Millisecond }
	p := s.run("a", quick)
	s.publish(p, "listens", listens)
	names := []string{"newer", "older"}
	for _, name := range names {
		s.start(p, "listens", name)
	}
	s.await("an empty memory", func() bool { return p.node.Health().Node.Loaded == 0 })
	const unknown = `[{"t":"teleported","s":"Hear"}]`
	change := func(sql string, args ...any) {
		t.Helper()
		if _, err := s.db.Exec(t.Context(), sql, args...); err != nil {
			t.Fatal(err)
		}
	}
	change("update orrery.execution set partition = (select min(partition) from orrery.execution)")
	change(`insert into orrery.history (execution, at, born, seq, first_event, events)
		select h.execution, now(), h.born, 2, h.first_event + json_array_length(h.events::json), $1
		from orrery.history h join orrery.execution e on e.id = h.execution where e.name = 'newer'`, unknown)
	change("update orrery.execution set last_seq = 2 where name = 'newer'")

	waits, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if a, err := p.Signal(waits, caller, "newer", "go", wire.SignalRequest{}); err != nil || a.Confirmed {
		t.Errorf("the signal to the newer one: %+v, %v; want an answer without confirmation", a, err)
	}
	if a, err := p.Signal(t.Context(), caller, "older", "go", wire.SignalRequest{}); err != nil || !a.Confirmed {
		t.Errorf("the signal to the older one: %+v, %v", a, err)
	}
	if got := s.end(p, "older"); got != wire.Succeeded {
		t.Errorf("the older one has %s", got)
	}
	attention := func() []wire.Attention {
		t.Helper()
		a, err := p.ListAttention(t.Context(), caller, wire.AttentionQuery{Limit: 10})
		if err != nil {
			t.Fatal(err)
		}
		return a.Items
	}
	s.await("the block", func() bool { return len(attention()) > 0 })
	if a := attention(); len(a) != 1 || a[0].Kind != wire.AttentionBlocked || a[0].Execution != "newer" || !strings.Contains(a[0].Reason, `"teleported"`) {
		t.Errorf("attention %+v, want the newer one, blocked by the type of its event", a)
	}
	loads := s.count("select count(*) from orrery.blocked")
	if loads != 1 || s.count("select count(*) from orrery.execution where name = 'newer' and status = 1 and last_seq = 2") != 1 {
		t.Error("the newer one was changed")
	}

	// The next incarnation knows the event.
	if err := p.stop(); err != nil {
		t.Fatal(err)
	}
	change("update orrery.history set events = '[]' where seq = 2")
	p = s.run("a", quick)
	if got := s.end(p, "newer"); got != wire.Succeeded {
		t.Errorf("the newer one has %s", got)
	}
	s.await("the end of the block", func() bool { return len(attention()) == 0 && s.count("select count(*) from orrery.blocked") == 0 })
}
