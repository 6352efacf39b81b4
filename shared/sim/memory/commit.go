package memory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/orrery-dev/orrery/shared/history"
	"github.com/orrery-dev/orrery/shared/store"
)

// Commit writes a batch, as CommitSlowly does, at once.
func (m *Store) Commit(_ context.Context, b store.Batch) (store.Committed, error) {
	return m.CommitSlowly(b, nil)
}

// CommitSlowly writes the turns of a batch, all or nothing: it takes the fence, checks it, waits for stall, and does the rest. A
// commit whose fence is taken from it while it stalls writes nothing, and its outcome is unknown.
func (m *Store) CommitSlowly(b store.Batch, stall func()) (out store.Committed, err error) {
	held := heldBy(b.Items)
	var h *holder
	m.read(func() {
		if failed := m.checkFence(b.Fence, held); failed != nil {
			err = m.blame(failed, b.Items)
			return
		}
		h = m.share(b.Fence)
	})
	if err != nil {
		return out, err
	}
	if stall != nil {
		stall()
	}
	err = m.transact(func(x *tx) error {
		if h.ended {
			return &store.CommitError{Kind: store.Unknown, Err: errors.New("memory: the session was ended")}
		}
		m.free(b.Fence, h)
		x.change.By, x.change.Held, x.bells = b.Fence, held, b.Bells
		if failed := m.write(x, b.Fence, b.Items, &out); failed != nil {
			return failed
		}
		return nil
	})
	if err != nil {
		return store.Committed{}, err
	}
	return out, nil
}

// heldBy lists the partitions and epochs that a batch was decided under; children may go anywhere.
func heldBy(items []store.Item) (held []store.Held) {
	for _, it := range items {
		held = append(held, store.Held{Partition: it.Partition, Epoch: it.Epoch})
		for _, c := range it.Children {
			if c.Epoch != 0 {
				held = append(held, store.Held{Partition: c.Partition, Epoch: c.Epoch})
			}
		}
	}
	slices.SortFunc(held, func(a, b store.Held) int {
		return cmp.Or(cmp.Compare(a.Partition, b.Partition), cmp.Compare(a.Epoch, b.Epoch))
	})
	return slices.Compact(held)
}

// blame names the executions whose partitions have another epoch.
func (m *Store) blame(failed *store.CommitError, items []store.Item) *store.CommitError {
	for _, it := range items {
		if id := executionOf(&it); id != 0 && slices.Contains(failed.Partitions, it.Partition) {
			failed.Executions = append(failed.Executions, id)
		}
	}
	return failed
}

func executionOf(it *store.Item) history.ExecutionID {
	if it.Turn != nil {
		return it.Turn.Execution
	}
	return it.Execution
}

// write does what the statements of a commit do, in their order.
func (m *Store) write(x *tx, by history.FenceNumber, list []store.Item, out *store.Committed) *store.CommitError {
	var turns, starts []*store.Item
	for i := range list {
		it := &list[i]
		switch {
		case it.Turn == nil:
			if failed := m.markEnding(x, it); failed != nil {
				return failed
			}
		case it.New != nil:
			starts = append(starts, it)
		default:
			turns = append(turns, it)
		}
	}
	slices.SortStableFunc(turns, func(a, b *store.Item) int { return cmp.Compare(a.Turn.Execution, b.Turn.Execution) })
	if failed := m.writeTurns(x, turns); failed != nil {
		return failed
	}
	if failed := m.startAll(x, by, list, starts, out); failed != nil {
		return failed
	}
	if failed := m.family(x, append(slices.Clone(turns), starts...)); failed != nil {
		return failed
	}
	for _, it := range turns {
		m.snapshot(x, it.Turn)
		for i := range it.Owed {
			m.owed(x, m.execution(it.Turn.Execution), &it.Owed[i])
		}
	}
	if failed := m.settle(x, turns); failed != nil {
		return failed
	}
	for _, it := range turns {
		if failed := m.offerAll(x, by, it.Turn, m.execution(it.Turn.Execution)); failed != nil {
			return failed
		}
	}
	if failed := m.consume(x, turns); failed != nil {
		return failed
	}
	for _, it := range turns {
		if it.Turn.End != nil && !m.broken(NoLeftovers) {
			m.leftovers(x, it.Turn.Execution)
		}
	}
	var owing []history.ExecutionID
	for _, it := range turns {
		if it.Owes {
			owing = append(owing, it.Turn.Execution)
		}
	}
	m.owe(x, by, owing, out)
	return nil
}

func (m *Store) markEnding(x *tx, it *store.Item) *store.CommitError {
	e := m.execution(it.Execution)
	if !it.Ending {
		return nil
	}
	if e.Status.Ended() {
		return stale([]history.ExecutionID{e.ID})
	}
	set(x, &e.ending, true)
	x.touched(e.ID)
	return nil
}

func stale(ids []history.ExecutionID) *store.CommitError {
	return &store.CommitError{Kind: store.Stale, Executions: ids, Err: fmt.Errorf("memory: executions have changed: %w", store.ErrConflict)}
}

// writeTurns compares and sets the numbers of the last turns (I2).
func (m *Store) writeTurns(x *tx, items []*store.Item) *store.CommitError {
	var changed []history.ExecutionID
	for _, it := range items {
		if e := m.execution(it.Turn.Execution); e == nil || e.Seq != it.Turn.Seq-1 && !m.broken(NoCompare) {
			changed = append(changed, it.Turn.Execution)
		}
	}
	if len(changed) > 0 {
		return stale(changed)
	}
	for _, it := range items {
		m.writeTurn(x, it)
	}
	return nil
}

func (m *Store) writeTurn(x *tx, it *store.Item) {
	t, e := it.Turn, m.execution(it.Turn.Execution)
	if !it.Owes {
		set(x, &e.WakeAt, t.WakeAt)
	}
	set(x, &e.ending, false)
	switch {
	case t.End != nil:
		set(x, &e.Status, t.End.Status)
		set(x, &e.EndedAt, t.At)
		set(x, &e.WakeAt, 0)
	case t.Reopened:
		set(x, &e.Status, history.Running)
		set(x, &e.EndedAt, 0)
	}
	x.touched(e.ID)
	if len(t.Events) > 0 {
		set(x, &e.Seq, t.Seq)
		m.history(x, e, t, false)
	}
}

func (m *Store) history(x *tx, e *execution, t *history.Turn, isNew bool) {
	add(x, &e.turns, store.Row{Seq: t.Seq, At: t.At, First: t.FirstEvent, Events: history.EncodeEvents(t.Events)})
	x.change.Turns = append(x.change.Turns, Written{e.ID, isNew, t})
	x.touched(e.ID)
}

func (m *Store) snapshot(x *tx, t *history.Turn) {
	if e := m.execution(t.Execution); t.Snapshot != nil {
		set(x, &e.snapshot, t.Snapshot)
		set(x, &e.snapshotSeq, t.Seq)
	}
}

func (m *Store) offerAll(x *tx, by history.FenceNumber, t *history.Turn, e *execution) *store.CommitError {
	for i := range t.Offers {
		if failed := m.offer(x, e, t.At, &t.Offers[i], by); failed != nil {
			return failed
		}
	}
	return nil
}

// consume removes the entries that turns have applied, or answers those whose sender waits (I6).
func (m *Store) consume(x *tx, items []*store.Item) *store.CommitError {
	var gone []history.ExecutionID
	for _, it := range items {
		for _, c := range it.Turn.Consumed {
			e := m.entry(c.ID)
			switch {
			case e == nil || e.Execution != it.Turn.Execution || e.reply != nil:
				gone = append(gone, it.Turn.Execution)
			case m.broken(KeepEntry) && e.Command.Kind == history.KindSignal:
			case e.Command.Awaited:
				reply := history.Reply{Outcome: history.Applied}
				if c.Reply != nil {
					reply = history.Reply{Outcome: c.Reply.Outcome, Event: c.Reply.Event, Message: c.Reply.Message}
				}
				m.answer(x, e, reply)
			default:
				m.drop(x, e)
			}
		}
	}
	if len(gone) > 0 && !m.broken(NoCompare) {
		return stale(slices.Compact(gone))
	}
	return nil
}

// leftovers answers every entry that is left of an execution that ends.
func (m *Store) leftovers(x *tx, id history.ExecutionID) {
	for _, e := range slices.Clone(m.inbox) {
		switch {
		case e.Execution != id:
		case !e.Command.Awaited:
			m.drop(x, e)
		case e.reply == nil:
			m.answer(x, e, history.Reply{Outcome: history.Finished})
		}
	}
}

// owe notes what executions leave to be written.
func (m *Store) owe(x *tx, by history.FenceNumber, owing []history.ExecutionID, out *store.Committed) {
	if len(owing) == 0 {
		return
	}
	d := &debt{fence: by, Debt: store.Debt{ID: m.next(), From: by, Executions: owing}}
	add(x, &m.debts, d)
	out.Debts = append(out.Debts, d.ID)
}

// BlockHere takes an execution out of service for everybody: all nodes are of one version here.
func (m *Store) BlockHere(ctx context.Context, f history.FenceNumber, h store.Held, id history.ExecutionID, reason string) error {
	return m.Block(ctx, f, h, id, reason)
}

// Unblock has nothing to do, and BlockedElsewhere nothing to tell.
func (m *Store) Unblock(context.Context, history.FenceNumber, store.Held, history.ExecutionID) error {
	return nil
}
func (m *Store) BlockedElsewhere(context.Context, history.FenceNumber, []history.Partition, int) ([]store.Placed, error) {
	return nil, nil
}

// Block takes an execution out of service.
func (m *Store) Block(_ context.Context, f history.FenceNumber, h store.Held, id history.ExecutionID, reason string) error {
	return m.transact(func(x *tx) error {
		if failed := m.checkFence(f, []store.Held{h}); failed != nil {
			failed.Executions = []history.ExecutionID{id}
			return failed
		}
		e := m.execution(id)
		if e.Status.Ended() {
			return stale([]history.ExecutionID{id})
		}
		set(x, &e.Blocked, reason)
		x.touched(id)
		return nil
	})
}
