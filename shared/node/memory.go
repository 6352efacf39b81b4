package node

import (
	"time"

	"github.com/orrery-dev/orrery/shared/history"
)

// trimEvery is the time between two looks for what can leave memory.
const trimEvery = 100 * time.Millisecond

// weigh estimates anew what a loaded execution takes. What runs bounds a state, so the texts of a turn are counted only
// until the next snapshot tells the size.
func (l *loop) weigh(e *execution, t *history.Turn) {
	l.memory -= e.size
	if t.Snapshot != nil {
		e.size = stateBase + 2*int64(len(t.Snapshot))
	} else {
		for i := range t.Events {
			e.size += 2 * int64(len(t.Events[i].Text.Literal))
		}
	}
	e.size = max(e.size, stateBase)
	l.memory += e.size
}

// trim takes executions out of memory that have nothing to do soon, and more of the idle ones while all together take
// more than the limit.
func (l *loop) trim() {
	now := time.Now()
	if now.Before(l.nextTrim) {
		return
	}
	l.nextTrim = now.Add(trimEvery)
	soon := l.now().Add(l.node.config.Idle)
	for spot := l.idle.Front(); spot != nil; {
		e := spot.Value.(*execution)
		spot = spot.Next()
		over := l.memory > l.node.config.Memory
		if !over && now.Sub(e.idleSince) < l.node.config.Idle {
			return
		}
		// One with claims to record has something to do within a second; one that wakes soon would be loaded again.
		if len(e.dispatched) > 0 || !e.payAt.IsZero() || !over && l.wakesBy(e.id, soon) {
			continue
		}
		l.drop(e)
	}
}

func (l *loop) wakesBy(id history.ExecutionID, t history.Time) bool {
	w := l.wakes.at[id]
	return w != nil && w.at <= t
}

// drop takes an idle execution out of memory. What it is and when it wakes is in the database.
func (l *loop) drop(e *execution) {
	if !e.holds() {
		delete(l.held, e.id)
	}
	l.located.put(e.id, e.partition)
	l.unload(e)
	e.phase = asleep
	delete(l.executions, e.id)
}

// located remembers the partitions of executions that are not loaded, so that calls for them find their way without a
// read. It keeps the newest: between one and two times generation of them.
type located struct {
	young, old map[history.ExecutionID]history.Partition
}

const generation = 50_000

func (m *located) put(id history.ExecutionID, p history.Partition) {
	if m.young == nil || len(m.young) >= generation {
		m.young, m.old = map[history.ExecutionID]history.Partition{}, m.young
	}
	m.young[id] = p
}

func (m *located) get(id history.ExecutionID) (history.Partition, bool) {
	if p, ok := m.young[id]; ok {
		return p, true
	}
	p, ok := m.old[id]
	return p, ok
}
