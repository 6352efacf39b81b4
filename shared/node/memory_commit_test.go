package node

import (
	"bytes"
	"context"
	"slices"
	"time"

	"github.com/orrery-dev/orrery/shared/history"
	"github.com/orrery-dev/orrery/shared/store"
)

// Commit writes a batch, all or nothing, by the rules of the real one.
func (m *memory) Commit(ctx context.Context, b store.Batch) (store.Committed, error) {
	time.Sleep(time.Millisecond)
	m.mu.Lock()
	before, after := m.before, m.after
	m.mu.Unlock()
	if before != nil {
		if err := before(b); err != nil {
			return store.Committed{}, err
		}
	}
	out, err := m.commit(b)
	if err == nil && after != nil {
		err = after(b)
	}
	return out, err
}

func (m *memory) commit(b store.Batch) (store.Committed, error) {
	defer m.lock("Commit")()
	if err := m.check(b); err != nil {
		m.calls["refused"]++
		return store.Committed{}, err
	}
	out := store.Committed{Started: map[int]store.Started{}, Children: map[int][]history.ExecutionID{}}
	for i := range b.Items {
		it := &b.Items[i]
		if it.New != nil {
			out.Started[i] = m.start(it)
			continue
		}
		if it.Turn == nil {
			continue
		}
		m.write(it, m.rows[it.Turn.Execution])
		for c := range it.Children {
			out.Children[i] = append(out.Children[i], m.start(&it.Children[c]).Execution)
		}
	}
	for i := range b.Items {
		m.family(&b.Items[i])
	}
	m.owe(b, &out)
	m.ring(b)
	return out, nil
}

// family tells parents of ends, and children to stop; the caller holds the mutex.
func (m *memory) family(it *store.Item) {
	for i := range it.Children {
		m.family(&it.Children[i])
	}
	t := it.Turn
	if t == nil {
		return
	}
	if p := t.Told; p != nil && t.End != nil && !m.rows[p.Execution].Status.Ended() {
		c := history.Command{Kind: history.KindChildEnded, Row: history.RowRef{Unit: p.Unit, Attempt: p.Attempt}, Status: t.End.Status, At: t.At, Output: t.End.Output}
		if t.End.Status != history.Succeeded {
			c.Failure = &history.Failure{Code: t.End.Error, Message: t.End.Cause}
		}
		m.enter(m.rows[p.Execution], c)
	}
	for _, s := range t.Stops {
		for _, x := range m.rows {
			if x.Name == s.Name && !x.Status.Ended() {
				m.enter(x, history.Command{Kind: history.KindCancel, Reason: s.Reason})
			}
		}
	}
}

// owe notes what the items leave to be written.
func (m *memory) owe(b store.Batch, out *store.Committed) {
	d := &memoryDebt{fence: b.Fence}
	d.ID, d.From = m.next(), b.Fence
	note := func(it *store.Item, id history.ExecutionID) {
		if it.Owes {
			d.Executions = append(d.Executions, id)
			d.Partitions = append(d.Partitions, it.Partition)
		}
	}
	for i := range b.Items {
		it := &b.Items[i]
		switch started := out.Started[i]; {
		case it.Turn == nil || started.Existing != nil:
		case it.New != nil:
			note(it, started.Execution)
		default:
			note(it, it.Turn.Execution)
		}
		for c := range it.Children {
			note(&it.Children[c], out.Children[i][c])
		}
	}
	if len(d.Executions) > 0 {
		m.debts = append(m.debts, d)
		out.Debts = []int64{d.ID}
	}
}

// check raises what the real checks raise, with who is at fault.
func (m *memory) check(b store.Batch) error {
	if m.nodes[b.Fence].ended {
		return &store.CommitError{Kind: store.FenceLost, Err: store.ErrFenced}
	}
	var lost, stale, first, data store.CommitError
	for i := range b.Items {
		it := &b.Items[i]
		if o := m.partitions[it.Partition]; o.Fence != b.Fence || o.Epoch != it.Epoch {
			lost.Partitions = append(lost.Partitions, it.Partition)
			if it.New == nil {
				lost.Executions = append(lost.Executions, it.Turn.Execution)
			}
			continue
		}
		if it.Turn == nil || it.New != nil {
			continue
		}
		t, row := it.Turn, m.rows[it.Turn.Execution]
		if row.Seq != t.Seq-1 || !m.consumable(t) {
			stale.Executions = append(stale.Executions, t.Execution)
		}
		if m.overrules(t) {
			first.Executions = append(first.Executions, t.Execution)
		}
		for _, ev := range t.Events {
			if bytes.Contains(ev.Text.Literal, []byte("poison")) {
				data.Kind = store.Data
			}
		}
	}
	switch {
	case len(lost.Partitions) > 0:
		lost.Kind, lost.Err = store.FenceLost, store.ErrFenced
		return &lost
	case len(stale.Executions) > 0:
		stale.Kind, stale.Err = store.Stale, store.ErrConflict
		return &stale
	case len(first.Executions) > 0:
		first.Kind, first.Err = store.ReportFirst, store.ErrConflict
		return &first
	case data.Kind == store.Data:
		data.Err = errLost
		return &data
	}
	return nil
}

func (m *memory) consumable(t *history.Turn) bool {
	for _, c := range t.Consumed {
		if !slices.ContainsFunc(m.inbox, func(e *memoryEntry) bool { return e.ID == c.ID && e.reply == nil }) {
			return false
		}
	}
	return true
}

// overrules tells whether the turn takes away or gives up a row that a durable report has made done.
func (m *memory) overrules(t *history.Turn) bool {
	for _, k := range m.tasks {
		if k.Execution != t.Execution || k.state != "done" {
			continue
		}
		applied := slices.ContainsFunc(t.Consumed, func(c history.Consumed) bool { return c.ID == k.report })
		for _, r := range t.Resolved {
			if r.Unit == k.Row.Unit && k.Row.Attempt <= r.Attempt && !applied {
				return true
			}
		}
		if slices.Contains(t.Lost, k.Row) && !applied {
			return true
		}
	}
	return false
}

func (m *memory) start(it *store.Item) store.Started {
	for _, x := range m.rows {
		if x.Namespace == it.New.Namespace && x.Name == it.New.Name {
			e := x.Execution
			return store.Started{Execution: x.ID, Existing: &e}
		}
	}
	id := history.ExecutionID(m.next())
	x := &memoryExecution{Execution: store.Execution{
		ID: id, Namespace: it.New.Namespace, Name: it.New.Name, Definition: it.New.Definition, InputHash: it.New.InputHash,
		Partition: it.Partition, Status: history.Running, StartedAt: it.Turn.At,
	}}
	m.rows[id] = x
	m.write(it, x)
	return store.Started{Execution: id}
}

func (m *memory) write(it *store.Item, x *memoryExecution) {
	t := it.Turn
	if !it.Owes {
		x.WakeAt = t.WakeAt
	}
	for i := range it.Owed {
		h := &it.Owed[i]
		if !slices.ContainsFunc(m.tasks, func(k *memoryTask) bool { return k.Execution == x.ID && k.Row == h.RowRef }) {
			m.offer(x, &h.Offer).from = h.From
		}
	}
	if len(t.Events) > 0 {
		x.Seq = t.Seq
		x.turns = append(x.turns, store.Row{Seq: t.Seq, At: t.At, First: t.FirstEvent, Events: history.EncodeEvents(t.Events)})
	}
	m.tasks = slices.DeleteFunc(m.tasks, func(k *memoryTask) bool {
		return k.Execution == x.ID && slices.ContainsFunc(t.Resolved, func(r history.Resolved) bool {
			return r.Unit == k.Row.Unit && k.Row.Attempt <= r.Attempt
		})
	})
	for _, k := range m.tasks {
		if slices.Contains(t.Noticed, history.Noticed{Task: k.Task}) {
			k.noticed = true
		}
		if k.Execution == x.ID && slices.Contains(t.Lost, k.Row) && k.state == "claimed" {
			k.state = "lost"
		}
	}
	for i := range t.Offers {
		m.offer(x, &t.Offers[i])
	}
	m.consume(t, x)
}

func (m *memory) offer(x *memoryExecution, o *history.Offer) *memoryTask {
	k := &memoryTask{language: o.Language, priority: o.Priority, state: "queued", Assignment: store.Assignment{
		Task: history.TaskID(m.next()), Partition: x.Partition, Execution: x.ID, Name: x.Name, Row: o.RowRef,
		Contract: o.Contract, Work: o.Task,
	}}
	switch {
	case o.Claim != nil:
		k.state, k.noticed, k.Claim = "claimed", true, *o.Claim
	case o.TokenTask:
		k.state, k.noticed, k.Claim.At = "claimed", true, dbNow()
	}
	m.tasks = append(m.tasks, k)
	return k
}

func (m *memory) consume(t *history.Turn, x *memoryExecution) {
	m.inbox = slices.DeleteFunc(m.inbox, func(e *memoryEntry) bool {
		i := slices.IndexFunc(t.Consumed, func(c history.Consumed) bool { return c.ID == e.ID })
		if i >= 0 && e.Command.Awaited {
			e.reply = t.Consumed[i].Reply
			return false
		}
		return i >= 0
	})
	if t.End == nil {
		return
	}
	x.Status, x.EndedAt = t.End.Status, t.At
	for _, e := range m.inbox {
		if e.Execution == x.ID && e.reply == nil {
			e.reply = &history.Reply{Outcome: history.Finished}
		}
	}
}

// ring rings the other nodes for queued rows.
func (m *memory) ring(b store.Batch) {
	if len(b.Bells.Tasks) == 0 {
		return
	}
	for f := range m.listeners {
		if f != b.Fence {
			m.tell(f, store.Bell{Kind: store.BellTasks})
		}
	}
}

func (m *memory) Claim(_ context.Context, q store.ClaimRequest) (store.ClaimResult, error) {
	time.Sleep(time.Millisecond)
	m.mu.Lock()
	slow := m.slowClaim
	m.mu.Unlock()
	if slow != nil {
		slow()
	}
	defer m.lock("Claim")()
	r := store.ClaimResult{Now: dbNow()}
	for i := range q.Polls {
		p := &q.Polls[i]
		n := 0
		if p.Recall {
			for _, k := range m.tasks {
				if k.state == "claimed" && k.Claim.Session == p.Session && k.Claim.PollID == p.ID {
					r.Tasks = append(r.Tasks, store.Claimed{Poll: i, Assignment: k.Assignment})
					n++
				}
			}
		}
		recalled := n > 0
		for _, k := range m.tasks {
			if recalled || n >= p.Max {
				break
			}
			if k.state == "queued" && slices.Contains(p.Contracts, k.Contract) && (k.language == "" || k.language == p.Language) {
				k.state = "claimed"
				k.Claim = history.Claim{Task: k.Task, Session: p.Session, Worker: p.Worker, PollID: p.ID, At: dbNow()}
				r.Tasks = append(r.Tasks, store.Claimed{Poll: i, Assignment: k.Assignment})
				n++
			}
		}
		m.sessions[p.Session] = time.Now()
	}
	return r, nil
}

func (m *memory) Report(_ context.Context, rs []store.Report) ([]store.ReportOutcome, error) {
	defer m.lock("Report")()
	out := make([]store.ReportOutcome, len(rs))
	for i, r := range rs {
		out[i] = store.ReportStale
		x := m.rows[r.Execution]
		if x == nil || x.Status.Ended() {
			continue
		}
		// A row that is owed is written by the report.
		if there := slices.ContainsFunc(m.tasks, func(k *memoryTask) bool { return k.Execution == r.Execution && k.Row == r.Row }); !there && r.OpenAt != 0 {
			if out[i] = store.ReportUnclear; r.OpenAt != x.Seq {
				continue
			}
			m.offer(x, &history.Offer{RowRef: r.Row})
		}
		for _, k := range m.tasks {
			if k.Execution != r.Execution || k.Row != r.Row || k.state == "cancelled" {
				continue
			}
			if k.state == "done" {
				out[i] = store.ReportDuplicate
				continue
			}
			out[i] = store.ReportAccepted
			k.state, k.report = "done", m.enter(x, history.Command{
				Kind: r.Kind, Row: r.Row, Claim: k.Claim, Output: r.Output, Failure: r.Failure, Reason: r.Reason,
			})
		}
	}
	return out, nil
}

// enter puts a command into an inbox and rings its owner; the caller holds the mutex.
func (m *memory) enter(x *memoryExecution, c history.Command) history.InboxID {
	id := history.InboxID(m.next())
	c.Inbox = id
	m.inbox = append(m.inbox, &memoryEntry{Entry: store.Entry{
		EntryRef: store.EntryRef{Execution: x.ID, ID: id}, Partition: x.Partition, Command: c, SentAt: dbNow(),
	}})
	m.tell(m.partitions[x.Partition].Fence, store.Bell{Kind: store.BellInbox})
	return id
}

func (m *memory) Send(_ context.Context, msg store.Message) (store.Sent, error) {
	defer m.lock("Send")()
	m.sent = msg
	for _, x := range m.rows {
		if x.Namespace != msg.Namespace || x.Name != msg.Name {
			continue
		}
		if x.Status.Ended() {
			return store.Sent{Outcome: store.SendFinished}, nil
		}
		c := msg.Command
		c.Awaited = true
		id := m.enter(x, c)
		return store.Sent{Outcome: store.SendQueued, Entry: store.EntryRef{Execution: x.ID, ID: id}}, nil
	}
	return store.Sent{Outcome: store.SendUnknown}, nil
}

func (m *memory) Reply(_ context.Context, e store.EntryRef) (*history.Reply, error) {
	defer m.lock("Reply")()
	for _, x := range m.inbox {
		if x.ID == e.ID {
			return x.reply, nil
		}
	}
	return nil, store.ErrNotFound
}
