package node

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/orrery-dev/orrery/shared/decide"
	"github.com/orrery-dev/orrery/shared/history"
	"github.com/orrery-dev/orrery/shared/store"
	"github.com/orrery-dev/orrery/shared/telemetry"
)

// A task that is handed over in the commit of its turn gets no row in the queue yet, and the execution's timer stays as it is
// on its row: package store says what holds instead. Most tasks are reported before their time has come.
//
//	          commit of the          report
//	offered -----------------> owed --------------------------------------------> over
//	           hand-over         |                                                 ^
//	                             +-- payDelay, a withdrawal, --> row in the queue --+
//	                                 somebody who looks for it
//
// Whatever is loaded is compared with its rows, so what an earlier owner owed is found there. Debts say what to load.

// owed is a hand-over that has no row.
type owed struct {
	store.HandOut
	due time.Time // when its row is written at the latest
}

// debt is a row that says what a commit has left to be written.
type debt struct {
	id   int64
	left int // executions that have not paid
}

const (
	// payDelay is how long a hand-over goes without a row, and its execution's row without its timer.
	payDelay = 300 * time.Millisecond
	// removeEvery is the time between two removals of debts that are paid.
	removeEvery = 500 * time.Millisecond
	// payWait bounds the wait of whoever looks for rows that are owed.
	payWait = 250 * time.Millisecond
	// strangePause is the pause after a read of debts that name partitions which the loop does not own.
	strangePause = 20 * time.Millisecond
)

// owes tells whether something of the execution is to be written.
func (e *execution) owes() bool { return len(e.owed) > 0 || e.rowWake != e.wakeAt }

// mustPay tells whether that is due.
func (e *execution) mustPay(now time.Time) bool { return !e.payAt.IsZero() && !now.Before(e.payAt) }

// owe sorts out what the turn leaves to be written, and what it writes of what earlier turns have left. A row that the turn
// withdraws or gives up is written first: it is the arbiter between that and a report.
func (l *loop) owe(e *execution, it *item) {
	t := it.Turn
	for _, r := range t.Resolved {
		if o, ok := e.owed[r.Unit]; ok && o.Attempt <= r.Attempt {
			it.pay(o, !r.Reported)
		}
	}
	for _, row := range t.Lost {
		if o, ok := e.owed[row.Unit]; ok && o.RowRef == row {
			it.pay(o, true)
		}
	}
	if now := time.Now(); e.mustPay(now) {
		for u, o := range e.owed {
			if !now.Before(o.due) && !slices.Contains(it.paid, u) {
				it.pay(o, true)
			}
		}
	}
	if t.End == nil {
		t.Offers = slices.DeleteFunc(t.Offers, func(o history.Offer) bool {
			owing := o.Claim != nil && o.Task.Redelivery == 0
			if owing {
				it.owing = append(it.owing, store.HandOut{Offer: o, From: l.fence, Turn: t.Seq})
			}
			return owing
		})
		it.Owes = len(it.owing) > 0 || len(e.owed) > len(it.paid)
	}
}

// pay takes a hand-over off what the execution owes, with its row or because it is over.
func (it *item) pay(o owed, row bool) {
	it.paid = append(it.paid, o.Unit)
	if row {
		it.Owed = append(it.Owed, o.HandOut)
	}
}

// paid takes note of what a committed turn has written and left. It comes after the turn's timer was set.
func (l *loop) paid(e *execution, it *item) {
	for _, u := range it.paid {
		delete(e.owed, u)
	}
	if len(it.owing) > 0 && e.owed == nil {
		e.owed = map[history.UnitKey]owed{}
	}
	due := time.Now().Add(payDelay)
	for _, h := range it.owing {
		e.owed[h.Unit] = owed{h, due}
	}
	if !it.Owes {
		e.rowWake = it.Turn.WakeAt
	}
	before := e.debts
	e.debts = nil
	if it.Owes {
		for _, id := range it.debts {
			l.owedUnder(e, id)
		}
	}
	l.releaseDebts(before)
	if len(it.Owed) > 0 {
		l.rowsWritten(e)
	}
	l.schedulePay(e)
}

// owedUnder notes that a debt names the execution.
func (l *loop) owedUnder(e *execution, id int64) {
	d := l.debts[id]
	if d == nil {
		d = &debt{id: id}
		l.debts[id] = d
	}
	d.left++
	e.debts = append(e.debts, d)
}

// releaseDebts takes an execution off debts. One that names no execution any more is removed.
func (l *loop) releaseDebts(list []*debt) {
	for _, d := range list {
		if d.left--; d.left == 0 {
			delete(l.debts, d.id)
			l.removed = append(l.removed, d.id)
		}
	}
}

// parked is an execution that owes, of a partition which the loop leaves. Its debts stay until the partition is somebody
// else's, who inherits them in the same transaction; where the partition stays after all, the execution is loaded again.
type parked struct {
	partition history.Partition
	debts     []*debt
}

// park keeps the debts of an execution that is forgotten, though it owes.
func (l *loop) park(e *execution) {
	if len(e.debts) > 0 {
		l.parked[e.id] = parked{e.partition, append(e.debts, l.parked[e.id].debts...)}
		e.debts = nil
	}
}

// unpark has the executions of a partition that is here again loaded.
func (l *loop) unpark(p history.Partition) {
	for id, x := range l.parked {
		if x.partition == p {
			delete(l.parked, id)
			e := l.entry(id, p)
			e.debts = append(e.debts, x.debts...)
			l.need(e)
		}
	}
}

// releaseParked takes a partition's executions off their debts.
func (l *loop) releaseParked(p history.Partition) {
	for id, x := range l.parked {
		if x.partition == p {
			delete(l.parked, id)
			l.releaseDebts(x.debts)
		}
	}
}

// schedulePay sets when the execution pays.
func (l *loop) schedulePay(e *execution) {
	if !e.owes() {
		e.payAt = time.Time{}
		return
	}
	e.payAt = time.Now().Add(payDelay)
	for _, o := range e.owed {
		if o.due.Before(e.payAt) {
			e.payAt = o.due
		}
	}
	l.pays = append(l.pays, lazyTurn{e, e.payAt})
}

// firePays gives a turn to executions whose time to pay has come.
func (l *loop) firePays() {
	now := time.Now()
	for len(l.pays) > 0 && !now.Before(l.pays[0].at) {
		if e := l.pays[0].execution; l.executions[e.id] == e && e.mustPay(now) {
			l.need(e)
		}
		l.pays = l.pays[1:]
	}
}

// owesAfterLoad takes in what a load has found missing; it is due at once. Only hand-overs may be owed: what waits in the
// queue has had its row from the beginning.
func (l *loop) owesAfterLoad(e *execution, x *loaded) {
	from := l.fence
	if e.origin != 0 {
		from, e.origin = e.origin, 0
	}
	now := time.Now()
	e.owed, e.rowless = map[history.UnitKey]owed{}, nil
	for _, o := range x.missing {
		if o.Claim == nil {
			e.rowless = append(e.rowless, o.RowRef)
			continue
		}
		for _, h := range e.lost {
			if h.RowRef == o.RowRef {
				o.Claim.PollID = h.poll.ID
				e.recalls = append(e.recalls, h.poll)
			}
		}
		e.owed[o.Unit] = owed{store.HandOut{Offer: o, From: from}, now}
	}
	lost := len(e.rowless)
	if !l.mayOwe(e) {
		lost = len(x.missing)
	}
	if lost > 0 {
		l.node.metrics.withoutRow.Add(float64(lost))
		l.log.Error("open units had no row in the queue, and no debt names them", telemetry.KeyExecution, e.id, telemetry.KeyCount, lost)
	}
	e.lost, e.doubted = nil, false
	if e.payAt = now; !e.owes() {
		e.payAt = time.Time{}
		before := e.debts
		e.debts = nil
		l.releaseDebts(before)
	}
}

// offerRowless offers units anew whose rows were missing when the execution was loaded, unless the turn has moved them on.
func (e *execution) offerRowless(t *history.Turn) error {
	if len(e.rowless) == 0 {
		return nil
	}
	open, err := decide.Offers(e.machine, e.state)
	for _, o := range open {
		if slices.Contains(e.rowless, o.RowRef) && o.Claim == nil && !slices.ContainsFunc(t.Offers, func(x history.Offer) bool { return x.RowRef == o.RowRef }) {
			t.Offers = append(t.Offers, o)
		}
	}
	e.rowless = nil
	return err
}

// mayOwe tells whether rows of the execution may be missing for a reason: a debt names it, or one that is not known yet may,
// or a commit that handed out or was to pay had an unknown outcome, or it may be a child of one.
func (l *loop) mayOwe(e *execution) bool {
	return len(e.debts) > 0 || len(e.lost) > 0 || e.doubted || l.unclear > 0 || l.looks.debts.wanted || l.looks.debts.running
}

// rowsWritten has polls look for their tasks whose rows are written now, and lets go on whoever waits for the rows.
func (l *loop) rowsWritten(e *execution) {
	for _, p := range e.recalls {
		l.node.polls.recall(p)
	}
	if len(e.recalls) > 0 {
		l.node.claims.ring()
	}
	e.recalls = nil
	l.excuse(e)
}

// excuse lets go on whoever waits for the execution to pay.
func (l *loop) excuse(e *execution) {
	for _, m := range e.payers {
		if m.left--; m.left == 0 {
			close(m.done)
		}
	}
	e.payers = nil
}

// payNow asks the loop for the rows of everything that the sessions were handed.
type payNow struct {
	sessions map[string]bool
	done     chan struct{} // closed when they are written
	left     int           // executions that have not paid
}

func (m *payNow) apply(l *loop) {
	now := time.Now()
	for _, p := range l.pays {
		e := p.execution
		if l.executions[e.id] != e || slices.Contains(e.payers, m) {
			continue
		}
		due := false
		for u, o := range e.owed {
			if m.sessions[o.Claim.Session] {
				o.due, due = now, true
				e.owed[u] = o
			}
		}
		if due {
			e.payAt = now
			e.payers = append(e.payers, m)
			m.left++
			l.need(e)
		}
	}
	if m.left == 0 {
		close(m.done)
	}
}

// payFor waits until the sessions' rows are written, for a while.
func (l *loop) payFor(ctx context.Context, sessions map[string]bool) {
	m := &payNow{sessions: sessions, done: make(chan struct{})}
	if len(sessions) == 0 || !l.send(ctx, m) {
		return
	}
	t := time.NewTimer(payWait)
	defer t.Stop()
	select {
	case <-m.done:
	case <-t.C:
	case <-ctx.Done():
	}
}

// inherited are debts that this loop did not know: with partitions that have come, or of a commit with an unknown outcome.
type inherited struct {
	list []store.Debt
	err  error
}

func (m inherited) apply(l *loop) {
	k := &l.looks.debts
	k.running = false
	if m.err != nil {
		l.failedLook(k, "debts", m.err)
		return
	}
	for _, x := range m.list {
		l.inherit(x)
	}
}

// inherit has the executions of a debt loaded that the loop owns. A debt that names one of another partition stays: the answer
// that brings the partition is on its way, or the partition has gone to somebody who inherits; a later read tells.
func (l *loop) inherit(x store.Debt) {
	d, whole := &debt{id: x.ID}, true
	for i, id := range x.Executions {
		if _, owned := l.owned[x.Partitions[i]]; !owned {
			d.left++
			whole = false
			continue
		}
		// One that is loaded was compared with its rows when it was.
		if e := l.entry(id, x.Partitions[i]); e.state == nil {
			e.origin = x.From
			e.debts = append(e.debts, d)
			d.left++
			l.need(e)
		}
	}
	switch {
	case !whole:
		l.looks.debts.wanted = true
		l.looks.retry = time.Now().Add(strangePause)
	case d.left == 0:
		l.removed = append(l.removed, d.id)
	default:
		l.debts[d.id] = d
	}
}

// lookDebts begins a read of the debts that this loop does not know.
func (l *loop) lookDebts() {
	if !l.looks.debts.begin() {
		return
	}
	known := slices.Collect(maps.Keys(l.debts))
	l.spawn(func(ctx context.Context) message {
		list, err := l.node.store.Debts(ctx, l.fence, known)
		return inherited{list, err}
	})
}

// remove has debts removed that are paid.
func (l *loop) remove() {
	now := time.Now()
	if len(l.removed) == 0 || l.removing || now.Before(l.nextRemoval) {
		return
	}
	ids := l.removed
	l.removed, l.removing, l.nextRemoval = nil, true, now.Add(removeEvery)
	l.spawn(func(ctx context.Context) message { return debtsRemoved{ids, l.node.store.Paid(ctx, l.fence, ids)} })
}

type debtsRemoved struct {
	ids []int64
	err error
}

func (m debtsRemoved) apply(l *loop) {
	l.removing = false
	if m.err != nil {
		l.log.Warn("debts could not be removed", telemetry.KeyError, m.err)
		l.removed = append(l.removed, m.ids...)
	}
}
