package store_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/orrery-dev/orrery/shared/history"
	"github.com/orrery-dev/orrery/shared/store"
)

func units(tasks []store.Claimed) []string {
	var out []string
	for _, c := range tasks {
		out = append(out, string(c.Row.Unit))
	}
	return out
}

func TestClaimOrderAndAssignment(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.session("w1")
	offers := []history.Offer{offer("old", 1, 0), offer("urgent", 1, 0), offer("python", 1, 0), offer("other", 1, 0), offer("go", 1, 0), offer("lazy", 1, 0)}
	offers[1].Priority = 5
	offers[2].Language = "python"
	offers[3].Contract.Version = 2
	offers[4].Language = "go"
	offers[5].Priority = -1 << 20 // beyond the bound
	offers[0].Task = history.Task{Input: []byte(`{"n": 1.50}`), IdempotencyKey: "k", Redelivery: 2, Timeout: 60_000, HeartbeatTimeout: 5_000}
	it := w.first("one", 3, offers...)
	it.New.Trace = "00-trace-01"
	if _, err := w.fn.Start(ctx(t), it); err != nil {
		t.Fatal(err)
	}
	got := w.claim(s, "p1", 10)
	if want := []string{"urgent", "old", "go", "lazy"}; !slices.Equal(units(got), want) {
		t.Fatalf("claimed %v, want %v", units(got), want)
	}
	a := got[1]
	want := store.Assignment{
		Task: a.Task, Partition: 3, Execution: a.Execution, Name: "one", Workflow: "orders", Version: 1, Trace: "00-trace-01",
		Row: history.RowRef{Unit: "old", Attempt: 1}, Contract: contract, Work: offers[0].Task,
		Claim:    history.Claim{Task: a.Task, Session: s.ID, Worker: "w1", PollID: "p1", At: a.Claim.At},
		Deadline: a.Claim.At + 60_000,
	}
	if fmt.Sprintf("%+v", a.Assignment) != fmt.Sprintf("%+v", want) || a.Task == 0 || a.Execution == 0 || a.Claim.At == 0 {
		t.Errorf("assignment\n%+v, want\n%+v", a.Assignment, want)
	}
	if again := w.claim(s, "p2", 10); len(again) != 0 {
		t.Errorf("claimed again: %v", units(again))
	}
}

// TestClaimRecall: a poll whose answer was lost gets it again, and nothing more.
func TestClaimRecall(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.session("w1")
	e := w.start("one", 0, offer("A", 1, 0), offer("B", 1, 0), offer("C", 1, 0))
	first := w.claim(s, "p1", 2)
	recall := func() []store.Claimed {
		p := poll(s, "p1", 2)
		p.Recall = true
		got, err := w.fn.Claim(ctx(t), store.ClaimRequest{Polls: []store.Poll{p}})
		if err != nil {
			t.Fatal(err)
		}
		return got.Tasks
	}
	if again := recall(); !slices.Equal(units(again), units(first)) || again[0].Claim != first[0].Claim {
		t.Errorf("recalled %+v, want %+v", again, first)
	}
	fewer := poll(s, "p1", 1)
	fewer.Recall = true
	got, err := w.fn.Claim(ctx(t), store.ClaimRequest{Polls: []store.Poll{fewer}})
	if err != nil || !slices.Equal(units(got.Tasks), units(first)[:1]) {
		t.Errorf("a repeat that asks for one: %v, %v", units(got.Tasks), err)
	}
	w.report(complete(e, first[0].Row, s))
	if again := recall(); !slices.Equal(units(again), []string{"B"}) {
		t.Errorf("recalled %v after a report, want B", units(again))
	}
	w.exec("update orrery.task set claimed_at = claimed_at - interval '2 minutes' where state = 'claimed'")
	if again := recall(); !slices.Equal(units(again), []string{"C"}) {
		t.Errorf("after a minute: %v, want C", units(again))
	}
}

// TestClaimForManyPolls deals one round trip's rows to polls of different contracts.
func TestClaimForManyPolls(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	n := w.join("n1", 1, 0)
	a, b, c := w.session("a"), w.session("b"), w.session("c")
	var offers []history.Offer
	for i := range 7 {
		offers = append(offers, offer(fmt.Sprintf("A%d", i), 1, 0))
	}
	other := offer("X", 1, 0)
	other.Contract = history.Contract{Task: "pack", Version: 1}
	w.start("one", 0, append(offers, other)...)

	both := poll(c, "pc", 5)
	both.Contracts = []history.Contract{other.Contract, contract}
	var got store.ClaimResult
	_, sent := w.sent.during(func() {
		var err error
		got, err = w.db.Claim(ctx(t), store.ClaimRequest{Fence: n.Fence, Polls: []store.Poll{poll(a, "pa", 2), poll(b, "pb", 2), both}})
		if err != nil {
			t.Fatal(err)
		}
	})
	if len(sent) != 1 {
		t.Errorf("%d statements, want 1", len(sent))
	}
	counts := map[int]int{}
	seen := map[string]bool{}
	for _, x := range got.Tasks {
		counts[x.Poll]++
		seen[string(x.Row.Unit)] = true
		if holder := []store.Session{a, b, c}[x.Poll]; x.Claim.Session != holder.ID || x.Claim.Worker != holder.Worker {
			t.Errorf("%v of poll %d is held by %+v", x.Row, x.Poll, x.Claim)
		}
	}
	if counts[0] != 2 || counts[1] != 2 || counts[2] < 1 || len(seen) != len(got.Tasks) {
		t.Errorf("dealt %v, units %v", counts, seen)
	}
	w.want(len(got.Tasks), "select count(*) from orrery.task where state = 'claimed' and fence = $1 and not noticed", n.Fence)
	// What two groups wanted and one got is there for the next look.
	for range 3 {
		if !got.More {
			break
		}
		var err error
		if got, err = w.db.Claim(ctx(t), store.ClaimRequest{Polls: []store.Poll{both}}); err != nil {
			t.Fatal(err)
		}
	}
	w.want(0, "select count(*) from orrery.task where state = 'queued'")
}

// TestClaimersAtOnce: no row is handed out twice, and none is left.
func TestClaimersAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const rows = 400
	var offers []history.Offer
	for i := range rows {
		offers = append(offers, offer(fmt.Sprintf("U%d", i), 1, 0))
	}
	w.start("one", 0, offers...)
	s := w.session("w1")
	var mu sync.Mutex
	seen := map[store.Holding]int{}
	var wait sync.WaitGroup
	for i := range 8 {
		wait.Go(func() {
			for {
				got, err := w.fn.Claim(context.Background(), store.ClaimRequest{Polls: []store.Poll{poll(s, fmt.Sprint("p", i), 7)}})
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				for _, c := range got.Tasks {
					seen[store.Holding{Execution: c.Execution, Row: c.Row}]++
				}
				mu.Unlock()
				if len(got.Tasks) == 0 && !got.More {
					return
				}
			}
		})
	}
	wait.Wait()
	for h, n := range seen {
		if n != 1 {
			t.Errorf("%v was handed out %d times", h, n)
		}
	}
	if len(seen) != rows {
		t.Errorf("%d rows were handed out, want %d", len(seen), rows)
	}
}

// TestClaimSeesWhatOthersHold: rows that another claimer has locked are passed over, and told as more.
func TestClaimSeesWhatOthersHold(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.session("w1")
	w.start("one", 0, offer("A", 1, 0), offer("B", 1, 0))
	tx, err := w.pool.Begin(ctx(t))
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback(ctx(t))
	if _, err := tx.Exec(ctx(t), "select from orrery.task where unit = 'A' for update"); err != nil {
		t.Fatal(err)
	}
	got, err := w.fn.Claim(ctx(t), store.ClaimRequest{Polls: []store.Poll{poll(s, "p", 1)}})
	if err != nil || !slices.Equal(units(got.Tasks), []string{"B"}) {
		t.Fatalf("claimed %v, %v", units(got.Tasks), err)
	}
	got, err = w.fn.Claim(ctx(t), store.ClaimRequest{Polls: []store.Poll{poll(s, "p", 1)}})
	if err != nil || len(got.Tasks) != 0 || !got.More {
		t.Errorf("claimed %v, more %v, %v, want more", units(got.Tasks), got.More, err)
	}
}

// TestClaimFlag: the flag is there before the look, and outlives nothing that it stands for.
func TestClaimFlag(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	n := w.join("n1", 0, 0)
	s := w.session("w1")
	q := store.ClaimRequest{Fence: n.Fence, Polls: []store.Poll{poll(s, "p", 1)}, Flag: true, Marks: &store.Marks{}}
	if got, err := w.db.Claim(ctx(t), q); err != nil || len(got.Tasks) != 0 || got.Now == 0 {
		t.Fatalf("claimed %+v, %v", got, err)
	}
	w.want(1, "select count(*) from orrery.queue_flag where task = 'charge' and version = 1 and fence = $1", n.Fence)
}
