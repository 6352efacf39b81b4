package store_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/orrery-dev/orrery/shared/history"
	"github.com/orrery-dev/orrery/shared/store"
)

// cleaning says for every table what keeps it from growing for ever. byExecution marks those that go with their execution,
// which TestNothingOutlivesItsExecution shows.
const byExecution = "with the execution, by expire"

var cleaning = map[string]string{
	"execution": byExecution,
	"attribute": byExecution,
	"blocked":   byExecution,
	"task":      byExecution + "; before that with its unit (settle), or a minute after the end (clean_tasks)",
	"inbox":     byExecution + "; before that with its turn (consume), or a minute after the answer (clean_replies)",
	"history":   byExecution + " where it was moved, else its day is dropped (drop_day)",
	"snapshot":  byExecution + " where it was moved, else its day is dropped (drop_day)",

	"idempotency_key": "a day after the request, by clean_keys",
	"end_flag":        "after 5 minutes, by clean_end_flags",
	"queue_flag":      "after 5 minutes, by clean_queue_flags",
	"debt":            "when it is paid, or with its incarnation's last partition, by paid and clean_debts",
	"session":         "when it is deregistered, or silent for 4 timeouts, by clean_sessions",
	"node":            "silent for an hour, by clean_nodes",
	"active":          "rows of ended incarnations, and of namespaces without a limit, by count_active",

	"occurrence":     "after the retention of its schedule, by clean_occurrences",
	"trace":          "with its occurrence",
	"dead_letter":    "with its occurrence",
	"schedule_event": "after 90 days, by clean_events",

	"cluster":           "one row",
	"generation":        "one row for each name",
	"partition":         "their number is fixed",
	"migration":         "one row for each file",
	"namespace":         "made by people",
	"definition":        "made by people: executions and replays name versions",
	"alias":             "made by people",
	"contract":          "made by people",
	"schedule":          "made by people",
	"schedule_document": "made by people: one row for each version",
	"singleton":         "one row for each key, so that its fencing tokens only grow",
}

// TestEveryTableIsCleaned: no table is without a word on how it is cleaned.
func TestEveryTableIsCleaned(t *testing.T) {
	w := newWorld(t)
	rows, err := w.pool.Query(ctx(t), `select c.relname::text from pg_class c
		where c.relnamespace = 'orrery'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition`)
	if err != nil {
		t.Fatal(err)
	}
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range tables {
		if cleaning[table] == "" {
			t.Errorf("nothing says how the table %s is cleaned", table)
		}
	}
	for table := range cleaning {
		if !slices.Contains(tables, table) {
			t.Errorf("there is no table %s", table)
		}
	}
}

// TestNothingOutlivesItsExecution: when an execution that has left rows in every table is kept no longer, its day is dropped and
// the cleaner has been there, no table names it any more.
func TestNothingOutlivesItsExecution(t *testing.T) {
	w := newWorld(t)
	n := w.join("n", 1, 0)
	s := w.session("w")
	it := w.first("gone", 0, offer("A", 1, 0), offer("B", 1, 0), offer("C", 1, 0))
	it.New.Attributes = []store.Attribute{{Name: "customer", Value: `"c7"`}}
	started, err := w.fn.Start(ctx(t), it)
	if err != nil {
		t.Fatal(err)
	}
	e := &execution{started.Execution, "gone", 0, 1}
	w.claim(s, "p", 1)
	sent, err := w.fn.Send(ctx(t), store.Message{Namespace: namespace, Name: "gone", Key: "k", Command: history.Command{Kind: history.KindSignal, Signal: "go"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.db.AwaitEnd(ctx(t), n.Fence, e.id); err != nil {
		t.Fatal(err)
	}
	if err := w.db.Block(ctx(t), n.Fence, store.Held{Partition: 0, Epoch: n.epochs[0]}, e.id, "it hurts"); err != nil {
		t.Fatal(err)
	}
	w.mustCommit(n, e.turn(n, func(t *history.Turn) {
		end(t)
		t.Snapshot = []byte("state")
		t.Consumed = []history.Consumed{{ID: sent.Entry.ID, Reply: &history.Reply{Outcome: history.Applied, Event: 2}}}
	}))
	w.exec("insert into orrery.debt (fence, origin, executions) values (999, 999, array[$1::bigint])", int64(e.id))

	rows, err := w.pool.Query(ctx(t), `select a.attrelid::regclass::text || case when a.attname = 'executions' then ' where $1 = any (executions)'
			else ' where ' || a.attname || ' = $1' end
		from pg_attribute a join pg_class c on c.oid = a.attrelid
		where c.relnamespace = 'orrery'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
		  and (a.attname in ('execution', 'executions') or c.relname = 'execution' and a.attname = 'id')
		order by 1`)
	if err != nil {
		t.Fatal(err)
	}
	places, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	count := func(place string) int {
		t.Helper()
		return w.count("select count(*) from "+place, int64(e.id))
	}
	// Occurrences and their traces name what they have started, for as long as their schedule keeps them.
	ofSchedules := []string{"orrery.occurrence", "orrery.trace"}
	var named []string
	for _, place := range places {
		if count(place) > 0 {
			named = append(named, place)
		} else if !slices.ContainsFunc(ofSchedules, func(s string) bool { return place == s+" where execution = $1" }) {
			t.Errorf("the test leaves nothing in %s", place)
		}
	}

	day := w.longAgo(e, 40)
	w.exec("update orrery.execution set ended_at = now() - interval '39 days' where id = $1", int64(e.id))
	w.exec("update orrery.namespace set retention_days = 30")
	w.exec("update orrery.idempotency_key set expires_at = now()")
	w.exec("update orrery.end_flag set raised_at = now() - interval '1 hour'")
	if got, err := w.db.Expire(ctx(t), store.Expiry{Window: 100}); err != nil || got.Removed != 1 {
		t.Fatalf("%+v, %v", got, err)
	}
	if dropped, err := w.db.DropDay(ctx(t), day); err != nil || !dropped {
		t.Errorf("dropped %v, %v", dropped, err)
	}
	if _, err := w.db.Clean(ctx(t), store.Cleaning{SessionTimeout: time.Hour, Limit: 100}); err != nil {
		t.Fatal(err)
	}
	for _, place := range named {
		if n := count(place); n != 0 {
			t.Errorf("%s: %d rows have outlived their execution", fmt.Sprint(place), n)
		}
	}
}
