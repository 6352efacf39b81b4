package store_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/orrery-dev/orrery/shared/pgserver"
	"github.com/orrery-dev/orrery/shared/store"
)

// through opens a proxy in front of the database.
func (w *world) through() *pgserver.Proxy {
	w.t.Helper()
	p, err := pgserver.NewProxy(w.url)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		if err := p.Close(); err != nil {
			w.t.Error(err)
		}
	})
	return p
}

// TestSilentDatabase: a server that falls silent with its connections open holds nobody up for ever. A write may have
// happened, a read may be made again; what comes later goes over new connections.
func TestSilentDatabase(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	n := w.join("n1", 1, 0)
	e := w.start("e", 0)
	proxy := w.through()
	s, err := store.Open(context.Background(), proxy.URL(), store.Options{Direct: true, MaxConns: 3, AnswerTimeout: 300 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	commit := func() error {
		_, err := s.Commit(ctx(t), store.Batch{Fence: n.Fence, Items: []store.Item{e.turn(n, nil)}})
		return err
	}
	if err := commit(); err != nil {
		t.Fatal(err)
	}
	e.seq = 2

	proxy.Mute()
	wantCommitError(t, commit(), store.Unknown)
	w.until(3, "select last_seq from orrery.execution")
	if _, _, err := s.Partitions(ctx(t)); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("a read: %v, want ErrUnavailable", err)
	}
	if err := s.Leave(ctx(t), n.Fence); !errors.Is(err, store.ErrOutcomeUnknown) && !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("a write: %v, want ErrOutcomeUnknown", err)
	}
	for _, err := range []error{commit(), commit()} {
		if errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v is taken for the caller's deadline", err)
		}
	}
	proxy.Heal()
	if _, _, err := s.Partitions(ctx(t)); err != nil {
		t.Errorf("a read after the silence: %v", err)
	}
}

// TestExhaustedPool: who finds no free connection is told to come again, and nothing was sent for him.
func TestExhaustedPool(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	n := w.join("n1", 1, 0)
	e, f := w.start("e", 0), w.start("f", 0)
	one := store.Options{Direct: true, MaxConns: 1, AcquireTimeout: 100 * time.Millisecond}
	s, open := w.heldWith(w.url, 7, one)
	for late := time.Now().Add(20 * time.Second); ; { // a slow machine needs longer for the connection itself
		_, _, err := s.Partitions(ctx(t))
		if err == nil {
			break
		}
		if time.Now().After(late) {
			t.Fatal(err)
		}
	}
	first := make(chan error, 1)
	go func() {
		_, err := s.Commit(ctx(t), store.Batch{Fence: n.Fence, Items: []store.Item{e.turn(n, nil)}})
		first <- err
	}()
	w.waits(gateClass)
	_, err := s.Commit(ctx(t), store.Batch{Fence: n.Fence, Items: []store.Item{f.turn(n, nil)}})
	wantCommitError(t, err, store.Unavailable)
	if _, _, err := s.Partitions(ctx(t)); !errors.Is(err, store.ErrUnavailable) || errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a read: %v, want ErrUnavailable alone", err)
	}
	if _, err := s.Reply(ctx(t), store.EntryRef{Execution: e.id, ID: 1}); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("a write: %v, want ErrUnavailable", err)
	}
	open()
	if err := <-first; err != nil {
		t.Error(err)
	}
	w.want(1, "select count(*) from orrery.execution where last_seq = 2")
}
