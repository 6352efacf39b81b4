package cron_test

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/orrery-dev/orrery/shared/cron"
	"github.com/orrery-dev/orrery/shared/store"
)

// short is a lease that this process's clock measures in a test; elsewhere it is the database's clock that passes.
const short = time.Second

func called(c *call, header string) string { return c.header.Get("Orrery-" + header) }

// TestScenario63: a process dies in the middle of a run. Until its lease is over its key is held, then another process takes the
// occurrence.
func TestScenario63(t *testing.T) {
	r := newRig(t)
	d := direct("0 * * * * *")
	d.TimeoutMS = time.Hour.Milliseconds()
	r.create("minutes", d)
	dead := r.process(nil, cron.Options{Claimant: "dead"})
	r.ringAt("10:01:00", dead)
	first := dead.outside.next(t)
	dead.stop() // and it does not renew: the test's clock stands still for it
	peer := r.process(nil, cron.Options{Claimant: "peer"})
	r.ringAt("10:01:59", peer)
	r.until("the peer has looked", func() bool { return peer.Health().ClaimedAgeMS >= 0 || peer.Health().PlannedAgeMS >= 0 })
	r.wantLedger("minutes", "10:01:00 running")
	r.ringAt("10:02:01", peer)
	second := peer.outside.next(t)
	if called(second, "Attempt") != "2" || called(second, "Instant") != called(first, "Instant") {
		t.Errorf("it is called for attempt %s of %s", called(second, "Attempt"), called(second, "Instant"))
	}
	if a, b := token(t, first), token(t, second); a >= b {
		t.Errorf("the token was %d and is %d", a, b)
	}
	if second.header.Get("Idempotency-Key") != first.header.Get("Idempotency-Key") {
		t.Error("the two attempts have different idempotency keys")
	}
	r.until("10:02 is skipped", func() bool { return strings.Contains(r.ledger("minutes"), "10:02:00 skipped_overlap") })
	o := r.occurrences("minutes")[0]
	r.wantTraces(o.ID, "lost", "running")
	if o.Claimant != "peer" || o.Attempt != 2 {
		t.Errorf("attempt %d is of %s", o.Attempt, o.Claimant)
	}
	second.answer <- nil
	r.until("it ends", func() bool { return r.occurrences("minutes")[0].Status == "completed" })
	r.wantTraces(o.ID, "lost", "completed")
	r.want(0, "select held from orrery.singleton")
}

func token(t *testing.T, c *call) int64 {
	t.Helper()
	n, err := strconv.ParseInt(called(c, "Fencing-Token"), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestScenario64: a process that cannot reach the database stops its work before its lease is over; then another has it.
func TestScenario64(t *testing.T) {
	r := newRig(t)
	r.create("minutes", direct("0 * * * * *"))
	var cut atomic.Bool
	gone := func(string) error {
		if cut.Load() {
			return store.ErrUnavailable
		}
		return nil
	}
	p := r.process(&faulty{Store: r.db, before: gone}, cron.Options{Lease: short})
	sent := time.Now()
	r.ringAt("10:01:00", p)
	work := p.outside.next(t)
	cut.Store(true)
	<-work.ctx.Done()
	if d := time.Since(sent); d >= 2*short {
		t.Errorf("the work went on for %v, with a lease of %v", d, short)
	}
	r.until("the end counts for nothing", func() bool { return p.Health().Lost == 1 })
	r.wantLedger("minutes", "10:01:00 running")
	if h := p.Health(); h.RenewalFailures == 0 || h.Running != 0 {
		t.Errorf("health says %+v", h)
	}
	peer := r.process(nil, cron.Options{})
	r.ringAt("10:01:05", peer)
	peer.outside.next(t).answer <- nil
	r.until("the peer has done it", func() bool { return r.ledger("minutes") == "10:01:00 completed" })
	r.wantTraces(r.only("minutes").ID, "lost", "completed")
}

// TestScenario65: renewals that take long hold up no work, and there is one at a time.
func TestScenario65(t *testing.T) {
	r := newRig(t)
	r.create("many", overlapping(direct("* * 10 * * *"), "allow"))
	var under, most atomic.Int32
	release := make(chan struct{})
	renewing := make(chan struct{}, 1000)
	slow := func(method string) error {
		if method == "Renew" {
			most.Store(max(most.Load(), under.Add(1)))
			defer under.Add(-1)
			renewing <- struct{}{}
			<-release
		}
		return nil
	}
	p := r.process(&faulty{Store: r.db, before: slow}, cron.Options{Lease: time.Minute, Heartbeat: time.Millisecond})
	t.Cleanup(sync.OnceFunc(func() { close(release) }))
	r.ringAt("10:00:01", p)
	first := p.outside.next(t)
	<-renewing
	for i := 2; i < 6; i++ { // they start, work and end meanwhile
		r.ringAt(fmt.Sprintf("10:00:%02d", i), p)
		p.outside.next(t).answer <- nil
		r.until("another one is done", func() bool {
			return r.count("select count(*) from orrery.occurrence where status = 'completed'") == i-1
		})
	}
	if n := most.Load(); n != 1 {
		t.Errorf("%d renewals were under way at once", n)
	}
	first.answer <- nil
	r.until("the first one is done", func() bool {
		return r.count("select count(*) from orrery.occurrence where status = 'completed'") == 5
	})
}

// TestScenario66: a process sleeps past its lease and wakes. Nothing that it writes counts, whatever the overlap policy.
func TestScenario66(t *testing.T) {
	for _, policy := range []string{"skip", "allow"} {
		t.Run(policy, func(t *testing.T) {
			r := newRig(t)
			r.create("minutes", overlapping(direct("0 1 10 * * *"), policy))
			frozen := r.process(nil, cron.Options{})
			r.ringAt("10:01:00", frozen)
			first := frozen.outside.next(t)
			peer := r.process(nil, cron.Options{})
			ref := store.ClaimRef{Occurrence: r.only("minutes").ID, Claim: 1}
			r.ringAt("10:02:01", peer)
			second := peer.outside.next(t)
			renewed, err := r.db.Renew(t.Context(), []store.ClaimRef{ref}, time.Hour)
			if err != nil || len(renewed) != 1 || renewed[0].Held {
				t.Errorf("the renewal says %+v, %v", renewed, err)
			}
			first.answer <- nil // it is done, and says so
			r.until("the process has written", func() bool { return frozen.Health().Running == 0 })
			if h := frozen.Health(); h.Lost != 1 || h.Completed != 0 {
				t.Errorf("health says %+v", h)
			}
			r.wantLedger("minutes", "10:01:00 running")
			r.wantTraces(ref.Occurrence, "lost", "running")
			if o := r.only("minutes"); !o.LookAt.Equal(r.instant("10:03:01")) || o.Attempt != 2 {
				t.Errorf("its lease ends at %s, attempt %d", o.LookAt, o.Attempt)
			}
			second.answer <- errors.New("no")
			r.until("the peer's end counts", func() bool { return r.ledger("minutes") == "10:01:00 failed" })
			r.wantTraces(ref.Occurrence, "lost", "failed")
		})
	}
}

// TestScenario67: a process claims its own row again. Its older attempt is fenced by the number of its claim.
func TestScenario67(t *testing.T) {
	r := newRig(t)
	r.create("minutes", direct("0 1 10 * * *"))
	p := r.process(nil, cron.Options{})
	r.ringAt("10:01:00", p)
	first := p.outside.next(t)
	r.ringAt("10:02:01", p)
	second := p.outside.next(t)
	first.answer <- errors.New("the older one")
	r.until("the older one has ended", func() bool { return p.Health().Running == 1 })
	r.wantLedger("minutes", "10:01:00 running")
	second.answer <- nil
	r.until("the newer one counts", func() bool { return r.ledger("minutes") == "10:01:00 completed" })
	r.wantTraces(r.only("minutes").ID, "lost", "completed")
}

// TestScenario68: the end of a run cannot be written at once.
func TestScenario68(t *testing.T) {
	for _, failures := range []int{1, 1000} {
		t.Run(strconv.Itoa(failures), func(t *testing.T) {
			r := newRig(t)
			r.create("minutes", direct("0 1 10 * * *"))
			var left atomic.Int32
			left.Store(int32(failures))
			fails := func(method string) error {
				if method == "SettleRuns" && left.Add(-1) >= 0 {
					return store.ErrUnavailable
				}
				return nil
			}
			p := r.process(&faulty{Store: r.db, before: fails}, cron.Options{Lease: short})
			r.ringAt("10:01:00", p)
			first := p.outside.next(t)
			first.answer <- nil
			if failures == 1 {
				r.until("it is written after all", func() bool { return r.ledger("minutes") == "10:01:00 completed" })
				r.wantTraces(r.only("minutes").ID, "completed")
				return
			}
			r.until("the lease is over", func() bool { return p.Health().Running == 0 })
			p.stop()
			peer := r.process(nil, cron.Options{})
			r.ringAt("10:01:05", peer)
			second := peer.outside.next(t)
			if called(second, "Attempt") != "2" || called(second, "Instant") != called(first, "Instant") {
				t.Errorf("it is called for attempt %s of %s", called(second, "Attempt"), called(second, "Instant"))
			}
			second.answer <- nil
			r.until("it is done", func() bool { return r.ledger("minutes") == "10:01:00 completed" })
			r.wantTraces(r.only("minutes").ID, "lost", "completed")
		})
	}
}

// TestScenario77: the ledger cannot be written. Nothing runs unseen, and health says why.
func TestScenario77(t *testing.T) {
	r := newRig(t)
	r.create("minutes", direct("0 1 10 * * *"))
	r.create("flows", workflow("0 1 10 * * *"))
	r.exec("alter table orrery.trace add constraint broken check (false) not valid")
	p := r.process(nil, cron.Options{})
	r.ringAt("10:01:00", p)
	deferred := "select count(*) from orrery.occurrence where status = 'pending' and deferrals = 1 and attempt = 0 and slot is null"
	r.until("both are deferred", func() bool { return r.count(deferred) == 2 })
	if h := p.Health(); len(h.Faults) != 1 || !strings.Contains(h.Faults[0], "broken") {
		t.Errorf("health says %+v", h.Faults)
	}
	if n := len(p.outside.calls); n != 0 || len(r.running()) != 0 {
		t.Errorf("%d calls and %d executions run unseen", n, len(r.running()))
	}
	r.want(0, "select coalesce(sum(held), 0)::integer from orrery.singleton")
	r.exec("alter table orrery.trace drop constraint broken")
	r.ringAt("10:02:00", p)
	p.outside.next(t).answer <- nil
	r.until("both have run", func() bool {
		return r.ledger("minutes") == "10:01:00 completed" && r.ledger("flows") == "10:01:00 running"
	})
	if h := p.Health(); len(h.Faults) != 0 {
		t.Errorf("health still says %q", h.Faults)
	}
}

// TestScenario79: the loop is begun anew during four runs with four places.
func TestScenario79(t *testing.T) {
	r := newRig(t)
	r.create("seconds", overlapping(direct("* * 10 * * *"), "allow"))
	p := r.process(nil, cron.Options{Workers: 4, Drain: 30 * time.Second})
	var under []*call
	for i := range 4 {
		r.ringAt(fmt.Sprintf("10:00:%02d", i+1), p)
		under = append(under, p.outside.next(t))
	}
	p.stop()
	p.run(t)
	r.ringAt("10:00:05", p)
	r.until("a fifth is planned", func() bool { return strings.Contains(r.ledger("seconds"), "10:00:05 pending") })
	r.until("it has looked for a place", func() bool { return p.Health().ClaimedAgeMS >= 0 })
	if h := p.Health(); h.Running != 4 || len(p.outside.calls) != 0 {
		t.Errorf("%d run, and %d more calls", h.Running, len(p.outside.calls))
	}
	p.stop()
	drained := make(chan int)
	go func() { drained <- p.Drain() }()
	for _, c := range under {
		select {
		case <-drained:
			t.Fatal("the drain does not wait")
		default:
		}
		c.answer <- nil
	}
	if left := <-drained; left != 0 {
		t.Errorf("%d runs are left", left)
	}
	r.want(4, "select count(*) from orrery.occurrence where status = 'completed'")
	r.want(1, "select count(*) from orrery.occurrence where status = 'pending'")
}

// TestScenario80: a stop that a run outlasts. What is seen to end is given back; what is not keeps its lease.
func TestScenario80(t *testing.T) {
	for _, stubborn := range []bool{false, true} {
		t.Run(fmt.Sprint(stubborn), func(t *testing.T) {
			r := newRig(t)
			r.create("minutes", direct("0 1 10 * * *"))
			p := r.process(nil, cron.Options{Drain: time.Millisecond})
			p.outside.stubborn = stubborn
			r.ringAt("10:01:00", p)
			work := p.outside.next(t)
			p.stop()
			left := p.Drain()
			if stubborn {
				if left != 1 {
					t.Errorf("%d runs are left", left)
				}
				r.wantLedger("minutes", "10:01:00 running")
				r.want(1, "select held from orrery.singleton")
				r.at("10:02:01")
			} else {
				r.until("the end is seen", func() bool { return left == 0 || p.Drain() == 0 })
				r.wantLedger("minutes", "10:01:00 pending")
				r.want(0, "select held from orrery.singleton")
			}
			peer := r.process(nil, cron.Options{})
			again := peer.outside.next(t)
			if called(again, "Attempt") != "2" {
				t.Errorf("it is called for attempt %s", called(again, "Attempt"))
			}
			if stubborn {
				work.answer <- nil
			}
			again.answer <- nil
			r.until("the peer has done it", func() bool { return r.ledger("minutes") == "10:01:00 completed" })
			r.wantTraces(r.only("minutes").ID, map[bool]string{false: "cancelled", true: "lost"}[stubborn], "completed")
		})
	}
}

// TestScenario81: an operator ends what a runner does.
func TestScenario81(t *testing.T) {
	r := newRig(t)
	r.create("minutes", direct("0 1 10 * * *"))
	p := r.process(nil, cron.Options{Lease: time.Minute, Heartbeat: 20 * time.Millisecond})
	r.ringAt("10:01:00", p)
	work := p.outside.next(t)
	o := r.only("minutes")
	word := store.OperatorWord{Namespace: namespace, Schedule: "minutes", Occurrence: o.ID, By: "ann", Reason: "wrong day"}
	outcome, _, err := r.db.CancelOccurrence(t.Context(), word)
	if err != nil || outcome != store.OperatorAsked {
		t.Fatalf("cancel: %s, %v", outcome, err)
	}
	<-work.ctx.Done()
	r.until("it is cancelled", func() bool { return r.ledger("minutes") == "10:01:00 cancelled" })
	if o := r.only("minutes"); o.Reason != "cancelled by ann: wrong day" {
		t.Errorf("the reason is %q", o.Reason)
	}
	r.wantTraces(o.ID, "cancelled")
	r.want(0, "select held from orrery.singleton")
	if outcome, _, _ := r.db.CancelOccurrence(t.Context(), word); outcome != store.OperatorFinished {
		t.Errorf("a second cancel says %s", outcome)
	}
	// Another try, by the same operator.
	if outcome, err := r.db.RetryOccurrence(t.Context(), word); err != nil || outcome != store.OperatorPending {
		t.Fatalf("retry: %s, %v", outcome, err)
	}
	p.Ring()
	again := p.outside.next(t)
	if called(again, "Retry") != "1" || called(again, "Instant") != called(work, "Instant") {
		t.Errorf("it is called for try %s of %s", called(again, "Retry"), called(again, "Instant"))
	}
	again.answer <- nil
	r.until("it is done", func() bool { return r.ledger("minutes") == "10:01:00 completed" })
}

// TestScenario83: three retries, and always a failure.
func TestScenario83(t *testing.T) {
	r := newRig(t)
	d := workflow("0 0 * * * *")
	d.Retry = retry(3, 10*time.Second)
	r.create("hourly", d)
	x := r.runner(cron.Options{})
	r.tickAt(x, "11:00:00")
	name := r.execution("hourly", "11:00:00")
	var tries []string
	for i, pause := range []int{10, 20, 40} {
		tries = append(tries, "failed")
		r.end(failed, name)
		if c := r.tick(x); c.Started != 0 {
			t.Errorf("try %d has no pause", i+2)
		}
		r.want(0, "select held from orrery.singleton")
		r.pass(time.Duration(pause)*time.Second - time.Millisecond)
		if c := r.tick(x); c.Started != 0 {
			t.Errorf("try %d comes too soon", i+2)
		}
		r.pass(time.Millisecond)
		if c := r.tick(x); c.Started != 1 {
			t.Errorf("try %d does not come", i+2)
		}
		name = fmt.Sprintf("%s-r%d", r.execution("hourly", "11:00:00"), i+1)
	}
	r.end(failed, name)
	r.tick(x)
	r.wantLedger("hourly", "11:00:00 failed")
	r.wantTraces(r.only("hourly").ID, append(tries, "failed")...)
	r.want(1, "select count(*) from orrery.dead_letter where tries = 4 and reason like '%Test.Failed%'")
	r.want(4, "select count(*) from orrery.execution")
	r.tickAt(x, "12:00:00")
	r.wantLedger("hourly", "11:00:00 failed", "12:00:00 running")
	o := r.occurrences("hourly")[0]
	word := store.OperatorWord{Namespace: namespace, Schedule: "hourly", Occurrence: o.ID, By: "ann"}
	if outcome, err := r.db.RetryOccurrence(t.Context(), word); err != nil || outcome != store.OperatorPending {
		t.Errorf("retry: %s, %v", outcome, err)
	}
	r.want(0, "select count(*) from orrery.dead_letter")
}

func TestScenario84(t *testing.T) {
	r := newRig(t)
	d := workflow("0 * * * * *")
	d.PauseAfter = 3
	r.create("minutes", d)
	x := r.runner(cron.Options{})
	for i := 1; i <= 3; i++ {
		at := fmt.Sprintf("10:%02d:00", i)
		r.tickAt(x, at)
		r.end(failed, r.execution("minutes", at))
	}
	s, _ := r.schedule("minutes")
	if s.State != store.SchedulePaused || s.PauseReason != "3 failures in a row" || s.Failures != 3 {
		t.Errorf("it is %s (%q) after %d failures", s.State, s.PauseReason, s.Failures)
	}
	r.want(1, "select count(*) from orrery.schedule_event where kind = 'paused' and detail = '3 failures in a row'")
	r.tickAt(x, "10:10:00")
	r.want(3, "select count(*) from orrery.occurrence")
	outcome, id := r.trigger(store.Trigger{Schedule: "minutes"})
	if outcome != store.TriggerCreated {
		t.Errorf("the trigger says %s", outcome)
	}
	r.tick(x)
	if !slices.Contains(r.running(), fmt.Sprintf("minutes-m%d", id)) {
		t.Errorf("%q run", r.running())
	}
}
