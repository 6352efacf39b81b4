package store_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/orrery-dev/orrery/shared/history"
	"github.com/orrery-dev/orrery/shared/store"
)

func TestJoin(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first := w.join("n1", 2, 0)
	join := store.JoinRequest{Node: "n1", Address: "http://n1", Behaviour: 1, Timeout: nodeTimeout}
	_, err := w.db.Join(ctx(t), join)
	var duplicate *store.DuplicateNodeError
	if !errors.As(err, &duplicate) || duplicate.Node != "n1" || duplicate.Age < 0 || duplicate.Age > time.Minute {
		t.Fatalf("a second n1: %v", err)
	}
	w.dies(first)
	second, err := w.db.Join(ctx(t), join)
	if err != nil {
		t.Fatal(err)
	}
	if second.Fence == first.Fence || second.Incarnation == first.Incarnation {
		t.Errorf("the second incarnation is %+v, the first %+v", second, first)
	}
	pulse, err := w.db.Heartbeat(ctx(t), store.Beat{Fence: first.Fence, Node: "n1"})
	if err != nil || pulse.Standing != store.Duplicate {
		t.Errorf("the first incarnation: %+v, %v", pulse, err)
	}
	// What the first one owned stays its until it is taken: the fence keeps it from writing.
	owners, _, err := w.db.Partitions(ctx(t))
	if err != nil || owners[0].Fence != first.Fence || owners[0].Node != "n1" || owners[2].Fence != 0 || len(owners) != 256 {
		t.Errorf("owners: %+v, %v", owners[:3], err)
	}
	e := w.start("e", 0)
	_, err = w.commit(first, e.turn(first, nil))
	wantCommitError(t, err, store.FenceLost)
}

func TestHeartbeat(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	n1, n2 := w.join("n1", 2, 0), w.join("n2", 0, 0)
	s := w.session("w1")
	e := w.start("e", 1, offer("A", 1, 0))
	w.exec("update orrery.execution set wake_at = to_timestamp(1700000900)")
	w.exec("update orrery.session set seen_at = seen_at - interval '1 hour'")

	queues := []store.Queue{{namespace, history.Contract{Task: "other", Version: 1}, ""}, {namespace, contract, ""}, {namespace, contract, "go"}}
	beat := store.Beat{
		Fence: n1.Fence, Node: "n1", Waiting: queues, Marks: &store.Marks{},
		Touched: []store.Touch{{Session: s.ID, Age: 2 * time.Second}, {Session: "no uuid"}, {Session: "00000000-0000-0000-0000-000000000000"}},
	}
	var pulse store.Pulse
	_, sent := w.sent.during(func() {
		var err error
		if pulse, err = w.db.Heartbeat(ctx(t), beat); err != nil {
			t.Fatal(err)
		}
	})
	if len(sent) != 1 {
		t.Errorf("a heartbeat is %d statements, want 1", len(sent))
	}
	if fmt.Sprint(pulse.Queued) != "[1]" || pulse.WakeAt != 1_700_000_900_000 || pulse.Inbox != 0 || pulse.Unnoticed != 0 {
		t.Errorf("pulse: %+v", pulse)
	}
	if len(pulse.Gone) != 2 || len(pulse.Nodes) != 2 || pulse.Nodes[0].ID != "n1" || pulse.Nodes[1].Fence != n2.Fence || pulse.Standing != store.Member {
		t.Errorf("pulse: %+v", pulse)
	}
	w.want(1, "select count(*) from orrery.session where seen_at between now() - interval '1 minute' and now() - interval '1 second'")
	w.want(2, "select count(*) from orrery.queue_flag where fence = $1", n1.Fence)

	w.claim(s, "p", 1)
	w.report(complete(e, history.RowRef{Unit: "A", Attempt: 1}, s))
	owners, definitions := pulse.Owners, pulse.Definitions
	pulse, err := w.db.Look(ctx(t), beat)
	if err != nil || pulse.Inbox == 0 || pulse.Unnoticed == 0 || len(pulse.Queued) != 0 || pulse.Owners != owners {
		t.Errorf("pulse: %+v, %v", pulse, err)
	}
	if _, _, err := w.db.Publish(ctx(t), store.Definition{Namespace: namespace, Name: "new", Hash: fmt.Sprintf("%064d", 1), Document: []byte("{}")}); err != nil {
		t.Fatal(err)
	}
	w.take(n2, 0, 0)
	w.exec("update orrery.node set heartbeat_at = heartbeat_at - interval '2 seconds' where fence = $1", n1.Fence)
	pulse, err = w.db.Heartbeat(ctx(t), store.Beat{Fence: n2.Fence, Node: "n2", Bare: true})
	if err != nil || pulse.Definitions != definitions+1 || pulse.Inbox != 0 || pulse.WakeAt != 0 {
		t.Errorf("bare pulse: %+v, %v", pulse, err)
	}
	if age := pulse.Nodes[0].Age; age < 2*time.Second || age > time.Minute {
		t.Errorf("n1 is %v old, want at least 2 s", age)
	}
	if err := w.db.Leave(ctx(t), n2.Fence); err != nil {
		t.Fatal(err)
	}
	if pulse, err = w.db.Heartbeat(ctx(t), store.Beat{Fence: n2.Fence, Node: "n2"}); err != nil || pulse.Standing != store.Fenced || len(pulse.Nodes) != 1 {
		t.Errorf("after leaving: %+v, %v", pulse, err)
	}
}

func TestTake(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	n1, n2, n3 := w.join("n1", 4, 0), w.join("n2", 0, 0), w.join("n3", 0, 0)
	e := w.start("e", 0)
	take := func(by *node, from history.FenceNumber) ([]store.Held, error) {
		return w.db.Take(ctx(t), store.TakeRequest{By: by.Fence, From: from, Partitions: upTo(4), Timeout: nodeTimeout})
	}
	if held, err := take(n2, n1.Fence); err != nil || len(held) != 0 {
		t.Fatalf("took %v of a live node, %v", held, err)
	}
	_, before, _ := w.db.Partitions(ctx(t))
	w.dies(n1)

	// Two take at once: they win disjoint sets.
	results := make(chan int, 2)
	for _, by := range []*node{n2, n3} {
		go func() {
			held, err := take(by, n1.Fence)
			if err != nil {
				t.Error(err)
			}
			for _, h := range held {
				by.epochs[h.Partition] = h.Epoch
			}
			results <- len(held)
		}()
	}
	if got := <-results + <-results; got != 4 {
		t.Errorf("%d partitions were taken, want 4", got)
	}
	_, after, _ := w.db.Partitions(ctx(t))
	if after != before+1 {
		t.Errorf("the generation went from %d to %d, want 1 more", before, after)
	}
	winner, loser := n2, n3
	if len(n3.epochs) > 0 {
		winner, loser = n3, n2
	}
	if winner.epochs[0] != n1.epochs[0]+1 {
		t.Errorf("epoch %d after %d", winner.epochs[0], n1.epochs[0])
	}
	_, err := w.commit(n1, e.turn(n1, nil))
	wantCommitError(t, err, store.FenceLost)
	_, err = w.commit(loser, store.Item{Partition: 0, Epoch: 2, Turn: e.turn(loser, nil).Turn})
	failed := wantCommitError(t, err, store.FenceLost, e.id)
	if fmt.Sprint(failed.Partitions) != "[0]" {
		t.Errorf("partitions at fault: %v", failed.Partitions)
	}
	w.mustCommit(winner, e.turn(winner, nil))

	w.dies(winner)
	w.take(loser, winner.Fence, 4)
	if _, err := take(winner, loser.Fence); !errors.Is(err, store.ErrFenced) {
		t.Errorf("a fenced node takes: %v, want ErrFenced", err)
	}
}

func TestRelease(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	n1, n2, gone := w.join("n1", 4, 0), w.join("n2", 0, 0), w.join("n3", 0, 0)
	if err := w.db.Leave(ctx(t), gone.Fence); err != nil {
		t.Fatal(err)
	}
	e, f := w.start("e", 0), w.start("f", 1)
	given, err := w.db.Release(ctx(t), n1.Fence, []store.Handover{{Partition: 0, To: n2.Fence}, {Partition: 1, To: gone.Fence}, {Partition: 9, To: n2.Fence}})
	if err != nil || fmt.Sprint(given) != "[0]" {
		t.Fatalf("gave %v, %v", given, err)
	}
	_, err = w.commit(n1, e.turn(n1, nil), f.turn(n1, nil))
	wantCommitError(t, err, store.FenceLost, e.id)
	w.mustCommit(n1, f.turn(n1, nil))
	n2.epochs[0] = n1.epochs[0] + 1
	w.mustCommit(n2, e.turn(n2, nil))
}

// held opens a store on the URL whose transactions stop before their COMMIT until the returned function is called.
func (w *world) held(url string, key int) (*store.Store, func()) {
	w.t.Helper()
	return w.heldWith(url, key, store.Options{Direct: true})
}

// heldWith is held with options of one's own.
func (w *world) heldWith(url string, key int, o store.Options) (*store.Store, func()) {
	w.t.Helper()
	tx, err := w.pool.Begin(ctx(w.t))
	if err != nil {
		w.t.Fatal(err)
	}
	// The gate stays shut for as long as the test takes.
	if _, err := tx.Exec(ctx(w.t), "select set_config('idle_in_transaction_session_timeout', '0', true), pg_advisory_xact_lock(99, $1)", key); err != nil {
		w.t.Fatal(err)
	}
	o.Gate = fmt.Sprintf("select set_config('lock_timeout', '0', true), pg_advisory_xact_lock(99, %d)", key)
	s, err := store.Open(context.Background(), url, o)
	if err != nil {
		w.t.Fatal(err)
	}
	open := sync.OnceFunc(func() { tx.Rollback(context.Background()) })
	w.t.Cleanup(s.Close)
	w.t.Cleanup(open)
	return s, open
}

// advisory counts the locks of a class; other databases of the server have their own.
const advisory = `select count(*) from pg_locks where locktype = 'advisory' and classid = $1
	and database = (select oid from pg_database where datname = current_database())`

// waits waits until a session waits for a lock of the gate, or of a fence.
func (w *world) waits(class int) {
	w.t.Helper()
	w.until(1, advisory+" and not granted", class)
}

const fenceClass, gateClass = 20306, 99

// TestTakeDuringCommit opens a commit between its check and its COMMIT while the partition is taken away: by a release to
// a live node, which waits for the commit, and by a taker, who does not wait for long. In no case does a commit of the old owner
// happen after the change.
func TestTakeDuringCommit(t *testing.T) {
	t.Run("release waits", func(t *testing.T) {
		store.PatientTakers(t)
		w := newWorld(t)
		n1, n2 := w.join("n1", 1, 0), w.join("n2", 0, 0)
		e := w.start("e", 0)
		slow, open := w.held(w.url, 1)
		commit := make(chan error)
		go func() {
			_, err := slow.Commit(ctx(t), store.Batch{Fence: n1.Fence, Items: []store.Item{e.turn(n1, nil)}})
			commit <- err
		}()
		w.waits(gateClass)
		release := make(chan error)
		go func() {
			_, err := w.db.Release(ctx(t), n1.Fence, []store.Handover{{Partition: 0, To: n2.Fence}})
			release <- err
		}()
		w.waits(fenceClass)
		w.want(1, "select count(*) from orrery.partition where fence = $1", n1.Fence)
		open()
		if err := <-commit; err != nil {
			t.Error(err)
		}
		if err := <-release; err != nil {
			t.Error(err)
		}
		w.want(2, "select last_seq from orrery.execution")
		e.seq++
		_, err := w.commit(n1, e.turn(n1, nil))
		wantCommitError(t, err, store.FenceLost, e.id)
	})
	t.Run("taker ends the holder", func(t *testing.T) {
		w := newWorld(t)
		n1, n2 := w.join("n1", 1, 0), w.join("n2", 0, 0)
		e := w.start("e", 0)
		slow, _ := w.held(w.url, 2)
		commit := make(chan error, 1)
		go func() {
			_, err := slow.Commit(ctx(t), store.Batch{Fence: n1.Fence, Items: []store.Item{e.turn(n1, nil)}})
			commit <- err
		}()
		w.waits(gateClass)
		w.dies(n1)
		w.take(n2, n1.Fence, 1)
		wantCommitError(t, <-commit, store.Unknown)
		w.want(1, "select last_seq from orrery.execution")
		w.mustCommit(n2, e.turn(n2, nil))
	})
	t.Run("late commit", func(t *testing.T) {
		w := newWorld(t)
		n1, n2 := w.join("n1", 1, 0), w.join("n2", 0, 0)
		e := w.start("e", 0)
		w.dies(n1)
		w.take(n2, n1.Fence, 1)
		_, err := w.commit(n1, e.turn(n1, func(t *history.Turn) { t.Offers = []history.Offer{offer("A", 1, 0)} }))
		wantCommitError(t, err, store.FenceLost)
		w.want(0, "select count(*) from orrery.task")
		w.want(1, "select count(*) from orrery.history")
	})
}

// TestUnknownOutcome cuts the connection of a commit that waits before its COMMIT, and whose transaction goes on. After the
// node has taken its own fence, what it reads stays true.
func TestUnknownOutcome(t *testing.T) {
	store.PatientTakers(t)
	w := newWorld(t)
	n := w.join("n1", 1, 0)
	e := w.start("e", 0)
	proxy := w.through()
	slow, open := w.held(proxy.URL(), 3)
	commit := make(chan error, 1)
	go func() {
		_, err := slow.Commit(ctx(t), store.Batch{Fence: n.Fence, Items: []store.Item{e.turn(n, nil)}})
		commit <- err
	}()
	w.waits(gateClass)
	proxy.Cut()
	wantCommitError(t, <-commit, store.Unknown)
	w.want(1, "select last_seq from orrery.execution")

	taken := make(chan error, 1)
	go func() { taken <- w.db.TakeOwnFence(ctx(t), n.Fence) }()
	w.waits(fenceClass)
	open()
	if err := <-taken; err != nil {
		t.Fatal(err)
	}
	w.want(0, advisory, fenceClass)
	w.want(2, "select last_seq from orrery.execution")
	_, err := w.commit(n, e.turn(n, nil))
	wantCommitError(t, err, store.Stale, e.id)
	e.seq = 2
	w.mustCommit(n, e.turn(n, nil))
}

// TestRetryAfterFailedCommit: the connection of a failed commit serves again.
func TestRetryAfterFailedCommit(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	n := w.join("n1", 1, 0)
	e := w.start("e", 0)
	one := w.open(store.Options{Direct: true, MaxConns: 1, Application: "one"})
	wrong := e.turn(n, nil)
	wrong.Turn.Seq = 9
	for range 3 {
		_, err := one.Commit(ctx(t), store.Batch{Fence: n.Fence, Items: []store.Item{wrong}})
		wantCommitError(t, err, store.Stale, e.id)
	}
	w.want(1, "select count(*) from pg_stat_activity where application_name = 'one' and query = 'rollback' and state = 'idle' and datname = current_database()")
	if _, err := one.Commit(ctx(t), store.Batch{Fence: n.Fence, Items: []store.Item{e.turn(n, nil)}}); err != nil {
		t.Fatal(err)
	}
}

// TestCommitDuringRelease: a commit that begins while a release stands between its change and its COMMIT waits, and then sees
// the change: also where the database's default is a level at which a transaction would not.
func TestCommitDuringRelease(t *testing.T) {
	store.PatientCommits(t)
	w := newWorld(t)
	w.exec(`do $$ begin
		execute format('alter database %I set default_transaction_isolation = ''repeatable read''', current_database());
	end $$`)
	n1, n2 := w.join("n1", 1, 0), w.join("n2", 0, 0)
	e := w.start("e", 0)
	slow, open := w.held(w.url, 4)
	owner := w.open(store.Options{Direct: true, MaxConns: 2}) // its connections have the new default
	release, commit := make(chan error, 1), make(chan error, 1)
	go func() {
		_, err := slow.Release(ctx(t), n1.Fence, []store.Handover{{Partition: 0, To: n2.Fence}})
		release <- err
	}()
	w.waits(gateClass)
	go func() {
		_, err := owner.Commit(ctx(t), store.Batch{Fence: n1.Fence, Items: []store.Item{e.turn(n1, nil)}})
		commit <- err
	}()
	w.waits(fenceClass)
	open()
	if err := <-release; err != nil {
		t.Fatal(err)
	}
	wantCommitError(t, <-commit, store.FenceLost, e.id)
	w.want(1, "select last_seq from orrery.execution")
}
