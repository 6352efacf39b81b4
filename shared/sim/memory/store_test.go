package memory_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/orrery-dev/orrery/shared/history"
	"github.com/orrery-dev/orrery/shared/node"
	"github.com/orrery-dev/orrery/shared/sim/memory"
	"github.com/orrery-dev/orrery/shared/store"
	"github.com/orrery-dev/orrery/shared/storetest"
)

// database is what nodes and functions use, be it in memory or in PostgreSQL.
type database interface {
	node.Store
	node.Membership
}

// world is one of the two, with a workflow.
type world struct {
	t          *testing.T
	db         database
	advance    func(time.Duration) // moves the clock
	definition history.DefinitionID
}

const (
	nodeTimeout    = 5 * time.Second
	sessionTimeout = 30 * time.Second
)

var (
	ctx      = context.Background()
	contract = history.Contract{Task: "charge", Version: 1}
)

// onBoth runs a test on the store in memory and on PostgreSQL: what it shows holds for both.
func onBoth(t *testing.T, test func(*world)) {
	t.Run("memory", func(t *testing.T) {
		m := memory.New(memory.Options{})
		test(newWorld(t, m, m.Advance))
	})
	t.Run("postgres", func(t *testing.T) {
		var shift time.Duration
		db, err := store.Open(ctx, storetest.URL(t), store.Options{Direct: true, Now: func() time.Time { return time.Now().Add(shift) }})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(db.Close)
		test(newWorld(t, db, func(d time.Duration) { shift += d }))
	})
}

func newWorld(t *testing.T, db database, advance func(time.Duration)) *world {
	w := &world{t: t, db: db, advance: advance}
	d, created, err := db.Publish(ctx, store.Definition{Namespace: 1, Name: "orders", Hash: strings.Repeat("a", 64), Document: []byte("{}")})
	if err != nil || !created {
		t.Fatalf("publish: %v, %v", created, err)
	}
	w.definition = d.ID
	return w
}

// must is the value of a call that must not fail.
func must[T any](t *testing.T) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// want compares what two values show.
func (w *world) want(what string, got, want any) {
	w.t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		w.t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

// member is an incarnation with the epochs of its partitions.
type member struct {
	fence  history.FenceNumber
	epochs map[history.Partition]history.Epoch
}

func (w *world) join(id string) *member {
	w.t.Helper()
	j := must[store.Joined](w.t)(w.db.Join(ctx, store.JoinRequest{Node: id, Behaviour: 1, Timeout: nodeTimeout}))
	return &member{j.Fence, map[history.Partition]history.Epoch{}}
}

// take moves the partitions 0 and 1, and tells how many went.
func (w *world) take(by *member, from history.FenceNumber) int {
	w.t.Helper()
	held := must[[]store.Held](w.t)(w.db.Take(ctx, store.TakeRequest{By: by.fence, From: from, Partitions: []history.Partition{0, 1}, Timeout: nodeTimeout}))
	for _, h := range held {
		by.epochs[h.Partition] = h.Epoch
	}
	return len(held)
}

// owner is a node that owns the partitions 0 and 1.
func (w *world) owner() *member {
	w.t.Helper()
	n := w.join("a")
	w.want("taken", w.take(n, 0), 2)
	return n
}

// execution is one that runs, with the number of its last turn.
type execution struct {
	id        history.ExecutionID
	name      string
	partition history.Partition
	seq       history.Seq
}

func (w *world) first(name string, p history.Partition, offers ...history.Offer) store.Item {
	return store.Item{
		Partition: p,
		Turn: &history.Turn{
			Seq: 1, At: 1_700_000_000_000, FirstEvent: 1, Offers: offers,
			Events: []history.Event{{Type: history.EventStarted, Scope: history.MainScope, Start: &history.Start{Name: name}}},
		},
		New: &store.NewExecution{Namespace: 1, Name: name, Definition: w.definition, InputHash: []byte(name)},
	}
}

func (w *world) start(name string, p history.Partition, offers ...history.Offer) *execution {
	w.t.Helper()
	s := must[store.Started](w.t)(w.db.Start(ctx, w.first(name, p, offers...)))
	if s.Existing != nil {
		w.t.Fatalf("the name %s is taken", name)
	}
	return &execution{s.Execution, name, p, 1}
}

// turn is the execution's next one.
func (e *execution) turn(n *member, more ...func(*history.Turn)) store.Item {
	t := &history.Turn{
		Execution: e.id, Seq: e.seq + 1, At: 1_700_000_001_000, FirstEvent: history.EventID(e.seq) + 1,
		Events: []history.Event{{Type: history.EventExited, Scope: history.MainScope}},
	}
	for _, f := range more {
		f(t)
	}
	return store.Item{Partition: e.partition, Epoch: n.epochs[e.partition], Turn: t}
}

func (w *world) commit(n *member, items ...store.Item) (store.Committed, error) {
	return w.db.Commit(ctx, store.Batch{Fence: n.fence, Items: items, Bells: store.Bells{From: n.fence}})
}

// append writes a turn that must be taken.
func (w *world) append(n *member, e *execution, more ...func(*history.Turn)) {
	w.t.Helper()
	if _, err := w.commit(n, e.turn(n, more...)); err != nil {
		w.t.Fatal(err)
	}
	e.seq++
}

// refused wants a commit to fail in the given way, and to name the executions.
func (w *world) refused(what string, err error, kind store.CommitKind, es ...*execution) {
	w.t.Helper()
	var failed *store.CommitError
	var ids []history.ExecutionID
	for _, e := range es {
		ids = append(ids, e.id)
	}
	if !errors.As(err, &failed) || failed.Kind != kind || fmt.Sprint(failed.Executions) != fmt.Sprint(ids) {
		w.t.Errorf("%s: got %v, want %v of %v", what, err, kind, ids)
	}
}

func end(t *history.Turn) { t.End = &history.End{Status: history.Succeeded, Output: []byte("1")} }

func consume(list ...store.Entry) func(*history.Turn) {
	return func(t *history.Turn) {
		for _, e := range list {
			c := history.Consumed{ID: e.ID}
			if e.Command.Awaited {
				c.Reply = &history.Reply{Outcome: history.Applied, Event: 7}
			}
			t.Consumed = append(t.Consumed, c)
		}
	}
}

func resolve(r history.Resolved) func(*history.Turn) {
	return func(t *history.Turn) { t.Resolved = append(t.Resolved, r) }
}

func offer(unit string, attempt, number int) history.Offer {
	return history.Offer{
		RowRef:   history.RowRef{Unit: history.UnitKey(unit), Attempt: attempt, Offer: number},
		Contract: contract, Task: history.Task{Input: []byte("{}"), IdempotencyKey: "key/" + unit, Timeout: 1000},
	}
}

func (w *world) session(worker string) store.Session {
	w.t.Helper()
	return must[store.Session](w.t)(w.db.Register(ctx, store.Registration{Namespace: 1, Worker: worker, Language: "go", Contracts: []history.Contract{contract}}))
}

func (w *world) poll(s store.Session, id string, most int, recall bool) (out []store.Claimed) {
	w.t.Helper()
	p := store.Poll{ID: id, Session: s.ID, Worker: s.Worker, Namespace: 1, Language: "go", Contracts: s.Contracts, Max: most, Recall: recall}
	return must[store.ClaimResult](w.t)(w.db.Claim(ctx, store.ClaimRequest{Polls: []store.Poll{p}})).Tasks
}

func report(e *execution, r history.RowRef, s store.Session) store.Report {
	return store.Report{Kind: history.KindComplete, Execution: e.id, Row: r, Session: s.ID, Worker: s.Worker, Output: []byte("1")}
}

func (w *world) report(rs ...store.Report) []store.ReportOutcome {
	w.t.Helper()
	return must[[]store.ReportOutcome](w.t)(w.db.Report(ctx, rs))
}

func (w *world) send(name string, c history.Command, key, hash string) store.Sent {
	w.t.Helper()
	m := store.Message{Namespace: 1, Name: name, Command: c, Key: key}
	if key != "" {
		m.KeyHash = []byte(hash)
	}
	return must[store.Sent](w.t)(w.db.Send(ctx, m))
}

func (w *world) inbox() []store.Entry {
	w.t.Helper()
	return must[[]store.Entry](w.t)(w.db.Inbox(ctx, store.InboxQuery{Partitions: []history.Partition{0, 1}, Limit: 100}))
}

// kinds are those of entries, in order.
func kinds(list []store.Entry) (out []history.Kind) {
	for _, e := range list {
		out = append(out, e.Command.Kind)
	}
	return out
}

// row reads an execution's row.
func (w *world) row(e *execution) store.Execution {
	w.t.Helper()
	return must[store.ExecutionDetail](w.t)(w.db.Execution(ctx, 1, e.name)).Execution
}

func (w *world) rows(e *execution) int {
	w.t.Helper()
	return len(must[store.Pending](w.t)(w.db.Pending(ctx, []history.ExecutionID{e.id}, 100)).Rows)
}

var signal = history.Command{Kind: history.KindSignal, Signal: "go", Output: []byte("1")}
