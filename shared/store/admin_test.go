package store_test

import (
	"context"
	"errors"
	"testing"

	"github.com/orrery-dev/orrery/shared/history"
	"github.com/orrery-dev/orrery/shared/store"
)

func TestSettings(t *testing.T) {
	t.Parallel()
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
	t.Parallel()
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

// TestLevelRises: the cluster's level is that of the node that can do least, once it was as high, and does not fall.
func TestLevelRises(t *testing.T) {
	w := newWorld(t)
	level := func(want int) {
		t.Helper()
		if _, err := w.db.Clean(ctx(t), store.Cleaning{SessionTimeout: sessionTimeout, Limit: 10}); err != nil {
			t.Fatal(err)
		}
		if s, err := w.db.Settings(ctx(t)); err != nil || s.Behaviour != want {
			t.Errorf("the level is %d, %v; want %d", s.Behaviour, err, want)
		}
	}
	join := func(id string, behaviour int) store.Joined {
		t.Helper()
		j, err := w.db.Join(ctx(t), store.JoinRequest{Node: id, Behaviour: behaviour, Timeout: nodeTimeout})
		if err != nil {
			t.Fatal(err)
		}
		return j
	}
	level(1) // without any node
	join("new", 3)
	old := join("old", 1)
	level(1)
	if err := w.db.Leave(ctx(t), old.Fence); err != nil {
		t.Fatal(err)
	}
	join("middle", 2)
	level(2)
	join("old", 1)
	level(2)
}

func TestClean(t *testing.T) {
	t.Parallel()
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
