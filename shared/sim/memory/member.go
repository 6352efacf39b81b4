package memory

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/orrery-dev/orrery/shared/history"
	"github.com/orrery-dev/orrery/shared/store"
)

// Join registers a new incarnation. One under the same id that does not beat any more is fenced.
func (m *Store) Join(_ context.Context, q store.JoinRequest) (out store.Joined, err error) {
	var rival *member
	m.read(func() { rival = m.running(q.Node) })
	enter := func(x *tx) error { return m.join(x, q, &out) }
	if rival == nil {
		return out, m.transact(enter)
	}
	var age time.Duration
	m.read(func() { age = m.clock().Sub(rival.beat) })
	if age < q.Timeout {
		return out, &store.DuplicateNodeError{Node: q.Node, Age: age}
	}
	err = m.alone(rival.Fence, enter)
	return out, err
}

func (m *Store) join(x *tx, q store.JoinRequest, out *store.Joined) error {
	if old := m.running(q.Node); old != nil {
		if age := m.clock().Sub(old.beat); age < q.Timeout {
			return &store.DuplicateNodeError{Node: q.Node, Age: age}
		}
		set(x, &old.ended, "fenced")
	}
	f := history.FenceNumber(m.next())
	n := &member{beat: m.clock(), Node: store.Node{
		ID: q.Node, Address: q.Address, Behaviour: q.Behaviour, Fence: f, Incarnation: fmt.Sprintf("00000000-0000-4000-8000-%012d", f),
		StartedAt: m.now(),
	}}
	put(x, m.nodes, f, n)
	*out = store.Joined{Fence: f, Incarnation: n.Incarnation, Now: m.now()}
	return nil
}

// running is the incarnation that runs under a node's id, nil for none.
func (m *Store) running(id string) *member {
	for _, n := range m.nodes {
		if n.ID == id && n.ended == "" {
			return n
		}
	}
	return nil
}

// Leave ends an incarnation.
func (m *Store) Leave(_ context.Context, f history.FenceNumber) error {
	return m.transact(func(x *tx) error {
		if n := m.nodes[f]; n.ended == "" {
			set(x, &n.ended, "left")
		}
		return nil
	})
}

// Heartbeat writes a beat and reads what an idle node must know.
func (m *Store) Heartbeat(_ context.Context, b store.Beat) (p store.Pulse, err error) {
	err = m.transact(func(x *tx) error {
		p = m.pulse(b, !b.Bare) // every part of the statement sees what was before it
		n := m.nodes[b.Fence]
		if n.ended == "" {
			set(x, &n.beat, m.clock())
			m.flag(x, b.Fence, b.Waiting)
		}
		m.touch(x, b.Touched)
		return nil
	})
	return p, err
}

// Look reads what a heartbeat reads, and writes nothing.
func (m *Store) Look(_ context.Context, b store.Beat) (p store.Pulse, _ error) {
	m.read(func() { p = m.pulse(b, true) })
	return p, nil
}

func (m *Store) pulse(b store.Beat, look bool) store.Pulse {
	p := store.Pulse{Now: m.now(), Standing: m.standing(b), Owners: m.owners, Definitions: m.published, Behaviour: 1}
	for _, f := range slices.Sorted(maps.Keys(m.nodes)) {
		if n := m.nodes[f]; n.ended == "" {
			out := n.Node
			out.Age = m.clock().Sub(n.beat).Truncate(time.Millisecond)
			p.Nodes = append(p.Nodes, out)
		}
	}
	slices.SortFunc(p.Nodes, func(a, b store.Node) int { return cmp.Compare(a.ID, b.ID) })
	for _, t := range b.Touched {
		if s := m.session(t.Session); s == nil || s.closed {
			p.Gone = append(p.Gone, t.Session)
		}
	}
	if look {
		m.lookAround(b, &p)
	}
	return p
}

func (m *Store) standing(b store.Beat) store.Standing {
	if n := m.nodes[b.Fence]; n != nil && n.ended == "" {
		return store.Member
	}
	if m.running(b.Node) != nil {
		return store.Duplicate
	}
	return store.Fenced
}

// lookAround finds what waits in the partitions of the node, and in the queues that its polls wait for.
func (m *Store) lookAround(b store.Beat, p *store.Pulse) {
	mine := func(part history.Partition) bool { return m.partitions[part].Fence == b.Fence }
	for _, e := range m.inbox {
		if p.Inbox == 0 && e.ID >= b.InboxFrom && e.reply == nil && mine(e.Partition) && !m.blocked(e.Execution) {
			p.Inbox = e.ID
		}
	}
	for _, t := range m.tasks {
		if p.Unnoticed == 0 && t.Task >= b.UnnoticedFrom && t.unnoticed() && mine(t.Partition) && !m.blocked(t.Execution) {
			p.Unnoticed = t.Task
		}
	}
	for _, e := range m.executions {
		if mine(e.Partition) && e.WakeAt != 0 && e.WakeAt >= b.WakeFrom && e.Blocked == "" && (p.WakeAt == 0 || e.WakeAt < p.WakeAt) {
			p.WakeAt = e.WakeAt
		}
	}
	for i, q := range b.Waiting {
		if slices.ContainsFunc(m.tasks, func(t *task) bool { return t.queuedIn(q) }) {
			p.Queued = append(p.Queued, i)
		}
	}
}

func (m *Store) blocked(id history.ExecutionID) bool { return m.execution(id).Blocked != "" }

// Partitions lists all partitions with their owners.
func (m *Store) Partitions(context.Context) (out []store.Owner, generation int64, _ error) {
	m.read(func() {
		out, generation = slices.Clone(m.partitions), m.owners
		for i := range out {
			if n := m.nodes[out[i].Fence]; n != nil {
				out[i].Node, out[i].Incarnation = n.ID, n.Incarnation
			}
		}
	})
	return out, generation, nil
}

// Take moves partitions of a dead incarnation, or of nobody.
func (m *Store) Take(_ context.Context, q store.TakeRequest) (held []store.Held, err error) {
	err = m.alone(q.From, func(x *tx) error {
		if failed := m.checkFence(q.By, nil); failed != nil {
			return fmt.Errorf("memory: take: %w", failed.Err)
		}
		if q.From != 0 && !m.dead(x, q) {
			return nil
		}
		for _, p := range slices.Sorted(slices.Values(q.Partitions)) {
			if m.partitions[p].Fence != q.From {
				continue
			}
			m.move(x, p, q.By)
			held = append(held, store.Held{Partition: p, Epoch: m.partitions[p].Epoch})
		}
		x.change.By = q.By
		m.inherit(x, q.From, held, func(history.Partition) history.FenceNumber { return q.By })
		return nil
	})
	return held, err
}

// dead tells whether the incarnation may be taken from, and marks it as fenced.
func (m *Store) dead(x *tx, q store.TakeRequest) bool {
	n := m.nodes[q.From]
	if n == nil || n.ended == "" && m.clock().Sub(n.beat) < q.Timeout {
		return false
	}
	if n.ended == "" {
		set(x, &n.ended, "fenced")
	}
	return true
}

// move gives a partition its new owner.
func (m *Store) move(x *tx, p history.Partition, to history.FenceNumber) {
	if len(x.change.Taken) == 0 {
		set(x, &m.owners, m.owners+1)
	}
	x.change.Taken = append(x.change.Taken, p)
	o := &m.partitions[p]
	set(x, &o.Fence, to)
	if !m.broken(NoEpoch) {
		set(x, &o.Epoch, o.Epoch+1)
	}
}

// Release gives partitions of an incarnation to others that are live.
func (m *Store) Release(_ context.Context, by history.FenceNumber, to []store.Handover) (given []history.Partition, err error) {
	err = m.alone(by, func(x *tx) error {
		if failed := m.checkFence(by, nil); failed != nil {
			return fmt.Errorf("memory: release: %w", failed.Err)
		}
		owners := map[history.Partition]history.FenceNumber{}
		for _, h := range to {
			n := m.nodes[h.To]
			if m.partitions[h.Partition].Fence == by && h.To != by && n != nil && n.ended == "" {
				owners[h.Partition] = h.To
			}
		}
		var moved []store.Held
		for _, p := range slices.Sorted(maps.Keys(owners)) {
			m.move(x, p, owners[p])
			given = append(given, p)
			moved = append(moved, store.Held{Partition: p})
		}
		x.change.By = by
		m.inherit(x, by, moved, func(p history.Partition) history.FenceNumber { return owners[p] })
		x.bells = store.Bells{From: by, Inbox: given}
		return nil
	})
	return given, err
}

// inherit gives what is owed in partitions to their new owners: a debt for each owner and origin.
func (m *Store) inherit(x *tx, from history.FenceNumber, moved []store.Held, owner func(history.Partition) history.FenceNumber) {
	if m.broken(NoInheritance) {
		return
	}
	type heir struct{ to, origin history.FenceNumber }
	owed := map[heir]map[history.ExecutionID]bool{}
	for _, d := range m.debts {
		for _, id := range d.Executions {
			e := m.execution(id)
			if d.fence != from || e.Status.Ended() || !slices.ContainsFunc(moved, func(h store.Held) bool { return h.Partition == e.Partition }) {
				continue
			}
			k := heir{owner(e.Partition), d.From}
			if owed[k] == nil {
				owed[k] = map[history.ExecutionID]bool{}
			}
			owed[k][id] = true
		}
	}
	for _, k := range slices.SortedFunc(maps.Keys(owed), func(a, b heir) int { return cmp.Or(cmp.Compare(a.to, b.to), cmp.Compare(a.origin, b.origin)) }) {
		d := &debt{fence: k.to, inherited: true, Debt: store.Debt{ID: m.next(), From: k.origin}}
		d.Executions = slices.Sorted(maps.Keys(owed[k]))
		add(x, &m.debts, d)
	}
}

// Debts lists what an incarnation has inherited and does not know.
func (m *Store) Debts(_ context.Context, f history.FenceNumber, known []int64) (out []store.Debt, _ error) {
	m.read(func() {
		for _, d := range m.debts {
			if d.fence != f || !d.inherited || slices.Contains(known, d.ID) {
				continue
			}
			open := store.Debt{ID: d.ID, From: d.From}
			for _, id := range d.Executions {
				if e := m.execution(id); !e.Status.Ended() {
					open.Executions = append(open.Executions, id)
					open.Partitions = append(open.Partitions, e.Partition)
				}
			}
			out = append(out, open)
		}
	})
	return out, nil
}

// Paid removes debts.
func (m *Store) Paid(_ context.Context, f history.FenceNumber, debts []int64) error {
	return m.transact(func(x *tx) error {
		remove(x, &m.debts, func(d *debt) bool { return d.fence == f && slices.Contains(debts, d.ID) })
		return nil
	})
}
