package store_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/orrery-dev/orrery/shared/history"
	"github.com/orrery-dev/orrery/shared/store"
	"github.com/orrery-dev/orrery/shared/storetest"
)

// nodeTimeout and sessionTimeout are what the tests pass; they wait for neither, but move rows back in time.
const (
	nodeTimeout    = 5 * time.Second
	sessionTimeout = 30 * time.Second
)

// world is a database with one workflow, and stores on it.
type world struct {
	t          testing.TB
	url        string
	pool       *pgxpool.Pool // to look at rows, and to be somebody else
	db         *store.Store  // of a node: direct
	fn         *store.Store  // of a function: clean for a pooler
	sent       *statements   // by db
	definition history.DefinitionID
}

const namespace history.NamespaceID = 1

func newWorld(t testing.TB) *world {
	t.Helper()
	w := &world{t: t, url: storetest.URL(t), sent: &statements{}}
	config, err := pgxpool.ParseConfig(w.url)
	if err != nil {
		t.Fatal(err)
	}
	config.MaxConns = 20
	if w.pool, err = pgxpool.NewWithConfig(context.Background(), config); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.pool.Close)
	w.db = w.open(store.Options{Direct: true, MaxConns: 10, Tracer: w.sent})
	w.fn = w.open(store.Options{MaxConns: 10})
	d, _, err := w.db.Publish(context.Background(), store.Definition{
		Namespace: namespace, Name: "orders", Hash: strings.Repeat("a", 64), Document: []byte(`{}`),
	})
	if err != nil {
		t.Fatal(err)
	}
	w.definition = d.ID
	return w
}

func (w *world) open(o store.Options) *store.Store {
	w.t.Helper()
	s, err := store.Open(context.Background(), w.url, o)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(s.Close)
	return s
}

// exec runs a statement that no process of ours would send: to move time, to break things.
func (w *world) exec(sql string, args ...any) {
	w.t.Helper()
	if _, err := w.pool.Exec(context.Background(), sql, args...); err != nil {
		w.t.Fatalf("%s: %v", sql, err)
	}
}

// scan reads the one row of a query.
func (w *world) scan(sql string, args []any, into ...any) {
	w.t.Helper()
	if err := w.pool.QueryRow(context.Background(), sql, args...).Scan(into...); err != nil {
		w.t.Fatalf("%s: %v", sql, err)
	}
}

func (w *world) count(sql string, args ...any) int {
	w.t.Helper()
	var n int
	w.scan(sql, args, &n)
	return n
}

// want compares a count with what the test expects.
func (w *world) want(n int, sql string, args ...any) {
	w.t.Helper()
	if got := w.count(sql, args...); got != n {
		w.t.Errorf("%s %v: got %d, want %d", sql, args, got, n)
	}
}

// until waits until a count is reached.
func (w *world) until(n int, sql string, args ...any) {
	w.t.Helper()
	for range 1000 {
		if w.count(sql, args...) >= n {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	w.t.Fatalf("%s: never %d", sql, n)
}

// node is an incarnation that owns partitions.
type node struct {
	store.Joined
	epochs map[history.Partition]history.Epoch
}

// join brings a node up that owns the partitions 0 to n-1, taken from the one given or from nobody.
func (w *world) join(id string, n int, from history.FenceNumber) *node {
	w.t.Helper()
	j, err := w.db.Join(context.Background(), store.JoinRequest{Node: id, Behaviour: 1, Timeout: nodeTimeout})
	if err != nil {
		w.t.Fatal(err)
	}
	out := &node{Joined: j, epochs: map[history.Partition]history.Epoch{}}
	if n > 0 {
		w.take(out, from, n)
	}
	return out
}

func (w *world) take(by *node, from history.FenceNumber, n int) {
	w.t.Helper()
	held, err := w.db.Take(context.Background(), store.TakeRequest{By: by.Fence, From: from, Partitions: upTo(n), Timeout: nodeTimeout})
	if err != nil {
		w.t.Fatal(err)
	}
	if len(held) != n {
		w.t.Fatalf("took %d partitions, want %d", len(held), n)
	}
	for _, h := range held {
		by.epochs[h.Partition] = h.Epoch
	}
}

func upTo(n int) []history.Partition {
	out := make([]history.Partition, n)
	for i := range out {
		out[i] = history.Partition(i)
	}
	return out
}

// dies moves the node's last heartbeat back.
func (w *world) dies(n *node) {
	w.exec("update orrery.node set heartbeat_at = heartbeat_at - interval '1 minute' where fence = $1", n.Fence)
}

// commit commits items of a node.
func (w *world) commit(n *node, items ...store.Item) (store.Committed, error) {
	b := store.Batch{Fence: n.Fence, Items: items, Bells: store.Bells{From: n.Fence}}
	for _, it := range items {
		b.Bells.Add(it)
	}
	return w.db.Commit(context.Background(), b)
}

func (w *world) mustCommit(n *node, items ...store.Item) store.Committed {
	w.t.Helper()
	done, err := w.commit(n, items...)
	if err != nil {
		w.t.Fatal(err)
	}
	if done.BellsFailed != nil {
		w.t.Fatal(done.BellsFailed)
	}
	return done
}

// execution is one that a test has started, with the number of its last turn.
type execution struct {
	id        history.ExecutionID
	name      string
	partition history.Partition
	seq       history.Seq
}

// contract is what the tests' tasks ask for.
var contract = history.Contract{Task: "charge", Version: 1}

// offer makes the offer of an attempt of a unit.
func offer(unit string, attempt, number int) history.Offer {
	return history.Offer{
		RowRef:   history.RowRef{Unit: history.UnitKey(unit), Attempt: attempt, Offer: number},
		Contract: contract,
		Task:     history.Task{Input: []byte(`{"amount":1}`), IdempotencyKey: "key/" + unit},
	}
}

// first is the first turn of an execution of the workflow.
func (w *world) first(name string, p history.Partition, offers ...history.Offer) store.Item {
	return store.Item{
		Partition: p,
		Turn: &history.Turn{
			Seq: 1, At: 1_700_000_000_123, FirstEvent: 1, Offers: offers,
			Events: []history.Event{{Type: history.EventStarted, Scope: history.MainScope, Start: &history.Start{Name: name}}},
		},
		New: &store.NewExecution{Namespace: namespace, Name: name, Definition: w.definition, InputHash: []byte(name)},
	}
}

// start starts an execution as a function does.
func (w *world) start(name string, p history.Partition, offers ...history.Offer) *execution {
	w.t.Helper()
	s, err := w.fn.Start(context.Background(), w.first(name, p, offers...))
	if err != nil {
		w.t.Fatal(err)
	}
	if s.Existing != nil {
		w.t.Fatalf("the name %s is taken", name)
	}
	return &execution{s.Execution, name, p, 1}
}

// turn makes the execution's next turn with one event, under the node's epoch; more says what else is in it.
func (e *execution) turn(n *node, more func(*history.Turn)) store.Item {
	t := &history.Turn{
		Execution: e.id, Seq: e.seq + 1, At: 1_700_000_001_000, FirstEvent: history.EventID(e.seq) + 1,
		Events: []history.Event{{Type: history.EventExited, Scope: history.MainScope}},
	}
	if more != nil {
		more(t)
	}
	return store.Item{Partition: e.partition, Epoch: n.epochs[e.partition], Turn: t}
}

// end is a turn that ends the execution.
func end(t *history.Turn) { t.End = &history.End{Status: history.Succeeded, Output: []byte(`1`)} }

// session registers a worker that does the contract.
func (w *world) session(worker string) store.Session {
	w.t.Helper()
	s, err := w.fn.Register(context.Background(), store.Registration{
		Namespace: namespace, Worker: worker, Language: "go", Contracts: []history.Contract{contract},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

func poll(s store.Session, id string, most int) store.Poll {
	return store.Poll{
		ID: id, Session: s.ID, Worker: s.Worker, Namespace: namespace, Language: s.Language, Contracts: s.Contracts, Max: most,
	}
}

// claim claims as a function does.
func (w *world) claim(s store.Session, id string, most int) []store.Claimed {
	w.t.Helper()
	got, err := w.fn.Claim(context.Background(), store.ClaimRequest{Polls: []store.Poll{poll(s, id, most)}})
	if err != nil {
		w.t.Fatal(err)
	}
	return got.Tasks
}

func complete(e *execution, r history.RowRef, s store.Session) store.Report {
	return store.Report{
		Kind: history.KindComplete, Execution: e.id, Row: r, Session: s.ID, Worker: s.Worker, Output: []byte(`{"ok":true}`),
	}
}

// report reports as a function does.
func (w *world) report(rs ...store.Report) []store.ReportOutcome {
	w.t.Helper()
	out, err := w.fn.Report(context.Background(), rs)
	if err != nil {
		w.t.Fatal(err)
	}
	return out
}

func (w *world) inbox(ps ...history.Partition) []store.Entry {
	w.t.Helper()
	out, err := w.db.Inbox(context.Background(), store.InboxQuery{Partitions: ps, Limit: 100})
	if err != nil {
		w.t.Fatal(err)
	}
	return out
}

// consume applies an entry without a reply.
func consume(t *history.Turn, entries ...store.Entry) {
	for _, e := range entries {
		t.Consumed = append(t.Consumed, history.Consumed{ID: e.ID})
	}
}

// wantCommitError checks the kind of a failed commit and whom it names.
func wantCommitError(t testing.TB, err error, kind store.CommitKind, executions ...history.ExecutionID) *store.CommitError {
	t.Helper()
	failed, ok := err.(*store.CommitError)
	if !ok {
		t.Fatalf("got %v, want a *CommitError", err)
	}
	if failed.Kind != kind || fmt.Sprint(failed.Executions) != fmt.Sprint(executions) {
		t.Fatalf("got %v, want kind %v of executions %v", failed, kind, executions)
	}
	return failed
}

// statements counts what a store sends.
type statements struct {
	mu     sync.Mutex
	trips  int
	single []string
}

func (s *statements) add(sql string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.single = append(s.single, sql)
}

func (s *statements) TraceQueryStart(ctx context.Context, _ *pgx.Conn, d pgx.TraceQueryStartData) context.Context {
	s.mu.Lock()
	s.trips++
	s.mu.Unlock()
	s.add(d.SQL)
	return ctx
}

func (s *statements) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

func (s *statements) TraceBatchStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	s.mu.Lock()
	s.trips++
	s.mu.Unlock()
	return ctx
}

func (s *statements) TraceBatchQuery(_ context.Context, _ *pgx.Conn, d pgx.TraceBatchQueryData) {
	s.add(d.SQL)
}

func (s *statements) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData) {}

// during returns the round trips and the statements, BEGIN and COMMIT not counted, that f sends.
func (s *statements) during(f func()) (trips int, sent []string) {
	s.mu.Lock()
	s.trips, s.single = 0, nil
	s.mu.Unlock()
	f()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, sql := range s.single {
		if !strings.HasPrefix(sql, "begin") && sql != "commit" {
			sent = append(sent, sql)
		}
	}
	return s.trips, sent
}

// ctx is the test's own, with an end that is far beyond what anything takes.
func ctx(t testing.TB) context.Context {
	c, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	return c
}
