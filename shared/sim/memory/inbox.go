package memory

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/orrery-dev/orrery/shared/history"
	"github.com/orrery-dev/orrery/shared/store"
)

func (m *Store) entry(id history.InboxID) *entry {
	i, ok := slices.BinarySearchFunc(m.inbox, id, func(e *entry, id history.InboxID) int { return cmp.Compare(e.ID, id) })
	if !ok {
		return nil
	}
	return m.inbox[i]
}

// enter puts a command into an inbox, and rings the owner after the transaction.
func (m *Store) enter(x *tx, e *execution, c history.Command) *entry {
	c.Inbox = history.InboxID(m.next())
	c.Ref, c.Seed, c.Heard = 0, 0, nil
	n := &entry{Entry: store.Entry{
		EntryRef: store.EntryRef{Execution: e.ID, ID: c.Inbox}, Partition: e.Partition, Command: c, SentAt: m.now(),
	}}
	add(x, &m.inbox, n)
	x.touched(e.ID)
	x.bells.InboxOf = append(x.bells.InboxOf, e.ID)
	return n
}

func (m *Store) answer(x *tx, e *entry, r history.Reply) {
	set(x, &e.reply, &r)
	set(x, &e.at, m.clock())
	x.touched(e.Execution)
}

func (m *Store) drop(x *tx, e *entry) {
	remove(x, &m.inbox, func(o *entry) bool { return o == e })
	x.touched(e.Execution)
}

// Inbox returns the unapplied entries of partitions, by number.
func (m *Store) Inbox(_ context.Context, q store.InboxQuery) (out []store.Entry, _ error) {
	m.read(func() {
		out = m.entries(q.Limit, func(e *entry) bool {
			return slices.Contains(q.Partitions, e.Partition) && e.ID >= q.From && !slices.Contains(q.Except, e.Execution) && !m.blocked(e.Execution)
		})
	})
	return out, nil
}

// InboxOf returns the unapplied entries of executions, by number.
func (m *Store) InboxOf(_ context.Context, ids []history.ExecutionID, limit int) (out []store.Entry, _ error) {
	m.read(func() {
		out = m.entries(limit, func(e *entry) bool { return slices.Contains(ids, e.Execution) })
	})
	return out, nil
}

func (m *Store) entries(limit int, wanted func(*entry) bool) (out []store.Entry) {
	for _, e := range m.inbox {
		if e.reply == nil && wanted(e) && len(out) < limit {
			out = append(out, e.Entry)
		}
	}
	return out
}

// Pending reads what waits for executions that have just been loaded.
func (m *Store) Pending(ctx context.Context, ids []history.ExecutionID, limit int) (out store.Pending, _ error) {
	m.read(func() {
		out.Entries = m.entries(limit, func(e *entry) bool { return slices.Contains(ids, e.Execution) })
		out.Claims = m.claims(len(m.tasks), func(t *task) bool { return slices.Contains(ids, t.Execution) })
		for _, t := range m.tasks {
			if slices.Contains(ids, t.Execution) {
				out.Rows = append(out.Rows, t.holding())
			}
		}
	})
	return out, nil
}

// Rowless lists executions that run and have no row in the queue, all in one step.
func (m *Store) Rowless(_ context.Context, q store.RowlessQuery) (out store.RowlessStep, _ error) {
	if m.broken(NoInheritance) {
		return out, nil
	}
	m.read(func() {
		for _, e := range m.executions {
			if e.Status == history.Running && e.Blocked == "" && slices.Contains(q.Partitions, e.Partition) && len(out.Executions) < q.Limit &&
				!slices.ContainsFunc(m.tasks, func(t *task) bool { return t.Execution == e.ID }) {
				out.Executions = append(out.Executions, store.Placed{Execution: e.ID, Partition: e.Partition})
			}
		}
	})
	return out, nil
}

// Report puts reports into inboxes. The first complete or fail of an attempt makes its rows done (I6).
func (m *Store) Report(_ context.Context, rs []store.Report) (out []store.ReportOutcome, err error) {
	err = m.transact(func(x *tx) error {
		for i := range rs {
			out = append(out, m.report(x, &rs[i]))
		}
		return nil
	})
	return out, err
}

func (m *Store) report(x *tx, r *store.Report) store.ReportOutcome {
	e := m.execution(r.Execution)
	switch {
	case e == nil || e.Status.Ended():
		return store.ReportStale
	case e.ending:
		return store.ReportRetry
	}
	rows := m.attempt(r)
	if len(rows) == 0 {
		return m.reportBare(x, e, r)
	}
	open, done := false, false
	var own *task
	for _, t := range rows {
		open = open || t.state == "queued" || t.state == "claimed" || t.state == "lost"
		done = done || t.state == "done"
		if t.Row.Offer == r.Row.Offer {
			own = t
		}
	}
	uncertain := r.Kind == history.KindUncertain
	if open && !done && (!uncertain || own != nil && own.state == "claimed") {
		m.accept(x, e, r, own, rows)
		return store.ReportAccepted
	}
	if own != nil && own.report != 0 {
		if n := m.entry(own.report); n != nil && n.Command.Row == r.Row && n.Command.Kind == r.Kind && n.Command.Claim.Session == r.Session {
			return store.ReportDuplicate
		}
	}
	return store.ReportStale
}

// attempt are the rows of a report's attempt.
func (m *Store) attempt(r *store.Report) (rows []*task) {
	for _, t := range m.tasks {
		if t.Execution == r.Execution && t.Row.Unit == r.Row.Unit && t.Row.Attempt == r.Row.Attempt {
			rows = append(rows, t)
		}
	}
	return rows
}

// reportBare is a report of an attempt without a row: its owner has handed it over and owes the row. It is open where no turn
// has followed the one that the reporter knows of.
func (m *Store) reportBare(x *tx, e *execution, r *store.Report) store.ReportOutcome {
	switch {
	case r.OpenAt == 0:
		return store.ReportStale
	case r.OpenAt != e.Seq:
		return store.ReportUnclear
	case r.Kind == history.KindUncertain:
		m.accept(x, e, r, nil, nil)
		return store.ReportAccepted
	}
	t := m.newTask(e, &history.Offer{RowRef: r.Row})
	t.state = "done"
	add(x, &m.tasks, t)
	n := m.accept(x, e, r, nil, nil)
	t.report = n.ID
	return store.ReportAccepted
}

// accept enters a report and makes the rows of its attempt done.
func (m *Store) accept(x *tx, e *execution, r *store.Report, own *task, rows []*task) *entry {
	c := history.Command{
		Kind: r.Kind, Row: r.Row, Claim: history.Claim{Session: r.Session, Worker: r.Worker}, Output: r.Output,
		Failure: r.Failure, Reason: r.Reason, RequestID: r.RequestID,
	}
	if own != nil {
		c.Claim.At = own.Claim.At
	}
	n := m.enter(x, e, c)
	for _, t := range rows {
		if r.Kind != history.KindUncertain && (t.state == "queued" || t.state == "claimed" || t.state == "lost") {
			set(x, &t.state, "done")
			set(x, &t.report, n.ID)
		}
	}
	return n
}

// keyTime is how long an idempotency key is kept.
const keyTime = 24 * time.Hour

// Send puts a message into the inbox of a named execution. A key that was used before gives the earlier answer.
func (m *Store) Send(_ context.Context, msg store.Message) (out store.Sent, err error) {
	err = m.transact(func(x *tx) error {
		out = m.send(x, msg)
		x.bells.From = msg.From
		return nil
	})
	return out, err
}

func (m *Store) send(x *tx, msg store.Message) store.Sent {
	name := keyName{msg.Namespace, msg.Key}
	if k := m.keys[name]; msg.Key != "" && k != nil && m.clock().Before(k.expires) {
		if k.hash != string(msg.KeyHash) {
			return store.Sent{Outcome: store.SendKeyReused, Entry: k.entry}
		}
		return store.Sent{Outcome: store.SendRepeated, Entry: k.entry, Reply: k.reply}
	}
	e := m.named(msg.Namespace, msg.Name)
	switch {
	case e == nil:
		return store.Sent{Outcome: store.SendUnknown}
	case e.Status.Ended() != (msg.Command.Kind == history.KindRedrive):
		return store.Sent{Outcome: store.SendFinished}
	case e.ending:
		return store.Sent{Outcome: store.SendRetry}
	}
	c := msg.Command
	c.Awaited = true
	n := m.enter(x, e, c)
	n.waiter, n.key = msg.From, msg.Key
	if msg.Key != "" {
		put(x, m.keys, name, &key{hash: string(msg.KeyHash), entry: n.EntryRef, expires: m.clock().Add(keyTime)})
	}
	return store.Sent{Outcome: store.SendQueued, Entry: n.EntryRef}
}

// Reply reads the answer to an entry once; it stays with the idempotency key where there is one.
func (m *Store) Reply(_ context.Context, r store.EntryRef) (out *history.Reply, err error) {
	err = m.transact(func(x *tx) error {
		e := m.entry(r.ID)
		switch {
		case e == nil || e.Execution != r.Execution:
			return missing("read a reply")
		case e.reply == nil:
			return nil
		}
		out = e.reply
		m.keep(x, e)
		return nil
	})
	return out, err
}

// keep removes an answered entry, whose key keeps the answer.
func (m *Store) keep(x *tx, e *entry) {
	if k := m.keys[keyName{m.execution(e.Execution).Namespace, e.key}]; e.key != "" && k != nil && k.entry == e.EntryRef {
		set(x, &k.reply, e.reply)
	}
	m.drop(x, e)
}
