package node

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/orrery-dev/orrery/shared/decide"
	"github.com/orrery-dev/orrery/shared/history"
	"github.com/orrery-dev/orrery/shared/store"
)

// gauntlet has every construct that runs long. When it ends without success, everything is undone and cleaned up.
const gauntlet = `{"StartAt": "Reserve", "TimeoutSeconds": 86400,
"OnSignal": {"note": {"StartAt": "Note", "States": {"Note": {"Type": "Task", "Resource": "task:work@1", "Compensate": {"Resource": "task:work@1"}, "End": true}}}},
"Cleanup": {"StartAt": "Tidy", "States": {"Tidy": {"Type": "Task", "Resource": "task:work@1", "End": true}}},
"States": {
	"Reserve": {"Type": "Task", "Resource": "task:work@1", "MaxRedeliveries": 1000, "ResultPath": "$.reserved", "Compensate": {"Resource": "task:work@1"}, "Next": "Both"},
	"Both": {"Type": "Parallel", "ResultPath": "$.both", "Next": "Each", "Branches": [
		{"StartAt": "Charge", "States": {"Charge": {"Type": "Task", "Resource": "task:work@1", "MaxRedeliveries": 1000, "Compensate": {"Resource": "task:work@1"},
			"Retry": [{"ErrorEquals": ["Busy"], "IntervalSeconds": 2}], "Assign": {"charged": true}, "End": true}}},
		{"StartAt": "Pause", "States": {"Pause": {"Type": "Wait", "Seconds": 3, "Next": "Hear"},
			"Hear": {"Type": "Task", "Resource": "signal:go", "End": true}}}]},
	"Each": {"Type": "Map", "ItemsPath": "$.items", "MaxConcurrency": 2, "ResultPath": "$.each", "Next": "Ship", "ItemProcessor": {
		"StartAt": "Pack", "States": {"Pack": {"Type": "Task", "Resource": "task:work@1", "MaxRedeliveries": 1000, "Compensate": {"Resource": "task:work@1"}, "End": true}}}},
	"Ship": {"Type": "Task", "Resource": "workflow:ship", "ResultPath": "$.shipped", "Compensate": {"Resource": "task:work@1"}, "Next": "Bill"},
	"Bill": {"Type": "Map", "ItemsPath": "$.items", "ResultPath": "$.billed", "Next": "Confirm", "ItemProcessor": {
		"ProcessorConfig": {"Mode": "DISTRIBUTED", "ExecutionType": "STANDARD"}, "StartAt": "Send", "States": {
		"Send": {"Type": "Task", "Resource": "task:work@1", "MaxRedeliveries": 1000, "End": true}}}},
	"Confirm": {"Type": "Task", "Resource": "task:work@1.waitForTaskToken", "MaxRedeliveries": 1000, "Parameters": {"token.$": "$$.Task.Token"}, "TimeoutSeconds": 3600,
		"ResultPath": "$.confirmed", "Next": "Break"},
	"Break": {"Type": "Task", "Resource": "task:work@1", "MaxRedeliveries": 1000, "End": true}}}`

const gauntletChild = `{"StartAt": "Load", "States": {"Load": {"Type": "Task", "Resource": "task:work@1", "MaxRedeliveries": 1000, "Next": "Drive"},
	"Drive": {"Type": "Wait", "Seconds": 1, "End": true}}}`

// run is one execution of the gauntlet, with the nodes that it outlives and a worker that notes its effects.
type run struct {
	*cluster
	id        history.ExecutionID
	ending    string
	nodes     int
	live      []*member
	effects   map[string]string // what was done, by idempotency key
	kill      func(commit int) (before, after bool)
	commits   int
	killed    int
	cancelled bool
	others    sync.WaitGroup // who reports without a session
}

// Of what the crash test needs, memory knows as little as this.

func (m *memory) Settings(context.Context) (store.Settings, error) {
	return store.Settings{Partitions: len(m.partitions), MACKey: make([]byte, 32), Behaviour: 1, Now: dbNow()}, nil
}

func (m *memory) Definition(_ context.Context, _ history.NamespaceID, name string, _ int) (store.Definition, history.Time, error) {
	defer m.lock("Definition")()
	if name != "ship" {
		return store.Definition{}, 0, store.ErrNotFound
	}
	return store.Definition{ID: 2, Name: name, Version: 1, Document: m.documents[2]}, dbNow(), nil
}

// runGauntlet runs the gauntlet to its end, and kills the owner of a commit before or after it as kill says.
func runGauntlet(t *testing.T, ending string, kill func(int) (before, after bool)) *run {
	r := &run{cluster: newCluster(t, gauntlet), effects: map[string]string{}, kill: kill, ending: ending}
	r.db.document(t, 2, gauntletChild)
	r.another()
	r.another()
	time.Sleep(time.Second)
	_, turn, err := decide.Start(r.machine, 0, history.Start{Namespace: "default", Name: "g", Workflow: "gauntlet", Input: []byte(`{"items":[1,2,3]}`)}, dbNow())
	if err != nil {
		t.Fatal(err)
	}
	r.db.do(func() {
		r.id = r.db.start(&store.Item{Partition: 3, Turn: &turn, New: &store.NewExecution{Namespace: 1, Name: "g", Definition: 1}}).Execution
		for _, s := range []string{"note", "go", "note"} {
			r.db.enter(r.db.rows[r.id], history.Command{Kind: history.KindSignal, Signal: s, Output: []byte(`{"n":1}`)})
		}
		r.db.before, r.db.after = r.before, r.after
	})
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); r.work(ctx) }()
	r.wantEnd(r.id, endings[ending], 12*time.Hour)
	r.db.do(func() { r.db.before, r.db.after = nil, nil })
	stop()
	<-ended
	r.others.Wait()
	r.checkUndone()
	return r
}

// another starts a node in place of one that is gone.
func (r *run) another() {
	r.nodes++
	r.live = append(r.live, r.cluster.run(fmt.Sprint("n", r.nodes)))
}

// crash kills the node that commits, and starts another one.
func (r *run) crash(b store.Batch) error {
	for i, m := range r.live {
		if l := m.serving(); l != nil && l.fence == b.Fence {
			(*m.Node.kill.Load())(errKilled)
			r.live = slices.Delete(r.live, i, i+1)
			r.killed++
			r.another()
			break
		}
	}
	return &store.CommitError{Kind: store.Unknown, Err: errLost}
}

func (r *run) before(b store.Batch) (err error) {
	r.db.do(func() {
		r.commits++
		if before, _ := r.kill(r.commits); before {
			err = r.crash(b)
		}
	})
	return err
}

func (r *run) after(b store.Batch) (err error) {
	r.db.do(func() {
		if _, after := r.kill(r.commits); after {
			err = r.crash(b)
		}
	})
	return err
}

// pick gives a node that runs.
func (r *run) pick() (m *member) {
	r.db.do(func() { m = r.live[r.commits%len(r.live)] })
	return m
}

// work is a worker: it polls, does and reports until the context ends. What it has done and cannot report it does again
// when it gets it again. After an error it registers anew, as a worker does whose session was lost.
func (r *run) work(ctx context.Context) {
	for poll := 0; ctx.Err() == nil; poll++ {
		m := r.pick()
		q := pollOf(fmt.Sprint("s", poll/50), fmt.Sprint("p", poll), 3)
		tasks, err := m.host.Poll(ctx, q, time.Now().Add(time.Second))
		if err != nil {
			time.Sleep(100 * time.Millisecond)
			continue
		}
		for _, a := range tasks {
			if q := r.do(a); a.Row.Unit == "Break" {
				r.others.Go(func() { r.last(ctx, q) })
			} else {
				r.report(ctx, q)
			}
		}
	}
}

// do does a task: its effect is noted under its idempotency key.
func (r *run) do(a store.Assignment) store.Report {
	q := reportOf(a, `{"did":true}`)
	q.OpenAt = a.Turn
	unit, role := string(a.Row.Unit), "child"
	if a.Name == "g" {
		role = "main"
	}
	what := fmt.Sprintf("%s %s %s", role, unit, a.Work.Input)
	if unit == "Confirm/Submit" {
		what = role + " " + unit // its token tells the run
	}
	r.db.do(func() {
		if before, done := r.effects[a.Work.IdempotencyKey]; done && before != what {
			r.t.Errorf("the key of %s is that of %s", what, before)
		}
		r.effects[a.Work.IdempotencyKey] = what
	})
	switch {
	case unit == "Both[0]/Charge" && a.Row.Attempt == 1:
		q.Kind, q.Output, q.Failure = history.KindFail, nil, &history.Failure{Code: "Busy"}
	case unit == "Break" && r.ending == "fails":
		q.Kind, q.Output, q.Failure = history.KindFail, nil, &history.Failure{Code: "Broken", Message: "at the end"}
	case unit == "Confirm/Submit":
		r.others.Go(func() { r.confirm(a) })
	}
	return q
}

// last is the end of the last task of the main flow. It comes when everything beside that is over, so that there is one outcome.
func (r *run) last(ctx context.Context, q store.Report) {
	for beside := true; beside && ctx.Err() == nil; time.Sleep(time.Second) {
		beside = slices.ContainsFunc(r.state(r.id).OpenUnits(), func(u history.UnitView) bool { return strings.HasPrefix(string(u.Key), "/OnSignal") })
	}
	if r.ending == "is cancelled" {
		r.cancel()
	}
	r.report(ctx, q)
}

// cancel cancels the gauntlet, once, while its last task is being done.
func (r *run) cancel() {
	r.db.do(func() {
		if x := r.db.rows[r.id]; !r.cancelled {
			r.cancelled = true
			r.db.enter(x, history.Command{Kind: history.KindCancel, Reason: "no longer wanted"})
		}
	})
	time.Sleep(time.Minute) // a report comes when it has long been applied
}

// confirm ends the Task by its token, some time later, as somebody does who has no session.
func (r *run) confirm(a store.Assignment) {
	time.Sleep(2 * time.Second)
	r.report(context.Background(), store.Report{
		Kind: history.KindComplete, Execution: a.Execution, Output: []byte(`"yes"`),
		Row: history.RowRef{Unit: "Confirm", Attempt: a.Row.Attempt, Offer: 1},
	})
}

// report reports until somebody has taken it, or it comes too late. As a frontend does, it looks into the history where the
// queue does not tell.
func (r *run) report(ctx context.Context, q store.Report) {
	for ctx.Err() == nil {
		out, err := r.pick().Report(ctx, []store.Report{q})
		if err == nil && out[0] == store.ReportUnclear {
			state := r.state(q.Execution)
			row, open := state.Row(q.Row.Unit)
			if !open || row.Attempt != q.Row.Attempt || q.Row.Offer > row.Offer {
				return
			}
			q.OpenAt = state.LastSeq()
		} else if err == nil && out[0] != store.ReportRetry {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// outcome is everything that must be the same whatever crashes: how each execution ended, each effect with its input, and
// that nothing is left.
func (r *run) outcome() string {
	var b strings.Builder
	r.db.do(func() {
		ends := map[history.Status]int{}
		for _, x := range r.db.rows {
			ends[x.Status]++
		}
		fmt.Fprintf(&b, "ends %v, %d rows of the queue, %d entries\n", ends, len(r.db.tasks), len(r.db.inbox))
		fmt.Fprintln(&b, strings.Join(slices.Sorted(maps.Values(r.effects)), "\n"))
	})
	end := r.state(r.id).End()
	fmt.Fprintln(&b, end.Status, end.Error, end.Cause)
	return b.String()
}

// state folds the history of an execution.
func (r *run) state(id history.ExecutionID) *history.State {
	state := history.New()
	r.db.do(func() {
		for _, row := range r.db.rows[id].turns {
			events, err := history.DecodeEvents(row.Events)
			if err == nil {
				err = state.Apply(row.Seq, row.At, row.First, events)
			}
			if err != nil {
				r.t.Fatal(err)
			}
		}
	})
	return state
}

// checkUndone: what has succeeded is undone once, the newest first.
func (r *run) checkUndone() {
	r.t.Helper()
	if r.ending == "succeeds" {
		return
	}
	events := r.events(r.id)
	var undone []string
	for _, ev := range events {
		if ev.Type == history.EventUndoing {
			undone = append(undone, ev.Key)
		}
	}
	last := -1
	for _, key := range []string{"Ship", "Each[2]/Pack", "Both[0]/Charge", "Reserve"} {
		at := slices.Index(undone, key)
		if at <= last {
			r.t.Errorf("%s is not undone in its turn: %v", key, undone)
		}
		last = at
	}
	if n := countOf(events, history.EventUndoable); n != len(undone) || n != 8 {
		r.t.Errorf("%d units can be undone, %v were", n, undone)
	}
}

// endings are the ways in which the gauntlet ends.
var endings = map[string]history.Status{"fails": history.Failed, "is cancelled": history.Cancelled, "succeeds": history.Succeeded}

// TestGauntletHasEveryConstruct: what the tests below kill owners in the midst of is all that runs long: tasks that are tried again,
// signals that are waited for and that begin machines, both kinds of Map, Parallel, a child, a token, a Wait, compensations, Cleanup.
func TestGauntletHasEveryConstruct(t *testing.T) {
	seen := map[history.EventType]bool{}
	for ending := range endings {
		synctest.Test(t, func(t *testing.T) {
			r := runGauntlet(t, ending, never)
			for _, ev := range r.events(r.id) {
				seen[ev.Type] = true
			}
		})
	}
	// Of S3, of operators and of failures that the gauntlet does not have, decide's scripts tell.
	elsewhere := []history.EventType{
		history.EventReading, history.EventUnread, history.EventWriting, history.EventUnwritten, history.EventRuled, history.EventRedriven, history.EventLost, history.EventProgressed, history.EventTimedOut,
		history.EventAgain, history.EventCaught, history.EventBroken, history.EventAborted, history.EventIterFailed, history.EventIterCut,
		history.EventChildFailed, history.EventRunFailed, history.EventStopped,
	}
	for _, kind := range history.EventTypes() {
		if !seen[kind] && !slices.Contains(elsewhere, kind) {
			t.Errorf("the gauntlet has no event of type %q", kind)
		}
	}
}

func never(int) (before, after bool) { return false, false }

// TestCrashAtEveryCommit kills the owner before and after each commit of an execution that has every construct: another one takes
// over, and the outcome and the effects are the same as without.
func TestCrashAtEveryCommit(t *testing.T) {
	for ending := range endings {
		t.Run(ending, func(t *testing.T) {
			var want string
			synctest.Test(t, func(t *testing.T) { want = runGauntlet(t, ending, never).outcome() })
			for _, after := range []bool{false, true} {
				n := 0
				for killed := true; killed; n++ {
					synctest.Test(t, func(t *testing.T) {
						r := runGauntlet(t, ending, func(commit int) (bool, bool) { return commit == n && !after, commit == n && after })
						if killed = r.killed > 0; r.outcome() != want {
							t.Errorf("killed at commit %d, after it %v:\n%s\nwant\n%s", n, after, r.outcome(), want)
						}
					})
					killed = killed || n == 0 // commits are counted from 1
				}
				if n < 20 {
					t.Errorf("%d commits", n)
				}
			}
		})
	}
}

// TestCrashAgainAndAgain kills the owner of every commit, after it: no node makes more than one. Then it does so at random,
// before commits as well.
func TestCrashAgainAndAgain(t *testing.T) {
	rounds := 10
	if os.Getenv("ORRERY_SOAK") != "" {
		rounds = 2_000
	}
	for ending := range endings {
		t.Run(ending, func(t *testing.T) {
			var want string
			synctest.Test(t, func(t *testing.T) { want = runGauntlet(t, ending, never).outcome() })
			synctest.Test(t, func(t *testing.T) {
				r := runGauntlet(t, ending, func(int) (bool, bool) { return false, true })
				if r.outcome() != want || r.killed < 20 {
					t.Errorf("killed %d nodes:\n%s\nwant\n%s", r.killed, r.outcome(), want)
				}
			})
			for seed := range rounds {
				synctest.Test(t, func(t *testing.T) {
					x := rand.New(rand.NewPCG(uint64(seed), 1))
					r := runGauntlet(t, ending, func(int) (bool, bool) { n := x.IntN(8); return n == 0, n == 1 })
					if r.outcome() != want {
						t.Errorf("seed %d, killed %d nodes:\n%s\nwant\n%s", seed, r.killed, r.outcome(), want)
					}
				})
			}
		})
	}
}
