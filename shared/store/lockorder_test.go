package store_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/orrery-dev/orrery/shared/history"
	"github.com/orrery-dev/orrery/shared/store"
)

// TestCrossingOperationsDoNotDeadlock runs everything that locks rows at once, over the same few executions, with arrays in any
// order (I12). The database counts deadlocks; nobody may see one, whatever else comes in between.
func TestCrossingOperationsDoNotDeadlock(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	n := w.join("n1", 4, 0)
	const executions, units, rounds = 6, 4, 40
	x := &crossing{w: w, n: n}
	for i := range executions {
		var offers []history.Offer
		for u := range units {
			offers = append(offers, offer(fmt.Sprint("U", u), 1, 0))
		}
		x.all = append(x.all, w.start(fmt.Sprint("e", i), history.Partition(i%4), offers...))
	}
	x.sessions = []store.Session{w.session("w1"), w.session("w2")}
	w.exec("update orrery.task set claimed_at = now() - interval '1 hour', state = 'claimed', session = $1::text::uuid, worker = 'w1', poll = 'p'", x.sessions[0].ID)

	var wait sync.WaitGroup
	for i, do := range []func(*rand.Rand) error{x.report, x.report, x.beat, x.beat, x.commit, x.claim, x.send, x.heartbeat, x.clean, x.start} {
		random := rand.New(rand.NewPCG(1, uint64(i)))
		wait.Go(func() {
			for range rounds {
				if err := do(random); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wait.Wait()
	w.exec("select pg_stat_force_next_flush()")
	time.Sleep(50 * time.Millisecond)
	w.want(0, "select deadlocks from pg_stat_database where datname = current_database()")
}

// crossing is what the operations of the test share.
type crossing struct {
	w        *world
	n        *node
	all      []*execution
	sessions []store.Session
	mu       sync.Mutex
	beats    int64
}

func (x *crossing) shuffled(random *rand.Rand) []*execution {
	out := append([]*execution(nil), x.all...)
	random.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out
}

func row(random *rand.Rand) history.RowRef {
	return history.RowRef{Unit: history.UnitKey(fmt.Sprint("U", random.IntN(4))), Attempt: 1}
}

func (x *crossing) report(random *rand.Rand) error {
	var rs []store.Report
	for _, e := range x.shuffled(random) {
		rs = append(rs, store.Report{Kind: history.KindUncertain, Execution: e.id, Row: row(random), Session: x.sessions[0].ID, Worker: "w1", Reason: "?"})
		if random.IntN(20) == 0 {
			rs[len(rs)-1].Kind, rs[len(rs)-1].Output = history.KindComplete, []byte("1")
		}
	}
	_, err := x.w.fn.Report(ctx(x.w.t), rs)
	return err
}

func (x *crossing) beat(random *rand.Rand) error {
	x.mu.Lock()
	x.beats++
	beat := store.WorkerBeat{Session: x.sessions[0].ID, Number: x.beats}
	x.mu.Unlock()
	for _, e := range x.shuffled(random) {
		if random.IntN(2) == 0 {
			h := store.HeldTask{Holding: store.Holding{Execution: e.id, Row: row(random)}}
			h.Details = fmt.Appendf(nil, "%d", random.IntN(1000))
			beat.Held = append(beat.Held, h)
		}
	}
	_, err := x.w.fn.WorkerBeat(ctx(x.w.t), beat)
	return err
}

// commit writes a batch over all executions that settles rows, gives some up, applies the inbox, and tries to end one.
func (x *crossing) commit(random *rand.Rand) error {
	loaded, err := x.w.db.Load(ctx(x.w.t), ids(x.all), store.FromSnapshot)
	if err != nil {
		return err
	}
	entries, err := x.w.db.InboxOf(ctx(x.w.t), ids(x.all), 1000)
	if err != nil {
		return err
	}
	var items []store.Item
	for _, l := range loaded {
		e := &execution{id: l.ID, partition: l.Partition, seq: l.Seq}
		items = append(items, e.turn(x.n, func(t *history.Turn) {
			for _, entry := range entries {
				if entry.EntryRef.Execution == l.ID {
					consume(t, entry)
				}
			}
			r := row(random)
			t.Resolved = []history.Resolved{{Unit: r.Unit, Attempt: 1}}
			t.Offers = []history.Offer{offer(string(r.Unit), 1, int(t.Seq))}
			t.Lost = []history.RowRef{row(random)}
		}))
	}
	random.Shuffle(len(items), func(i, j int) { items[i], items[j] = items[j], items[i] })
	_, err = x.w.commit(x.n, items...)
	var failed *store.CommitError
	if errors.As(err, &failed) && (failed.Kind == store.Locked || failed.Kind == store.ReportFirst || failed.Kind == store.Stale) {
		return nil
	}
	return err
}

func ids(all []*execution) []history.ExecutionID {
	var out []history.ExecutionID
	for _, e := range all {
		out = append(out, e.id)
	}
	return out
}

func (x *crossing) claim(random *rand.Rand) error {
	_, err := x.w.fn.Claim(ctx(x.w.t), store.ClaimRequest{Polls: []store.Poll{poll(x.sessions[random.IntN(2)], "p", 1+random.IntN(5))}})
	return err
}

func (x *crossing) send(random *rand.Rand) error {
	e := x.all[random.IntN(len(x.all))]
	_, err := x.w.fn.Send(ctx(x.w.t), store.Message{
		Namespace: namespace, Name: e.name, Key: fmt.Sprint("k", random.IntN(3)), Command: history.Command{Kind: history.KindCancel},
	})
	return err
}

func (x *crossing) heartbeat(random *rand.Rand) error {
	touched := []store.Touch{{Session: x.sessions[0].ID}, {Session: x.sessions[1].ID}}
	random.Shuffle(2, func(i, j int) { touched[i], touched[j] = touched[j], touched[i] })
	_, err := x.w.db.Heartbeat(ctx(x.w.t), store.Beat{Fence: x.n.Fence, Node: "n1", Touched: touched, Waiting: []store.Queue{{Namespace: namespace, Contract: contract}}})
	return err
}

func (x *crossing) clean(*rand.Rand) error {
	_, err := x.w.db.Clean(ctx(x.w.t), store.Cleaning{SessionTimeout: sessionTimeout, Limit: 10})
	return err
}

func (x *crossing) start(random *rand.Rand) error {
	_, err := x.w.fn.Start(ctx(x.w.t), x.w.first(fmt.Sprint("new", random.IntN(10)), 9, offer("U9", 1, 0)))
	return err
}
