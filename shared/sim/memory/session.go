package memory

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/orrery-dev/orrery/shared/history"
	"github.com/orrery-dev/orrery/shared/store"
)

type session struct {
	store.Session
	seen   time.Time
	closed bool
	beat   int64
	beatAt time.Time
	held   []store.Holding
}

func (m *Store) session(id string) *session {
	for _, s := range m.sessions {
		if s.ID == id {
			return s
		}
	}
	return nil
}

// live is the session that is not closed.
func (m *Store) live(id, what string) (*session, error) {
	if s := m.session(id); s != nil && !s.closed {
		return s, nil
	}
	return nil, missing(what)
}

// Register opens a session.
func (m *Store) Register(_ context.Context, r store.Registration) (out store.Session, err error) {
	err = m.transact(func(x *tx) error {
		out = store.Session{ID: fmt.Sprintf("00000000-0000-4000-9000-%012d", m.next()), Registration: r, RegisteredAt: m.now()}
		add(x, &m.sessions, &session{Session: out, seen: m.clock()})
		return nil
	})
	return out, err
}

// Session reads a session.
func (m *Store) Session(_ context.Context, id string) (out store.Session, err error) {
	m.read(func() {
		var s *session
		if s, err = m.live(id, "read a session"); err == nil {
			out = s.Session
			out.Age = m.clock().Sub(s.seen)
		}
	})
	return out, err
}

// Touch records contact with sessions.
func (m *Store) Touch(_ context.Context, ts []store.Touch) (gone []string, err error) {
	err = m.transact(func(x *tx) error {
		gone = m.touch(x, ts)
		return nil
	})
	return gone, err
}

func (m *Store) touch(x *tx, ts []store.Touch) (gone []string) {
	for _, t := range ts {
		s, err := m.live(t.Session, "touch")
		if err != nil {
			gone = append(gone, t.Session)
			continue
		}
		if at := m.clock().Add(-t.Age); at.After(s.seen) {
			set(x, &s.seen, at)
		}
	}
	return gone
}

// WorkerBeat records what a session holds. What two numbered beats have missed becomes a 'lost' entry.
func (m *Store) WorkerBeat(_ context.Context, b store.WorkerBeat) (a store.WorkerBeatAnswer, err error) {
	err = m.transact(func(x *tx) error {
		s, err := m.live(b.Session, "heartbeat of a worker")
		if err != nil {
			return err
		}
		a.Ignored = b.Number <= s.beat
		listed := map[store.Holding]*store.HeldTask{}
		for i := range b.Held {
			listed[b.Held[i].Holding] = &b.Held[i]
		}
		// The answer is of the rows as they were.
		for i := range b.Held {
			m.tellHolder(s, &b.Held[i], &a)
		}
		if !a.Ignored {
			m.news(x, s, b, listed)
		}
		set(x, &s.seen, m.clock())
		return nil
	})
	return a, err
}

// tellHolder tells a worker what has become of one of its tasks.
func (m *Store) tellHolder(s *session, h *store.HeldTask, a *store.WorkerBeatAnswer) {
	t := m.task(h.Holding)
	switch {
	case t == nil:
		if e := m.execution(h.Execution); h.Turn == 0 || e == nil || e.Status.Ended() {
			a.Unknown = append(a.Unknown, h.Holding)
		}
	case t.Claim.Session != s.ID || t.state == "done":
		a.Unknown = append(a.Unknown, h.Holding)
	case t.state == "cancelled" && !m.broken(NoNotice):
		a.Cancelled = append(a.Cancelled, h.Holding)
	}
}

// news is what a beat shows whose number is higher than the last.
func (m *Store) news(x *tx, s *session, b store.WorkerBeat, listed map[store.Holding]*store.HeldTask) {
	for _, t := range slices.Clone(m.tasks) {
		if t.Claim.Session != s.ID {
			continue
		}
		h := listed[t.holding()]
		switch {
		case t.state == "cancelled" && h == nil:
			remove(x, &m.tasks, func(o *task) bool { return o == t })
		case t.state == "claimed":
			m.beaten(x, t, b, h)
		}
	}
	set(x, &s.beat, b.Number)
	set(x, &s.beatAt, m.clock())
	held := make([]store.Holding, 0, len(b.Held))
	for _, h := range b.Held {
		held = append(held, h.Holding)
	}
	set(x, &s.held, held)
}

// beaten is what a beat shows about one claim: h is nil where it is not listed.
func (m *Store) beaten(x *tx, t *task, b store.WorkerBeat, h *store.HeldTask) {
	e := m.execution(t.Execution)
	c := history.Command{Row: t.Row, Claim: history.Claim{Session: t.Claim.Session, Worker: t.Claim.Worker, At: t.Claim.At}}
	switch {
	case h != nil:
		if h.Details != nil && string(h.Details) != t.progress && e.open() {
			c.Kind, c.Output = history.KindHeartbeat, h.Details
			m.enter(x, e, c)
			set(x, &t.progress, string(h.Details))
		}
		set(x, &t.missed, 0)
		set(x, &t.fence, 0)
	case t.missed != 0 && t.missed < b.Number && e.open():
		c.Kind, c.Reason = history.KindLost, "not listed in two heartbeats"
		m.enter(x, e, c)
		set(x, &t.missed, told)
	case t.missed == 0 && m.clock().Sub(t.Claim.At.Time()) >= b.Interval:
		set(x, &t.missed, b.Number)
	}
}

// Heard tells when the session last listed each holding.
func (m *Store) Heard(_ context.Context, id string, hs []store.Holding) (map[store.Holding]history.Time, error) {
	out := map[store.Holding]history.Time{}
	m.read(func() {
		s := m.session(id)
		for _, h := range hs {
			if s != nil && !s.beatAt.IsZero() && slices.Contains(s.held, h) {
				out[h] = history.TimeOf(s.beatAt)
			}
		}
	})
	return out, nil
}

// Deregister closes a session and gives back what it held.
func (m *Store) Deregister(_ context.Context, id string) (out []store.HeldTask, err error) {
	err = m.transact(func(x *tx) error {
		s, err := m.live(id, "deregister")
		if err != nil {
			return err
		}
		for _, t := range m.tasks {
			e := m.execution(t.Execution)
			if t.Claim.Session != id || t.state != "claimed" || !e.open() {
				continue
			}
			m.enter(x, e, history.Command{
				Kind: history.KindLost, Row: t.Row, Reason: "deregistered",
				Claim: history.Claim{Session: id, Worker: t.Claim.Worker, At: t.Claim.At},
			})
			out = append(out, store.HeldTask{Holding: t.holding(), Turn: t.Turn})
		}
		remove(x, &m.tasks, func(t *task) bool { return t.Claim.Session == id && t.state == "cancelled" })
		set(x, &s.closed, true)
		return nil
	})
	return out, err
}
