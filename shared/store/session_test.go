package store_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/orrery-dev/orrery/shared/history"
	"github.com/orrery-dev/orrery/shared/store"
)

func TestSessionLife(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.session("w1")
	got, err := w.fn.Session(ctx(t), s.ID)
	if err != nil || got.Worker != "w1" || got.Language != "go" || !slices.Equal(got.Contracts, s.Contracts) || got.RegisteredAt == 0 {
		t.Fatalf("session: %+v, %v", got, err)
	}
	w.exec("update orrery.session set seen_at = seen_at - interval '1 hour'")
	if got, _ = w.fn.Session(ctx(t), s.ID); got.Age < time.Hour {
		t.Errorf("age %v, want an hour", got.Age)
	}
	nobody := "00000000-0000-0000-0000-000000000000"
	gone, err := w.fn.Touch(ctx(t), []store.Touch{{Session: s.ID, Age: time.Minute}, {Session: nobody}, {Session: "?"}})
	if err != nil || !slices.Equal(gone, []string{"?", nobody}) {
		t.Errorf("gone: %q, %v", gone, err)
	}
	if got, _ = w.fn.Session(ctx(t), s.ID); got.Age < time.Minute || got.Age > 2*time.Minute {
		t.Errorf("age %v after contact a minute ago", got.Age)
	}
	if _, err := w.fn.Touch(ctx(t), []store.Touch{{Session: s.ID, Age: time.Hour}}); err != nil {
		t.Fatal(err)
	}
	if got, _ = w.fn.Session(ctx(t), s.ID); got.Age > 2*time.Minute {
		t.Errorf("an older contact makes the session %v old", got.Age)
	}
	for _, id := range []string{nobody, "no uuid", ""} {
		if _, err := w.fn.Session(ctx(t), id); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("session %q: %v, want ErrNotFound", id, err)
		}
		if _, err := w.fn.WorkerBeat(ctx(t), store.WorkerBeat{Session: id, Number: 1}); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("beat of session %q: %v, want ErrNotFound", id, err)
		}
		if _, err := w.fn.Deregister(ctx(t), id); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("deregister session %q: %v, want ErrNotFound", id, err)
		}
	}
}

// beats sends the heartbeats of one session.
type beats struct {
	w      *world
	s      store.Session
	number int64
}

func (b *beats) send(held ...store.HeldTask) store.WorkerBeatAnswer {
	b.w.t.Helper()
	b.number++
	a, err := b.w.fn.WorkerBeat(ctx(b.w.t), store.WorkerBeat{Session: b.s.ID, Number: b.number, Interval: 10 * time.Second, Held: held})
	if err != nil || a.Ignored {
		b.w.t.Fatalf("beat %d: %+v, %v", b.number, a, err)
	}
	return a
}

func held(c store.Claimed) store.HeldTask {
	return store.HeldTask{Holding: store.Holding{Execution: c.Execution, Row: c.Row}}
}

func TestClaimMissedInTwoBeatsIsLost(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.join("n1", 1, 0)
	b := &beats{w: w, s: w.session("w1")}
	w.start("e", 0, offer("A", 1, 0), offer("B", 1, 0))
	claims := w.claim(b.s, "p", 2)
	b.send(held(claims[0])) // B was claimed a moment ago: the answer may be on its way
	b.send(held(claims[0]))
	w.want(0, "select count(*) from orrery.task where missed is not null")
	w.exec("update orrery.task set claimed_at = claimed_at - interval '11 seconds'")
	b.send(held(claims[0]))
	w.want(1, "select count(*) from orrery.task where unit = 'B' and missed = 3")
	w.want(0, "select count(*) from orrery.inbox")

	// A number that was seen before misses nothing.
	again, err := w.fn.WorkerBeat(ctx(t), store.WorkerBeat{Session: b.s.ID, Number: 3, Interval: 10 * time.Second})
	if err != nil || !again.Ignored {
		t.Errorf("beat 3 again: %+v, %v", again, err)
	}
	w.want(0, "select count(*) from orrery.inbox")

	b.send(held(claims[0]), held(claims[1])) // B had come after all
	w.want(0, "select count(*) from orrery.task where missed is not null")
	b.send(held(claims[0]))
	b.send(held(claims[0]))
	entries := w.inbox(0)
	if len(entries) != 1 || entries[0].Command.Kind != history.KindLost || entries[0].Command.Row != claims[1].Row || entries[0].Command.Claim.Session != b.s.ID {
		t.Fatalf("inbox: %+v", entries)
	}
	b.send(held(claims[0]))
	w.want(1, "select count(*) from orrery.inbox")
}

func TestCancelNotice(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	n := w.join("n1", 1, 0)
	b := &beats{w: w, s: w.session("w1")}
	e := w.start("e", 0, offer("A", 1, 0), offer("B", 1, 0))
	claims := w.claim(b.s, "p", 2)
	w.mustCommit(n, e.turn(n, func(t *history.Turn) {
		t.Resolved = []history.Resolved{{Unit: "A", Attempt: 1, CancelNotice: true}}
	}))
	stranger := store.HeldTask{Holding: store.Holding{Execution: e.id, Row: history.RowRef{Unit: "X", Attempt: 1}}}
	for range 3 { // the notice is not lost with an answer: it stands as long as the token is listed
		a := b.send(held(claims[0]), held(claims[1]), stranger)
		if !slices.Equal(a.Cancelled, []store.Holding{held(claims[0]).Holding}) || !slices.Equal(a.Unknown, []store.Holding{stranger.Holding}) {
			t.Errorf("answer: %+v", a)
		}
	}
	if a := b.send(held(claims[1])); len(a.Cancelled) != 0 || len(a.Unknown) != 0 {
		t.Errorf("answer: %+v", a)
	}
	w.want(0, "select count(*) from orrery.task where unit = 'A'")
	w.report(complete(e, claims[1].Row, b.s))
	if a := b.send(held(claims[1])); !slices.Equal(a.Unknown, []store.Holding{held(claims[1]).Holding}) {
		t.Errorf("a task that is done is not unknown: %+v", a)
	}
}

func TestProgressIsToldWhenItChanges(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b := &beats{w: w, s: w.session("w1")}
	w.start("e", 0, offer("A", 1, 0))
	h := held(w.claim(b.s, "p", 1)[0])
	for _, details := range []string{`{"done":1}`, `{"done":1}`, `{"done":2}`} {
		h.Details = []byte(details)
		b.send(h)
	}
	h.Details = nil
	b.send(h)
	var got []string
	for _, x := range w.inbox(0) {
		got = append(got, fmt.Sprintf("%s %s", x.Command.Kind, x.Command.Output))
	}
	if want := []string{`heartbeat {"done":1}`, `heartbeat {"done":2}`}; !slices.Equal(got, want) {
		t.Errorf("inbox %q, want %q", got, want)
	}
	heard, err := w.db.Heard(ctx(t), b.s.ID, []store.Holding{h.Holding, {Execution: 5}})
	if err != nil || len(heard) != 1 || heard[h.Holding] == 0 {
		t.Errorf("heard: %v, %v", heard, err)
	}
	b.send()
	if heard, err = w.db.Heard(ctx(t), b.s.ID, []store.Holding{h.Holding}); err != nil || len(heard) != 0 {
		t.Errorf("heard after a beat without it: %v, %v", heard, err)
	}
}

func TestDeregisterGivesBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.session("w1")
	w.start("e", 0, offer("A", 1, 0), offer("B", 1, 0))
	ending := w.start("ending", 1, offer("C", 1, 0))
	w.claim(s, "p", 3)
	w.exec("update orrery.execution set ending = true where id = $1", ending.id)
	back, err := w.fn.Deregister(ctx(t), s.ID)
	if err != nil || len(back) != 2 || back[0].Row.Unit != "A" || back[1].Row.Unit != "B" {
		t.Fatalf("given back: %v, %v", back, err)
	}
	w.want(2, "select count(*) from orrery.inbox where kind = 'lost' and reason = 'deregistered'")
	if _, err := w.fn.Session(ctx(t), s.ID); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a closed session: %v", err)
	}
	if gone, err := w.fn.Touch(ctx(t), []store.Touch{{Session: s.ID}}); err != nil || len(gone) != 1 {
		t.Errorf("touching a closed session: %v, %v", gone, err)
	}
	if _, err := w.fn.Deregister(ctx(t), s.ID); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("deregistering twice: %v", err)
	}
	// What could not be told, because its execution was about to end, is found lost by the owner.
	w.exec("update orrery.execution set ending = false")
	lost, err := w.db.LostClaims(ctx(t), store.LostQuery{Partitions: []history.Partition{1}, SessionTimeout: sessionTimeout, NodeTimeout: nodeTimeout, Limit: 10})
	if err != nil || len(lost) != 1 || lost[0].Row.Unit != "C" {
		t.Errorf("lost: %+v, %v", lost, err)
	}
}

func TestLostClaims(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	dead, left := w.join("dead", 2, 0), w.join("left", 0, 0)
	quiet, alive := w.session("quiet"), w.session("alive")
	w.start("e", 0, offer("Q", 1, 0), offer("D", 1, 0), offer("H", 1, 0), offer("L", 1, 0), offer("F", 1, 0))
	w.start("elsewhere", 9, offer("X", 1, 0))
	claimBy := func(fence history.FenceNumber, s store.Session) store.Claimed {
		t.Helper()
		got, err := w.db.Claim(ctx(t), store.ClaimRequest{Fence: fence, Polls: []store.Poll{poll(s, "p", 1)}})
		if err != nil || len(got.Tasks) != 1 {
			t.Fatalf("claimed %v, %v", got.Tasks, err)
		}
		return got.Tasks[0]
	}
	claimBy(0, quiet)               // Q
	claimBy(dead.Fence, alive)      // D
	h := claimBy(dead.Fence, alive) // H, which a heartbeat lists
	claimBy(left.Fence, alive)      // L
	claimBy(0, alive)               // F
	claimBy(0, quiet)               // X, of another partition
	(&beats{w: w, s: alive}).send(held(h))
	if err := w.db.Leave(ctx(t), left.Fence); err != nil {
		t.Fatal(err)
	}
	lost := func() []string {
		t.Helper()
		got, err := w.db.LostClaims(ctx(t), store.LostQuery{
			Partitions: upTo(2), SessionTimeout: sessionTimeout, NodeTimeout: nodeTimeout, Limit: 10,
		})
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, l := range got {
			out = append(out, fmt.Sprint(l.Row.Unit, " ", l.Reason))
		}
		return out
	}
	w.dies(dead)
	if got := lost(); len(got) != 0 {
		t.Errorf("lost at once: %v", got)
	}
	w.exec("update orrery.task set claimed_at = claimed_at - interval '31 seconds'")
	w.exec("update orrery.session set seen_at = seen_at - interval '31 seconds' where worker = 'quiet'")
	if got, want := lost(), []string{"Q session", "D incarnation"}; !slices.Equal(got, want) {
		t.Errorf("lost: %v, want %v", got, want)
	}
}

// TestClaimIsContact: a session that was silent claims again, and has its claim also before its contact is written.
func TestClaimIsContact(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.session("back")
	w.start("e", 0, offer("Q", 1, 0))
	w.exec("update orrery.session set seen_at = seen_at - interval '31 seconds'")
	w.claim(s, "p", 1)
	q := store.LostQuery{Partitions: upTo(1), SessionTimeout: sessionTimeout, NodeTimeout: nodeTimeout, Limit: 10}
	if lost, err := w.db.LostClaims(ctx(t), q); err != nil || len(lost) != 0 {
		t.Errorf("lost right after the claim: %+v, %v", lost, err)
	}
	w.exec("update orrery.task set claimed_at = claimed_at - interval '31 seconds'")
	if lost, err := w.db.LostClaims(ctx(t), q); err != nil || len(lost) != 1 || lost[0].Reason != "session" {
		t.Errorf("lost a session timeout later: %+v, %v", lost, err)
	}
}
