package pgserver

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// TestProxy does to a connection all that the proxy can.
func TestProxy(t *testing.T) {
	t.Parallel()
	s := start(t, Options{Volatile: true})
	p, err := NewProxy(s.URL("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	direct, through := connect(t, s.URL("postgres")), connect(t, p.URL())
	execute(t, direct, "create table noted (n int)")
	note := func(n int) chan error {
		answer := make(chan error, 1)
		go func() {
			_, err := through.Exec(context.Background(), "insert into noted values ($1)", pgx.QueryExecModeSimpleProtocol, n)
			answer <- err
		}()
		return answer
	}
	noted := func() int { return query[int](t, direct, "select coalesce(max(n), 0) from noted") }
	unanswered := func(answer chan error) {
		t.Helper()
		select {
		case err := <-answer:
			t.Fatalf("a statement was answered with %v", err)
		case <-time.After(100 * time.Millisecond):
		}
	}
	awaitNoted := func(n int) {
		t.Helper()
		for late := time.Now().Add(10 * time.Second); noted() != n; time.Sleep(time.Millisecond) {
			if time.Now().After(late) {
				t.Fatalf("%d was noted, want %d", noted(), n)
			}
		}
	}

	p.Silence()
	first := note(1)
	unanswered(first)
	if noted() != 0 {
		t.Fatal("a statement has reached the server through silence")
	}
	p.Heal()
	if err := <-first; err != nil {
		t.Fatal(err)
	}
	p.Mute()
	second := note(2)
	awaitNoted(2)
	unanswered(second)
	p.Cut()
	if err := <-second; err == nil {
		t.Error("a connection that was cut has answered")
	}
	if conn, err := pgx.Connect(t.Context(), p.URL()); err == nil {
		conn.Close(t.Context())
		t.Error("a proxy that is cut lets a client in")
	}
	p.Heal()
	through = connect(t, p.URL())

	// The server goes on with what had arrived whole.
	third := note(3)
	if err := <-third; err != nil {
		t.Fatal(err)
	}
	slow := make(chan error, 1)
	execute(t, direct, "begin; lock table noted")
	go func() {
		_, err := through.Exec(context.Background(), "insert into noted values (4)", pgx.QueryExecModeSimpleProtocol)
		slow <- err
	}()
	for late := time.Now().Add(10 * time.Second); query[int](t, direct, "select count(*) from pg_locks where not granted") == 0; {
		if time.Now().After(late) {
			t.Fatal("the statement does not wait")
		}
	}
	p.Cut()
	if err := <-slow; err == nil {
		t.Error("a connection that was cut has answered")
	}
	execute(t, direct, "commit")
	awaitNoted(4)
}
