package store_test

import (
	"testing"
	"time"

	"github.com/orrery-dev/orrery/shared/history"
	"github.com/orrery-dev/orrery/shared/store"
)

// handOut is a task that the node has handed over to a session with turn 1 of an execution.
func (w *world) handOut(n *node, unit string, s store.Session) store.HandOut {
	o := offer(unit, 1, 1)
	o.Claim = &history.Claim{Session: s.ID, Worker: s.Worker, PollID: "p", At: history.TimeOf(time.Now())}
	return store.HandOut{Offer: o, From: n.Fence, Turn: 1}
}

// owing starts an execution whose first turn hands a task over and leaves its row and its timer to be written.
func (w *world) owing(n *node, name string, p history.Partition) (*execution, int64) {
	w.t.Helper()
	it := w.first(name, p)
	it.Epoch, it.Owes, it.Turn.WakeAt = n.epochs[p], true, 1_800_000_000_000
	done := w.mustCommit(n, it)
	if len(done.Debts) != 1 {
		w.t.Fatalf("%d debts, want 1", len(done.Debts))
	}
	return &execution{done.Started[0].Execution, name, p, 1}, done.Debts[0]
}

// pay is a turn without events that writes what is owed.
func (e *execution) pay(n *node, owed ...store.HandOut) store.Item {
	it := e.turn(n, func(t *history.Turn) { t.Events, t.WakeAt = nil, 1_800_000_000_000 })
	it.Owed = owed
	return it
}

func TestDebtIsNotedAndPaid(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	n := w.join("n1", 2, 0)
	s := w.session("w1")
	e, _ := w.owing(n, "e", 0)
	w.want(0, "select count(*) from orrery.task")
	w.want(1, "select count(*) from orrery.execution where wake_at is null")

	// A turn that goes on owing leaves the timer as it is; what starts with it is noted apart.
	next := e.turn(n, func(t *history.Turn) { t.WakeAt = 1_900_000_000_000 })
	next.Owes = true
	other := w.first("other", 1)
	other.Epoch, other.Owes = n.epochs[1], true
	done := w.mustCommit(n, next, other)
	if e.seq++; len(done.Debts) != 2 {
		t.Errorf("debts %v, want two", done.Debts)
	}
	w.want(3, "select count(*) from orrery.debt where fence = $1 and origin = $1 and not inherited", n.Fence)
	w.want(2, "select count(*) from orrery.debt where executions = array[$1::bigint]", int64(e.id))

	w.mustCommit(n, e.pay(n, w.handOut(n, "A", s)))
	w.want(1, `select count(*) from orrery.task where execution = $1 and unit = 'A' and state = 'claimed' and noticed and turn = 1
		and session = $2::text::uuid and poll = 'p' and fence = $3 and claimed_at is not null`, int64(e.id), s.ID, n.Fence)
	w.want(1, "select count(*) from orrery.execution where id = $1 and wake_at is not null and last_seq = 2", int64(e.id))
	if err := w.db.Paid(ctx(t), n.Fence, done.Debts); err != nil {
		t.Fatal(err)
	}
	w.want(1, "select count(*) from orrery.debt")
	// The row recalls the poll's answer and is given back, as the turn that handed it over.
	if got := w.recall(s, "p"); len(got) != 1 || got[0].Turn != 1 || got[0].Row.Unit != "A" {
		t.Errorf("recalled %+v", got)
	}
	if back, err := w.fn.Deregister(ctx(t), s.ID); err != nil || len(back) != 1 || back[0].Turn != 1 {
		t.Errorf("given back: %+v, %v", back, err)
	}
}

// TestHeirWritesRows: who pays what another has handed over knows neither the turn nor the poll.
func TestHeirWritesRows(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	n := w.join("n1", 1, 0)
	s := w.session("w1")
	e, _ := w.owing(n, "e", 0)
	h := w.handOut(n, "A", s)
	h.Claim.PollID, h.Turn = "", 0
	w.mustCommit(n, e.pay(n, h))
	w.want(1, "select count(*) from orrery.task where state = 'claimed' and turn is null and poll = '' and session = $1::text::uuid", s.ID)
	if got := w.recall(s, "p"); len(got) != 0 {
		t.Errorf("recalled %+v", got)
	}
}

// recall asks for what is claimed under a poll id.
func (w *world) recall(s store.Session, id string) []store.Claimed {
	w.t.Helper()
	p := poll(s, id, 5)
	p.Recall = true
	got, err := w.fn.Claim(ctx(w.t), store.ClaimRequest{Polls: []store.Poll{p}})
	if err != nil {
		w.t.Fatal(err)
	}
	return got.Tasks
}

// TestDebtsAreInherited: what is owed goes with the partition, whoever moves it.
func TestDebtsAreInherited(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.join("a", 3, 0)
	zero, _ := w.owing(a, "zero", 0)
	one, _ := w.owing(a, "one", 1)
	ended, _ := w.owing(a, "ended", 0)
	w.mustCommit(a, ended.turn(a, end))
	b := w.join("b", 0, 0)
	if _, err := w.db.Release(ctx(t), a.Fence, []store.Handover{{Partition: 0, To: b.Fence}}); err != nil {
		t.Fatal(err)
	}
	w.wantDebts(b, a.Fence, zero)
	w.wantDebts(a, 0) // what it owes itself it knows

	// The heir dies before it has paid; so does who knows the rest.
	w.dies(b)
	w.dies(a)
	c := w.join("c", 0, 0)
	for _, x := range []struct {
		from *node
		p    history.Partition
	}{{b, 0}, {a, 1}} {
		q := store.TakeRequest{By: c.Fence, From: x.from.Fence, Partitions: []history.Partition{x.p}, Timeout: nodeTimeout}
		if held, err := w.db.Take(ctx(t), q); err != nil || len(held) != 1 {
			t.Fatalf("take: %v, %v", held, err)
		}
	}
	w.wantDebts(c, a.Fence, zero, one)

	// What the dead owed goes once they own nothing.
	w.want(4, "select count(*) from orrery.debt where fence <> $1", c.Fence)
	if _, err := w.db.Take(ctx(t), store.TakeRequest{By: c.Fence, From: a.Fence, Partitions: upTo(3), Timeout: nodeTimeout}); err != nil {
		t.Fatal(err)
	}
	if cleaned, err := w.db.Clean(ctx(t), store.Cleaning{SessionTimeout: sessionTimeout, Limit: 10}); err != nil || cleaned.Debts != 4 {
		t.Errorf("cleaned %+v, %v", cleaned, err)
	}
	w.wantDebts(c, a.Fence, zero, one)
}

// wantDebts compares what a node has inherited.
func (w *world) wantDebts(n *node, from history.FenceNumber, want ...*execution) {
	w.t.Helper()
	list, err := w.db.Debts(ctx(w.t), n.Fence, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	got := map[history.ExecutionID]history.Partition{}
	var known []int64
	for _, d := range list {
		known = append(known, d.ID)
		for i, id := range d.Executions {
			if got[id] = d.Partitions[i]; d.From != from {
				w.t.Errorf("execution %d is owed by %d, want %d", id, d.From, from)
			}
		}
	}
	if len(got) != len(want) {
		w.t.Errorf("inherited %v, want %d executions", got, len(want))
	}
	for _, e := range want {
		if p, ok := got[e.id]; !ok || p != e.partition {
			w.t.Errorf("execution %s is not inherited with partition %d: %v", e.name, e.partition, got)
		}
	}
	if again, err := w.db.Debts(ctx(w.t), n.Fence, known); err != nil || len(again) > 0 {
		w.t.Errorf("debts that are known are listed: %+v, %v", again, err)
	}
}

func TestReportOfAnAttemptWithoutRow(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	n := w.join("n1", 1, 0)
	s := w.session("w1")
	e, _ := w.owing(n, "e", 0)
	h := w.handOut(n, "A", s)
	r := complete(e, h.RowRef, s)
	want := func(r store.Report, want store.ReportOutcome) {
		t.Helper()
		if got := w.report(r); got[0] != want {
			t.Errorf("the report of turn %d is %s, want %s", r.OpenAt, got[0], want)
		}
	}
	// A token that was claimed from a row is over when that is gone.
	want(r, store.ReportStale)
	r.OpenAt = 2
	want(r, store.ReportUnclear)
	w.want(0, "select count(*) from orrery.task")
	w.want(0, "select count(*) from orrery.inbox")
	r.OpenAt = 1
	want(r, store.ReportAccepted)
	want(r, store.ReportDuplicate)
	contrary := r
	contrary.Kind, contrary.Output, contrary.Failure = history.KindFail, nil, &history.Failure{Code: "Late"}
	want(contrary, store.ReportStale)
	w.want(1, "select count(*) from orrery.task where state = 'done' and claimed_at is null")

	// The owner cannot overrule it: neither by withdrawing the unit, nor by a report of its own.
	withdraws := e.turn(n, func(t *history.Turn) { t.Resolved = []history.Resolved{{Unit: "A", Attempt: 1, CancelNotice: true}} })
	withdraws.Owed = []store.HandOut{h}
	_, err := w.commit(n, withdraws)
	wantCommitError(t, err, store.ReportFirst, e.id)
	_, err = w.commit(n, e.turn(n, func(t *history.Turn) { t.Resolved = []history.Resolved{{Unit: "A", Attempt: 1, Reported: true}} }))
	wantCommitError(t, err, store.ReportFirst, e.id)
	w.mustCommit(n, e.pay(n, h))
	w.want(1, "select count(*) from orrery.task where state = 'done'")
	w.mustCommit(n, e.turn(n, func(t *history.Turn) {
		t.Resolved = []history.Resolved{{Unit: "A", Attempt: 1, Reported: true}}
		consume(t, w.inbox(0)...)
	}))
	w.want(0, "select count(*) from orrery.task")
	e.seq++
	w.mustCommit(n, e.turn(n, end))
	want(r, store.ReportStale)
}

// TestWithdrawnWithoutRow: the row that the owner writes first stops a report, and tells the worker.
func TestWithdrawnWithoutRow(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	n := w.join("n1", 1, 0)
	s := w.session("w1")
	e, _ := w.owing(n, "e", 0)
	h := w.handOut(n, "A", s)
	lost := w.handOut(n, "B", s)
	it := e.turn(n, func(t *history.Turn) {
		t.Resolved = []history.Resolved{{Unit: "A", Attempt: 1, CancelNotice: true}}
		t.Lost = []history.RowRef{lost.RowRef}
	})
	it.Owed = []store.HandOut{h, lost}
	w.mustCommit(n, it)
	w.want(1, "select count(*) from orrery.task where unit = 'A' and state = 'cancelled'")
	w.want(1, "select count(*) from orrery.task where unit = 'B' and state = 'lost'")
	r := complete(e, h.RowRef, s)
	r.OpenAt = 1
	late := complete(e, lost.RowRef, s)
	late.OpenAt = 1
	if got := w.report(r, late); got[0] != store.ReportStale || got[1] != store.ReportAccepted {
		t.Errorf("the reports are %v, want stale and accepted", got)
	}
}

// TestUncertainWithoutRow enters what the worker does not know; the owner gives the hand-out up.
func TestUncertainWithoutRow(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	n := w.join("n1", 1, 0)
	s := w.session("w1")
	e, _ := w.owing(n, "e", 0)
	h := w.handOut(n, "A", s)
	r := complete(e, h.RowRef, s)
	r.Kind, r.Output, r.OpenAt = history.KindUncertain, nil, 1
	if got := w.report(r); got[0] != store.ReportAccepted {
		t.Errorf("the report is %s", got[0])
	}
	w.want(0, "select count(*) from orrery.task")
	entries := w.inbox(0)
	if len(entries) != 1 || entries[0].Command.Kind != history.KindUncertain || entries[0].Command.Row != h.RowRef {
		t.Errorf("inbox %+v", entries)
	}
}

// TestHeldWithoutRow: a heartbeat lists what was handed over; it is held as long as its execution runs.
func TestHeldWithoutRow(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	n := w.join("n1", 1, 0)
	s := w.session("w1")
	e, _ := w.owing(n, "e", 0)
	h := w.handOut(n, "A", s)
	holding := store.Holding{Execution: e.id, Row: h.RowRef}
	beat := int64(0)
	unknown := func(turn history.Seq) int {
		t.Helper()
		beat++
		a, err := w.fn.WorkerBeat(ctx(t), store.WorkerBeat{Session: s.ID, Number: beat, Held: []store.HeldTask{{Holding: holding, Turn: turn}}})
		if err != nil {
			t.Fatal(err)
		}
		return len(a.Unknown)
	}
	if unknown(1) != 0 || unknown(0) != 1 {
		t.Error("without a row, only a task that was handed over is held")
	}
	w.mustCommit(n, e.pay(n, h))
	if unknown(1) != 0 {
		t.Error("a row of the session is unknown")
	}
	w.mustCommit(n, e.turn(n, func(t *history.Turn) {
		t.Resolved = []history.Resolved{{Unit: "A", Attempt: 1, Reported: true}}
		end(t)
	}))
	if unknown(1) != 1 {
		t.Error("a task of an execution that has ended is held")
	}
}
