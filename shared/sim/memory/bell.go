package memory

import (
	"context"
	"slices"
	"time"

	"github.com/orrery-dev/orrery/shared/history"
	"github.com/orrery-dev/orrery/shared/store"
)

// flagTime is how long a flag holds.
const flagTime = time.Minute

// flag leaves the node's flags at queues.
func (m *Store) flag(x *tx, f history.FenceNumber, queues []store.Queue) {
	for _, q := range queues {
		put(x, m.queueFlags, queueFlag{q.Contract, f}, m.clock())
	}
}

// AwaitEnd leaves the node's flag at an execution.
func (m *Store) AwaitEnd(_ context.Context, f history.FenceNumber, id history.ExecutionID) error {
	return m.transact(func(x *tx) error {
		put(x, m.endFlags, endFlag{id, f}, m.clock())
		return nil
	})
}

// Ring rings bells that no commit carries.
func (m *Store) Ring(_ context.Context, b store.Bells) error {
	return m.transact(func(x *tx) error {
		x.bells = b
		return nil
	})
}

// ring tells those who wait; the caller holds the mutex.
func (m *Store) ring(b store.Bells) {
	for q, at := range m.queueFlags {
		if m.clock().Sub(at) < flagTime && slices.Contains(b.Tasks, q.contract) {
			m.tell(b, q.fence, store.Bell{Kind: store.BellTasks})
		}
	}
	owners := map[history.FenceNumber]bool{}
	for _, p := range b.Inbox {
		owners[m.partitions[p].Fence] = true
	}
	for _, id := range b.InboxOf {
		if e := m.execution(id); e != nil {
			owners[m.partitions[e.Partition].Fence] = true
		}
	}
	for f := range owners {
		m.tell(b, f, store.Bell{Kind: store.BellInbox})
	}
	for k, at := range m.endFlags {
		if m.clock().Sub(at) < flagTime && slices.Contains(b.Ended, k.execution) {
			m.tell(b, k.fence, store.Bell{Kind: store.BellEnded, Execution: k.execution})
		}
	}
	for _, e := range m.inbox {
		if e.waiter != 0 && slices.Contains(b.Replies, e.EntryRef) {
			m.tell(b, e.waiter, store.Bell{Kind: store.BellReply, Entry: e.EntryRef})
		}
	}
	for f, n := range m.nodes {
		if b.Definitions && n.ended == "" {
			m.tell(b, f, store.Bell{Kind: store.BellDefinitions})
		}
	}
}

// tell rings one node, unless it rings itself.
func (m *Store) tell(b store.Bells, f history.FenceNumber, bell store.Bell) {
	if f == b.From {
		return
	}
	for _, l := range m.listeners[f] {
		select {
		case l <- bell:
		default: // it is far behind: the heartbeat tells it
		}
	}
}

// Listen hears the bells for a node until the context ends.
func (m *Store) Listen(ctx context.Context, f history.FenceNumber, hear func(store.Bell)) error {
	bells := make(chan store.Bell, 1000)
	m.read(func() { m.listeners[f] = append(m.listeners[f], bells) })
	defer m.read(func() {
		m.listeners[f] = slices.DeleteFunc(m.listeners[f], func(l chan store.Bell) bool { return l == bells })
	})
	hear(store.Bell{Kind: store.BellConnected})
	for {
		select {
		case b := <-bells:
			hear(b)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
