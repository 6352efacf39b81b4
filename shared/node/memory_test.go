package node

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/orrery-dev/orrery/shared/decide"
	"github.com/orrery-dev/orrery/shared/definition"
	"github.com/orrery-dev/orrery/shared/frontend"
	"github.com/orrery-dev/orrery/shared/history"
	"github.com/orrery-dev/orrery/shared/store"
)

// memory is a database in memory that follows the rules of the real one as far as a node sees them: fences and epochs,
// compare and set, inbox counts, claims. It serves as the stores of all nodes of a test.
type memory struct {
	frontend.Store // what a node's own work does not call

	mu         sync.Mutex
	calls      map[string]int // by method
	partitions []store.Owner
	owners     int64
	nodes      map[history.FenceNumber]*memoryNode
	rows       map[history.ExecutionID]*memoryExecution
	tasks      []*memoryTask
	inbox      []*memoryEntry
	debts      []*memoryDebt
	last       int64
	documents  map[history.DefinitionID][]byte
	listeners  map[history.FenceNumber]chan store.Bell
	sessions   map[string]time.Time
	sent       store.Message // the last one

	// before and after, when set, are called around each commit's work, without the mutex; an error is the commit's.
	before, after func(store.Batch) error
	// slowLoad and the like, when set, are called between a read and its answer.
	slowLoad, slowInbox, slowClaim, slowDue func()
	// heartbeat, when set, is called before each heartbeat.
	heartbeat func(history.FenceNumber)
	// joining, when set, is called before each Join.
	joining func()
}

type memoryNode struct {
	store.Node
	beat  time.Time
	ended bool
}

type memoryExecution struct {
	store.Execution
	turns []store.Row
}

type memoryTask struct {
	store.Assignment
	language string
	priority int
	state    string
	noticed  bool
	report   history.InboxID
	from     history.FenceNumber // who handed it out, of a row that was owed
}

type memoryDebt struct {
	store.Debt
	fence     history.FenceNumber
	inherited bool
}

type memoryEntry struct {
	store.Entry
	reply *history.Reply
}

func newMemory(n int) *memory {
	m := &memory{
		calls: map[string]int{}, nodes: map[history.FenceNumber]*memoryNode{}, owners: 1,
		rows: map[history.ExecutionID]*memoryExecution{}, documents: map[history.DefinitionID][]byte{},
		listeners: map[history.FenceNumber]chan store.Bell{}, sessions: map[string]time.Time{},
	}
	for p := range n {
		m.partitions = append(m.partitions, store.Owner{Partition: history.Partition(p)})
	}
	return m
}

// lock counts the call and takes the mutex.
func (m *memory) lock(method string) func() {
	m.mu.Lock()
	m.calls[method]++
	return m.mu.Unlock
}

func (m *memory) count(method string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.calls[method]
}

// do reaches into the database: to set a hook, to change a row, to look.
func (m *memory) do(f func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f()
}

// onCommit sets what happens before each commit's work.
func (m *memory) onCommit(f func(store.Batch) error) { m.do(func() { m.before = f }) }

// ids lists the executions.
func (m *memory) ids() (out []history.ExecutionID) {
	m.do(func() { out = slices.Sorted(maps.Keys(m.rows)) })
	return out
}

func (m *memory) next() int64 {
	m.last++
	return m.last
}

func dbNow() history.Time { return history.TimeOf(time.Now()) }

func (m *memory) Join(_ context.Context, q store.JoinRequest) (store.Joined, error) {
	m.mu.Lock()
	hook := m.joining
	m.mu.Unlock()
	if hook != nil {
		hook()
	}
	defer m.lock("Join")()
	for _, n := range m.nodes {
		if n.ID != q.Node || n.ended {
			continue
		}
		if age := time.Since(n.beat); age < q.Timeout {
			return store.Joined{}, &store.DuplicateNodeError{Node: q.Node, Age: age}
		}
		n.ended = true
	}
	f := history.FenceNumber(m.next())
	m.nodes[f] = &memoryNode{
		Node: store.Node{ID: q.Node, Fence: f, Incarnation: fmt.Sprint("inc-", f), Behaviour: q.Behaviour}, beat: time.Now(),
	}
	return store.Joined{Fence: f, Incarnation: m.nodes[f].Incarnation, Now: dbNow()}, nil
}

func (m *memory) Leave(_ context.Context, f history.FenceNumber) error {
	defer m.lock("Leave")()
	m.nodes[f].ended = true
	return nil
}

func (m *memory) Heartbeat(_ context.Context, b store.Beat) (store.Pulse, error) {
	m.mu.Lock()
	hook := m.heartbeat
	m.mu.Unlock()
	if hook != nil {
		hook(b.Fence)
	}
	defer m.lock("Heartbeat")()
	n := m.nodes[b.Fence]
	if n.ended {
		for _, other := range m.nodes {
			if other.ID == n.ID && !other.ended {
				return store.Pulse{Now: dbNow(), Standing: store.Duplicate}, nil
			}
		}
		return store.Pulse{Now: dbNow(), Standing: store.Fenced}, nil
	}
	n.beat = time.Now()
	pulse := m.pulse(b)
	for _, t := range b.Touched {
		if t.Session == "nobody" {
			pulse.Gone = append(pulse.Gone, t.Session)
		} else {
			m.sessions[t.Session] = time.Now().Add(-t.Age)
		}
	}
	return pulse, nil
}

// pulse is what a heartbeat brings back; the caller holds the mutex.
func (m *memory) pulse(b store.Beat) store.Pulse {
	p := store.Pulse{Now: dbNow(), Owners: m.owners, Behaviour: 1}
	for _, f := range slices.Sorted(maps.Keys(m.nodes)) {
		if x := m.nodes[f]; !x.ended {
			x.Age = time.Since(x.beat)
			p.Nodes = append(p.Nodes, x.Node)
		}
	}
	for _, e := range m.inbox {
		if m.owns(b.Fence, e.Partition) && e.reply == nil && (p.Inbox == 0 || e.ID < p.Inbox) {
			p.Inbox = e.ID
		}
	}
	for _, t := range m.tasks {
		if m.owns(b.Fence, t.Partition) && t.Claim.At != 0 && !t.noticed && (p.Unnoticed == 0 || t.Task < p.Unnoticed) {
			p.Unnoticed = t.Task
		}
	}
	for _, e := range m.rows {
		if m.owns(b.Fence, e.Partition) && e.WakeAt >= b.WakeFrom && e.WakeAt != 0 && (p.WakeAt == 0 || e.WakeAt < p.WakeAt) {
			p.WakeAt = e.WakeAt
		}
	}
	for i, q := range b.Waiting {
		if slices.ContainsFunc(m.tasks, func(t *memoryTask) bool { return t.state == "queued" && t.Contract == q.Contract }) {
			p.Queued = append(p.Queued, i)
		}
	}
	return p
}

func (m *memory) owns(f history.FenceNumber, p history.Partition) bool {
	return m.partitions[p].Fence == f
}

func (m *memory) Partitions(context.Context) ([]store.Owner, int64, error) {
	defer m.lock("Partitions")()
	return slices.Clone(m.partitions), m.owners, nil
}

func (m *memory) Take(_ context.Context, q store.TakeRequest) ([]store.Held, error) {
	defer m.lock("Take")()
	if m.nodes[q.By].ended {
		return nil, store.ErrFenced
	}
	if q.From != 0 {
		from := m.nodes[q.From]
		if !from.ended && time.Since(from.beat) < q.Timeout {
			return nil, nil
		}
		from.ended = true
	}
	var held []store.Held
	for _, p := range q.Partitions {
		if o := &m.partitions[p]; o.Fence == q.From {
			o.Fence = q.By
			o.Epoch++
			m.inherit(p, q.From, q.By)
			held = append(held, store.Held{Partition: p, Epoch: o.Epoch})
		}
	}
	m.owners++
	return held, nil
}

func (m *memory) Release(_ context.Context, by history.FenceNumber, to []store.Handover) ([]history.Partition, error) {
	defer m.lock("Release")()
	var given []history.Partition
	for _, h := range to {
		if o := &m.partitions[h.Partition]; o.Fence == by && !m.nodes[h.To].ended {
			o.Fence = h.To
			o.Epoch++
			m.inherit(h.Partition, by, h.To)
			given = append(given, h.Partition)
			m.tell(h.To, store.Bell{Kind: store.BellInbox})
		}
	}
	m.owners++
	return given, nil
}

// tell rings a bell; the caller holds the mutex.
func (m *memory) tell(f history.FenceNumber, b store.Bell) {
	select {
	case m.listeners[f] <- b:
	default: // nobody listens
	}
}

func (m *memory) Listen(ctx context.Context, f history.FenceNumber, hear func(store.Bell)) error {
	bells := make(chan store.Bell, 1000)
	unlock := m.lock("Listen")
	m.listeners[f] = bells
	unlock()
	hear(store.Bell{Kind: store.BellConnected})
	for {
		select {
		case b := <-bells:
			hear(b)
		case <-ctx.Done():
			m.do(func() { delete(m.listeners, f) })
			return ctx.Err()
		}
	}
}

func (m *memory) TakeOwnFence(_ context.Context, f history.FenceNumber) error {
	defer m.lock("TakeOwnFence")()
	return nil
}

func (m *memory) Look(_ context.Context, b store.Beat) (store.Pulse, error) {
	defer m.lock("Look")()
	return m.pulse(b), nil
}

func (m *memory) AwaitEnd(context.Context, history.FenceNumber, history.ExecutionID) error {
	defer m.lock("AwaitEnd")()
	return nil
}

func (m *memory) MakePartitions(context.Context, int) (int, error) { return 0, nil }
func (m *memory) Expire(context.Context, store.Expiry) (store.Expired, error) {
	return store.Expired{}, nil
}
func (m *memory) Days(context.Context) ([]store.Day, error)            { return nil, nil }
func (m *memory) KeepDay(context.Context, time.Time, int) (int, error) { return 0, nil }
func (m *memory) DropDay(context.Context, time.Time) (bool, error)     { return false, nil }
func (m *memory) CountActive(context.Context) (int64, error)           { return 0, nil }
func (m *memory) Clean(context.Context, store.Cleaning) (store.Cleaned, error) {
	return store.Cleaned{}, nil
}

func (m *memory) Contracts(context.Context, ...history.NamespaceID) ([]store.Contract, error) {
	return nil, nil
}

func (m *memory) DefinitionsByID(_ context.Context, ids []history.DefinitionID) ([]store.Definition, error) {
	defer m.lock("DefinitionsByID")()
	var out []store.Definition
	for _, id := range ids {
		out = append(out, store.Definition{ID: id, Document: m.documents[id]})
	}
	return out, nil
}

func (m *memory) Load(_ context.Context, ids []history.ExecutionID, _ store.LoadFrom) ([]store.Loaded, error) {
	out, slow := m.load(ids)
	if slow != nil {
		slow()
	}
	return out, nil
}

func (m *memory) load(ids []history.ExecutionID) (out []store.Loaded, slow func()) {
	defer m.lock("Load")()
	for _, id := range ids {
		if x := m.rows[id]; x != nil {
			o := m.partitions[x.Partition]
			out = append(out, store.Loaded{Execution: x.Execution, Epoch: o.Epoch, Fence: o.Fence, Turns: slices.Clone(x.turns)})
		}
	}
	return out, m.slowLoad
}

func (m *memory) Inbox(_ context.Context, q store.InboxQuery) ([]store.Entry, error) {
	out, slow := m.entries(q)
	if slow != nil {
		slow()
	}
	return out, nil
}

func (m *memory) entries(q store.InboxQuery) (out []store.Entry, slow func()) {
	defer m.lock("Inbox")()
	for _, e := range m.inbox {
		if slices.Contains(q.Partitions, e.Partition) && e.reply == nil && !slices.Contains(q.Except, e.Execution) {
			out = append(out, e.Entry)
		}
	}
	return out, m.slowInbox
}

func (m *memory) InboxOf(_ context.Context, ids []history.ExecutionID, _ int) ([]store.Entry, error) {
	defer m.lock("InboxOf")()
	var out []store.Entry
	for _, e := range m.inbox {
		if slices.Contains(ids, e.Execution) && e.reply == nil {
			out = append(out, e.Entry)
		}
	}
	return out, nil
}

func (m *memory) unnoticed(want func(*memoryTask) bool) []store.UnnoticedClaim {
	var out []store.UnnoticedClaim
	for _, t := range m.tasks {
		if want(t) && t.Claim.At != 0 && !t.noticed {
			out = append(out, store.UnnoticedClaim{Task: t.Task, Partition: t.Partition, Execution: t.Execution, Row: t.Row, Claim: t.Claim})
		}
	}
	return out
}

func (m *memory) Unnoticed(_ context.Context, ps []history.Partition, _ history.TaskID, _ int) ([]store.UnnoticedClaim, error) {
	defer m.lock("Unnoticed")()
	return m.unnoticed(func(t *memoryTask) bool { return slices.Contains(ps, t.Partition) }), nil
}

func (m *memory) Rowless(_ context.Context, q store.RowlessQuery) (out store.RowlessStep, _ error) {
	defer m.lock("Rowless")()
	for id, r := range m.rows {
		held := slices.ContainsFunc(m.tasks, func(t *memoryTask) bool { return t.Execution == id })
		if r.Status == history.Running && !held && slices.Contains(q.Partitions, r.Partition) {
			out.Executions = append(out.Executions, store.Placed{Execution: id, Partition: r.Partition})
		}
	}
	return out, nil
}

func (m *memory) Pending(ctx context.Context, ids []history.ExecutionID, limit int) (out store.Pending, err error) {
	out.Entries, err = m.InboxOf(ctx, ids, limit)
	defer m.lock("Pending")()
	out.Claims = m.unnoticed(func(k *memoryTask) bool { return slices.Contains(ids, k.Execution) })
	for _, k := range m.tasks {
		if slices.Contains(ids, k.Execution) {
			out.Rows = append(out.Rows, store.Holding{Execution: k.Execution, Row: k.Row})
		}
	}
	return out, err
}

func (m *memory) Deregister(_ context.Context, session string) (out []store.HeldTask, _ error) {
	defer m.lock("Deregister")()
	for _, k := range m.tasks {
		if k.state == "claimed" && k.Claim.Session == session {
			out = append(out, store.HeldTask{Holding: store.Holding{Execution: k.Execution, Row: k.Row}})
		}
	}
	return out, nil
}

func (m *memory) Debts(_ context.Context, f history.FenceNumber, known []int64) (out []store.Debt, _ error) {
	defer m.lock("Debts")()
	for _, d := range m.debts {
		if d.fence == f && d.inherited && !slices.Contains(known, d.ID) {
			out = append(out, d.Debt)
		}
	}
	return out, nil
}

func (m *memory) Paid(_ context.Context, f history.FenceNumber, ids []int64) error {
	defer m.lock("Paid")()
	m.debts = slices.DeleteFunc(m.debts, func(d *memoryDebt) bool { return d.fence == f && slices.Contains(ids, d.ID) })
	return nil
}

// inherit gives what is owed in a partition to its new owner; the caller holds the mutex.
func (m *memory) inherit(p history.Partition, from, to history.FenceNumber) {
	for _, d := range slices.Clone(m.debts) {
		if d.fence != from {
			continue
		}
		n := &memoryDebt{fence: to, inherited: true, Debt: store.Debt{ID: m.next(), From: d.From}}
		for i, id := range d.Executions {
			if d.Partitions[i] == p && !m.rows[id].Status.Ended() {
				n.Executions, n.Partitions = append(n.Executions, id), append(n.Partitions, p)
			}
		}
		if len(n.Executions) > 0 {
			m.debts = append(m.debts, n)
		}
	}
}

func (m *memory) Due(_ context.Context, ps []history.Partition, from, until history.Time, _ int) ([]store.DueExecution, error) {
	out, slow := m.due(ps, from, until)
	if slow != nil {
		slow()
	}
	return out, nil
}

func (m *memory) due(ps []history.Partition, from, until history.Time) (out []store.DueExecution, slow func()) {
	defer m.lock("Due")()
	for _, e := range m.rows {
		if slices.Contains(ps, e.Partition) && e.WakeAt != 0 && e.WakeAt >= from && e.WakeAt <= until {
			out = append(out, store.DueExecution{Execution: e.ID, Partition: e.Partition, WakeAt: e.WakeAt})
		}
	}
	slices.SortFunc(out, func(a, b store.DueExecution) int { return cmp.Compare(a.WakeAt, b.WakeAt) })
	return out, m.slowDue
}

func (m *memory) LostClaims(_ context.Context, q store.LostQuery) ([]store.LostClaim, error) {
	defer m.lock("LostClaims")()
	var out []store.LostClaim
	for _, t := range m.tasks {
		if t.state == "claimed" && t.Claim.Session != "" && slices.Contains(q.Partitions, t.Partition) && time.Since(m.sessions[t.Claim.Session]) > q.SessionTimeout {
			out = append(out, store.LostClaim{Partition: t.Partition, Execution: t.Execution, Row: t.Row, Session: t.Claim.Session, Reason: "session"})
		}
	}
	return out, nil
}

func (m *memory) Heard(_ context.Context, session string, hs []store.Holding) (map[store.Holding]history.Time, error) {
	defer m.lock("Heard")()
	out := map[store.Holding]history.Time{}
	for _, h := range hs {
		if at, ok := m.sessions[session]; ok {
			out[h] = history.TimeOf(at)
		}
	}
	return out, nil
}

func (m *memory) BlockHere(ctx context.Context, f history.FenceNumber, h store.Held, id history.ExecutionID, reason string) error {
	return m.Block(ctx, f, h, id, reason)
}

func (m *memory) Unblock(context.Context, history.FenceNumber, store.Held, history.ExecutionID) error {
	return nil
}

func (m *memory) BlockedElsewhere(context.Context, history.FenceNumber, []history.Partition, int) ([]store.Placed, error) {
	return nil, nil
}

func (m *memory) Block(_ context.Context, f history.FenceNumber, h store.Held, id history.ExecutionID, reason string) error {
	defer m.lock("Block")()
	if o := m.partitions[h.Partition]; o.Fence != f || o.Epoch != h.Epoch {
		return store.ErrFenced
	}
	m.rows[id].Blocked = reason
	return nil
}

// document stores a definition.
func (m *memory) document(t *testing.T, id history.DefinitionID, text string) *definition.Machine {
	t.Helper()
	doc, problems := definition.Parse([]byte(text), definition.Options{})
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.documents[id] = []byte(text)
	return doc.Machine
}

var errLost = errors.New("the connection is gone")

// total counts all calls.
func (m *memory) total() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := 0
	for _, k := range m.calls {
		n += k
	}
	return n
}

// startElsewhere writes a new execution as a process does that owns nothing, and rings the owner for its timer.
func (m *memory) startElsewhere(t *testing.T, machine *definition.Machine, name string) history.ExecutionID {
	t.Helper()
	_, turn, err := decide.Start(machine, 0, history.Start{Namespace: "default", Name: name, Input: []byte(`{}`)}, dbNow())
	if err != nil {
		t.Fatal(err)
	}
	defer m.lock("Start")()
	s := m.start(&store.Item{Partition: 3, Turn: &turn, New: &store.NewExecution{Namespace: 1, Name: name, Definition: 1}})
	m.tell(m.partitions[3].Fence, store.Bell{Kind: store.BellInbox})
	return s.Execution
}
