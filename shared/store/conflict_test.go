package store_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/orrery-dev/orrery/shared/history"
	"github.com/orrery-dev/orrery/shared/store"
)

// waitsForRow waits until a session of the database waits for a row that another one has locked.
func (w *world) waitsForRow() {
	w.t.Helper()
	w.until(1, `select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and wait_event = 'transactionid'`)
}

// somebodyElse begins a transaction of a session that is none of ours, and that waits for longer than any of ours before it looks
// for a deadlock.
func (w *world) somebodyElse() pgx.Tx {
	w.t.Helper()
	tx, err := w.pool.Begin(ctx(w.t))
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { tx.Rollback(ctx(w.t)) })
	w.in(tx, "set local deadlock_timeout = '30s'")
	return tx
}

func (w *world) in(tx pgx.Tx, sql string, args ...any) {
	w.t.Helper()
	if _, err := tx.Exec(ctx(w.t), sql, args...); err != nil {
		w.t.Fatalf("%s: %v", sql, err)
	}
}

// code is the SQLSTATE of an error, empty for none.
func code(err error) string {
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		return pg.Code
	}
	return ""
}

// TestDeadlock lets reports of two tasks meet somebody who locks the rows in the other order. The database gives up the reports: both
// are as if they had never been sent, and are accepted when they are sent again.
func TestDeadlock(t *testing.T) {
	w := newWorld(t)
	// Long enough for the other session to want its second row before ours looks for a deadlock, also on a slow machine.
	w.exec(`do $$ begin
		execute format('alter database %I set deadlock_timeout = ''3s''', current_database());
	end $$`)
	w.fn = w.open(store.Options{MaxConns: 2})
	s := w.session("w")
	for try := range 5 { // where the other session is too slow, the database gives up that one
		var reports []store.Report
		for _, name := range []string{"e", "f"} {
			e := w.start(fmt.Sprint(name, try), 0, offer("A", 1, 0))
			reports = append(reports, store.Report{
				Kind: history.KindComplete, Execution: e.id, Row: offer("A", 1, 0).RowRef, Session: s.ID, Worker: "w", Output: []byte("1"),
			})
		}
		before := w.count("select count(*) from orrery.inbox")
		ours, other := w.deadlock(reports)
		if other != nil && ours == nil {
			continue
		}
		if !errors.Is(ours, store.ErrConflict) || code(ours) != "40P01" {
			t.Fatalf("%v, want a deadlock as a conflict; the other session: %v", ours, other)
		}
		w.want(before, "select count(*) from orrery.inbox")
		w.want(0, "select count(*) from orrery.task where state = 'done' and execution = $1", reports[0].Execution)
		for _, o := range w.report(reports...) {
			if o != store.ReportAccepted {
				t.Errorf("the same report again is %s", o)
			}
		}
		return
	}
	t.Fatal("the reports have met no deadlock")
}

// deadlock sends the two reports while somebody has locked the row of the second one and then wants that of the first.
func (w *world) deadlock(reports []store.Report) (ours, other error) {
	w.t.Helper()
	const lock = "select from orrery.task where execution = $1 for update"
	tx := w.somebodyElse()
	w.in(tx, lock, reports[1].Execution)
	answer := make(chan error, 1)
	go func() {
		_, err := w.fn.Report(ctx(w.t), reports)
		answer <- err
	}()
	w.waitsForRow()
	_, other = tx.Exec(ctx(w.t), lock, reports[0].Execution)
	tx.Rollback(ctx(w.t))
	return <-answer, other
}

// TestSerialisationFailure: where the database's default isolation is serializable, statements that run by themselves can fail by
// what others commit meanwhile. They are conflicts, which are tried again; transactions name the level that they need, and do not fail.
func TestSerialisationFailure(t *testing.T) {
	w := newWorld(t)
	w.exec(`do $$ begin
		execute format('alter database %I set default_transaction_isolation = ''serializable''', current_database());
	end $$`)
	n := w.join("n1", 1, 0)
	e := w.start("e", 0, offer("A", 1, 0))
	s := w.session("w")
	strict := w.open(store.Options{MaxConns: 2}) // its connections have the new default
	if err := strict.AwaitEnd(ctx(t), n.Fence, e.id); err != nil {
		t.Fatal(err)
	}
	during := func(change string, call func() error) error {
		tx := w.somebodyElse()
		w.in(tx, change)
		answer := make(chan error, 1)
		go func() { answer <- call() }()
		w.waitsForRow()
		if err := tx.Commit(ctx(t)); err != nil {
			t.Fatal(err)
		}
		return <-answer
	}
	await := func() error { return strict.AwaitEnd(ctx(t), n.Fence, e.id) }
	if err := during("update orrery.end_flag set raised_at = raised_at - interval '1 s'", await); !errors.Is(err, store.ErrConflict) || code(err) != "40001" {
		t.Errorf("%v, want a serialisation failure as a conflict", err)
	}
	if err := await(); err != nil {
		t.Errorf("again: %v", err)
	}
	report := func() error {
		out, err := strict.Report(ctx(t), []store.Report{{
			Kind: history.KindComplete, Execution: e.id, Row: offer("A", 1, 0).RowRef, Session: s.ID, Worker: "w", Output: []byte("1"),
		}})
		if err == nil && out[0] != store.ReportAccepted {
			t.Errorf("the report is %s", out[0])
		}
		return err
	}
	if err := during("update orrery.task set rank = rank", report); err != nil {
		t.Errorf("a report during a change of its row: %v", err)
	}
	w.want(1, "select count(*) from orrery.inbox where kind = 'complete'")
}
