package store_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/orrery-dev/orrery/shared/history"
	"github.com/orrery-dev/orrery/shared/store"
)

// limited limits the namespace's active executions, and has them counted.
func (w *world) limited(most int) {
	w.t.Helper()
	w.exec("update orrery.namespace set max_active = $1", most)
	if wrong, err := w.db.CountActive(ctx(w.t)); err != nil || wrong != 0 {
		w.t.Fatalf("the first count: %d wrong, %v", wrong, err)
	}
}

// owned is the first turn of an execution that a node starts in a partition of its own.
func (w *world) owned(n *node, name string, p history.Partition) store.Item {
	it := w.first(name, p)
	it.Epoch = n.epochs[p]
	return it
}

// active is what the counters say is running.
func (w *world) active() int {
	return w.count("select coalesce(sum(running), 0)::integer from orrery.active")
}

// counted compares the counters with the executions.
func (w *world) counted(want int) {
	w.t.Helper()
	w.want(want, "select count(*) from orrery.execution where status = 1")
	if got := w.active(); got != want {
		w.t.Errorf("%d executions are counted, want %d", got, want)
	}
}

// TestActiveLimit: a start beyond the limit writes nothing and names it, whoever starts; the name of one that is there is
// answered all the same; an end makes room, and so does a higher limit.
func TestActiveLimit(t *testing.T) {
	w := newWorld(t)
	n := w.join("n", 2, 0)
	first := w.start("first", 0)
	if got := w.active(); got != 0 {
		t.Errorf("%d executions are counted where there is no limit", got)
	}
	w.limited(3)
	w.counted(1)
	start := func(name string, p history.Partition) store.Started {
		t.Helper()
		s, err := w.fn.Start(ctx(t), w.first(name, p, offer("u", 1, 0)))
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	if s := start("second", 1); s.MaxActive != 0 || s.Execution == 0 {
		t.Errorf("below the limit: %+v", s)
	}
	// Of one batch as many begin as there is room for.
	done := w.mustCommit(n, w.owned(n, "b", 0), w.owned(n, "a", 1))
	if b, a := done.Started[0], done.Started[1]; b.MaxActive != 3 || b.Execution != 0 || a.MaxActive != 0 || a.Execution == 0 {
		t.Errorf("one place for two: %+v", done.Started)
	}
	if s := start("fourth", 1); s.MaxActive != 3 || s.Existing != nil {
		t.Errorf("beyond the limit: %+v", s)
	}
	w.want(0, "select count(*) from orrery.execution where name in ('fourth', 'b')")
	w.want(1, "select count(*) from orrery.task")
	if s := start("first", 0); s.Existing == nil || s.Execution != first.id {
		t.Errorf("a name that is there: %+v", s)
	}
	w.counted(3)

	w.mustCommit(n, first.turn(n, end))
	w.counted(2)
	if s := start("fourth", 1); s.MaxActive != 0 {
		t.Errorf("after an end: %+v", s)
	}
	w.exec("update orrery.namespace set max_active = 4")
	if s := start("fifth", 1); s.MaxActive != 0 {
		t.Errorf("under a higher limit: %+v", s)
	}
	w.counted(4)
	// What ends with its first turn has never run for others.
	w.exec("update orrery.namespace set max_active = 5")
	it := w.first("brief", 0)
	end(it.Turn)
	if _, err := w.fn.Start(ctx(t), it); err != nil {
		t.Fatal(err)
	}
	w.counted(4)
}

// TestActiveLimitSparesChildren: a running execution may start children beyond the limit, and they count.
func TestActiveLimitSparesChildren(t *testing.T) {
	w := newWorld(t)
	n := w.join("n", 1, 0)
	parent := w.start("parent", 0)
	w.limited(1)
	it := parent.turn(n, nil)
	it.Children = []store.Item{w.childOf(parent, n, "child-1"), w.childOf(parent, n, "child-2")}
	done := w.mustCommit(n, it)
	for _, id := range done.Children[0] {
		if id == 0 {
			t.Errorf("children %v, want two", done.Children[0])
		}
	}
	w.counted(3)
}

// TestActiveLimitReopens: an execution that goes on after its end counts again, and is let on.
func TestActiveLimitReopens(t *testing.T) {
	w := newWorld(t)
	n := w.join("n", 1, 0)
	e, other := w.start("e", 0), w.start("other", 0)
	w.limited(1)
	w.mustCommit(n, e.turn(n, end))
	w.counted(1)
	e.seq++
	w.mustCommit(n, e.turn(n, func(t *history.Turn) { t.Reopened = true }))
	w.counted(2)
	e.seq++
	w.mustCommit(n, e.turn(n, end), other.turn(n, end))
	w.counted(0)
}

// TestActiveLimitUnderLoad: starts and ends at once from all sides, a node that dies, and counts in between: the counters say
// what a count says. The limit is passed by no more than the starts that are under way at once.
func TestActiveLimitUnderLoad(t *testing.T) {
	w := newWorld(t)
	const limit, starters, each = 20, 8, 15
	n := w.join("n", 2, 0)
	w.limited(limit)
	var wait sync.WaitGroup
	for s := range starters {
		wait.Go(func() {
			for i := range each {
				if _, err := w.fn.Start(ctx(t), w.first(fmt.Sprintf("f%d-%d", s, i), history.Partition(i%2))); err != nil {
					t.Error(err)
				}
			}
		})
	}
	counting := make(chan struct{})
	wait.Go(func() {
		defer close(counting)
		for range 20 {
			w.exec("update orrery.active set counted_at = counted_at - interval '1 hour' where part = 0")
			if wrong, err := w.db.CountActive(ctx(t)); err != nil || wrong != 0 {
				t.Errorf("a count under load: %d wrong, %v", wrong, err)
			}
		}
	})
	for i := range each {
		done := w.mustCommit(n, w.owned(n, fmt.Sprint("n-", i), 0))
		if id := done.Started[0].Execution; id != 0 {
			e := &execution{id: id, name: fmt.Sprint("n-", i), seq: 1}
			w.mustCommit(n, e.turn(n, end))
		}
	}
	wait.Wait()
	running := w.count("select count(*) from orrery.execution where status = 1")
	if running < limit || running > limit+starters {
		t.Errorf("%d executions run, want %d, and at most %d more", running, limit, starters)
	}
	w.counted(running)

	// What an ended incarnation has counted goes to the count's own row.
	w.exec("update orrery.node set ended = 'left', ended_at = now()")
	w.exec("update orrery.active set counted_at = counted_at - interval '1 hour' where part = 0")
	if wrong, err := w.db.CountActive(ctx(t)); err != nil || wrong != 0 {
		t.Errorf("%d wrong, %v", wrong, err)
	}
	w.want(0, "select count(*) from orrery.active where part > 0")
	w.counted(running)

	// A sum that is wrong, for instance by a node of the previous version, is set right at the next count.
	w.exec("update orrery.active set running = running + 7 where part = 0")
	if wrong, err := w.db.CountActive(ctx(t)); err != nil || wrong != 0 {
		t.Errorf("before it is time: %d wrong, %v", wrong, err)
	}
	w.exec("update orrery.active set counted_at = counted_at - interval '1 hour' where part = 0")
	if wrong, err := w.db.CountActive(ctx(t)); err != nil || wrong != 7 {
		t.Errorf("%d wrong, %v; want 7", wrong, err)
	}
	w.counted(running)

	w.exec("update orrery.namespace set max_active = null")
	if _, err := w.db.CountActive(ctx(t)); err != nil {
		t.Fatal(err)
	}
	w.want(0, "select count(*) from orrery.active")
}
