package store_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/orrery-dev/orrery/shared/history"
	"github.com/orrery-dev/orrery/shared/store"
)

// TestCommitWritesEverything drives one execution from its start by a node over a hand-over, a snapshot and a signal to its end,
// and looks at what each commit has left.
func TestCommitWritesEverything(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	n := w.join("n1", 4, 0)
	s := w.session("w1")

	it := w.first("one", 3, offer("A", 1, 0), offer("B", 1, 0))
	it.Epoch = n.epochs[3]
	it.Turn.Offers[0].Claim = &history.Claim{Session: s.ID, Worker: "w1", PollID: "p1", At: 1_700_000_000_123}
	it.Turn.WakeAt = 1_700_000_900_000
	done := w.mustCommit(n, it)
	e := &execution{done.Started[0].Execution, "one", 3, 1}
	if e.id == 0 || done.Started[0].Existing != nil {
		t.Fatalf("started: %+v", done.Started)
	}
	w.want(1, `select count(*) from orrery.execution where id = $1 and name = 'one' and partition = 3 and status = 1 and last_seq = 1
		and wake_at = to_timestamp(1700000900) and started_at = to_timestamp(1700000000.123) and born = (now() at time zone 'utc')::date`, e.id)
	w.want(1, "select count(*) from orrery.history where execution = $1 and seq = 1 and first_event = 1 and events like '%\"one\"%'", e.id)
	w.want(1, `select count(*) from orrery.task where execution = $1 and unit = 'A' and state = 'claimed' and noticed
		and session = $2::text::uuid and poll = 'p1' and worker = 'w1' and fence = $3`, e.id, s.ID, n.Fence)
	w.want(1, "select count(*) from orrery.task where execution = $1 and unit = 'B' and state = 'queued' and not noticed and fence is null", e.id)

	// The report of A came to the owner itself: its row goes in the turn. A token task is claimed by nobody.
	token := offer("C", 1, 0)
	token.TokenTask = true
	w.mustCommit(n, e.turn(n, func(t *history.Turn) {
		t.Resolved = []history.Resolved{{Unit: "A", Attempt: 1, Reported: true}}
		t.Offers = []history.Offer{token}
		t.Snapshot = []byte("state after 2")
	}))
	e.seq++
	w.want(0, "select count(*) from orrery.task where execution = $1 and unit = 'A'", e.id)
	w.want(1, "select count(*) from orrery.task where execution = $1 and unit = 'C' and state = 'claimed' and noticed and session is null and fence is null", e.id)
	w.want(1, "select count(*) from orrery.execution where id = $1 and last_seq = 2 and wake_at is null", e.id)

	sent, err := w.fn.Send(ctx(t), store.Message{Namespace: namespace, Name: "one", Command: history.Command{
		Kind: history.KindSignal, Signal: "packed", Output: []byte(`{"boxes":2}`), RequestID: "r1"}})
	if err != nil || sent.Outcome != store.SendQueued {
		t.Fatalf("send: %+v, %v", sent, err)
	}
	entries := w.inbox(3)
	if len(entries) != 1 || entries[0].Command.Signal != "packed" || string(entries[0].Command.Output) != `{"boxes":2}` || !entries[0].Command.Awaited {
		t.Fatalf("inbox: %+v", entries)
	}
	w.mustCommit(n, e.turn(n, func(t *history.Turn) {
		t.Consumed = []history.Consumed{{ID: entries[0].ID, Reply: &history.Reply{Outcome: history.Applied, Event: 3}}}
		t.Snapshot = []byte("state after 3")
	}))
	e.seq++
	w.want(1, "select count(*) from orrery.snapshot where execution = $1 and seq = 3 and state = 'state after 3'", e.id)
	w.want(1, "select count(*) from orrery.snapshot where execution = $1", e.id)
	if reply, err := w.fn.Reply(ctx(t), sent.Entry); err != nil || reply == nil || reply.Event != 3 || reply.Outcome != history.Applied {
		t.Errorf("reply: %+v, %v", reply, err)
	}
	if _, err := w.fn.Reply(ctx(t), sent.Entry); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a reply that was read: %v, want ErrNotFound", err)
	}

	w.mustCommit(n, e.turn(n, func(t *history.Turn) {
		end(t)
		t.WakeAt = 1_800_000_000_000 // no timer outlives the end
		t.Resolved = []history.Resolved{{Unit: "B", Attempt: 1}, {Unit: "C", Attempt: 1}}
	}))
	w.want(1, "select count(*) from orrery.execution where id = $1 and status = 2 and ended_at = to_timestamp(1700000001) and wake_at is null", e.id)
	w.want(0, "select count(*) from orrery.task")
	w.want(0, "select count(*) from orrery.inbox")
	w.want(4, "select count(*) from orrery.history where execution = $1", e.id)
}

// TestCommitCounts holds a commit to one round trip, and to the statements that have something to do.
func TestCommitCounts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	n := w.join("n1", 256, 0)
	var all []*execution
	for i := range 100 {
		all = append(all, w.start(fmt.Sprint("e", i), history.Partition(i), offer("U1", 1, 0)))
	}
	task := func(t *history.Turn) {
		t.Resolved = []history.Resolved{{Unit: history.UnitKey(fmt.Sprint("U", t.Seq-1)), Attempt: 1}}
		t.Offers = []history.Offer{offer(fmt.Sprint("U", t.Seq), 1, 0)}
	}
	commit := func(es []*execution, more func(*history.Turn)) (trips int, sent []string) {
		t.Helper()
		var items []store.Item
		for _, e := range es {
			items = append(items, e.turn(n, more))
			e.seq++
		}
		return w.sent.during(func() { w.mustCommit(n, items...) })
	}
	commit(all[:1], task) // statements are prepared once per connection
	for _, test := range []struct {
		what string
		es   []*execution
		more func(*history.Turn)
		want int
	}{
		{"one turn", all[:1], nil, 3}, // fence, check, turns
		{"many turns", all[:50], nil, 3},
		{"a task", all[98:99], task, 6}, // and settle, offers, ring
		{"many tasks", all[50:98], task, 6},
	} {
		if trips, sent := commit(test.es, test.more); trips != 1 || len(sent) != test.want {
			t.Errorf("%s: %d statements in %d round trips, want %d in 1:\n%s", test.what, len(sent), trips, test.want, strings.Join(sent, "\n---\n"))
		}
	}
}

func TestCommitNamesStaleExecutions(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	n := w.join("n1", 4, 0)
	good, late, twice := w.start("good", 0), w.start("late", 1), w.start("twice", 2)
	late.seq = 7
	w.mustCommit(n, twice.turn(n, nil)) // and once more with the same number: a commit whose answer was lost (I2)

	_, err := w.commit(n, good.turn(n, nil), late.turn(n, nil), twice.turn(n, nil))
	wantCommitError(t, err, store.Stale, late.id, twice.id)
	w.want(1, "select count(*) from orrery.history where execution = $1", good.id)
	w.want(1, "select last_seq from orrery.execution where id = $1", good.id)

	w.mustCommit(n, good.turn(n, nil))
	w.want(2, "select count(*) from orrery.history where execution = $1", good.id)
}

func TestCommitWithoutEventsWritesNoTurn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	n := w.join("n1", 1, 0)
	e := w.start("one", 0, offer("A", 1, 0))
	noEvents := func(t *history.Turn) { t.Events, t.WakeAt = nil, 1_700_000_900_000 }
	w.mustCommit(n, e.turn(n, noEvents))
	w.want(1, "select count(*) from orrery.execution where id = $1 and last_seq = 1 and wake_at = to_timestamp(1700000900)", e.id)
	w.want(1, "select count(*) from orrery.history where execution = $1", e.id)
	e.seq = 3
	_, err := w.commit(n, e.turn(n, noEvents))
	wantCommitError(t, err, store.Stale, e.id)
}

func TestCommitRefusesInboxEntriesThatAreGone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	n := w.join("n1", 2, 0)
	s := w.session("w1")
	a, b := w.start("a", 0, offer("A", 1, 0)), w.start("b", 1)
	w.claim(s, "p", 1)
	w.report(complete(a, history.RowRef{Unit: "A", Attempt: 1}, s))
	entries := w.inbox(0, 1)
	apply := func(t *history.Turn) {
		consume(t, entries...)
		t.Resolved = []history.Resolved{{Unit: "A", Attempt: 1, Reported: true}}
	}
	w.mustCommit(n, a.turn(n, apply))
	a.seq++
	_, err := w.commit(n, a.turn(n, apply), b.turn(n, nil))
	wantCommitError(t, err, store.Stale, a.id)
	w.want(2, "select last_seq from orrery.execution where id = $1", a.id)
	w.want(1, "select last_seq from orrery.execution where id = $1", b.id)
}

// TestReportComesBeforeWithdrawal: a report that was acknowledged is never lost to a later decision (I6).
func TestReportComesBeforeWithdrawal(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	n := w.join("n1", 2, 0)
	s := w.session("w1")
	e, other := w.start("e", 0, offer("A", 1, 0)), w.start("other", 1)
	w.claim(s, "p", 1)
	if got := w.report(complete(e, history.RowRef{Unit: "A", Attempt: 1}, s)); got[0] != store.ReportAccepted {
		t.Fatalf("report: %v", got)
	}
	for name, withdraw := range map[string]func(*history.Turn){
		"cancel":          func(t *history.Turn) { t.Resolved = []history.Resolved{{Unit: "A", Attempt: 1}} },
		"another report":  func(t *history.Turn) { t.Resolved = []history.Resolved{{Unit: "A", Attempt: 1, Reported: true}} },
		"claim lost":      func(t *history.Turn) { t.Lost = []history.RowRef{{Unit: "A", Attempt: 1}} },
		"end":             func(t *history.Turn) { end(t); t.Resolved = []history.Resolved{{Unit: "A", Attempt: 1}} },
		"cancel, noticed": func(t *history.Turn) { t.Resolved = []history.Resolved{{Unit: "A", Attempt: 2, CancelNotice: true}} },
	} {
		_, err := w.commit(n, e.turn(n, withdraw), other.turn(n, nil))
		if failed := wantCommitError(t, err, store.ReportFirst, e.id); failed == nil {
			t.Errorf("%s: no error", name)
		}
	}
	w.want(1, "select count(*) from orrery.task where state = 'done'")
	w.mustCommit(n, e.turn(n, func(t *history.Turn) {
		consume(t, w.inbox(0)...)
		t.Resolved = []history.Resolved{{Unit: "A", Attempt: 1, Reported: true}}
	}))
	w.want(0, "select count(*) from orrery.task")
	w.want(0, "select count(*) from orrery.inbox")
}

func TestQueueTimeoutWithdrawsQueuedRowsOnly(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	n := w.join("n1", 1, 0)
	s := w.session("w1")
	e := w.start("e", 0, offer("A", 1, 0))
	withdraw := func(t *history.Turn) { t.Resolved = []history.Resolved{{Unit: "A", Attempt: 1, OnlyQueued: true}} }
	w.claim(s, "p", 1)
	_, err := w.commit(n, e.turn(n, withdraw))
	wantCommitError(t, err, store.ReportFirst, e.id)

	f := w.start("f", 0, offer("A", 1, 0))
	w.mustCommit(n, f.turn(n, withdraw))
	w.want(0, "select count(*) from orrery.task where execution = $1", f.id)
}

func TestSettle(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	n := w.join("n1", 1, 0)
	s := w.session("w1")
	e := w.start("e", 0, offer("A", 1, 0), offer("B", 1, 0), offer("C", 1, 0), offer("D", 1, 0))
	if got := w.claim(s, "p", 3); len(got) != 3 {
		t.Fatalf("claimed %d", len(got))
	}
	unnoticed, err := w.db.Unnoticed(ctx(t), upTo(1), 0, 10)
	if err != nil || len(unnoticed) != 3 || unnoticed[0].Row.Unit != "A" || unnoticed[0].Claim.PollID != "p" || unnoticed[0].Claim.Session != s.ID {
		t.Fatalf("unnoticed: %+v, %v", unnoticed, err)
	}
	w.mustCommit(n, e.turn(n, func(t *history.Turn) {
		t.Noticed = []history.Noticed{{Task: unnoticed[0].Task}, {Task: unnoticed[1].Task}}
		t.Lost = []history.RowRef{{Unit: "B", Attempt: 1}}
		t.Offers = []history.Offer{offer("B", 1, 1)}
		t.Resolved = []history.Resolved{{Unit: "C", Attempt: 1, CancelNotice: true}, {Unit: "D", Attempt: 1, CancelNotice: true}}
	}))
	type row struct {
		Unit    string
		Offer   int
		State   string
		Noticed bool
	}
	var got []row
	var list []byte
	w.scan("select json_agg(json_build_object('Unit', unit, 'Offer', offer, 'State', state, 'Noticed', noticed) order by unit, offer) from orrery.task", nil, &list)
	if err := json.Unmarshal(list, &got); err != nil {
		t.Fatal(err)
	}
	want := []row{
		{"A", 0, "claimed", true},
		{"B", 0, "lost", true},
		{"B", 1, "queued", false},
		{"C", 0, "cancelled", true}, // kept until its worker knows
	}
	if !slices.Equal(got, want) {
		t.Errorf("rows are %v, want %v", got, want)
	}
	if left, _ := w.db.Unnoticed(ctx(t), upTo(1), 0, 10); len(left) != 0 {
		t.Errorf("still unnoticed: %v", left)
	}
}

func TestCommitSkipsLockedRows(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	n := w.join("n1", 3, 0)
	ends, settles, free := w.start("ends", 0), w.start("settles", 1, offer("A", 1, 0)), w.start("free", 2)
	tx, err := w.pool.Begin(ctx(t))
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback(ctx(t))
	if _, err := tx.Exec(ctx(t), "select from orrery.execution where name = 'ends' for key share"); err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(ctx(t), "select from orrery.task for update"); err != nil {
		t.Fatal(err)
	}
	resolve := func(t *history.Turn) { t.Resolved = []history.Resolved{{Unit: "A", Attempt: 1}} }
	_, err = w.commit(n, ends.turn(n, end), free.turn(n, nil))
	wantCommitError(t, err, store.Locked, ends.id)
	_, err = w.commit(n, settles.turn(n, resolve), free.turn(n, nil))
	wantCommitError(t, err, store.Locked, settles.id)
	// A turn that does not end takes no lock that an insert into the inbox minds.
	w.mustCommit(n, ends.turn(n, nil), free.turn(n, nil))
	ends.seq++

	// Skipped again and again, the end announces itself: from then on inserts stand back.
	w.mustCommit(n, store.Item{Partition: 0, Epoch: n.epochs[0], Ending: true, Execution: ends.id})
	sent, err := w.fn.Send(ctx(t), store.Message{Namespace: namespace, Name: "ends", Command: history.Command{Kind: history.KindCancel}})
	if err != nil || sent.Outcome != store.SendRetry {
		t.Errorf("send to an execution that is about to end: %+v, %v", sent, err)
	}
	if err := tx.Rollback(ctx(t)); err != nil {
		t.Fatal(err)
	}
	w.mustCommit(n, ends.turn(n, end))
	sent, err = w.fn.Send(ctx(t), store.Message{Namespace: namespace, Name: "ends", Command: history.Command{Kind: history.KindCancel}})
	if err != nil || sent.Outcome != store.SendFinished {
		t.Errorf("send to an execution that has ended: %+v, %v", sent, err)
	}
}

// TestCommitOfPoison: a value that the database refuses is told apart from everything else, and leaves nothing.
func TestCommitOfPoison(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	n := w.join("n1", 2, 0)
	good, bad := w.start("good", 0), w.start("bad", 1)
	poison := offer("A", 1, 0)
	poison.Task.Input = []byte("\x00")
	_, err := w.commit(n, good.turn(n, nil), bad.turn(n, func(t *history.Turn) { t.Offers = []history.Offer{poison} }))
	wantCommitError(t, err, store.Data)
	w.want(2, "select count(*) from orrery.history")

	_, err = w.commit(n, good.turn(n, func(t *history.Turn) { t.Offers = []history.Offer{offer("A", 1, 0), offer("A", 1, 0)} }))
	wantCommitError(t, err, store.Data) // I7
	w.mustCommit(n, good.turn(n, nil), bad.turn(n, nil))
}

func TestBlock(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	n := w.join("n1", 1, 0)
	e := w.start("e", 0, offer("A", 1, 0))
	s := w.session("w1")
	w.claim(s, "p", 1)
	w.report(complete(e, history.RowRef{Unit: "A", Attempt: 1}, s))
	w.exec("update orrery.execution set wake_at = now()")
	if err := w.db.Block(ctx(t), n.Fence, store.Held{Partition: 0, Epoch: n.epochs[0]}, e.id, "it hurts"); err != nil {
		t.Fatal(err)
	}
	if got := w.inbox(0); len(got) != 0 {
		t.Errorf("the inbox shows %v of a blocked execution", got)
	}
	if got, err := w.db.Due(ctx(t), upTo(1), 0, 1_900_000_000_000, 10); err != nil || len(got) != 0 {
		t.Errorf("due: %v, %v", got, err)
	}
	if got, err := w.db.BlockedElsewhere(ctx(t), n.Fence+1, upTo(1), 10); err != nil || len(got) != 0 {
		t.Errorf("for another incarnation to try: %v, %v", got, err)
	}
	if err := w.db.BlockHere(ctx(t), n.Fence, store.Held{Partition: 0, Epoch: n.epochs[0]}, e.id, "not for me"); err == nil {
		t.Error("what is blocked for everybody was blocked for one")
	}
	d, err := w.fn.Execution(ctx(t), namespace, "e")
	if err != nil || d.Blocked != "it hurts" {
		t.Errorf("execution: %+v, %v", d, err)
	}
	pulse, err := w.db.Heartbeat(ctx(t), store.Beat{Fence: n.Fence, Node: "n1"})
	if err != nil || pulse.Inbox != 0 || pulse.Unnoticed != 0 || pulse.WakeAt != 0 {
		t.Errorf("pulse: %+v, %v", pulse, err)
	}
	err = w.db.Block(ctx(t), n.Fence, store.Held{Partition: 0, Epoch: 9}, e.id, "again")
	wantCommitError(t, err, store.FenceLost, e.id)
}
