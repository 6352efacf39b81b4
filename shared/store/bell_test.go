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

// listener hears the bells of one node.
type listener struct {
	w     *world
	node  *node
	bells chan store.Bell
}

func (w *world) listen(n *node) *listener {
	w.t.Helper()
	l := &listener{w, n, make(chan store.Bell, 100)}
	c, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- w.db.Listen(c, n.Fence, func(b store.Bell) { l.bells <- b }) }()
	w.t.Cleanup(func() {
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			w.t.Errorf("listen ended with %v", err)
		}
	})
	if b := <-l.bells; b.Kind != store.BellConnected {
		w.t.Fatalf("first bell: %+v", b)
	}
	return l
}

// want checks what was heard since the last call. The bell of the definitions goes to everybody and comes last.
func (l *listener) want(what string, want ...store.Bell) {
	l.w.t.Helper()
	if err := l.w.db.Ring(ctx(l.w.t), store.Bells{Definitions: true}); err != nil {
		l.w.t.Fatal(err)
	}
	var got []store.Bell
	for b := range l.bells {
		if b.Kind == store.BellDefinitions {
			break
		}
		got = append(got, b)
	}
	if !slices.Equal(got, want) {
		l.w.t.Errorf("%s: heard %v, want %v", what, fmt.Sprint(got), fmt.Sprint(want))
	}
}

// TestBellsOfCommits: who waits is rung after a commit, and nobody else.
func TestBellsOfCommits(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	owner, waiter := w.join("owner", 2, 0), w.join("waiter", 0, 0)
	s := w.session("w1")
	l := w.listen(waiter)
	e := w.start("e", 0, offer("A", 1, 0))
	l.want("tasks that nobody waits for")

	if _, err := w.db.Claim(ctx(t), store.ClaimRequest{Fence: waiter.Fence, Polls: []store.Poll{poll(s, "p", 1)}, Flag: true}); err != nil {
		t.Fatal(err)
	}
	w.mustCommit(owner, e.turn(owner, func(t *history.Turn) { t.Offers = []history.Offer{offer("B", 1, 0), offer("C", 1, 0)} }))
	e.seq++
	l.want("tasks", store.Bell{Kind: store.BellTasks})

	sent, err := w.db.Send(ctx(t), store.Message{Namespace: namespace, Name: "e", From: waiter.Fence, Command: history.Command{Kind: history.KindCancel}})
	if err != nil {
		t.Fatal(err)
	}
	l.want("an inbox of another owner")
	w.mustCommit(owner, e.turn(owner, func(t *history.Turn) {
		t.Consumed = []history.Consumed{{ID: sent.Entry.ID, Reply: &history.Reply{Outcome: history.Applied}}}
	}))
	e.seq++
	l.want("a reply", store.Bell{Kind: store.BellReply, Entry: sent.Entry})

	f := w.start("f", 1)
	if err := w.db.AwaitEnd(ctx(t), waiter.Fence, f.id); err != nil {
		t.Fatal(err)
	}
	w.mustCommit(owner, e.turn(owner, end), f.turn(owner, end))
	l.want("an end", store.Bell{Kind: store.BellEnded, Execution: f.id})

	w.exec("update orrery.queue_flag set raised_at = raised_at - interval '2 minutes'")
	w.start("late", 1, offer("A", 1, 0))
	l.want("a flag that has expired")
}

// TestBellsOfOwners: an owner is rung for what others leave it.
func TestBellsOfOwners(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	owner, other := w.join("owner", 2, 0), w.join("other", 0, 0)
	s := w.session("w1")
	l := w.listen(owner)
	timer := w.first("timer", 1)
	timer.Turn.WakeAt = 1_700_000_000_500
	if _, err := w.fn.Start(ctx(t), timer); err != nil {
		t.Fatal(err)
	}
	e := w.start("e", 1, offer("A", 1, 0))
	l.want("a timer", store.Bell{Kind: store.BellInbox})

	w.claim(s, "p", 1)
	w.report(complete(e, history.RowRef{Unit: "A", Attempt: 1}, s))
	cancelled := store.Message{Namespace: namespace, Name: "e", Command: history.Command{Kind: history.KindCancel}}
	if _, err := w.fn.Send(ctx(t), cancelled); err != nil {
		t.Fatal(err)
	}
	l.want("entries", store.Bell{Kind: store.BellInbox}, store.Bell{Kind: store.BellInbox})

	// Who sends from the owner itself is not rung.
	cancelled.From = owner.Fence
	if _, err := w.db.Send(ctx(t), cancelled); err != nil {
		t.Fatal(err)
	}
	l.want("its own entry")

	w.take(other, 0, 0)
	w.exec("update orrery.partition set fence = $1, epoch = 9 where id = 5", other.Fence)
	if _, err := w.db.Release(ctx(t), other.Fence, []store.Handover{{Partition: 5, To: owner.Fence}}); err != nil {
		t.Fatal(err)
	}
	l.want("a partition", store.Bell{Kind: store.BellInbox})
}
