package store_test

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/orrery-dev/orrery/shared/history"
	"github.com/orrery-dev/orrery/shared/store"
)

// childOf is the first turn of a child that the execution starts with its turn.
func (w *world) childOf(e *execution, n *node, name string, offers ...history.Offer) store.Item {
	it := w.first(name, e.partition, offers...)
	it.Epoch = n.epochs[e.partition]
	it.Turn.Events[0].Start.Parent = &history.Parent{Execution: e.id, Name: e.name, Root: e.name, Unit: "Ship", Attempt: 2, Depth: 1, Waits: true}
	return it
}

// tells makes a turn tell the parent that it ends.
func tells(e *execution) func(*history.Turn) {
	return func(t *history.Turn) {
		t.End = &history.End{Status: history.Failed, Error: "E", Cause: "c"}
		t.Told = &history.Parent{Execution: e.id, Unit: "Ship", Attempt: 2}
	}
}

func TestCommitStartsChildren(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	n := w.join("n1", 2, 0)
	one, two, plain := w.start("one", 0), w.start("two", 1), w.start("plain", 1)
	first, second := one.turn(n, nil), two.turn(n, nil)
	far := w.childOf(one, n, "c2")
	far.Partition, far.Epoch = 200, 0 // of nobody
	first.Children = []store.Item{w.childOf(one, n, "c1", offer("A", 1, 1)), far}
	second.Children = []store.Item{w.childOf(two, n, "c3")}
	got := w.mustCommit(n, second, plain.turn(n, nil), first)
	for name, id := range map[string]history.ExecutionID{"c3": got.Children[0][0], "c1": got.Children[2][0], "c2": got.Children[2][1]} {
		w.want(1, "select count(*) from orrery.execution where id = $1 and name = $2 and last_seq = 1", id, name)
		w.want(1, "select count(*) from orrery.history where execution = $1", id)
	}
	w.want(1, "select count(*) from orrery.task where execution = $1", got.Children[2][0])
	w.want(200, "select partition from orrery.execution where name = 'c2'")
}

// TestChildLosesItsName: nothing is written of a turn whose child has a name that is taken, and the others go on.
func TestChildLosesItsName(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	n := w.join("n1", 1, 0)
	one, two := w.start("one", 0), w.start("two", 0)
	it := one.turn(n, nil)
	it.Children = []store.Item{w.childOf(one, n, "new"), w.childOf(one, n, "two")}
	_, err := w.commit(n, it, two.turn(n, nil))
	wantCommitError(t, err, store.NameTaken, one.id)
	w.want(2, "select count(*) from orrery.execution")
	w.want(2, "select count(*) from orrery.history")
	w.mustCommit(n, two.turn(n, nil))
}

func TestEndOfAChildIsTold(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	n := w.join("n1", 2, 0)
	parent, child := w.start("parent", 0), w.start("child", 1)
	w.mustCommit(n, child.turn(n, tells(parent)))
	entries := w.inbox(0)
	if len(entries) != 1 {
		t.Fatalf("inbox: %+v", entries)
	}
	want := history.Command{
		Kind: history.KindChildEnded, Inbox: entries[0].ID, Row: history.RowRef{Unit: "Ship", Attempt: 2},
		Failure: &history.Failure{Code: "E", Message: "c"}, Status: history.Failed, At: 1_700_000_001_000,
	}
	if !reflect.DeepEqual(entries[0].Command, want) {
		t.Errorf("got  %+v\nwant %+v", entries[0].Command, want)
	}

	// A child that ends with its first turn tells it as well.
	it := parent.turn(n, func(t *history.Turn) { consume(t, entries...) })
	quick := w.childOf(parent, n, "quick")
	end(quick.Turn)
	quick.Turn.Told = &history.Parent{Execution: parent.id, Unit: "Quick", Attempt: 1}
	it.Children = []store.Item{quick}
	w.mustCommit(n, it)
	parent.seq++
	if entries = w.inbox(0); len(entries) != 1 || entries[0].Command.Status != history.Succeeded || string(entries[0].Command.Output) != "1" {
		t.Errorf("inbox: %+v", entries)
	}

	// A parent that has ended, in this very commit or before, is told nothing, and that is no error.
	late := w.start("late", 1)
	w.mustCommit(n, late.turn(n, tells(parent)), parent.turn(n, end))
	later := w.start("later", 1)
	w.mustCommit(n, later.turn(n, tells(parent)))
	w.want(0, "select count(*) from orrery.inbox")
}

func TestChildrenAreStopped(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	n := w.join("n1", 2, 0)
	parent, runs, ended := w.start("parent", 0), w.start("runs", 1), w.start("ended", 1)
	w.mustCommit(n, ended.turn(n, end))
	stops := func(t *history.Turn) {
		t.Stops = []history.Stop{{Name: "runs", Reason: "why"}, {Name: "ended", Reason: "why"}, {Name: "nobody", Reason: "why"}}
	}
	w.mustCommit(n, parent.turn(n, stops))
	entries := w.inbox(0, 1)
	if len(entries) != 1 || entries[0].Execution != runs.id || entries[0].Command.Kind != history.KindCancel || entries[0].Command.Awaited || entries[0].Command.Reason != "why" {
		t.Fatalf("inbox: %+v", entries)
	}
	// Nobody waits for the answer: the entry is removed when it is applied.
	w.mustCommit(n, runs.turn(n, func(t *history.Turn) { consume(t, entries...); end(t) }))
	w.want(0, "select count(*) from orrery.inbox")
}

// TestFamilyIsLocked: who cannot be told now, because it is about to end, makes the teller wait for the next batch.
func TestFamilyIsLocked(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	n := w.join("n1", 1, 0)
	parent, child, other := w.start("parent", 0), w.start("child", 0), w.start("other", 0)
	stops := func(t *history.Turn) { t.Stops = []history.Stop{{Name: "child"}} }
	told := func() error { _, err := w.commit(n, child.turn(n, tells(parent)), other.turn(n, nil)); return err }
	stopped := func() error { _, err := w.commit(n, parent.turn(n, stops), other.turn(n, nil)); return err }
	for name, lock := range map[string]string{
		"locked":   "select from orrery.execution where name = '%s' for update",
		"about to": "update orrery.execution set ending = true where name = '%s'",
	} {
		t.Run(name, func(t *testing.T) {
			for victim, act := range map[string]func() error{"parent": told, "child": stopped} {
				tx, err := w.pool.Begin(ctx(t))
				if err != nil {
					t.Fatal(err)
				}
				if _, err := tx.Exec(ctx(t), fmt.Sprintf(lock, victim)); err != nil {
					t.Fatal(err)
				}
				if name == "about to" {
					err = tx.Commit(ctx(t))
				}
				culprit := child.id
				if victim == "child" {
					culprit = parent.id
				}
				wantCommitError(t, act(), store.Locked, culprit)
				_ = tx.Rollback(ctx(t))
				w.exec("update orrery.execution set ending = false")
				if err != nil {
					t.Fatal(err)
				}
			}
		})
	}
	w.want(0, "select count(*) from orrery.inbox")
	if err := told(); err != nil {
		t.Error(err)
	}
}

func TestTurnThatReopens(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	n := w.join("n1", 1, 0)
	e := w.start("e", 0)
	w.mustCommit(n, e.turn(n, end))
	e.seq++
	w.mustCommit(n, e.turn(n, func(t *history.Turn) { t.Reopened, t.WakeAt = true, 1_900_000_000_000 }))
	w.want(1, "select count(*) from orrery.execution where status = 1 and ended_at is null and wake_at is not null and last_seq = 3")
}
