package memory_test

import (
	"errors"
	"testing"
	"time"

	"github.com/orrery-dev/orrery/shared/history"
	"github.com/orrery-dev/orrery/shared/store"
)

func TestTurnsAreComparedAndSet(t *testing.T) {
	onBoth(t, func(w *world) {
		n := w.owner()
		e, other := w.start("e", 0), w.start("other", 1)
		late := e.turn(n)
		w.append(n, e)
		// The same commit once more, as after a lost answer, and another one beside it.
		_, err := w.commit(n, late, other.turn(n))
		w.refused("the same turn again", err, store.Stale, e)
		w.want("the other's turn", w.row(other).Seq, 1)
		w.append(n, e, end)
		w.want("status", w.row(e).Status, history.Succeeded)
		h := must[[]store.Row](t)(w.db.History(ctx, store.HistoryQuery{Execution: e.id, Limit: 10}))
		w.want("turns", len(h), 3)
		l := must[[]store.Loaded](t)(w.db.Load(ctx, []history.ExecutionID{e.id, other.id}, store.FromSnapshot))
		w.want("loaded", []any{len(l), len(l[0].Turns), l[0].Fence, l[0].Epoch}, []any{2, 3, n.fence, n.epochs[0]})
	})
}

func TestFence(t *testing.T) {
	onBoth(t, func(w *world) {
		a, b := w.owner(), w.join("b")
		e := w.start("e", 0)
		w.want("taken from one that lives", w.take(b, a.fence), 0)
		w.advance(nodeTimeout + time.Second)
		must[store.Pulse](t)(w.db.Heartbeat(ctx, store.Beat{Fence: b.fence, Node: "b"}))
		w.want("taken from one that is dead", w.take(b, a.fence), 2)
		w.want("epochs", []any{b.epochs[0], b.epochs[1]}, []any{a.epochs[0] + 1, a.epochs[1] + 1})
		_, err := w.commit(a, e.turn(a))
		w.refused("a commit of the fenced one", err, store.FenceLost)
		late := e.turn(b)
		late.Epoch--
		_, err = w.commit(b, late)
		w.refused("a commit under an old epoch", err, store.FenceLost, e)
		w.append(b, e)
		if _, err := w.db.Take(ctx, store.TakeRequest{By: a.fence, Partitions: []history.Partition{0}, Timeout: nodeTimeout}); !errors.Is(err, store.ErrFenced) {
			t.Errorf("the fenced one takes: %v", err)
		}
		w.want("standing", must[store.Pulse](t)(w.db.Heartbeat(ctx, store.Beat{Fence: a.fence, Node: "a"})).Standing, store.Fenced)
		again := w.join("a")
		w.want("standing", must[store.Pulse](t)(w.db.Heartbeat(ctx, store.Beat{Fence: a.fence, Node: "a"})).Standing, store.Duplicate)
		var twice *store.DuplicateNodeError
		if _, err := w.db.Join(ctx, store.JoinRequest{Node: "a", Behaviour: 1, Timeout: nodeTimeout}); !errors.As(err, &twice) {
			t.Errorf("a second one under the id: %v", err)
		}
		given := must[[]history.Partition](t)(w.db.Release(ctx, b.fence, []store.Handover{{Partition: 0, To: again.fence}, {Partition: 1, To: a.fence}}))
		w.want("given to one that lives", given, []history.Partition{0})
		if _, err = w.commit(b, e.turn(b)); err == nil {
			t.Error("a commit after the release")
		}
		if err := w.db.TakeOwnFence(ctx, b.fence); err != nil {
			t.Error(err)
		}
	})
}

func TestDebtsGoWithTheirPartitions(t *testing.T) {
	onBoth(t, func(w *world) {
		a, b := w.owner(), w.join("b")
		e := w.start("e", 0)
		it := e.turn(a)
		it.Owes, it.Turn.WakeAt = true, 1_700_000_009_000
		done := must[store.Committed](t)(w.commit(a, it))
		e.seq++
		w.want("debts", len(done.Debts), 1)
		w.want("the timer, which is owed", w.row(e).WakeAt, 0)
		w.want("own debts", len(must[[]store.Debt](t)(w.db.Debts(ctx, a.fence, nil))), 0)
		must[[]history.Partition](t)(w.db.Release(ctx, a.fence, []store.Handover{{Partition: 0, To: b.fence}}))
		list := must[[]store.Debt](t)(w.db.Debts(ctx, b.fence, nil))
		if len(list) != 1 || list[0].From != a.fence || len(list[0].Executions) != 1 || list[0].Executions[0] != e.id || list[0].Partitions[0] != 0 {
			t.Fatalf("inherited: %+v", list)
		}
		w.want("known ones", len(must[[]store.Debt](t)(w.db.Debts(ctx, b.fence, []int64{list[0].ID}))), 0)
		// The heir writes the row; that it is there already is no failure.
		b.epochs[0] = a.epochs[0] + 1
		s := w.session("w")
		h := store.HandOut{Offer: offer("U", 1, 1), From: a.fence, Turn: 2}
		h.Claim = &history.Claim{Session: s.ID, Worker: "w", At: 1_700_000_002_000}
		for range 2 {
			it := e.turn(b)
			it.Owed = []store.HandOut{h}
			must[store.Committed](t)(w.commit(b, it))
			e.seq++
		}
		w.want("rows", w.rows(e), 1)
		if err := w.db.Paid(ctx, b.fence, []int64{list[0].ID}); err != nil {
			t.Fatal(err)
		}
		w.want("paid", len(must[[]store.Debt](t)(w.db.Debts(ctx, b.fence, nil))), 0)
	})
}

func TestStartsOfOneName(t *testing.T) {
	onBoth(t, func(w *world) {
		n := w.owner()
		e := w.start("e", 0, offer("U", 1, 1))
		s := must[store.Started](t)(w.db.Start(ctx, w.first("e", 1, offer("U", 1, 1))))
		w.want("the one that is there", []any{s.Execution, s.Existing != nil}, []any{e.id, true})
		again := w.first("e", 0)
		again.Epoch = n.epochs[0]
		done := must[store.Committed](t)(w.commit(n, again))
		w.want("at a node", []any{done.Started[0].Execution, done.Started[0].Existing != nil}, []any{e.id, true})
		w.want("rows", w.rows(e), 1)
		_, err := w.commit(n, e.turn(n, func(t *history.Turn) { t.Offers = []history.Offer{offer("U", 1, 1)} }))
		w.refused("a second row for one hand-out", err, store.Data)
	})
}

func TestFamilies(t *testing.T) {
	onBoth(t, func(w *world) {
		n := w.owner()
		parent := w.start("parent", 0)
		it := parent.turn(n)
		child := w.first("child", 0)
		child.Epoch = n.epochs[0]
		it.Children = []store.Item{child}
		done := must[store.Committed](t)(w.commit(n, it))
		parent.seq++
		w.want("children", len(done.Children[0]), 1)
		it = parent.turn(n)
		it.Children = []store.Item{child}
		_, err := w.commit(n, it)
		w.refused("a name that is taken", err, store.NameTaken, parent)
		c := &execution{done.Children[0][0], "child", 0, 1}
		w.append(n, parent, func(t *history.Turn) { t.Stops = []history.Stop{{Name: "child", Reason: "enough"}} })
		w.want("told to stop", kinds(w.inbox()), []history.Kind{history.KindCancel})
		w.append(n, c, consume(w.inbox()...), end, func(t *history.Turn) { t.Told = &history.Parent{Execution: parent.id, Unit: "Child", Attempt: 1} })
		list := w.inbox()
		w.want("told of the end", kinds(list), []history.Kind{history.KindChildEnded})
		w.want("the child", []any{list[0].Execution, list[0].Command.Status, list[0].Command.Row.Unit}, []any{parent.id, history.Succeeded, "Child"})
	})
}

func TestReports(t *testing.T) {
	onBoth(t, func(w *world) {
		n, s, other := w.owner(), w.session("w"), w.session("x")
		e := w.start("e", 0, offer("U", 1, 1))
		row := offer("U", 1, 1).RowRef
		w.want("claimed", len(w.poll(s, "p", 1, false)), 1)
		uncertain := report(e, row, s)
		uncertain.Kind, uncertain.Output, uncertain.Reason = history.KindUncertain, nil, "who knows"
		w.want("uncertain", w.report(uncertain), []store.ReportOutcome{store.ReportAccepted})
		w.want("the first", w.report(report(e, row, s)), []store.ReportOutcome{store.ReportAccepted})
		w.want("again, and by another", w.report(report(e, row, s), report(e, row, other)), []store.ReportOutcome{store.ReportDuplicate, store.ReportStale})
		w.want("of nothing", w.report(report(&execution{id: e.id + 1000}, row, s), report(e, offer("V", 1, 1).RowRef, s)), []store.ReportOutcome{store.ReportStale, store.ReportStale})
		list := w.inbox()
		w.want("entries in their order", kinds(list), []history.Kind{history.KindUncertain, history.KindComplete})
		w.want("the claim", []any{list[1].Command.Claim.Session, list[1].Command.Claim.At != 0}, []any{s.ID, true})
		w.append(n, e, consume(list...), resolve(history.Resolved{Unit: "U", Attempt: 1, Reported: true}))
		w.want("rows", w.rows(e), 0)
		// An attempt whose row is owed is open as long as no turn has followed.
		bare := report(e, offer("V", 1, 1).RowRef, s)
		bare.OpenAt = e.seq
		stale := bare
		stale.Row.Unit, stale.OpenAt = "W", e.seq-1
		w.want("without a row", w.report(bare, stale), []store.ReportOutcome{store.ReportAccepted, store.ReportUnclear})
		must[store.Committed](t)(w.commit(n, store.Item{Partition: 0, Epoch: n.epochs[0], Execution: e.id, Ending: true}))
		w.want("of one that is about to end", w.report(report(e, row, s)), []store.ReportOutcome{store.ReportRetry})
		w.want("a signal to it", w.send("e", signal, "", "").Outcome, store.SendRetry)
		w.append(n, e, consume(w.inbox()...), resolve(history.Resolved{Unit: "V", Attempt: 1, Reported: true}), end)
		w.want("of one that has ended", w.report(report(e, row, s)), []store.ReportOutcome{store.ReportStale})
	})
}

func TestReportsComeBeforeWithdrawals(t *testing.T) {
	onBoth(t, func(w *world) {
		n, s := w.owner(), w.session("w")
		queued := history.Resolved{Unit: "U", Attempt: 1, OnlyQueued: true}
		cancelled := history.Resolved{Unit: "U", Attempt: 1, CancelNotice: true}
		e, other := w.start("e", 0, offer("U", 1, 1)), w.start("other", 1, offer("U", 1, 1))
		w.want("claimed", len(w.poll(s, "p", 2, false)), 2)
		_, err := w.commit(n, e.turn(n, resolve(queued)), other.turn(n))
		w.refused("a row that only waits, and was claimed", err, store.ReportFirst, e)
		row := offer("U", 1, 1).RowRef
		w.report(report(e, row, s))
		_, err = w.commit(n, e.turn(n, resolve(cancelled)))
		w.refused("a withdrawal of what is reported", err, store.ReportFirst, e)
		_, err = w.commit(n, e.turn(n, func(t *history.Turn) { t.Lost = []history.RowRef{row} }))
		w.refused("giving up what is reported", err, store.ReportFirst, e)
		w.append(n, e, consume(w.inbox()...), resolve(cancelled))
		w.want("rows of what is reported", w.rows(e), 0)

		// A worker is told until it does not list the task any more.
		w.append(n, other, resolve(cancelled), end)
		w.want("rows of what is withdrawn", w.rows(other), 1)
		held := store.HeldTask{Holding: store.Holding{Execution: other.id, Row: row}}
		gone := store.HeldTask{Holding: store.Holding{Execution: e.id, Row: row}}
		for beat := range int64(2) {
			a := must[store.WorkerBeatAnswer](t)(w.db.WorkerBeat(ctx, store.WorkerBeat{Session: s.ID, Number: beat + 1, Interval: time.Second, Held: []store.HeldTask{held, gone}}))
			w.want("told", []any{a.Cancelled, a.Unknown}, []any{[]store.Holding{held.Holding}, []store.Holding{gone.Holding}})
		}
		must[store.WorkerBeatAnswer](t)(w.db.WorkerBeat(ctx, store.WorkerBeat{Session: s.ID, Number: 3, Interval: time.Second}))
		w.want("rows once it knows", w.rows(other), 0)
	})
}

func TestClaims(t *testing.T) {
	onBoth(t, func(w *world) {
		n, s := w.owner(), w.session("w")
		first, urgent, foreign := offer("A", 1, 1), offer("B", 1, 1), offer("C", 1, 1)
		urgent.Priority, foreign.Language = 5, "python"
		e := w.start("e", 0, first, foreign, urgent, offer("D", 1, 1))
		got := w.poll(s, "p1", 2, false)
		w.want("the urgent one, then the oldest", []any{len(got), got[0].Row.Unit, got[1].Row.Unit}, []any{2, "B", "A"})
		w.want("its deadline", got[0].Deadline, got[0].Claim.At+1000)
		w.want("what is recalled", len(w.poll(s, "p1", 2, true)), 2)
		w.want("what is left for the language", len(w.poll(s, "p2", 9, true)), 1)
		w.want("nothing", len(w.poll(s, "p3", 9, true)), 0)
		claims := must[[]store.UnnoticedClaim](t)(w.db.Unnoticed(ctx, []history.Partition{0}, 0, 100))
		w.want("nobody has noticed", len(claims), 3)
		w.append(n, e, func(t *history.Turn) {
			for _, c := range claims {
				t.Noticed = append(t.Noticed, history.Noticed{Task: c.Task})
			}
		})
		w.want("noticed", len(must[[]store.UnnoticedClaim](t)(w.db.Unnoticed(ctx, []history.Partition{0}, 0, 100))), 0)
		handed := offer("H", 1, 1)
		handed.Claim = &history.Claim{Session: s.ID, Worker: "w", PollID: "p9", At: claims[0].Claim.At}
		w.append(n, e, func(t *history.Turn) { t.Offers = []history.Offer{handed} })
		w.want("handed over, and recalled", len(w.poll(s, "p9", 1, true)), 1)
		w.advance(2 * time.Minute)
		w.want("recalled too late", len(w.poll(s, "p9", 1, true)), 0)
	})
}

func TestLostClaims(t *testing.T) {
	onBoth(t, func(w *world) {
		n := w.owner()
		silent, closed, heard := w.session("silent"), w.session("closed"), w.session("heard")
		e := w.start("e", 0, offer("A", 1, 1), offer("B", 1, 1), offer("C", 1, 1))
		for _, s := range []store.Session{silent, closed, heard} {
			w.want("claimed", len(w.poll(s, "p", 1, false)), 1)
		}
		lost := func() []store.LostClaim {
			return must[[]store.LostClaim](t)(w.db.LostClaims(ctx, store.LostQuery{Partitions: []history.Partition{0, 1}, SessionTimeout: sessionTimeout, NodeTimeout: nodeTimeout, Limit: 10}))
		}
		w.want("given back", len(must[[]store.HeldTask](t)(w.db.Deregister(ctx, closed.ID))), 1)
		list := w.inbox()
		w.want("told so", kinds(list), []history.Kind{history.KindLost})
		w.append(n, e, consume(list...), func(t *history.Turn) {
			t.Lost, t.Offers = []history.RowRef{list[0].Command.Row}, []history.Offer{offer("B", 1, 2)}
		})
		w.want("none is lost", len(lost()), 0)
		w.advance(sessionTimeout + time.Second)
		gone := must[[]string](t)(w.db.Touch(ctx, []store.Touch{{Session: heard.ID}, {Session: closed.ID}}))
		w.want("sessions that are gone", gone, []string{closed.ID})
		found := lost()
		w.want("lost", []any{len(found), found[0].Session, found[0].Reason}, []any{1, silent.ID, "session"})
		// Two numbered heartbeats that do not list a claim lose it.
		for beat := range int64(3) {
			must[store.WorkerBeatAnswer](t)(w.db.WorkerBeat(ctx, store.WorkerBeat{Session: heard.ID, Number: beat + 1, Interval: time.Second}))
		}
		w.want("missed twice", kinds(w.inbox()), []history.Kind{history.KindLost})
		a := must[store.WorkerBeatAnswer](t)(w.db.WorkerBeat(ctx, store.WorkerBeat{Session: heard.ID, Number: 2, Interval: time.Second}))
		w.want("an old number", a.Ignored, true)
	})
}

func TestHeartbeatsAreHeard(t *testing.T) {
	onBoth(t, func(w *world) {
		w.owner()
		s := w.session("w")
		e := w.start("e", 0, offer("A", 1, 1))
		w.want("claimed", len(w.poll(s, "p", 1, false)), 1)
		h := store.Holding{Execution: e.id, Row: offer("A", 1, 1).RowRef}
		heard := func() int {
			return len(must[map[store.Holding]history.Time](t)(w.db.Heard(ctx, s.ID, []store.Holding{h})))
		}
		w.want("before", heard(), 0)
		for i, details := range []string{"1", "1", "2"} {
			must[store.WorkerBeatAnswer](t)(w.db.WorkerBeat(ctx, store.WorkerBeat{
				Session: s.ID, Number: int64(i) + 1, Interval: time.Second, Held: []store.HeldTask{{Holding: h, Details: []byte(details)}},
			}))
		}
		w.want("after", heard(), 1)
		w.want("news", kinds(w.inbox()), []history.Kind{history.KindHeartbeat, history.KindHeartbeat})
	})
}

func TestMessages(t *testing.T) {
	onBoth(t, func(w *world) {
		n := w.owner()
		e := w.start("e", 0)
		w.want("to nobody", w.send("nobody", signal, "", "").Outcome, store.SendUnknown)
		sent := w.send("e", signal, "k", "h")
		w.want("sent", sent.Outcome, store.SendQueued)
		w.want("again", w.send("e", signal, "k", "h").Entry, sent.Entry)
		w.want("another under the key", w.send("e", signal, "k", "other").Outcome, store.SendKeyReused)
		cancel := w.send("e", history.Command{Kind: history.KindCancel}, "", "")
		w.want("in their order", kinds(w.inbox()), []history.Kind{history.KindSignal, history.KindCancel})
		if r := must[*history.Reply](t)(w.db.Reply(ctx, sent.Entry)); r != nil {
			t.Errorf("a reply before the turn: %+v", r)
		}
		list := w.inbox()
		w.append(n, e, consume(list[0]))
		_, err := w.commit(n, e.turn(n, consume(list[0])))
		w.refused("an entry that was applied", err, store.Stale, e)
		r := must[*history.Reply](t)(w.db.Reply(ctx, sent.Entry))
		w.want("the reply", []any{r.Outcome, r.Event}, []any{history.Applied, 7})
		if _, err := w.db.Reply(ctx, sent.Entry); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("the reply is read once: %v", err)
		}
		w.want("kept with the key", w.send("e", signal, "k", "h").Reply.Event, 7)
		w.append(n, e, end)
		w.want("left at the end", must[*history.Reply](t)(w.db.Reply(ctx, cancel.Entry)).Outcome, history.Finished)
		w.want("after the end", w.send("e", signal, "", "").Outcome, store.SendFinished)
		w.want("entries", len(w.inbox()), 0)
	})
}

func TestPulse(t *testing.T) {
	onBoth(t, func(w *world) {
		n, s := w.owner(), w.session("w")
		beat := func() store.Pulse {
			return must[store.Pulse](t)(w.db.Heartbeat(ctx, store.Beat{
				Fence: n.fence, Node: "a", Touched: []store.Touch{{Session: s.ID}, {Session: "00000000-0000-4000-8000-0123456789ab"}},
				Waiting: []store.Queue{{Namespace: 1, Contract: contract}},
			}))
		}
		p := beat()
		w.want("at rest", []any{p.Standing, p.Inbox, p.Unnoticed, p.WakeAt, p.Queued, len(p.Gone), len(p.Nodes)}, []any{store.Member, 0, 0, 0, []int{}, 1, 1})
		e := w.start("e", 0, offer("A", 1, 1), offer("B", 1, 1))
		w.want("claimed", len(w.poll(s, "p", 1, false)), 1)
		sent := w.send("e", signal, "", "")
		w.append(n, e, func(t *history.Turn) { t.WakeAt = 1_700_000_005_000 })
		p = beat()
		w.want("at work", []any{p.Inbox, p.Unnoticed != 0, p.WakeAt, p.Queued}, []any{sent.Entry.ID, true, 1_700_000_005_000, []int{0}})
		due := must[[]store.DueExecution](t)(w.db.Due(ctx, []history.Partition{0}, 0, 1_700_000_005_000, 10))
		w.want("due", []any{len(due), due[0].Execution}, []any{1, e.id})
		if err := w.db.Block(ctx, n.fence, store.Held{Partition: 0, Epoch: n.epochs[0]}, e.id, "broken"); err != nil {
			t.Fatal(err)
		}
		p = beat()
		w.want("blocked", []any{p.Inbox, p.Unnoticed, p.WakeAt, len(w.inbox())}, []any{0, 0, 0, 0})
		owners, _, err := w.db.Partitions(ctx)
		w.want("owners", []any{owners[0].Node, owners[0].Epoch, err}, []any{"a", n.epochs[0], nil})
		if err := w.db.Leave(ctx, n.fence); err != nil {
			t.Fatal(err)
		}
		w.want("gone", beat().Standing, store.Fenced)
	})
}
