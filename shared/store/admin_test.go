package store_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/orrery-dev/orrery/shared/history"
	"github.com/orrery-dev/orrery/shared/store"
)

func TestSettings(t *testing.T) {
	w := newWorld(t)
	got, err := w.fn.Settings(ctx(t))
	if err != nil || got.Partitions != 256 || len(got.MACKey) != 32 || got.Behaviour != 1 || got.Now == 0 {
		t.Errorf("settings: %+v, %v", got, err)
	}
	if id, err := w.fn.Namespace(ctx(t), "default"); err != nil || id != namespace {
		t.Errorf("namespace: %d, %v", id, err)
	}
	if _, err := w.fn.Namespace(ctx(t), "none"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("no namespace: %v", err)
	}
}

func TestMakePartitions(t *testing.T) {
	w := newWorld(t)
	for _, want := range []int{4, 0} { // two more days, of history and of snapshots
		if made, err := w.fn.MakePartitions(ctx(t), 6); err != nil || made != want {
			t.Errorf("made %d, %v, want %d", made, err, want)
		}
	}
	// An execution of the last day has a place for its turns and its snapshot.
	n := w.join("n1", 1, 0)
	e := w.start("e", 0)
	w.exec("update orrery.history set born = born + 6 where execution = $1", e.id)
	w.exec("update orrery.execution set born = born + 6 where id = $1", e.id)
	w.mustCommit(n, e.turn(n, func(t *history.Turn) { t.Snapshot = []byte("s") }))
	got, err := w.db.Load(ctx(t), []history.ExecutionID{e.id}, store.FromSnapshot)
	if err != nil || len(got) != 1 || got[0].SnapshotSeq != 2 {
		t.Errorf("loaded %+v, %v", got, err)
	}
}

func TestClean(t *testing.T) {
	w := newWorld(t)
	n := w.join("n1", 1, 0)
	w.join("idle", 0, 0)
	s, gone := w.session("w1"), w.session("gone")
	e := w.start("e", 0, offer("A", 1, 0), offer("B", 1, 0))
	old := w.start("old", 0, offer("A", 1, 0))
	w.claim(s, "p", 1)
	w.claim(gone, "p", 1)
	w.mustCommit(n, e.turn(n, func(t *history.Turn) { t.Resolved = []history.Resolved{{Unit: "B", Attempt: 1, CancelNotice: true}} }))
	sent, err := w.fn.Send(ctx(t), store.Message{Namespace: namespace, Name: "old", Key: "k", Command: history.Command{Kind: history.KindCancel}})
	if err != nil {
		t.Fatal(err)
	}
	w.mustCommit(n, old.turn(n, func(t *history.Turn) {
		end(t)
		t.Consumed = []history.Consumed{{ID: sent.Entry.ID, Reply: &history.Reply{Outcome: history.Applied, Event: 2}}}
	}))
	w.exec("update orrery.execution set ended_at = now() where name = 'old'")
	if err := w.db.AwaitEnd(ctx(t), n.Fence, e.id); err != nil {
		t.Fatal(err)
	}
	clean := func() store.Cleaned {
		t.Helper()
		got, err := w.db.Clean(ctx(t), store.Cleaning{SessionTimeout: sessionTimeout, Limit: 100})
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	if got := clean(); got != (store.Cleaned{}) {
		t.Errorf("cleaned %+v before its time", got)
	}
	for _, sql := range []string{
		"update orrery.execution set ended_at = ended_at - interval '2 minutes' where name = 'old'",
		"update orrery.inbox set answered_at = answered_at - interval '2 minutes'",
		"update orrery.session set seen_at = '-infinity' where worker = 'gone'",
		"update orrery.end_flag set raised_at = raised_at - interval '1 hour'",
		"update orrery.node set heartbeat_at = heartbeat_at - interval '2 hours'",
	} {
		w.exec(sql)
	}
	// The ended execution's row and the cancelled one of the closed session, which then holds nothing more.
	if got, want := clean(), (store.Cleaned{Tasks: 2, Sessions: 1, Replies: 1, Nodes: 1, Flags: 1}); got != want {
		t.Errorf("cleaned %+v, want %+v", got, want)
	}
	w.want(1, "select count(*) from orrery.idempotency_key where outcome = 'applied' and event = 2")
	w.exec("update orrery.idempotency_key set expires_at = now() - interval '1 second'")
	if got, want := clean(), (store.Cleaned{Keys: 1}); got != want {
		t.Errorf("cleaned %+v, want %+v", got, want)
	}
	w.want(1, "select count(*) from orrery.task")
	w.want(1, "select count(*) from orrery.session")

	tx, err := w.pool.Begin(ctx(t))
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback(context.Background())
	if _, err := tx.Exec(ctx(t), "select pg_advisory_xact_lock(20307, 3)"); err != nil {
		t.Fatal(err)
	}
	if got := clean(); got != (store.Cleaned{Busy: true}) {
		t.Errorf("cleaned %+v beside another cleaner", got)
	}
}

// TestBells: who waits is rung after the commit, and nobody else.
func TestBells(t *testing.T) {
	w := newWorld(t)
	owner, waiter := w.join("owner", 2, 0), w.join("waiter", 0, 0)
	s := w.session("w1")
	bells := make(chan store.Bell, 100)
	c, cancel := context.WithCancel(ctx(t))
	listened := make(chan error, 1)
	go func() { listened <- w.db.Listen(c, waiter.Fence, func(b store.Bell) { bells <- b }) }()
	if b := <-bells; b.Kind != store.BellConnected {
		t.Fatalf("first bell: %+v", b)
	}
	heard := func() []string {
		t.Helper()
		// The definition's bell goes to everybody and comes last.
		if err := w.db.Ring(ctx(t), store.Bells{Definitions: true}); err != nil {
			t.Fatal(err)
		}
		var out []string
		for b := range bells {
			if b.Kind == store.BellDefinitions {
				break
			}
			out = append(out, fmt.Sprint(b.Kind, " ", b.Execution, " ", b.Entry))
		}
		return out
	}
	want := func(what string, want ...store.Bell) {
		t.Helper()
		var texts []string
		for _, b := range want {
			texts = append(texts, fmt.Sprint(b.Kind, " ", b.Execution, " ", b.Entry))
		}
		if got := heard(); !slices.Equal(got, texts) {
			t.Errorf("%s: heard %q, want %q", what, got, texts)
		}
	}
	e := w.start("e", 0, offer("A", 1, 0))
	want("tasks that nobody waits for")
	if _, err := w.db.Claim(ctx(t), store.ClaimRequest{Fence: waiter.Fence, Polls: []store.Poll{poll(s, "p", 1)}, Flag: true}); err != nil {
		t.Fatal(err)
	}
	w.mustCommit(owner, e.turn(owner, func(t *history.Turn) { t.Offers = []history.Offer{offer("B", 1, 0), offer("C", 1, 0)} }))
	e.seq++
	want("tasks", store.Bell{Kind: store.BellTasks})

	sent, err := w.db.Send(ctx(t), store.Message{Namespace: namespace, Name: "e", From: waiter.Fence, Command: history.Command{Kind: history.KindCancel}})
	if err != nil {
		t.Fatal(err)
	}
	want("an inbox of another owner")
	w.mustCommit(owner, e.turn(owner, func(t *history.Turn) {
		t.Consumed = []history.Consumed{{ID: sent.Entry.ID, Reply: &history.Reply{Outcome: history.Applied}}}
	}))
	e.seq++
	want("a reply", store.Bell{Kind: store.BellReply, Entry: sent.Entry})

	f := w.start("f", 1)
	if err := w.db.AwaitEnd(ctx(t), waiter.Fence, f.id); err != nil {
		t.Fatal(err)
	}
	w.mustCommit(owner, e.turn(owner, end), f.turn(owner, end))
	want("an end", store.Bell{Kind: store.BellEnded, Execution: f.id})

	w.take(waiter, 0, 0)
	w.exec("update orrery.partition set fence = $1, epoch = 9 where id = 5", waiter.Fence)
	timer := w.first("timer", 5)
	timer.Turn.WakeAt = 1_700_000_000_500
	if _, err := w.fn.Start(ctx(t), timer); err != nil {
		t.Fatal(err)
	}
	g := w.start("g", 5, offer("G", 1, 0))
	want("a timer", store.Bell{Kind: store.BellInbox}, store.Bell{Kind: store.BellTasks})
	w.report(complete(g, history.RowRef{Unit: "G", Attempt: 1}, s))
	if _, err := w.fn.Send(ctx(t), store.Message{Namespace: namespace, Name: "g", Command: history.Command{Kind: history.KindCancel}}); err != nil {
		t.Fatal(err)
	}
	want("entries", store.Bell{Kind: store.BellInbox}, store.Bell{Kind: store.BellInbox})
	if _, err := w.db.Release(ctx(t), owner.Fence, []store.Handover{{Partition: 0, To: waiter.Fence}}); err != nil {
		t.Fatal(err)
	}
	want("a partition", store.Bell{Kind: store.BellInbox})
	w.exec("update orrery.queue_flag set raised_at = raised_at - interval '2 minutes'")
	w.start("late", 1, offer("A", 1, 0))
	want("an old flag")
	cancel()
	if err := <-listened; !errors.Is(err, context.Canceled) {
		t.Errorf("listen ended with %v", err)
	}
}
