package store_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/orrery-dev/orrery/shared/history"
	"github.com/orrery-dev/orrery/shared/store"
)

func TestSendOutcomes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	n := w.join("n1", 1, 0)
	w.start("runs", 0)
	ended := w.start("ended", 0)
	w.mustCommit(n, ended.turn(n, end))
	signal := history.Command{Kind: history.KindSignal, Signal: "s", Output: []byte(`null`)}
	tests := []struct {
		what, name string
		cmd        history.Command
		want       store.SendOutcome
	}{
		{"signal", "runs", signal, store.SendQueued},
		{"cancel", "runs", history.Command{Kind: history.KindCancel, Reason: "enough"}, store.SendQueued},
		{"resolve", "runs", history.Command{Kind: history.KindResolve, Resolution: "failed", Row: history.RowRef{Unit: "A"}, Failure: &history.Failure{Code: "X"}}, store.SendQueued},
		{"redrive of a running one", "runs", history.Command{Kind: history.KindRedrive}, store.SendFinished},
		{"signal to an ended one", "ended", signal, store.SendFinished},
		{"redrive", "ended", history.Command{Kind: history.KindRedrive}, store.SendQueued},
		{"nobody", "nobody", signal, store.SendUnknown},
	}
	for _, test := range tests {
		got, err := w.fn.Send(ctx(t), store.Message{Namespace: namespace, Name: test.name, Command: test.cmd})
		if err != nil || got.Outcome != test.want || (got.Entry.ID != 0) != (test.want == store.SendQueued) {
			t.Errorf("%s: %+v, %v, want %v", test.what, got, err, test.want)
		}
	}
	if got, err := w.fn.Send(ctx(t), store.Message{Namespace: 77, Name: "runs", Command: signal}); err != nil || got.Outcome != store.SendUnknown {
		t.Errorf("another namespace: %+v, %v", got, err)
	}
	entries := w.inbox(0)
	if len(entries) != 4 || entries[2].Command.Failure.Code != "X" || entries[2].Command.Resolution != "failed" || entries[1].Command.Reason != "enough" {
		t.Errorf("inbox: %+v", entries)
	}
	if reply, err := w.fn.Reply(ctx(t), entries[0].EntryRef); err != nil || reply != nil {
		t.Errorf("a reply before the answer: %+v, %v", reply, err)
	}
}

func TestIdempotencyKey(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	n := w.join("n1", 1, 0)
	e := w.start("e", 0)
	m := store.Message{
		Namespace: namespace, Name: "e", Key: "k1", KeyHash: []byte("request"),
		Command: history.Command{Kind: history.KindSignal, Signal: "s", Output: []byte(`1`)},
	}
	send := func(m store.Message, want store.SendOutcome) store.Sent {
		t.Helper()
		got, err := w.fn.Send(ctx(t), m)
		if err != nil || got.Outcome != want {
			t.Fatalf("got %+v, %v, want %v", got, err, want)
		}
		return got
	}
	first := send(m, store.SendQueued)
	if again := send(m, store.SendRepeated); again.Entry != first.Entry || again.Reply != nil {
		t.Errorf("again: %+v, first %+v", again, first)
	}
	other := m
	other.KeyHash = []byte("other")
	send(other, store.SendKeyReused)
	w.mustCommit(n, e.turn(n, func(t *history.Turn) {
		t.Consumed = []history.Consumed{{ID: first.Entry.ID, Reply: &history.Reply{Outcome: history.Applied, Event: 2, Message: "m"}}}
	}))
	e.seq++
	if reply, err := w.fn.Reply(ctx(t), first.Entry); err != nil || reply.Event != 2 {
		t.Fatalf("reply: %+v, %v", reply, err)
	}
	w.mustCommit(n, e.turn(n, end))
	// The answer outlives the entry and the execution's end.
	if again := send(m, store.SendRepeated); again.Reply == nil || again.Reply.Event != 2 || again.Reply.Message != "m" {
		t.Errorf("after the answer: %+v", again.Reply)
	}
	w.exec("update orrery.idempotency_key set expires_at = now() - interval '1 second'")
	send(m, store.SendFinished)
	w.start("f", 0)
	m.Name = "f"
	if got := send(m, store.SendQueued); got.Entry == first.Entry {
		t.Error("an expired key gave its old entry")
	}
}

func TestSameKeyAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.start("e", 0)
	var mu sync.Mutex
	got := map[string]int{}
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			s, err := w.fn.Send(ctx(t), store.Message{
				Namespace: namespace, Name: "e", Key: "k", Command: history.Command{Kind: history.KindCancel},
			})
			mu.Lock()
			defer mu.Unlock()
			got[fmt.Sprint(s.Outcome, " ", s.Entry.ID, err)]++
		})
	}
	wait.Wait()
	if len(got) != 2 {
		t.Errorf("outcomes: %v, want one queued and 7 repeated, all of one entry", got)
	}
	w.want(1, "select count(*) from orrery.inbox")
}
