package memory

import (
	"context"
	"errors"
	"fmt"

	"github.com/orrery-dev/orrery/shared/history"
	"github.com/orrery-dev/orrery/shared/store"
)

// Start writes the first turn of a new execution from a process that owns nothing.
func (m *Store) Start(_ context.Context, it store.Item) (store.Started, error) {
	var out store.Committed
	list := []store.Item{it}
	err := m.transact(func(x *tx) error {
		x.bells.Add(it)
		if it.Turn.WakeAt != 0 {
			x.bells.Inbox = []history.Partition{it.Partition}
		}
		if failed := m.write(x, 0, list, &out); failed != nil {
			return failed
		}
		return nil
	})
	if err != nil {
		return store.Started{}, fmt.Errorf("memory: start %s: %w", it.New.Name, err)
	}
	return out.Started[0], nil
}

// startAll writes the executions that a batch starts, and the children of its turns.
func (m *Store) startAll(x *tx, by history.FenceNumber, list []store.Item, starts []*store.Item, out *store.Committed) *store.CommitError {
	var owing []history.ExecutionID
	out.Started, out.Children = map[int]store.Started{}, map[int][]history.ExecutionID{}
	begin := func(it *store.Item) (store.Started, *store.CommitError) {
		s, failed := m.start(x, by, it)
		if failed == nil && it.Owes && s.Existing == nil {
			owing = append(owing, s.Execution)
		}
		return s, failed
	}
	for i := range list {
		it := &list[i]
		if it.New != nil {
			s, failed := begin(it)
			if failed != nil {
				return failed
			}
			out.Started[i] = s
		}
		for c := range it.Children {
			s, failed := begin(&it.Children[c])
			if failed == nil && s.Existing != nil {
				failed = &store.CommitError{Kind: store.NameTaken, Executions: []history.ExecutionID{executionOf(it)}, Err: errors.New("memory: the name of a child is taken")}
			}
			if failed != nil {
				return failed
			}
			out.Children[i] = append(out.Children[i], s.Execution)
		}
	}
	m.owe(x, by, owing, out)
	return nil
}

// start writes one new execution, unless its name is taken.
func (m *Store) start(x *tx, by history.FenceNumber, it *store.Item) (store.Started, *store.CommitError) {
	n, t := it.New, it.Turn
	if old := m.named(n.Namespace, n.Name); old != nil && !m.broken(NoName) {
		copied := old.Execution
		return store.Started{Execution: old.ID, Existing: &copied}, nil
	}
	d := m.definition(n.Definition)
	e := &execution{Execution: store.Execution{
		ID: history.ExecutionID(m.next()), Namespace: n.Namespace, Name: n.Name, Definition: n.Definition, Workflow: d.Name,
		Version: d.Version, Hash: d.Hash, InputHash: n.InputHash, Trace: n.Trace, Partition: it.Partition,
		Status: history.Running, Seq: 1, StartedAt: t.At,
	}, token: n.Token}
	if !it.Owes {
		e.WakeAt = t.WakeAt
	}
	if t.End != nil {
		e.Status, e.EndedAt, e.WakeAt = t.End.Status, t.At, 0
	}
	add(x, &m.executions, e)
	m.history(x, e, t, true)
	return store.Started{Execution: e.ID}, m.offerAll(x, by, t, e)
}

// family tells parents of ends, and children to stop.
func (m *Store) family(x *tx, items []*store.Item) *store.CommitError {
	for _, it := range items {
		if !m.tellParent(x, it.Turn) {
			return locked(executionOf(it))
		}
		for c := range it.Children {
			if !m.tellParent(x, it.Children[c].Turn) {
				return locked(executionOf(it))
			}
		}
		for _, s := range it.Turn.Stops {
			child := m.named(m.execution(it.Turn.Execution).Namespace, s.Name)
			if child == nil || child.Status.Ended() {
				continue
			}
			if child.ending {
				return locked(it.Turn.Execution)
			}
			m.enter(x, child, history.Command{Kind: history.KindCancel, Reason: s.Reason})
		}
	}
	return nil
}

func locked(id history.ExecutionID) *store.CommitError {
	return &store.CommitError{Kind: store.Locked, Executions: []history.ExecutionID{id}, Err: fmt.Errorf("memory: executions are locked: %w", store.ErrConflict)}
}

// tellParent tells the parent that its child has ended; one that has ended too hears nothing. False when the parent is about to end.
func (m *Store) tellParent(x *tx, t *history.Turn) bool {
	if t.Told == nil || t.End == nil {
		return true
	}
	parent := m.execution(t.Told.Execution)
	if parent.Status.Ended() || parent.ending {
		return parent.Status.Ended()
	}
	c := history.Command{
		Kind: history.KindChildEnded, Row: history.RowRef{Unit: t.Told.Unit, Attempt: t.Told.Attempt}, Status: t.End.Status,
		At: t.At, Output: t.End.Output,
	}
	if t.End.Status != history.Succeeded {
		c.Failure = &history.Failure{Code: t.End.Error, Message: t.End.Cause}
	}
	m.enter(x, parent, c)
	return true
}
