package memory

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/orrery-dev/orrery/shared/history"
	"github.com/orrery-dev/orrery/shared/store"
)

// task is one row of the queue.
type task struct {
	store.Assignment
	namespace history.NamespaceID
	language  string
	rank      int
	state     string // queued, claimed, done, cancelled or lost
	claimed   bool   // somebody has or had it
	noticed   bool
	fence     history.FenceNumber // of the node that handed it out; zero for none
	report    history.InboxID     // that made it done
	missed    int64               // the first beat that missed it
	progress  string
}

// told is a number of a beat that is not missed again.
const told = int64(1)<<62 - 1

func (t *task) unnoticed() bool { return t.claimed && !t.noticed }

func (t *task) queuedIn(q store.Queue) bool {
	return t.state == "queued" && t.namespace == q.Namespace && t.Contract == q.Contract && t.language == q.Language
}

func (t *task) holding() store.Holding { return store.Holding{Execution: t.Execution, Row: t.Row} }

func (m *Store) task(h store.Holding) *task {
	for _, t := range m.tasks {
		if t.Execution == h.Execution && t.Row == h.Row {
			return t
		}
	}
	return nil
}

// offer writes a row. One that is there already is an error, because it is the arbiter (I7).
func (m *Store) offer(x *tx, e *execution, at history.Time, o *history.Offer, by history.FenceNumber) *store.CommitError {
	if m.task(store.Holding{Execution: e.ID, Row: o.RowRef}) != nil {
		return &store.CommitError{Kind: store.Data, Err: fmt.Errorf("memory: execution %d has a row %+v: %w", e.ID, o.RowRef, store.ErrRefused)}
	}
	t := m.newTask(e, o)
	switch {
	case o.Claim != nil:
		t.state, t.claimed, t.noticed, t.Claim = "claimed", true, true, *o.Claim
		if t.Claim.Session != "" {
			t.fence = by
		}
	case o.TokenTask:
		t.state, t.claimed, t.noticed, t.Claim.At = "claimed", true, true, at
	}
	t.Claim.Task = t.Task
	t.setDeadline()
	add(x, &m.tasks, t)
	x.touched(e.ID)
	return nil
}

func (m *Store) newTask(e *execution, o *history.Offer) *task {
	return &task{
		namespace: e.Namespace, language: o.Language, rank: -o.Priority, state: "queued",
		Assignment: store.Assignment{
			Task: history.TaskID(m.next()), Partition: e.Partition, Execution: e.ID, Name: e.Name, Workflow: e.Workflow,
			Version: e.Version, Trace: e.Trace, Token: e.token, Row: o.RowRef, Contract: o.Contract, Work: o.Task,
		},
	}
}

func (t *task) setDeadline() {
	if t.Work.Timeout > 0 && t.Claim.At != 0 {
		t.Deadline = t.Claim.At + history.Time(t.Work.Timeout)
	}
}

// owed writes the row of an earlier hand-over, unless it is there.
func (m *Store) owed(x *tx, e *execution, h *store.HandOut) {
	if m.task(store.Holding{Execution: e.ID, Row: h.RowRef}) != nil {
		return
	}
	t := m.newTask(e, &h.Offer)
	t.state, t.claimed, t.noticed, t.Claim, t.Turn = "claimed", true, true, *h.Claim, h.Turn
	t.Claim.Task, t.fence = t.Task, h.From
	t.setDeadline()
	add(x, &m.tasks, t)
	x.touched(e.ID)
}

// settle changes the rows that turns speak of. It names what others have moved on durably.
func (m *Store) settle(x *tx, items []*store.Item) *store.CommitError {
	consumed := map[history.InboxID]bool{}
	for _, it := range items {
		for _, c := range it.Turn.Consumed {
			consumed[c.ID] = true
		}
	}
	var first []history.ExecutionID
	for _, it := range items {
		for _, t := range slices.Clone(m.tasks) {
			if t.Execution == it.Turn.Execution && !m.settleRow(x, t, it.Turn, consumed) {
				first = append(first, t.Execution)
			}
		}
	}
	if len(first) > 0 {
		return &store.CommitError{Kind: store.ReportFirst, Executions: slices.Compact(first), Err: fmt.Errorf("memory: settle: %w", store.ErrConflict)}
	}
	return nil
}

// settleRow does what the turn says to one row; false when something durable comes first.
func (m *Store) settleRow(x *tx, t *task, turn *history.Turn, consumed map[history.InboxID]bool) bool {
	var resolved, onlyQueued, notice bool
	for _, r := range turn.Resolved {
		if r.Unit == t.Row.Unit && t.Row.Attempt <= r.Attempt {
			resolved, onlyQueued, notice = true, onlyQueued || r.OnlyQueued, notice || r.CancelNotice
		}
	}
	lost := slices.Contains(turn.Lost, t.Row)
	noticed := slices.Contains(turn.Noticed, history.Noticed{Task: t.Task}) && t.unnoticed()
	if !resolved && !lost && !noticed {
		return true
	}
	open := t.state == "done" && (resolved || lost) && !consumed[t.report] && m.entry(t.report) != nil
	if (open || onlyQueued && t.state == "claimed") && !m.broken(NoArbiter) {
		return false
	}
	x.touched(t.Execution)
	keep := notice && (t.state == "claimed" || t.state == "cancelled") && t.Claim.Session != ""
	if resolved && !keep {
		remove(x, &m.tasks, func(o *task) bool { return o == t })
		return true
	}
	set(x, &t.noticed, t.noticed || t.claimed)
	switch {
	case resolved:
		set(x, &t.state, "cancelled")
	case lost && t.state == "claimed":
		set(x, &t.state, "lost")
	}
	return true
}

// Claim takes the oldest queued rows for the polls, by priority, then age.
func (m *Store) Claim(_ context.Context, q store.ClaimRequest) (r store.ClaimResult, err error) {
	err = m.transact(func(x *tx) error {
		r.Now = m.now()
		if q.Flag {
			for _, p := range q.Polls {
				m.flag(x, q.Fence, queuesOf(p))
			}
		}
		wants := make([]int, len(q.Polls))
		for i, p := range q.Polls {
			wants[i] = p.Max
			if p.Recall && m.recall(i, p, &r) {
				wants[i] = 0
			}
		}
		m.deal(x, q, wants, &r)
		return nil
	})
	slices.SortStableFunc(r.Tasks, func(a, b store.Claimed) int { return cmp.Compare(a.Poll, b.Poll) })
	return r, err
}

func queuesOf(p store.Poll) (out []store.Queue) {
	for _, c := range p.Contracts {
		out = append(out, store.Queue{Namespace: p.Namespace, Contract: c})
		if p.Language != "" {
			out = append(out, store.Queue{Namespace: p.Namespace, Contract: c, Language: p.Language})
		}
	}
	return out
}

// recallTime is how long a claim can be recalled by its poll.
const recallTime = time.Minute

// recall finds what an earlier try of the poll has claimed, and no more than this one asks for.
func (m *Store) recall(place int, p store.Poll, r *store.ClaimResult) bool {
	found := 0
	for _, t := range m.tasks {
		c := t.Claim
		if found < p.Max && t.state == "claimed" && c.Session == p.Session && c.PollID == p.ID && m.clock().Sub(c.At.Time()) < recallTime {
			r.Tasks = append(r.Tasks, store.Claimed{Poll: place, Assignment: t.Assignment})
			found++
		}
	}
	return found > 0
}

// deal gives queued rows to the polls, in turns. A poll that recalls takes no more; one row too many tells that there is more.
func (m *Store) deal(x *tx, q store.ClaimRequest, wants []int, r *store.ClaimResult) {
	for again := true; again; {
		again = false
		for i, p := range q.Polls {
			if wants[i] == 0 {
				continue
			}
			t := m.best(p)
			if t == nil {
				wants[i] = 0
				continue
			}
			m.claim(x, t, p, q.Fence)
			r.Tasks = append(r.Tasks, store.Claimed{Poll: i, Assignment: t.Assignment})
			wants[i]--
			again = true
		}
	}
	for _, p := range q.Polls {
		r.More = r.More || m.best(p) != nil
	}
}

// best is the first queued row for a poll.
func (m *Store) best(p store.Poll) (best *task) {
	queues := queuesOf(p)
	for _, t := range m.tasks {
		if slices.ContainsFunc(queues, t.queuedIn) && (best == nil || t.rank < best.rank) {
			best = t
		}
	}
	if best == nil && m.broken(DoubleClaim) {
		for _, t := range m.tasks {
			if t.unnoticed() && t.state == "claimed" && t.Claim.Session != p.Session && slices.Contains(p.Contracts, t.Contract) {
				return t
			}
		}
	}
	return best
}

func (m *Store) claim(x *tx, t *task, p store.Poll, f history.FenceNumber) {
	set(x, &t.state, "claimed")
	set(x, &t.claimed, true)
	set(x, &t.fence, f)
	set(x, &t.Assignment, t.Assignment)
	t.Claim = history.Claim{Task: t.Task, Session: p.Session, Worker: p.Worker, PollID: p.ID, At: m.now()}
	t.setDeadline()
	x.touched(t.Execution)
}

// LostClaims finds claimed rows whose holders are gone.
func (m *Store) LostClaims(_ context.Context, q store.LostQuery) (out []store.LostClaim, _ error) {
	m.read(func() {
		for _, t := range m.tasks {
			if t.state != "claimed" || t.Claim.Session == "" || !slices.Contains(q.Partitions, t.Partition) || len(out) == q.Limit {
				continue
			}
			if reason := m.lostBecause(t, q); reason != "" {
				out = append(out, store.LostClaim{
					Partition: t.Partition, Execution: t.Execution, Row: t.Row, Session: t.Claim.Session, Reason: reason,
				})
			}
		}
	})
	return out, nil
}

func (m *Store) lostBecause(t *task, q store.LostQuery) string {
	s := m.session(t.Claim.Session)
	old := m.clock().Sub(t.Claim.At.Time()) > q.SessionTimeout
	if s != nil && (s.closed || m.clock().Sub(s.seen) > q.SessionTimeout) {
		if s.closed || old {
			return "session"
		}
		return ""
	}
	n := m.nodes[t.fence]
	if n == nil || n.ended == "left" || !old {
		return ""
	}
	if n.ended == "fenced" || m.clock().Sub(n.beat) > q.NodeTimeout {
		return "incarnation"
	}
	return ""
}

// Unnoticed returns claims that no turn has recorded.
func (m *Store) Unnoticed(_ context.Context, ps []history.Partition, from history.TaskID, limit int) (out []store.UnnoticedClaim, _ error) {
	m.read(func() {
		out = m.claims(limit, func(t *task) bool {
			return slices.Contains(ps, t.Partition) && t.Task >= from && !m.blocked(t.Execution)
		})
	})
	return out, nil
}

func (m *Store) claims(limit int, wanted func(*task) bool) (out []store.UnnoticedClaim) {
	for _, t := range m.tasks {
		if t.unnoticed() && wanted(t) && len(out) < limit {
			out = append(out, store.UnnoticedClaim{Task: t.Task, Partition: t.Partition, Execution: t.Execution, Row: t.Row, Claim: t.Claim})
		}
	}
	return out
}
