package node

import (
	"context"
	"time"

	"github.com/orrery-dev/orrery/shared/history"
	"github.com/orrery-dev/orrery/shared/store"
	"github.com/orrery-dev/orrery/shared/telemetry"
)

// Wake-up times are read from the database up to a horizon, and anew when half of it is left. Every turn of this node
// sets its own; whoever else writes one rings. What that misses, the heartbeat finds: it tells the earliest one.
//
//	       now                      horizon
//	--------+-----------+--------------+-------------> time
//	 fired  |  in memory               |  in the database only
//	                    ^ read up to now + Config.Horizon, from the old horizon on

// setWake notes the execution's next wake-up time; zero for none.
func (l *loop) setWake(e *execution, at history.Time) {
	e.wakeAt = at
	if at > l.horizon {
		at = 0
	}
	l.wakes.set(e.id, e.partition, at)
}

// fireWakes gives a turn to every execution whose time has come.
func (l *loop) fireWakes() {
	now := l.now()
	for {
		w := l.wakes.pop(now)
		if w == nil {
			return
		}
		if _, stuck := l.stuck[w.execution]; stuck {
			continue
		}
		l.node.metrics.timerLate.Observe(now.Sub(w.at).Seconds())
		e := l.entry(w.execution, w.partition)
		e.timer = true
		l.need(e)
	}
}

const (
	// near is how far ahead a bell has wake-up times looked for; what is later, the next full look finds in time.
	near = 3 * time.Second
	// nearEvery is the time between two such looks, fullDueEvery between two full ones that bells ask for.
	nearEvery    = 20 * time.Millisecond
	fullDueEvery = 2 * time.Second
)

// dueLooks are the wishes for reads of wake-up times.
type dueLooks struct {
	look               // everything up to the horizon
	near     bool      // what comes soon
	nextNear time.Time // no look for that before
	nextFull time.Time // when a bell has everything looked for again; zero for not at all
}

// belledDue notes that somebody else may have written a wake-up time.
func (k *dueLooks) belledDue() {
	k.near = true
	if k.nextFull.IsZero() {
		k.nextFull = time.Now().Add(fullDueEvery)
	}
}

// lookDue begins a read of wake-up times, if one is wanted: all up to the horizon, or those that a later horizon brings
// in, or those that come soon.
func (l *loop) lookDue() {
	k, now := &l.looks.due, time.Now()
	if k.running {
		return
	}
	if !k.nextFull.IsZero() && now.After(k.nextFull) {
		k.wanted = true
	}
	today := l.now()
	far := today.Add(l.node.config.Horizon)
	switch {
	case k.wanted:
		k.wanted, k.near, k.nextFull = false, false, time.Time{}
		l.readDue(0, far, true)
	case l.horizonEnds(today):
		l.readDue(l.horizon, far, true)
	case k.near && now.After(k.nextNear):
		k.near, k.nextNear = false, now.Add(nearEvery)
		l.readDue(0, today.Add(near), false)
	}
}

// horizonEnds tells whether wake-up times beyond the horizon are to be read. Where the heartbeat says that there is none
// before the new horizon, it moves without a read: what was written since with an earlier time is inside it, and rings.
func (l *loop) horizonEnds(now history.Time) bool {
	half := l.node.config.Horizon / 2
	if l.horizon > now.Add(half) || len(l.wakes.heap) > dueLimit || l.beat.now == 0 {
		return false
	}
	if to := l.beat.now.Add(l.node.config.Horizon); l.beat.wakeAt == 0 || l.beat.wakeAt > to {
		l.moveHorizon(to)
		return false
	}
	return true
}

// moveHorizon takes in the times up to the new horizon of executions that are loaded: a read says nothing new of them, and
// not everything of those that began while it was under way.
func (l *loop) moveHorizon(to history.Time) {
	from := l.horizon
	if to <= from {
		return
	}
	l.horizon = to
	for _, e := range l.executions {
		if e.state != nil && from < e.wakeAt && e.wakeAt <= to {
			l.wakes.set(e.id, e.partition, e.wakeAt)
		}
	}
}

func (l *loop) readDue(from, until history.Time, extend bool) {
	l.looks.due.running = true
	ps := l.partitions()
	l.spawn(func(ctx context.Context) message {
		list, err := l.node.store.Due(ctx, ps, from, until, dueLimit)
		return seenDue{list, until, extend, err}
	})
}

type seenDue struct {
	list   []store.DueExecution
	until  history.Time
	extend bool
	err    error
}

func (m seenDue) apply(l *loop) {
	k := &l.looks.due
	k.running = false
	if m.err != nil {
		l.failedLook(&k.look, "due", m.err)
		return
	}
	if len(m.list) == dueLimit {
		m.until = m.list[dueLimit-1].WakeAt
	}
	if m.extend {
		l.moveHorizon(m.until)
	}
	for _, d := range m.list {
		_, owned := l.owned[d.Partition]
		e := l.executions[d.Execution]
		// A loaded execution knows better, and one that loads will.
		if owned && (e == nil || e.phase == asleep) {
			l.wakes.set(d.Execution, d.Partition, d.WakeAt)
		}
	}
}

// askSessions finds out, before a heartbeat time-out fires, when the sessions that hold the units were last told of them.
// The timer command waits for the answer; other commands do not.
func (l *loop) askSessions(e *execution) {
	if !e.timer || e.heard != nil || e.asking {
		return
	}
	silent := e.state.Silent(l.now())
	if len(silent) == 0 {
		return
	}
	e.asking = true
	e.asked++
	asked := e.asked
	id := e.id
	l.spawn(func(ctx context.Context) message {
		m := heard{execution: e, asked: asked}
		m.times, m.err = l.node.heardOf(ctx, id, silent)
		return m
	})
}

// heardOf asks the rows of the sessions that hold the units.
func (n *Node) heardOf(ctx context.Context, id history.ExecutionID, units []history.UnitView) (map[history.UnitKey]history.Time, error) {
	held := map[string][]store.Holding{}
	for _, u := range units {
		row := history.RowRef{Unit: u.Key, Attempt: u.Attempt, Offer: u.Offer}
		held[u.Session] = append(held[u.Session], store.Holding{Execution: id, Row: row})
	}
	times := map[history.UnitKey]history.Time{}
	for session, hs := range held {
		found, err := n.store.Heard(ctx, session, hs)
		if err != nil {
			return nil, err
		}
		for h, at := range found {
			times[h.Row.Unit] = at
		}
	}
	return times, nil
}

// heard is what sessions say.
type heard struct {
	execution *execution
	asked     int
	times     map[history.UnitKey]history.Time
	err       error
}

func (m heard) apply(l *loop) {
	e := m.execution
	if l.executions[e.id] != e || !e.asking || e.asked != m.asked {
		return
	}
	e.asking = false
	if m.err != nil {
		l.log.Warn("sessions could not be asked before a heartbeat time-out", telemetry.KeyExecution, e.id, telemetry.KeyError, m.err)
		e.timer = false
		l.setWake(e, l.now().Add(time.Second))
		return
	}
	e.heard = m.times
	l.need(e)
}
