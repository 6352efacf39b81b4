package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"github.com/orrery-dev/orrery/shared/store"
	"github.com/orrery-dev/orrery/shared/wire"
)

// checker compares what clients and workers know with what the system says, once it is at rest.
type checker struct {
	*clients

	clean bool // see options

	mu    sync.Mutex
	units map[visit]work // of all histories
}

// visit is a unit of an execution.
type visit struct{ execution, unit string }

// work is what the history says of a task. It is scheduled once for each attempt.
type work struct{ scheduled, succeeded, redelivered int }

// endWithin is how long everything may take to end once the harm is over.
const endWithin = 2 * time.Minute

func (k *checker) check(ctx context.Context, list []one, stopWork func() error) error {
	for _, n := range k.stack.Nodes {
		if err := n.WaitReady(ctx); err != nil {
			k.report.breach("%v", err)
		}
	}
	if err := k.awaitEnds(ctx); err != nil {
		return err
	}
	if err := k.executions(ctx, list); err != nil {
		return err
	}
	if err := k.effects(ctx); err != nil {
		return err
	}
	k.endStaying(ctx, list)
	if err := stopWork(); err != nil {
		k.report.breach("%v", err)
	}
	return k.leftovers(ctx)
}

// awaitEnds waits until only those run that stay. Of those that hang it shows what the queue and the inbox have.
func (k *checker) awaitEnds(ctx context.Context) error {
	return k.await(ctx, endWithin, func(ctx context.Context, db *pgx.Conn) (string, error) {
		var running int
		var some string
		err := db.QueryRow(ctx, `
			select count(*), coalesce(string_agg(e'\n' || to_jsonb(e)::text
				|| coalesce((select string_agg(e'\n  task ' || to_jsonb(t)::text, '') from orrery.task t where t.execution = e.id), '')
				|| coalesce((select string_agg(e'\n  entry ' || to_jsonb(i)::text, '') from orrery.inbox i where i.execution = e.id), ''),
				'') filter (where place <= 3), '')
			from (select id, name, partition, last_seq, wake_at, row_number() over (order by id) as place from orrery.execution
			      where status = 1 and name not like 'stays-%') e`).Scan(&running, &some)
		if err != nil || running == 0 {
			return "", err
		}
		return fmt.Sprintf("%d executions are still running, such as%s", running, some), nil
	})
}

// await waits until look finds nothing, and says what it found last as a breach when that takes too long.
func (k *checker) await(ctx context.Context, within time.Duration, look func(context.Context, *pgx.Conn) (string, error)) error {
	db, err := pgx.Connect(ctx, k.server.URL("postgres"))
	if err != nil {
		return err
	}
	defer db.Close(context.WithoutCancel(ctx))
	// The database ends statements of the engine's roles soon; these look at everything.
	if _, err := db.Exec(ctx, "set statement_timeout = 0"); err != nil {
		return err
	}
	for late := time.Now().Add(within); ; {
		found, err := look(ctx, db)
		switch {
		case err != nil:
			return err
		case found == "":
			return nil
		case time.Now().After(late):
			k.report.breach("after %v %s", within, found)
			return nil
		}
		if !pause(ctx, 200*time.Millisecond) {
			return context.Cause(ctx)
		}
	}
}

// executions checks each execution with what its clients were told.
func (k *checker) executions(ctx context.Context, list []one) error {
	told := map[string]map[string][]string{}
	for _, call := range []string{callStart, callSignal, callNote, callCancel} {
		var err error
		if told[call], err = k.ledger.acknowledged(ctx, call); err != nil {
			return err
		}
	}
	k.report.starts, k.report.cancels = len(told[callStart]), len(told[callCancel])
	k.report.signals = len(told[callSignal]) + len(told[callNote])
	k.report.answers, k.report.temporary = k.ledger.answers.Load(), k.ledger.temporary.Load()
	var g errgroup.Group
	g.SetLimit(8)
	for _, x := range list {
		g.Go(func() error { return k.execution(ctx, x, told) })
	}
	return g.Wait()
}

func (k *checker) execution(ctx context.Context, x one, told map[string]map[string][]string) error {
	var d wire.ExecutionDetail
	if err := k.read(ctx, wire.Path("executions", x.name), &d); err != nil {
		if errors.Is(err, &wire.Error{Code: wire.ExecutionNotFound}) {
			if len(told[callStart][x.name]) > 0 {
				k.report.breach("the start of %s was acknowledged, and it is not there", x.name)
			}
			return nil
		}
		return err
	}
	k.outcome(x, d)
	events, err := k.history(ctx, x.name, d.Status.Ended())
	if err != nil {
		return err
	}
	received := map[string]int{}
	child := ""
	for _, e := range events {
		var data struct {
			Input  json.RawMessage
			Output struct{ ExecutionArn string }
		}
		_ = json.Unmarshal(e.Data, &data) // other events have other members
		switch {
		case e.Type == "SignalReceived":
			received[string(data.Input)]++
		case strings.HasSuffix(e.Type, "Submitted"):
			child = data.Output.ExecutionArn
		}
	}
	for _, call := range []string{callSignal, callNote} {
		for _, payload := range told[call][x.name] {
			if received[payload] == 0 {
				k.report.breach("a signal to %s was acknowledged, and is not in its history", x.name)
			}
		}
	}
	for payload, n := range received {
		if n > 1 {
			k.report.breach("the signal %s is %d times in the history of %s", payload, n, x.name)
		}
	}
	if x.kind == "child" {
		return k.child(ctx, x, child)
	}
	return nil
}

// outcome checks how an execution stands.
func (k *checker) outcome(x one, d wire.ExecutionDetail) {
	want := map[string]wire.Status{"stays": wire.Running, "cancel": wire.Cancelled}[x.kind]
	if want == "" {
		want = wire.Succeeded
	}
	if d.Status != want || d.Blocked {
		k.report.breach("%s is %s (blocked: %v) with error %+v, want %s", x.name, d.Status, d.Blocked, d.Error, want)
	}
	if want == wire.Succeeded && string(d.Output) != fmt.Sprint(x.number) {
		k.report.breach("%s has the output %s, want %d", x.name, d.Output, x.number)
	}
}

// child checks the execution that another one has started.
func (k *checker) child(ctx context.Context, x one, arn string) error {
	name := arn[strings.IndexByte(arn, '/')+1:]
	var d wire.ExecutionDetail
	if err := k.read(ctx, wire.Path("executions", name), &d); err != nil {
		return fmt.Errorf("child %q of %s: %w", arn, x.name, err)
	}
	if d.Status != wire.Succeeded {
		k.report.breach("child %s of %s is %s", name, x.name, d.Status)
	}
	_, err := k.history(ctx, name, true)
	return err
}

// history reads a whole history, checks its form and notes its tasks.
func (k *checker) history(ctx context.Context, name string, ended bool) ([]wire.Event, error) {
	var all []wire.Event
	for next := ""; ; {
		var p wire.HistoryPage
		if err := k.read(ctx, wire.Path("executions", name, "history")+"?limit=1000&cursor="+next, &p); err != nil {
			return nil, err
		}
		all = append(all, p.Events...)
		if next = p.Next; next == "" {
			break
		}
	}
	if fault := malformed(all, ended); fault != "" {
		k.report.breach("history of %s: %s", name, fault)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.report.histories++
	k.report.events += len(all)
	for _, e := range all {
		var data struct{ ResourceType string }
		_ = json.Unmarshal(e.Data, &data)
		at := visit{name, e.Unit}
		w := k.units[at]
		switch {
		case e.Type == "TaskScheduled" && data.ResourceType == "task":
			if w.scheduled++; w.scheduled > 1 {
				k.report.retries++
			}
		case e.Type == "TaskSucceeded" && data.ResourceType == "task":
			w.succeeded++
		case e.Type == "TaskRedelivered":
			w.redelivered++
			k.report.redeliveries++
		default:
			continue
		}
		k.units[at] = w
	}
	return all, nil
}

var endings = []string{"ExecutionSucceeded", "ExecutionFailed", "ExecutionTimedOut", "ExecutionAborted"}

// malformed tells what is wrong with a history: events and turns are numbered from 1 without gaps, it begins once, and it
// ends once where the execution has ended, with that.
func malformed(events []wire.Event, ended bool) string {
	var turn int64
	for i, e := range events {
		if e.ID != int64(i)+1 {
			return fmt.Sprintf("event %d is number %d", i+1, e.ID)
		}
		if e.Turn != turn && e.Turn != turn+1 {
			return fmt.Sprintf("turn %d comes after turn %d", e.Turn, turn)
		}
		if turn = e.Turn; (e.Type == "ExecutionStarted") != (i == 0) {
			return fmt.Sprintf("event %d is %s", e.ID, e.Type)
		}
		if slices.Contains(endings, e.Type) && i != len(events)-1 {
			return fmt.Sprintf("%s is event %d of %d", e.Type, e.ID, len(events))
		}
	}
	if len(events) == 0 || ended != slices.Contains(endings, events[len(events)-1].Type) {
		return "the last event does not tell whether it has ended"
	}
	return ""
}

// effects compares the ledger with the histories: every task that succeeded had its effect, and an effect was had again only
// by a redelivery or another attempt that is recorded.
func (k *checker) effects(ctx context.Context) error {
	rows, err := k.ledger.byUnit(ctx)
	if err != nil {
		return err
	}
	for _, x := range rows {
		at := visit{x.Execution, x.Unit}
		w, known := k.units[at]
		k.report.keys, k.report.effects = k.report.keys+x.Keys, k.report.effects+x.Effects
		switch {
		case !known || w.scheduled == 0:
			k.report.breach("%v had an effect and is in no history", at)
		case x.Keys != 1:
			k.report.breach("%v had its effect under %d idempotency keys", at, x.Keys)
		case x.Effects != x.Deliveries:
			k.report.breach("%v: a hand-out was delivered twice: %s", at, x.Each)
		case x.Effects > w.scheduled+w.redelivered:
			k.report.breach("%v had an effect too often, with %d attempts and %d redeliveries recorded: %s", at, w.scheduled, w.redelivered, x.Each)
		}
		delete(k.units, at)
	}
	for at, w := range k.units {
		if w.succeeded > 0 {
			k.report.breach("%v succeeded and had no effect", at)
		}
	}
	return nil
}

// endStaying cancels what stays, so that nothing may be left of it.
func (k *checker) endStaying(ctx context.Context, list []one) {
	for _, x := range list {
		if x.kind == "stays" {
			x.way = k.ways[0]
			k.insist(ctx, x, callCancel, "", wire.Path("executions", x.name, "cancel"), nil, wire.CancelRequest{Reason: "over"})
		}
	}
}

// read makes a read until it is answered.
func (k *checker) read(ctx context.Context, path string, answer any) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		_, err := k.ways[0].Call(ctx, "GET", path, nil, nil, answer)
		if err == nil || !wire.Temporary(err) || !pause(ctx, again(err)) {
			return err
		}
	}
}

// leftWithin is how long what nobody needs may stay: replies for a minute, and until the cleaner comes.
const leftWithin = 100 * time.Second

// left are what must be gone when every execution has ended and every worker has gone. Answered entries whose sender has
// not come for the answer have their time still.
var left = []struct{ what, sql string }{
	{"executions that run", "select count(*) from orrery.execution where status = 1"},
	{"blocked executions", "select count(*) from orrery.blocked"},
	{"tasks", "select count(*) from orrery.task"},
	{"open entries", "select count(*) from orrery.inbox where answered_at is null"},
	{"replies past their time", "select count(*) from orrery.inbox where answered_at < now() - interval '95 seconds'"},
	{"sessions", "select count(*) from orrery.session"},
	{"debts", "select count(*) from orrery.debt"},
	{"wake-up times", "select count(*) from orrery.execution where status <> 1 and wake_at is not null"},
	{"advisory locks", "select count(*) from pg_locks where locktype = 'advisory'"},
	{"transactions", "select count(*) from pg_stat_activity where state like 'idle in transaction%'"},
	{"prepared transactions", "select count(*) from pg_prepared_xacts"},
	{"nodes that own without living", "select count(*) from orrery.partition p join orrery.node n on n.fence = p.fence where n.ended is not null"},
}

// cleaner does what nodes do every half minute, where that shall not be waited for: closed sessions go then, with what else nobody
// needs any more. Whatever it must not touch stays.
func (k *checker) cleaner(ctx context.Context) (clean func(context.Context) error, done func(), err error) {
	if !k.clean {
		return func(context.Context) error { return nil }, func() {}, nil
	}
	db, err := store.Open(ctx, k.server.URL("postgres"), store.Options{MaxConns: 1, Application: "chaos"})
	if err != nil {
		return nil, nil, err
	}
	return func(ctx context.Context) error {
		_, err := db.Clean(ctx, store.Cleaning{SessionTimeout: sessionTimeout, Limit: 1000})
		return err
	}, db.Close, nil
}

func (k *checker) leftovers(ctx context.Context) error {
	clean, done, err := k.cleaner(ctx)
	if err != nil {
		return err
	}
	defer done()
	return k.await(ctx, leftWithin, func(ctx context.Context, db *pgx.Conn) (string, error) {
		if err := clean(ctx); err != nil {
			return "", err
		}
		var found []string
		for _, l := range left {
			var n int
			if err := db.QueryRow(ctx, l.sql).Scan(&n); err != nil {
				return "", fmt.Errorf("count %s: %w", l.what, err)
			}
			if n > 0 {
				found = append(found, fmt.Sprintf("%d %s", n, l.what))
			}
		}
		if len(found) == 0 {
			return "", nil
		}
		return "there are left over: " + strings.Join(found, ", "), nil
	})
}
