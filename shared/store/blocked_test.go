package store_test

import (
	"slices"
	"testing"

	"github.com/orrery-dev/orrery/shared/history"
	"github.com/orrery-dev/orrery/shared/store"
)

// TestBlockHere: what one incarnation cannot serve is out of its reads and shown as blocked; whoever owns the partition after it
// has it in its reads again, and takes the block back.
func TestBlockHere(t *testing.T) {
	w := newWorld(t)
	n := w.join("n1", 1, 0)
	e := w.start("e", 0, offer("A", 1, 0))
	s := w.session("w1")
	w.claim(s, "p", 1)
	w.report(complete(e, history.RowRef{Unit: "A", Attempt: 1}, s))
	w.exec("update orrery.execution set wake_at = now()")
	held := store.Held{Partition: 0, Epoch: n.epochs[0]}
	if err := w.db.BlockHere(ctx(t), n.Fence, held, e.id, "unknown event"); err != nil {
		t.Fatal(err)
	}
	// seen counts what the owner's reads show: inbox, due, unnoticed, and the three of its heartbeat.
	seen := func(n *node) (list []int) {
		t.Helper()
		due, err := w.db.Due(ctx(t), upTo(1), 0, 1_900_000_000_000, 10)
		claims, err2 := w.db.Unnoticed(ctx(t), upTo(1), 0, 10)
		p, err3 := w.db.Heartbeat(ctx(t), store.Beat{Fence: n.Fence, Node: "n1"})
		if err != nil || err2 != nil || err3 != nil {
			t.Fatal(err, err2, err3)
		}
		list = []int{len(w.inbox(0)), len(due), len(claims)}
		for _, there := range []bool{p.Inbox != 0, p.WakeAt != 0, p.Unnoticed != 0} {
			if there {
				list = append(list, 1)
			} else {
				list = append(list, 0)
			}
		}
		return list
	}
	if got := seen(n); !slices.Equal(got, make([]int, 6)) {
		t.Errorf("the incarnation that cannot serve it sees %v of it", got)
	}
	d, err := w.fn.Execution(ctx(t), namespace, "e")
	if err != nil || d.Blocked != "unknown event" {
		t.Errorf("execution: %+v, %v", d, err)
	}
	load := func() store.Loaded {
		t.Helper()
		l, err := w.db.Load(ctx(t), []history.ExecutionID{e.id}, store.FromSnapshot)
		if err != nil {
			t.Fatal(err)
		}
		return l[0]
	}
	if l := load(); l.Blocked == "" || l.BlockedBy != n.Fence {
		t.Errorf("loaded by its owner: blocked %q by %d", l.Blocked, l.BlockedBy)
	}

	w.dies(n)
	next := w.join("n1", 0, 0)
	w.take(next, n.Fence, 1)
	if got := seen(next); !slices.Equal(got, []int{1, 1, 1, 1, 1, 1}) {
		t.Errorf("the next owner sees %v of it", got)
	}
	if l := load(); l.Blocked != "" || l.BlockedBy != n.Fence {
		t.Errorf("loaded by the next owner: blocked %q by %d", l.Blocked, l.BlockedBy)
	}
	if got, err := w.db.BlockedElsewhere(ctx(t), next.Fence, upTo(1), 10); err != nil || len(got) != 1 || got[0].Execution != e.id {
		t.Errorf("to try: %v, %v", got, err)
	}
	err = w.db.Unblock(ctx(t), n.Fence, held, e.id)
	wantCommitError(t, err, store.FenceLost)
	if err := w.db.Unblock(ctx(t), next.Fence, store.Held{Partition: 0, Epoch: next.epochs[0]}, e.id); err != nil {
		t.Fatal(err)
	}
	w.want(0, "select count(*) from orrery.blocked")
}
