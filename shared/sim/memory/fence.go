package memory

import (
	"context"
	"fmt"
	"time"

	"github.com/orrery-dev/orrery/shared/history"
	"github.com/orrery-dev/orrery/shared/store"
)

// fence is the lock of one incarnation: its commits hold it together, whoever acts on the incarnation holds it alone.
type fence struct {
	holders map[*holder]bool
	freed   chan struct{} // closed when the last holder has gone; nil while there is none
}

// holder is a commit under way. Its session is ended by a taker that has waited for too long.
type holder struct{ ended bool }

// takerPatience is how long a taker waits before it ends the sessions that hold the fence.
const takerPatience = time.Second

// share takes the fence for a commit. The caller holds the mutex.
func (m *Store) share(f history.FenceNumber) *holder {
	h := &holder{}
	k := m.fences[f]
	if k == nil {
		k = &fence{holders: map[*holder]bool{}}
		m.fences[f] = k
	}
	if len(k.holders) == 0 {
		k.freed = make(chan struct{})
	}
	k.holders[h] = true
	return h
}

// free gives the fence back. The caller holds the mutex.
func (m *Store) free(f history.FenceNumber, h *holder) {
	k := m.fences[f]
	if !k.holders[h] {
		return
	}
	if delete(k.holders, h); len(k.holders) == 0 {
		close(k.freed)
	}
}

// alone runs a transaction while no commit of the incarnation is under way.
func (m *Store) alone(f history.FenceNumber, run func(*tx) error) error {
	for patience := time.Now().Add(takerPatience); ; {
		freed, err, done := m.tryAlone(f, run)
		if done {
			return err
		}
		t := time.NewTimer(time.Until(patience))
		select {
		case <-freed:
		case <-t.C:
			m.endHolders(f)
		}
		t.Stop()
	}
}

func (m *Store) tryAlone(f history.FenceNumber, run func(*tx) error) (freed chan struct{}, err error, done bool) {
	err = m.transact(func(x *tx) error {
		if k := m.fences[f]; k != nil && len(k.holders) > 0 && !m.broken(NoWait) {
			freed = k.freed
			return nil
		}
		done = true
		return run(x)
	})
	return freed, err, done
}

// endHolders ends the sessions of the commits under way: they write nothing any more.
func (m *Store) endHolders(f history.FenceNumber) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for h := range m.fences[f].holders {
		h.ended = true
		m.free(f, h)
	}
}

// checkFence is the check of that name (I1).
func (m *Store) checkFence(f history.FenceNumber, held []store.Held) *store.CommitError {
	if n := m.nodes[f]; (n == nil || n.ended != "") && !m.broken(NoFence) {
		return &store.CommitError{Kind: store.FenceLost, Err: fmt.Errorf("memory: incarnation %d: %w", f, store.ErrFenced)}
	}
	var lost []history.Partition
	for _, h := range held {
		if o := m.partitions[h.Partition]; (o.Fence != f || o.Epoch != h.Epoch) && !m.broken(NoFence) && !m.broken(NoEpoch) {
			lost = append(lost, h.Partition)
		}
	}
	if len(lost) > 0 {
		return &store.CommitError{Kind: store.FenceLost, Partitions: lost, Err: fmt.Errorf("memory: partitions %v have another epoch", lost)}
	}
	return nil
}

// TakeOwnFence waits until no commit of the incarnation is under way.
func (m *Store) TakeOwnFence(_ context.Context, f history.FenceNumber) error {
	return m.alone(f, func(*tx) error { return nil })
}
