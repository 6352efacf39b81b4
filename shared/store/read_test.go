package store_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/orrery-dev/orrery/shared/history"
	"github.com/orrery-dev/orrery/shared/store"
)

func seqs(rows []store.Row) []int {
	var out []int
	for _, r := range rows {
		out = append(out, int(r.Seq))
	}
	return out
}

func TestLoad(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	n := w.join("n1", 2, 0)
	e, f := w.start("e", 0), w.start("f", 1)
	for range 4 {
		w.mustCommit(n, e.turn(n, func(t *history.Turn) {
			if t.Seq == 3 {
				t.Snapshot = []byte{0, 1, 0xff}
			}
		}))
		e.seq++
	}
	got, err := w.db.Load(ctx(t), []history.ExecutionID{f.id, e.id, 999}, store.FromSnapshot)
	if err != nil || len(got) != 2 || got[0].ID != e.id {
		t.Fatalf("loaded %+v, %v", got, err)
	}
	x := got[0]
	if x.SnapshotSeq != 3 || string(x.Snapshot) != "\x00\x01\xff" || !slices.Equal(seqs(x.Turns), []int{4, 5}) || x.Seq != 5 ||
		x.Epoch != n.epochs[0] || x.Fence != n.Fence || x.Workflow != "orders" || x.Name != "e" {
		t.Errorf("loaded %+v", x)
	}
	if got[1].Snapshot != nil || !slices.Equal(seqs(got[1].Turns), []int{1}) || got[1].Turns[0].At != 1_700_000_000_123 {
		t.Errorf("loaded %+v", got[1])
	}
	if events, err := history.DecodeEvents(got[1].Turns[0].Events); err != nil || events[0].Type != history.EventStarted || events[0].Start.Name != "f" {
		t.Errorf("events: %+v, %v", events, err)
	}
	if got, err = w.db.Load(ctx(t), []history.ExecutionID{e.id}, store.FromStart); err != nil || got[0].Snapshot != nil || len(got[0].Turns) != 5 {
		t.Errorf("loaded from the start: %+v, %v", got, err)
	}
}

func TestHistoryPages(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	n := w.join("n1", 1, 0)
	e := w.start("e", 0)
	for range 6 {
		w.mustCommit(n, e.turn(n, nil))
		e.seq++
	}
	for _, test := range []struct {
		q    store.HistoryQuery
		want []int
	}{
		{store.HistoryQuery{Limit: 3}, []int{1, 2, 3}},
		{store.HistoryQuery{From: 4, Limit: 3}, []int{4, 5, 6}},
		{store.HistoryQuery{From: 8, Limit: 3}, nil},
		{store.HistoryQuery{Desc: true, Limit: 3}, []int{7, 6, 5}},
		{store.HistoryQuery{From: 2, Desc: true, Limit: 3}, []int{2, 1}},
	} {
		test.q.Execution = e.id
		if got, err := w.fn.History(ctx(t), test.q); err != nil || !slices.Equal(seqs(got), test.want) {
			t.Errorf("%+v: %v, %v, want %v", test.q, seqs(got), err, test.want)
		}
	}
}

func TestExecutionDetail(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	n := w.join("n1", 1, 0)
	e := w.start("e", 0)
	w.mustCommit(n, e.turn(n, end))
	d, err := w.fn.Execution(ctx(t), namespace, "e")
	if err != nil || d.Status != history.Succeeded || d.EndedAt != 1_700_000_001_000 || d.First.Seq != 1 || d.Last.Seq != 2 || d.Last.First != 2 ||
		d.Owner.Node != "n1" || d.Owner.Incarnation != n.Incarnation || d.Owner.Epoch != 1 {
		t.Errorf("detail: %+v, %v", d, err)
	}
	for _, name := range []string{"f", "", "\U0001F600"} {
		if _, err := w.fn.Execution(ctx(t), namespace, name); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("%q: %v, want ErrNotFound", name, err)
		}
	}
}

func names(p store.ExecutionPage) string {
	var out []string
	for _, e := range p.Executions {
		out = append(out, e.Name)
	}
	return strings.Join(out, " ")
}

func TestExecutionList(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	n := w.join("n1", 1, 0)
	var all []*execution
	for i := range 5 {
		all = append(all, w.start(fmt.Sprint("e", i), 0))
	}
	w.mustCommit(n, all[1].turn(n, end), all[3].turn(n, end))
	w.exec("update orrery.execution set started_at = started_at + interval '1 hour' where name = 'e4'")
	page := func(q store.ExecutionQuery) store.ExecutionPage {
		t.Helper()
		q.Namespace = namespace
		got, err := w.fn.Executions(ctx(t), q)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	for _, test := range []struct {
		what string
		q    store.ExecutionQuery
		want string
	}{
		{"all", store.ExecutionQuery{Limit: 10}, "e4 e3 e2 e1 e0"},
		{"ended", store.ExecutionQuery{Limit: 10, Status: history.Succeeded}, "e3 e1"},
		{"workflow", store.ExecutionQuery{Limit: 10, Workflow: "orders", Version: 1}, "e4 e3 e2 e1 e0"},
		{"version", store.ExecutionQuery{Limit: 10, Workflow: "orders", Version: 2}, ""},
		{"after", store.ExecutionQuery{Limit: 10, StartedAfter: 1_700_000_000_123}, "e4"},
		{"before", store.ExecutionQuery{Limit: 10, StartedBefore: 1_700_000_000_124}, "e3 e2 e1 e0"},
	} {
		if got := page(test.q); names(got) != test.want || got.Next != 0 {
			t.Errorf("%s: %q next %d, want %q", test.what, names(got), got.Next, test.want)
		}
	}
	first := page(store.ExecutionQuery{Limit: 2})
	second := page(store.ExecutionQuery{Limit: 2, Before: first.Next})
	third := page(store.ExecutionQuery{Limit: 2, Before: second.Next})
	if got := names(first) + "|" + names(second) + "|" + names(third); got != "e4 e3|e2 e1|e0" || third.Next != 0 {
		t.Errorf("pages: %q, then %d", got, third.Next)
	}
	if got, err := w.fn.Executions(ctx(t), store.ExecutionQuery{Namespace: 77, Limit: 10}); err != nil || len(got.Executions) != 0 {
		t.Errorf("another namespace sees %v, %v", got, err)
	}
	// A page without a match is bounded too, and has a next one.
	w.exec(`insert into orrery.execution (definition, started_at, namespace, last_seq, partition, status, name, input_hash)
		select $1, now(), 1, 1, 0, 1, 'many' || i, 'x' from generate_series(1, 10000) i`, w.definition)
	got := page(store.ExecutionQuery{Limit: 10, Status: history.Succeeded})
	if len(got.Executions) != 0 || got.Next == 0 {
		t.Errorf("the first window gives %q, next %d", names(got), got.Next)
	}
	if got = page(store.ExecutionQuery{Limit: 10, Status: history.Succeeded, Before: got.Next}); names(got) != "e3 e1" {
		t.Errorf("the second window gives %q", names(got))
	}
}

func TestWhatTheClusterShows(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	n := w.join("n1", 3, 0)
	s := w.session("w1")
	e := w.start("e", 0, offer("A", 1, 0), offer("B", 1, 0))
	w.claim(s, "p", 1)
	w.exec("update orrery.task set queued_at = queued_at - interval '1 minute'")
	queues, err := w.fn.Queues(ctx(t), namespace, sessionTimeout)
	if err != nil || len(queues) != 1 || queues[0].Contract != contract || queues[0].Queued != 1 || queues[0].Claimed != 1 || queues[0].Workers != 1 || queues[0].OldestAge < time.Minute {
		t.Errorf("queues: %+v, %v", queues, err)
	}
	workers, err := w.fn.Workers(ctx(t), namespace, sessionTimeout)
	if err != nil || len(workers) != 1 || workers[0].InFlight != 1 || workers[0].ID != s.ID {
		t.Errorf("workers: %+v, %v", workers, err)
	}
	nodes, err := w.fn.Nodes(ctx(t))
	if err != nil || len(nodes) != 1 || nodes[0].Partitions != 3 || nodes[0].Incarnation != n.Incarnation || nodes[0].StartedAt == 0 {
		t.Errorf("nodes: %+v, %v", nodes, err)
	}
	w.report(complete(e, history.RowRef{Unit: "A", Attempt: 1}, s))
	w.exec("update orrery.inbox set sent_at = sent_at - interval '1 minute'")
	depths, err := w.fn.Depths(ctx(t), upTo(3))
	if err != nil || depths.Queued != 1 || depths.Claimed != 0 || depths.Inbox != 1 || depths.InboxOldestAge < time.Minute || depths.Running != 1 {
		t.Errorf("depths: %+v, %v", depths, err)
	}
	if others, err := w.fn.Queues(ctx(t), 77, sessionTimeout); err != nil || len(others) != 0 {
		t.Errorf("another namespace sees %v, %v", others, err)
	}
}

func TestDefinitions(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	hash := func(c string) string { return strings.Repeat(c, 64) }
	publish := func(name string, version int, h string) (store.Definition, bool, error) {
		return w.fn.Publish(ctx(t), store.Definition{Namespace: namespace, Name: name, Version: version, Hash: h, Document: []byte(`{"h":"` + h[:1] + `"}`)})
	}
	for _, test := range []struct {
		what    string
		version int
		hash    string
		want    int
		created bool
		err     error
	}{
		{"the first", 0, hash("a"), 1, true, nil},
		{"unchanged", 0, hash("a"), 1, false, nil},
		{"changed", 0, hash("b"), 2, true, nil},
		{"back again is new", 0, hash("a"), 3, true, nil},
		{"by version, unchanged", 2, hash("b"), 2, false, nil},
		{"by version, other content", 2, hash("c"), 0, false, store.ErrVersionExists},
		{"a gap", 7, hash("d"), 7, true, nil},
	} {
		d, created, err := publish("flow", test.version, test.hash)
		if d.Version != test.want || created != test.created || !errors.Is(err, test.err) {
			t.Errorf("%s: version %d, %v, %v", test.what, d.Version, created, err)
		}
	}
	newest, now, err := w.fn.Definition(ctx(t), namespace, "flow", 0)
	if err != nil || newest.Version != 7 || string(newest.Document) != `{"h":"d"}` || newest.PublishedAt == 0 || now < newest.PublishedAt {
		t.Errorf("newest: %+v at %d, %v", newest, now, err)
	}
	if d, _, err := w.fn.Definition(ctx(t), namespace, "flow", 2); err != nil || d.Hash != hash("b") {
		t.Errorf("version 2: %+v, %v", d, err)
	}
	for _, version := range []int{4, 99} {
		if _, _, err := w.fn.Definition(ctx(t), namespace, "flow", version); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("version %d: %v, want ErrNotFound", version, err)
		}
	}
	if byID, err := w.fn.DefinitionsByID(ctx(t), []history.DefinitionID{newest.ID, 999}); err != nil || len(byID) != 1 || byID[0].Version != 7 {
		t.Errorf("by id: %+v, %v", byID, err)
	}
	if got, err := w.fn.Versions(ctx(t), namespace, "flow"); err != nil || !slices.Equal(got, []int{7, 3, 2, 1}) {
		t.Errorf("versions: %v, %v", got, err)
	}
	publish("alpha", 0, hash("e"))
	list := func(after string, limit int) string {
		got, err := w.fn.Workflows(ctx(t), namespace, after, limit)
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, d := range got {
			out = append(out, fmt.Sprint(d.Name, "@", d.Version))
		}
		return strings.Join(out, " ")
	}
	if got := list("", 2) + "|" + list("flow", 2); got != "alpha@1 flow@7|orders@1" {
		t.Errorf("workflows: %q", got)
	}
}

func TestPublishAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	created := make(chan bool, 8)
	for range 8 {
		go func() {
			_, c, err := w.fn.Publish(ctx(t), store.Definition{Namespace: namespace, Name: "same", Hash: strings.Repeat("a", 64), Document: []byte("{}")})
			if err != nil {
				t.Error(err)
			}
			created <- c
		}()
	}
	n := 0
	for range 8 {
		if <-created {
			n++
		}
	}
	if n != 1 {
		t.Errorf("%d have created the version, want 1", n)
	}
}
