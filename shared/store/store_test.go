package store_test

import (
	"context"
	"errors"
	"testing"

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
	w := newWorld(t)
	poison := offer("A", 1, 0)
	poison.Task.Input = []byte("\xff")
	if _, err := w.fn.Start(ctx(t), w.first("one", 0, poison)); !errors.Is(err, store.ErrRefused) {
		t.Errorf("start: %v, want ErrRefused", err)
	}
	w.want(0, "select count(*) from orrery.execution")
}
