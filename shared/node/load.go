package node

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/orrery-dev/orrery/shared/decide"
	"github.com/orrery-dev/orrery/shared/definition"
	"github.com/orrery-dev/orrery/shared/history"
	"github.com/orrery-dev/orrery/shared/store"
	"github.com/orrery-dev/orrery/shared/telemetry"
)

const (
	// loadBatch bounds the executions of one load, maxLoads the loads under way.
	loadBatch = 64
	maxLoads  = 4
	// entriesLimit bounds the entries read at once.
	entriesLimit = 1000
	// stuckFor is how long an execution that this node cannot serve is left alone.
	stuckFor = 10 * time.Second
	// stateBase is what a loaded execution takes beside its texts, in bytes; texts count twice, as text and as structure.
	stateBase = 4 << 10
)

// loaded is what one execution's load has brought. Over says that it is not to be served, err that it cannot be folded here.
type loaded struct {
	row     store.Execution
	epoch   history.Epoch
	fence   history.FenceNumber
	state   *history.State
	machine *definition.Machine
	size    int64
	over    bool
	missing []history.Offer // open units without rows
	err     error
	blocked history.FenceNumber // who could not fold it, and is not its owner any more
}

// loads is a load on its way back.
type loads struct {
	wanted  []*execution
	found   map[history.ExecutionID]*loaded
	pending store.Pending
	err     error
}

// load begins loads for the executions that need their state.
func (l *loop) load() {
	now := time.Now()
	var later []*execution
	for len(l.toLoad) > 0 && l.loads < maxLoads {
		var batch []*execution
		for len(l.toLoad) > 0 && len(batch) < loadBatch {
			e := l.toLoad[0]
			l.toLoad = l.toLoad[1:]
			switch {
			case e.phase != loading || l.executions[e.id] != e:
			case now.Before(e.notBefore):
				later = append(later, e)
			default:
				batch = append(batch, e)
			}
		}
		if len(batch) == 0 {
			break
		}
		l.loads++
		l.spawn(func(ctx context.Context) message { return l.node.load(ctx, batch) })
	}
	l.toLoad = append(l.toLoad, later...)
}

// load reads executions and what waits for them, and folds. It touches nothing of the loop's but the ids.
func (n *Node) load(ctx context.Context, wanted []*execution) loads {
	m := loads{wanted: wanted, found: map[history.ExecutionID]*loaded{}}
	ids := make([]history.ExecutionID, len(wanted))
	for i, e := range wanted {
		ids[i] = e.id
	}
	rows, err := n.store.Load(ctx, ids, store.FromSnapshot)
	if err != nil {
		m.err = err
		return m
	}
	var again []history.ExecutionID
	if m.err = n.machines.fetch(ctx, rows); m.err != nil {
		return m
	}
	namespaces := make([]history.NamespaceID, len(rows))
	for i := range rows {
		namespaces[i] = rows[i].Namespace
	}
	if m.err = n.contracts.fetch(ctx, namespaces...); m.err != nil {
		return m
	}
	if m.pending, m.err = n.store.Pending(ctx, ids, entriesLimit); m.err != nil {
		return m
	}
	for i := range rows {
		x := m.fold(n, &rows[i])
		if errors.Is(x.err, history.ErrUnknownFormat) {
			again = append(again, x.row.ID)
		}
	}
	if len(again) > 0 {
		if rows, m.err = n.store.Load(ctx, again, store.FromStart); m.err != nil {
			return m
		}
		for i := range rows {
			m.fold(n, &rows[i])
		}
	}
	m.compareRows()
	return m
}

// compareRows finds the open units of loaded executions that have no rows in the queue.
func (m *loads) compareRows() {
	there := make(map[store.Holding]bool, len(m.pending.Rows))
	for _, r := range m.pending.Rows {
		there[r] = true
	}
	for id, x := range m.found {
		if x.over || x.err != nil {
			continue
		}
		x.missing, x.err = decide.Offers(x.machine, x.state)
		x.missing = slices.DeleteFunc(x.missing, func(o history.Offer) bool {
			return there[store.Holding{Execution: id, Row: o.RowRef}]
		})
	}
}

// fold makes the state of what was read. One that has ended needs none, unless it may go on.
func (m *loads) fold(n *Node, r *store.Loaded) *loaded {
	x := &loaded{row: r.Execution, epoch: r.Epoch, fence: r.Fence, over: r.Blocked != "", blocked: r.BlockedBy}
	if r.Status.Ended() {
		x.over = x.over || !slices.ContainsFunc(m.pending.Entries, func(e store.Entry) bool {
			return e.Execution == r.ID && e.Command.Kind == history.KindRedrive
		})
	}
	if !x.over {
		n.fold(x, r)
	}
	m.found[r.ID] = x
	return x
}

// fold makes the state and the machine.
func (n *Node) fold(x *loaded, r *store.Loaded) {
	x.state, x.size = history.New(), stateBase+2*int64(len(r.Snapshot))
	if len(r.Snapshot) > 0 {
		if x.state, x.err = history.Restore(r.Snapshot); x.err != nil {
			return
		}
	}
	for _, t := range r.Turns {
		events, err := history.DecodeEvents(t.Events)
		if err == nil {
			err = x.state.Apply(t.Seq, t.At, t.First, events)
		}
		if err != nil {
			x.err = fmt.Errorf("node: load execution %d: turn %d: %w", r.ID, t.Seq, err)
			return
		}
		x.size += 2 * int64(len(t.Events))
	}
	if x.machine, x.err = n.machines.known(r.Definition); x.err == nil {
		x.machine = x.machine.Run(x.state.Start().Processor)
	}
}

func (m loads) apply(l *loop) {
	l.loads--
	for _, e := range m.wanted {
		if l.executions[e.id] != e || e.phase != loading {
			continue
		}
		x := m.found[e.id]
		if m.err == nil && x != nil {
			l.learn(e, x)
		}
		found := l.found(x, m.err)
		l.node.metrics.loads.Of(found).Inc()
		switch found {
		case loadFailed:
			l.loadFailed(e, m.err)
		case loadElsewhere:
			l.notHere(e, x)
		case loadOver:
			l.forgetUnserved(e, x.row.Blocked == "")
		case loadUnfoldable:
			l.unfoldable(e, x)
		default:
			l.wake(e, x)
		}
	}
	l.admit(m.pending.Entries)
	l.note(m.pending.Claims)
	for _, e := range m.wanted {
		if e.phase == loading && e.state != nil {
			e.sortWaiting()
			l.rest(e)
		}
	}
}

// found says what a load has found.
func (l *loop) found(x *loaded, err error) string {
	switch {
	case err != nil:
		return loadFailed
	case x == nil || l.owned[x.row.Partition] != x.epoch || x.fence != l.fence:
		return loadElsewhere
	case x.over:
		return loadOver
	case x.err != nil:
		return loadUnfoldable
	}
	return loadServed
}

// wake takes in what was loaded; it stays in phase loading until its entries are there too.
func (l *loop) wake(e *execution, x *loaded) {
	e.partition, e.epoch, e.namespace, e.name = x.row.Partition, x.epoch, x.row.Namespace, x.row.Name
	e.state, e.machine, e.size, e.definition = x.state, x.machine, x.size, x.row.Definition
	e.ending = false
	l.memory += e.size
	l.named(e)
	if e.holds() {
		l.held[e.id] = true
	}
	// The row's time and the state's differ where one is owed; the earlier one does no harm.
	e.rowWake = x.row.WakeAt
	wake := x.state.WakeAt()
	if wake == 0 || e.rowWake != 0 && e.rowWake < wake {
		wake = e.rowWake
	}
	l.setWake(e, wake)
	l.owesAfterLoad(e, x)
	if x.blocked != 0 {
		l.unblock(e)
	}
}

// learn finds out what became of a commit whose outcome was unknown. The turn's number tells: while the epoch is the same,
// nobody else can have written it (I1, I2).
func (l *loop) learn(e *execution, x *loaded) {
	it := e.unsure
	e.unsure = nil
	if it != nil {
		l.unclear--
		e.doubted = true
	}
	if it == nil || it.Turn == nil || len(it.Turn.Events) == 0 || it.Epoch != x.epoch || x.row.Seq < it.Turn.Seq {
		return
	}
	e.lost = append(e.lost, it.lost...)
	l.findChildren(it)
	for _, r := range it.Turn.Replies {
		l.answer(r.Ref, r, nil)
		e.waiting = slices.DeleteFunc(e.waiting, func(c history.Command) bool { return c.Ref == r.Ref })
	}
}

// sortWaiting puts entries of the inbox before direct calls, which came after them, and in the order of their numbers.
func (e *execution) sortWaiting() {
	slices.SortStableFunc(e.waiting, func(a, b history.Command) int {
		if (a.Inbox == 0) != (b.Inbox == 0) {
			return cmp.Compare(b.Inbox, a.Inbox)
		}
		return cmp.Compare(a.Inbox, b.Inbox)
	})
}

// loadFailed tries again after a pause: the database could not be read.
func (l *loop) loadFailed(e *execution, err error) {
	l.log.Warn("an execution could not be loaded", telemetry.KeyExecution, e.id, telemetry.KeyError, err)
	e.reloads = max(e.reloads, 2)
	l.slowDown(e)
	l.toLoad = append(l.toLoad, e)
}

// notHere forgets an execution that is not there or not this node's. One of an epoch that this loop has not heard of
// yet is loaded again.
func (l *loop) notHere(e *execution, x *loaded) {
	if x != nil && x.fence == l.fence {
		l.loadFailed(e, fmt.Errorf("node: partition %d has epoch %d, expected %d", x.row.Partition, x.epoch, l.owned[x.row.Partition]))
		l.owners.look()
		return
	}
	if x != nil {
		l.located.put(e.id, x.row.Partition)
	}
	l.forget(e, errElsewhere)
}

// forgetUnserved forgets an execution that has ended or is blocked: the database answers for it.
func (l *loop) forgetUnserved(e *execution, ended bool) {
	delete(l.held, e.id)
	l.setWake(e, 0)
	l.stick(e, ended)
	l.forget(e, errElsewhere)
}

// stuck is an execution that is kept out of reads. Where it is because it has ended, a redrive is not kept out.
type stuck struct {
	until time.Time
	ended bool
}

// stick keeps the execution out of reads for a while.
func (l *loop) stick(e *execution, ended bool) {
	l.stuck[e.id] = stuck{time.Now().Add(stuckFor), ended}
}

// unstick tells whether the entry may be served, and lets a redrive through to what has ended.
func (l *loop) unstick(x *store.Entry) bool {
	s, is := l.stuck[x.Execution]
	if is && s.ended && x.Command.Kind == history.KindRedrive {
		delete(l.stuck, x.Execution)
		return true
	}
	return !is
}
