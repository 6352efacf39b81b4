package cron_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/orrery-dev/orrery/shared/cron"
	"github.com/orrery-dev/orrery/shared/history"
	"github.com/orrery-dev/orrery/shared/store"
	"github.com/orrery-dev/orrery/shared/wire"
)

const (
	done      = history.Succeeded
	failed    = history.Failed
	cancelled = history.Cancelled
)

func retry(attempts int64, backoff time.Duration) *wire.ScheduleRetry {
	return &wire.ScheduleRetry{Attempts: attempts, BackoffMS: backoff.Milliseconds()}
}

// TestScenario69: a run ends and the next instant is due at the same time. While the end is being written the key is locked,
// and the start waits for it: there is no gap between end and release.
func TestScenario69(t *testing.T) {
	r := newRig(t)
	r.create("minutes", workflow("0 * * * * *"))
	x := r.runner(cron.Options{})
	r.tickAt(x, "10:01:00")
	r.at("10:02:00")
	db, err := store.Open(t.Context(), r.pool.Config().ConnString(), store.Options{
		Direct: true, Now: r.time, Gate: "select pg_advisory_lock_shared(69)",
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	gate, err := r.pool.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer gate.Release()
	lock := func(sql string) {
		if _, err := gate.Exec(context.Background(), sql); err != nil {
			t.Fatal(err)
		}
	}
	lock("select pg_advisory_lock(69)")
	var both sync.WaitGroup
	both.Go(func() { r.endBy(db, done, r.execution("minutes", "10:01:00")) })
	waiting := "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"
	r.until("the end is held before its commit", func() bool { return r.count(waiting) == 1 })
	both.Go(func() { r.tick(x) })
	r.until("the start waits for the key", func() bool { return r.count(waiting) == 2 })
	lock("select pg_advisory_unlock(69)")
	both.Wait()
	r.wantLedger("minutes", "10:01:00 completed", "10:02:00 running")
}

// TestScenario70: five instants were missed, and all of them run, one after the other.
func TestScenario70(t *testing.T) {
	r := newRig(t)
	d := workflow("0 * 10 * * *")
	d.Misfire = &wire.ScheduleMisfire{Policy: "all", Max: 5}
	r.create("minutes", d)
	x := r.runner(cron.Options{})
	r.at("10:05:30")
	for i := 1; i <= 5; i++ {
		r.tick(x)
		at := fmt.Sprintf("10:%02d:00", i)
		if names := r.running(); len(names) != 1 || names[0] != r.execution("minutes", at) {
			t.Fatalf("in the turn of %s %q run", at, names)
		}
		if c := r.end(done, r.execution("minutes", at)); c.Wanted != (i < 5) {
			t.Errorf("after %s somebody waits for the key: %v", at, c.Wanted)
		}
	}
	r.want(5, "select count(*) from orrery.occurrence where status = 'completed'")
}

// TestScenario71: a run lasts five periods.
func TestScenario71(t *testing.T) {
	for keep, want := range map[string]string{"newest": "10:06:00", "oldest": "10:02:00"} {
		t.Run(keep, func(t *testing.T) {
			r := newRig(t)
			d := overlapping(workflow("0 * * * * *"), "buffer_one")
			d.Overlap.Keep = keep
			r.create("minutes", d)
			x := r.runner(cron.Options{})
			for i := 1; i <= 6; i++ {
				r.tickAt(x, fmt.Sprintf("10:%02d:00", i))
			}
			r.want(1, "select count(*) from orrery.occurrence where buffered and instant = $1", r.instant(want))
			r.want(4, "select count(*) from orrery.occurrence where status = 'skipped_overlap'")
			r.end(done, r.execution("minutes", "10:01:00"))
			r.tick(x)
			if names := r.running(); len(names) != 1 || names[0] != r.execution("minutes", want) {
				t.Errorf("%q run, want that of %s", names, want)
			}
		})
	}
}

// TestScenario72: 150 are due while another run holds the key, and 100 may wait.
func TestScenario72(t *testing.T) {
	r := newRig(t)
	d := overlapping(workflow("* * 10 * * *"), "buffer_all")
	d.Misfire = &wire.ScheduleMisfire{Policy: "all", Max: 150}
	r.create("seconds", d)
	x := r.runner(cron.Options{})
	_, id := r.trigger(store.Trigger{Schedule: "seconds"})
	r.tick(x)
	r.at("10:02:30")
	counts := r.tick(x)
	r.want(100, "select count(*) from orrery.occurrence where buffered")
	r.want(100, "select count(*) from orrery.occurrence where buffered and instant <= $1", r.instant("10:01:40"))
	r.want(50, "select count(*) from orrery.occurrence where status = 'skipped_overlap' and reason like 'buffer overrun%'")
	if counts.Overrun != 50 || counts.Buffered != 100 {
		t.Errorf("counted were %+v", counts)
	}
	if n := r.count("select count(*) from orrery.schedule_event where kind = 'overrun'"); n == 0 {
		t.Error("nobody is told of the overrun")
	}
	name := fmt.Sprintf("seconds-m%d", id)
	for i := range 100 {
		r.end(done, name)
		r.tick(x)
		name = r.instant("10:00:01").Add(time.Duration(i) * time.Second).Format("seconds-20060102T150405Z")
		if names := r.running(); len(names) != 1 || names[0] != name {
			t.Fatalf("%q run, want %s", names, name)
		}
	}
}

// TestScenario73: the old run is told to end, and the new one starts when it has.
func TestScenario73(t *testing.T) {
	for _, policy := range []string{"cancel_other", "terminate_other"} {
		t.Run(policy, func(t *testing.T) {
			r := newRig(t)
			r.create("minutes", overlapping(workflow("0 * * * * *"), policy))
			x := r.runner(cron.Options{})
			r.tickAt(x, "10:01:00")
			r.tickAt(x, "10:02:00")
			r.wantLedger("minutes", "10:01:00 running", "10:02:00 waiting")
			r.tick(x)
			r.want(1, "select count(*) from orrery.inbox where kind = 'cancel' and reason like 'replaced by the occurrence of %10:02:00Z' and coalesce(final, false) = $1",
				policy == "terminate_other")
			r.end(cancelled, r.execution("minutes", "10:01:00"))
			r.tick(x)
			r.wantLedger("minutes", "10:01:00 cancelled", "10:02:00 running")
		})
	}
}

// TestScenario73Direct: the same where runners do the work.
func TestScenario73Direct(t *testing.T) {
	for _, policy := range []string{"cancel_other", "terminate_other"} {
		t.Run(policy, func(t *testing.T) {
			r := newRig(t)
			r.at("10:00:45")
			r.create("minutes", overlapping(direct("0,30 * * * * *"), policy))
			old := r.process(nil, cron.Options{Lease: time.Minute, Heartbeat: 20 * time.Millisecond})
			r.ringAt("10:01:00", old)
			first := old.outside.next(t)
			r.ringAt("10:01:30", old) // well within the lease
			<-first.ctx.Done()
			second := old.outside.next(t)
			o := r.occurrences("minutes")[0]
			if o.Status != "cancelled" || !strings.Contains(o.Reason, "replaced by the occurrence of") {
				t.Errorf("the old one is %s: %s", o.Status, o.Reason)
			}
			second.answer <- nil
			r.until("the new one is done", func() bool { return r.ledger("minutes") == "10:01:00 cancelled\n10:01:30 completed" })
		})
	}
}

func TestScenario74(t *testing.T) {
	r := newRig(t)
	r.create("minutes", overlapping(workflow("0 * * * * *"), "allow"))
	x := r.runner(cron.Options{})
	for i := 1; i <= 3; i++ {
		r.tickAt(x, fmt.Sprintf("10:%02d:00", i))
	}
	r.wantLedger("minutes", "10:01:00 running", "10:02:00 running", "10:03:00 running")
	r.want(3, "select count(distinct execution) from orrery.trace where status = 'running'")
	r.want(0, "select count(*) from orrery.singleton")
}

// TestScenario75: two schedules share a key of two slots, and three are due.
func TestScenario75(t *testing.T) {
	r := newRig(t)
	shared := func(d wire.ScheduleDefinition) wire.ScheduleDefinition {
		d.Overlap = &wire.ScheduleOverlap{Policy: "skip", Key: "shared", Slots: 2}
		return d
	}
	r.create("a", shared(direct("0 * 10 * * *")))
	r.create("b", shared(direct("0 1 10 * * *")))
	p := r.process(nil, cron.Options{})
	r.ringAt("10:01:00", p)
	calls := []*call{p.outside.next(t), p.outside.next(t)}
	r.want(2, "select count(distinct slot) from orrery.occurrence where status = 'running'")
	r.ringAt("10:01:30", p)
	r.trigger(store.Trigger{Schedule: "b"})
	p.Ring()
	r.until("the third is skipped", func() bool {
		return r.count("select count(*) from orrery.occurrence where status = 'skipped_overlap'") == 1
	})
	r.want(2, "select held from orrery.singleton where key = 'shared'")
	// The process dies: its slots are those of the occurrences still, and go on with them.
	p.stop()
	before := r.count("select sum(slot * id)::integer from orrery.occurrence where slot is not null")
	peer := r.process(nil, cron.Options{})
	r.exec("update orrery.schedule set state = 'paused', paused_at = now(), pause_reason = 'no more', next_at = null, next_instant = null")
	r.ringAt("10:02:31", peer)
	for range 2 {
		calls = append(calls, peer.outside.next(t))
	}
	if after := r.count("select sum(slot * id)::integer from orrery.occurrence where slot is not null"); after != before {
		t.Error("the slots have changed")
	}
	for _, c := range calls {
		c.answer <- nil
	}
	r.until("both have ended", func() bool { return r.count("select held from orrery.singleton where key = 'shared'") == 0 })
}

// unwilling is an opener that cannot open some executions for now.
type unwilling struct {
	cron.Opener
	err error // nil when it can
}

func (u *unwilling) Open(ctx context.Context, list []*cron.Opening) {
	u.Opener.Open(ctx, list)
	for _, o := range list {
		if strings.HasPrefix(o.Request.Name, "held") {
			o.Err = errors.Join(o.Err, u.err)
		}
	}
}

// TestScenario76: for five minutes executions of one schedule cannot be started.
func TestScenario76(t *testing.T) {
	r := newRig(t)
	r.create("held", workflow("0 1 10 * * *"))
	r.create("other", overlapping(workflow("0 * * * * *"), "allow"))
	busy := &unwilling{r.front, &wire.Error{Code: wire.Unavailable, Message: "too much is going on"}}
	x := r.runnerOver(r.db, busy, cron.Options{})
	r.at("10:01:00")
	var pauses []time.Duration
	for deferred := r.time(); r.time().Before(r.instant("10:06:00")); r.pass(time.Second) {
		if r.tick(x).Deferred == 1 {
			pauses = append(pauses, r.time().Sub(deferred))
			deferred = r.time()
		}
	}
	if len(pauses) < 7 || len(pauses) > 12 {
		t.Errorf("it was tried %d times, with the pauses %v", len(pauses), pauses)
	}
	for i := 2; i < len(pauses); i++ {
		if pauses[i] < pauses[i-1] || pauses[i] > time.Minute {
			t.Errorf("the pauses are %v", pauses)
		}
	}
	o := r.only("held")
	if o.Status != "pending" || o.Attempt != 0 || !strings.Contains(o.Reason, "too much is going on") {
		t.Errorf("it is %s in attempt %d: %s", o.Status, o.Attempt, o.Reason)
	}
	r.wantTraces(o.ID)
	r.want(5, "select count(*) from orrery.occurrence o join orrery.schedule s on s.id = o.schedule where s.name = 'other' and o.status = 'running'")
	busy.err = nil
	r.tickAt(x, "10:07:30")
	o = r.only("held")
	if o.Status != "running" || o.Attempt != 1 {
		t.Errorf("it is %s in attempt %d", o.Status, o.Attempt)
	}
	r.wantTraces(o.ID, "running")
}

// TestRefusedTargets: what can never start has failed, without a try. A function that may call nothing leaves calls to nodes.
func TestRefusedTargets(t *testing.T) {
	r := newRig(t)
	unknown := workflow("0 1 10 * * *")
	unknown.Target.Workflow.Name = "unknown"
	unknown.Retry = retry(3, time.Second)
	r.create("unknown", unknown)
	off := direct("0 1 10 * * *")
	off.TimeoutMS = 1000
	r.create("off", off)
	r.tickAt(r.runner(cron.Options{}), "10:01:00")
	r.wantLedger("off", "10:01:00 pending")
	x := r.runner(cron.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { x.Run(ctx, func() bool { return true }) })
	r.until("the node has refused it", func() bool { return r.ledger("off") != "10:01:00 pending" && x.Health().Failed == 1 })
	cancel()
	running.Wait()
	for _, name := range []string{"unknown", "off"} {
		o := r.only(name)
		if o.Status != "failed" || !strings.HasPrefix(o.Reason, "guard_refused: ") || o.DeadLetter {
			t.Errorf("%s is %s: %s", name, o.Status, o.Reason)
		}
		r.wantTraces(o.ID)
	}
}

func TestScenario78(t *testing.T) {
	r := newRig(t)
	d := workflow("0 * 10 * * *")
	d.Misfire = &wire.ScheduleMisfire{Policy: "all"}
	r.create("minutes", d)
	x := r.runner(cron.Options{})
	r.tickAt(x, "10:03:00")
	r.wantLedger("minutes", "10:01:00 running", "10:02:00 waiting", "10:03:00 skipped_overlap")
	r.trigger(store.Trigger{Schedule: "minutes"})
	r.archive("minutes")
	r.want(2, "select count(*) from orrery.occurrence where status = 'cancelled_by_archive' and reason = 'the schedule was archived' and ended_at = $1", r.time())
	r.end(done, r.execution("minutes", "10:01:00"))
	if c := r.tickAt(x, "10:09:00"); c != (cron.Counts{}) {
		t.Errorf("the tick did %+v", c)
	}
	if outcome, _ := r.trigger(store.Trigger{Schedule: "minutes"}); outcome != store.TriggerArchived {
		t.Errorf("a trigger says %s", outcome)
	}
}

// TestArchivedWhileClaimed: a schedule that is archived after the claim of its occurrence starts nothing.
func TestArchivedWhileClaimed(t *testing.T) {
	r := newRig(t)
	r.create("minutes", workflow("0 1 10 * * *"))
	f := &faulty{Store: r.db, before: func(method string) error {
		if method == "StartRuns" {
			r.archive("minutes")
		}
		return nil
	}}
	r.at("10:01:00")
	r.tick(r.runnerOver(f, r.front, cron.Options{}))
	r.wantLedger("minutes", "10:01:00 cancelled_by_archive")
	r.want(0, "select count(*) from orrery.trace")
}

func TestScenario82(t *testing.T) {
	r := newRig(t)
	r.create("minutes", workflow("0 * * * * *"))
	x := r.runner(cron.Options{})
	r.tickAt(x, "10:01:00")
	keyed := store.Trigger{Schedule: "minutes", Key: "k1", KeyHash: []byte{1}}
	first, id := r.trigger(keyed)
	second, again := r.trigger(keyed)
	if first != store.TriggerCreated || second != store.TriggerRepeated || id != again {
		t.Errorf("two triggers under one key: %s %d, %s %d", first, id, second, again)
	}
	keyed.KeyHash = []byte{2}
	if outcome, _ := r.trigger(keyed); outcome != store.TriggerKeyReused {
		t.Errorf("another request under the key: %s", outcome)
	}
	r.tick(x) // at an instant that is taken, while its run goes on
	r.wantLedger("minutes", "10:01:00 running", "10:01:00 skipped_overlap")
	r.trigger(store.Trigger{Schedule: "minutes", Overlap: store.OverlapAllow})
	r.trigger(store.Trigger{Schedule: "minutes", Overlap: store.OverlapBufferOne})
	r.tick(x)
	r.wantLedger("minutes", "10:01:00 running", "10:01:00 skipped_overlap", "10:01:00 running", "10:01:00 waiting")
}

// TestScenario85: very many schedules are due at once.
func TestScenario85(t *testing.T) {
	n := 1000
	if os.Getenv("ORRERY_SOAK") != "" {
		n = 10_000
	}
	r := newRig(t)
	r.create("midday-0", workflow("0 0 12 * * *"))
	for i := 1; i < n; i++ {
		name := fmt.Sprintf("midday-%d", i)
		r.exec(`insert into orrery.schedule (cursor_at, next_at, next_instant, timeout_ms, retention_ms, namespace, direct, name, title, zones, key)
			select cursor_at, next_at, next_instant, timeout_ms, retention_ms, namespace, direct, $1, $1, zones, $1 from orrery.schedule where name = 'midday-0'`, name)
	}
	r.exec(`insert into orrery.schedule_document (schedule, version, document)
		select s.id, 1, d.document from orrery.schedule s, orrery.schedule_document d where s.name <> 'midday-0'`)
	r.exec(`insert into orrery.singleton (namespace, key) select namespace, name from orrery.schedule where name <> 'midday-0'`)
	r.at("12:00:00")
	var all sync.WaitGroup
	var started [3]int64
	for i := range started {
		x := r.runner(cron.Options{Claimant: fmt.Sprint("node ", i)})
		all.Go(func() {
			for r.count("select count(*) from orrery.execution") < n {
				c, err := x.Tick(t.Context())
				if err != nil {
					t.Error(err)
					return
				}
				started[i] += c.Started
			}
		})
	}
	all.Wait()
	r.want(n, "select count(*) from orrery.occurrence where status = 'running' and attempt = 1")
	r.want(n, "select count(distinct schedule) from orrery.occurrence")
	r.want(n, "select count(distinct execution) from orrery.trace")
	if sum := started[0] + started[1] + started[2]; sum != int64(n) {
		t.Errorf("%d starts are counted: %v", sum, started)
	}
}

// TestNobodyClaimsMoreThanItStarts: a process with two places claims two of five, and what is left is there for others.
func TestNobodyClaimsMoreThanItStarts(t *testing.T) {
	r := newRig(t)
	for i := range 5 {
		r.create(fmt.Sprint("call-", i), direct("0 1 10 * * *"))
	}
	p := r.process(nil, cron.Options{Workers: 2})
	r.ringAt("10:01:00", p)
	calls := []*call{p.outside.next(t), p.outside.next(t)}
	r.until("it has planned all", func() bool { return r.count("select count(*) from orrery.occurrence") == 5 })
	r.want(3, "select count(*) from orrery.occurrence where status = 'pending' and claim = 0")
	for len(calls) > 0 {
		calls[0].answer <- nil
		calls = calls[1:]
		if n := r.count("select count(*) from orrery.trace"); n < 5 {
			calls = append(calls, p.outside.next(t))
		}
	}
	r.until("all have run", func() bool { return r.count("select count(*) from orrery.occurrence where status = 'completed'") == 5 })
}

// TestScenario86: rows are deleted while the cursor is behind their instants.
func TestScenario86(t *testing.T) {
	r := newRig(t)
	d := overlapping(workflow("0 0 * * * *"), "allow")
	d.RetentionMS = time.Hour.Milliseconds()
	r.create("hourly", d)
	x := r.runner(cron.Options{})
	s, _ := r.schedule("hourly")
	ahead := []time.Time{r.instant("12:00:00")} // made by hand, before its time
	if _, err := r.db.Backfill(t.Context(), store.Backfill{Schedule: s.ID, Instants: ahead, Key: "hourly", OwnKey: true, Slots: 1}); err != nil {
		t.Fatal(err)
	}
	r.tickAt(x, "10:10:00")
	r.end(done, r.execution("hourly", "12:00:00"))
	r.tickAt(x, "11:00:00")
	r.end(done, r.execution("hourly", "11:00:00"))
	clean := func() {
		t.Helper()
		if _, err := r.db.Clean(t.Context(), store.Cleaning{SessionTimeout: time.Hour, Limit: 100}); err != nil {
			t.Fatal(err)
		}
	}
	r.at("12:30:00") // nobody has planned 12:00 yet
	clean()
	r.wantLedger("hourly", "12:00:00 completed")
	r.tick(x)
	r.wantLedger("hourly", "12:00:00 completed")
	clean()
	r.tick(x)
	r.wantLedger("hourly")
	r.want(2, "select count(*) from orrery.execution")
}

// reopen lets an execution that has ended go on, as its owner does.
func (r *rig) reopen(name string) error {
	r.t.Helper()
	d, err := r.db.Execution(r.t.Context(), namespace, name)
	if err != nil {
		r.t.Fatal(err)
	}
	at := slices.IndexFunc(r.held, func(h store.Held) bool { return h.Partition == d.Partition })
	_, err = r.db.Commit(r.t.Context(), store.Batch{Fence: r.node.Fence, Items: []store.Item{{
		Partition: d.Partition, Epoch: r.held[at].Epoch, Turn: &history.Turn{
			Execution: d.ID, Seq: 3, At: history.TimeOf(r.time()), FirstEvent: 200, Reopened: true, Retakes: r.settles(name),
			Events: []history.Event{{Type: history.EventRedriven, Scope: history.MainScope}},
		},
	}}})
	return err
}

// TestRedrive: an execution that goes on after its end takes the key of its occurrence again in the same transaction, with the
// token of its start. Where it cannot, nothing changes, and the error names it.
func TestRedrive(t *testing.T) {
	for _, x := range []struct {
		name, policy string
		before       func(r *rig, x *cron.Runner) // after the end
		refused      bool
	}{
		{"the key is free", "skip", func(*rig, *cron.Runner) {}, false},
		{"there is no key", "allow", func(r *rig, x *cron.Runner) { r.tickAt(x, "10:02:00") }, false},
		{"another run holds the key", "skip", func(r *rig, x *cron.Runner) { r.tickAt(x, "10:02:00") }, true},
		{"it was tried again", "skip", func(r *rig, x *cron.Runner) {
			word := store.OperatorWord{Namespace: namespace, Schedule: "minutes", Occurrence: r.only("minutes").ID, By: "ann"}
			if _, err := r.db.RetryOccurrence(t.Context(), word); err != nil {
				t.Fatal(err)
			}
			r.tick(x)
			r.end(failed, r.execution("minutes", "10:01:00")+"-r1")
		}, true},
		{"it is not kept any more", "skip", func(r *rig, x *cron.Runner) { r.exec("delete from orrery.occurrence") }, true},
	} {
		t.Run(x.name, func(t *testing.T) {
			r := newRig(t)
			r.create("minutes", overlapping(workflow("0 1,2 10 * * *"), x.policy))
			runner := r.runner(cron.Options{})
			r.tickAt(runner, "10:01:00")
			first := r.execution("minutes", "10:01:00")
			o := r.only("minutes")
			r.end(failed, first)
			r.exec(`insert into orrery.dead_letter (occurrence, schedule, namespace, tries, reason)
				select id, schedule, namespace, 1, 'no luck' from orrery.occurrence`)
			x.before(r, runner)
			ledger, held := r.ledger("minutes"), "select coalesce(sum(held), 0)::integer from orrery.singleton"
			slots := r.count(held)
			err := r.reopen(first)
			if x.refused {
				var no *store.CommitError
				if !errors.As(err, &no) || no.Kind != store.KeyHeld {
					t.Fatalf("it says %v", err)
				}
				if r.ledger("minutes") != ledger || r.count(held) != slots {
					t.Errorf("the ledger was\n%s\nand is\n%s", ledger, r.ledger("minutes"))
				}
				r.want(0, "select count(*) from orrery.execution where name = $1 and status = 1", first)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			again := r.occurrences("minutes")[0]
			if again.Status != "running" || again.Token != o.Token || again.Attempt != 1 || !again.LookAt.IsZero() {
				t.Errorf("before its end it was %+v, and is %+v", o, again)
			}
			r.wantTraces(o.ID, "running")
			r.want(0, "select count(*) from orrery.dead_letter")
			if x.policy == "skip" {
				slots++
			}
			r.want(slots, held)
		})
	}
}

// TestActiveLimitDefers: an occurrence whose execution would be one too many waits, and is started when there is room; its
// key is free meanwhile.
func TestActiveLimitDefers(t *testing.T) {
	r := newRig(t)
	r.create("a", workflow("0 1 10 * * *"))
	r.create("b", workflow("0 1 10 * * *"))
	r.exec("update orrery.namespace set max_active = 1")
	if _, err := r.db.CountActive(t.Context()); err != nil {
		t.Fatal(err)
	}
	x := r.runner(cron.Options{})
	r.tickAt(x, "10:01:00")
	r.tick(x)
	r.want(1, "select count(*) from orrery.occurrence where status = 'running'")
	r.want(1, "select count(*) from orrery.occurrence where status = 'pending' and reason like 'deferred: %limit of active executions%'")
	r.want(1, "select sum(held)::integer from orrery.singleton")
	r.want(1, "select count(*) from orrery.execution")
	r.exec("update orrery.namespace set max_active = 2")
	r.tickAt(x, "10:02:00")
	r.want(2, "select count(*) from orrery.occurrence where status = 'running'")
	r.want(2, "select sum(running)::integer from orrery.active")
}
