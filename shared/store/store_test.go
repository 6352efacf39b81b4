package store_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/orrery-dev/orrery/shared/history"
	"github.com/orrery-dev/orrery/shared/store"
)

func TestOpenRefusesURL(t *testing.T) {
	if _, err := store.Open(context.Background(), "postgres://%zz", store.Options{}); err == nil {
		t.Error("a URL that cannot be read is accepted")
	}
}

// TestNobodyThere: a database that cannot be reached is unavailable for every kind of call, and nothing was written.
func TestNobodyThere(t *testing.T) {
	s, err := store.Open(context.Background(), "postgres://u:p@127.0.0.1:1/none?sslmode=disable", store.Options{Direct: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	_, read := s.Settings(ctx(t))
	_, wrote := s.Register(ctx(t), store.Registration{Worker: "w", Contracts: []history.Contract{contract}})
	_, joined := s.Join(ctx(t), store.JoinRequest{Node: "n"})
	for what, err := range map[string]error{
		"read": read, "write": wrote, "join": joined, "own fence": s.TakeOwnFence(ctx(t), 1),
		"listen": s.Listen(ctx(t), 1, func(store.Bell) {}),
	} {
		if !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("%s: %v, want ErrUnavailable", what, err)
		}
	}
	_, err = s.Commit(ctx(t), store.Batch{Fence: 1})
	wantCommitError(t, err, store.Unavailable)
}

func TestRefusedValue(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	poison := offer("A", 1, 0)
	poison.Task.Input = []byte("\xff")
	if _, err := w.fn.Start(ctx(t), w.first("one", 0, poison)); !errors.Is(err, store.ErrRefused) {
		t.Errorf("start: %v, want ErrRefused", err)
	}
	w.want(0, "select count(*) from orrery.execution")
}

// TestMarksOnTheDatabase claims with a clock that jumps: a row whose insert was open for long, and whose number is below the
// mark, is found by the next look that ignores the marks.
func TestMarksOnTheDatabase(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	now := time.Unix(1_900_000_000, 0)
	db := w.open(store.Options{Direct: true, Now: func() time.Time { return now }})
	s := w.session("w1")
	marks := &store.Marks{}
	claim := func() []store.Claimed {
		t.Helper()
		got, err := db.Claim(ctx(t), store.ClaimRequest{Polls: []store.Poll{poll(s, fmt.Sprint(now.Unix()), 100)}, Marks: marks})
		if err != nil {
			t.Fatal(err)
		}
		return got.Tasks
	}
	e := w.start("e", 0, offer("A", 1, 0), offer("B", 1, 0), offer("C", 1, 0))
	if got := claim(); len(got) != 3 || got[0].Claim.At != history.TimeOf(now) {
		t.Fatalf("claimed %+v", got)
	}
	for range 40 {
		now = now.Add(time.Second)
		if got := claim(); len(got) != 0 {
			t.Fatalf("claimed %v", units(got))
		}
	}
	w.exec(`insert into orrery.task (id, execution, partition, namespace, unit, attempt, offer, task, version, idempotency_key, input)
		overriding system value values (0, $1, 0, 1, 'late', 1, 0, 'charge', 1, '', '{}')`, e.id)
	w.exec(`insert into orrery.task (execution, partition, namespace, unit, attempt, offer, task, version, idempotency_key, input)
		values ($1, 0, 1, 'new', 1, 0, 'charge', 1, '', '{}')`, e.id)
	var found []string
	for range 6 {
		found = append(found, units(claim())...)
		now = now.Add(time.Second)
	}
	if len(found) != 2 {
		t.Errorf("found %v, want the late row and the new one", found)
	}
}
