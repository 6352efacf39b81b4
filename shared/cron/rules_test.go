package cron_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/orrery-dev/orrery/shared/cron"
	"github.com/orrery-dev/orrery/shared/store"
	"github.com/orrery-dev/orrery/shared/wire"
)

// What schedules must do beside the numbered cases.

// TestOldPlansAreNotWritten: a plan counts only for the cursor and the version of the definition that it was made from.
func TestOldPlansAreNotWritten(t *testing.T) {
	r := newRig(t)
	r.create("minutes", workflow("0 * * * * *"))
	r.at("10:01:00")
	s, d := r.schedule("minutes")
	old := d.PlanUpTo(&s, r.time())
	r.exec("update orrery.schedule set version = 2")
	if won, err := r.db.Plan(t.Context(), []store.Planned{old}); err != nil || len(won) != 0 {
		t.Errorf("a plan of an older version was written: %v, %v", won, err)
	}
	r.wantLedger("minutes")
	r.exec("update orrery.schedule set version = 1, cursor_at = cursor_at + interval '1 second'")
	if won, err := r.db.Plan(t.Context(), []store.Planned{old}); err != nil || len(won) != 0 {
		t.Errorf("a plan of an older cursor was written: %v, %v", won, err)
	}
	r.wantLedger("minutes")
}

// TestEditBetweenLookAndPlan: the definition changes after a runner has planned with it and before that is written.
func TestEditBetweenLookAndPlan(t *testing.T) {
	r := newRig(t)
	r.create("minutes", workflow("0 * * * * *"))
	var edited atomic.Bool
	f := &faulty{Store: r.db, before: func(method string) error {
		if method == "Plan" && edited.CompareAndSwap(false, true) {
			r.replace("minutes", workflow("30 * * * * *"))
		}
		return nil
	}}
	r.at("10:03:00")
	r.tick(r.runnerOver(f, r.front, cron.Options{}))
	r.wantLedger("minutes", "10:02:00 skipped_misfire 2", "10:03:00 running")
	if s, _ := r.schedule("minutes"); !s.Next.Equal(r.instant("10:03:30")) {
		t.Errorf("next is %s", s.Next)
	}
}

// TestRenewalIsTriedAgain: a renewal that fails is no lost lease. The work goes on, and its end counts.
func TestRenewalIsTriedAgain(t *testing.T) {
	r := newRig(t)
	r.create("minutes", direct("0 1 10 * * *"))
	var renewals atomic.Int32
	fails := func(method string) error {
		if method == "Renew" && renewals.Add(1) <= 3 {
			return store.ErrUnavailable
		}
		return nil
	}
	p := r.process(&faulty{Store: r.db, before: fails}, cron.Options{Lease: time.Minute, Heartbeat: time.Millisecond})
	r.ringAt("10:01:00", p)
	work := p.outside.next(t)
	r.until("a renewal goes well", func() bool { return renewals.Load() > 4 })
	if err := work.ctx.Err(); err != nil {
		t.Errorf("the work was ended: %v", err)
	}
	work.answer <- nil
	r.until("it is done", func() bool { return r.ledger("minutes") == "10:01:00 completed" })
	r.wantTraces(r.only("minutes").ID, "completed")
	if h := p.Health(); h.RenewalFailures != 3 || h.Lost != 0 {
		t.Errorf("health says %+v", h)
	}
}

// TestRunsHaveATimeout: a direct target is ended when its time is over, and an execution gets it as its own.
func TestRunsHaveATimeout(t *testing.T) {
	r := newRig(t)
	d := direct("0 1 10 * * *")
	d.TimeoutMS = 50
	r.create("call", d)
	d = workflow("0 1 10 * * *")
	d.TimeoutMS = time.Minute.Milliseconds()
	r.create("flow", d)
	p := r.process(nil, cron.Options{})
	r.ringAt("10:01:00", p)
	<-p.outside.next(t).ctx.Done()
	r.until("it has failed", func() bool { return r.ledger("call") == "10:01:00 failed" })
	if o := r.only("call"); o.Reason != "timed out after 50ms" {
		t.Errorf("the reason is %q", o.Reason)
	}
	r.until("the execution runs", func() bool { return r.ledger("flow") == "10:01:00 running" })
	r.want(1, "select count(*) from orrery.execution where wake_at = $1", r.instant("10:02:00"))
}

// TestHealthSaysWhatFails: where planning or claiming fails nothing is done by halves, and health says so until it goes well.
func TestHealthSaysWhatFails(t *testing.T) {
	for method, fault := range map[string]string{"Plan": "planning fails", "ClaimRuns": "claiming fails"} {
		t.Run(method, func(t *testing.T) {
			r := newRig(t)
			r.create("minutes", workflow("0 1 10 * * *"))
			breaks := errors.New("broken")
			f := &faulty{Store: r.db, before: func(m string) error {
				if m == method {
					return breaks
				}
				return nil
			}}
			x := r.runnerOver(f, r.front, cron.Options{})
			if h := x.Health(); h.PlannedAgeMS != -1 || h.ClaimedAgeMS != -1 {
				t.Errorf("before the first look health says %+v", h)
			}
			r.at("10:01:00")
			if _, err := x.Tick(t.Context()); !errors.Is(err, breaks) {
				t.Errorf("the tick says %v", err)
			}
			if h := x.Health(); len(h.Faults) != 1 || !strings.HasPrefix(h.Faults[0], fault) || h.ClaimedAgeMS != -1 {
				t.Errorf("health says %+v", h)
			}
			r.want(0, "select count(*) from orrery.occurrence where status <> 'pending'")
			breaks = nil
			r.tick(x)
			if h := x.Health(); len(h.Faults) != 0 || h.PlannedAgeMS < 0 || h.ClaimedAgeMS < 0 {
				t.Errorf("health still says %+v", h)
			}
			r.wantLedger("minutes", "10:01:00 running")
		})
	}
}

// TestLostClaimStartsNothing: somebody else has claimed the occurrence between the claim and the start.
func TestLostClaimStartsNothing(t *testing.T) {
	r := newRig(t)
	r.create("call", direct("0 1 10 * * *"))
	r.create("flow", workflow("0 1 10 * * *"))
	f := &faulty{Store: r.db, before: func(method string) error {
		if method == "StartRuns" {
			r.exec("update orrery.occurrence set claim = claim + 1, claimant = 'another' where status = 'claimed' and claimant <> 'another'")
		}
		return nil
	}}
	p := r.process(f, cron.Options{Claimant: "slow"})
	r.ringAt("10:01:00", p)
	r.until("both are somebody else's", func() bool {
		return r.count("select count(*) from orrery.occurrence where claimant = 'another' and status = 'claimed'") == 2
	})
	p.stop()
	r.want(0, "select count(*) from orrery.trace")
	r.want(0, "select count(*) from orrery.execution")
	r.want(0, "select coalesce(sum(held), 0)::integer from orrery.singleton")
	if n := len(p.outside.calls); n != 0 {
		t.Errorf("%d calls were made", n)
	}
}

// TestSkipNamesItsKey: who finds the key held says which, and the key's row stays when it is free.
func TestSkipNamesItsKey(t *testing.T) {
	r := newRig(t)
	d := overlapping(workflow("0 * 10 * * *"), "skip")
	d.Overlap.Key = "the ledger"
	r.create("minutes", d)
	x := r.runner(cron.Options{})
	r.tickAt(x, "10:01:00")
	r.tickAt(x, "10:02:00")
	r.want(1, "select count(*) from orrery.occurrence where status = 'skipped_overlap' and reason = 'key the ledger is held by another run'")
	r.end(done, r.execution("minutes", "10:01:00"))
	r.want(1, "select count(*) from orrery.singleton where key = 'the ledger' and held = 0 and token > 0")
	skipped := r.occurrences("minutes")[1]
	word := store.OperatorWord{Namespace: namespace, Schedule: "minutes", Occurrence: skipped.ID, By: "ann"}
	if outcome, err := r.db.RetryOccurrence(t.Context(), word); err != nil || outcome != store.OperatorPending {
		t.Errorf("another try of what was skipped: %s, %v", outcome, err)
	}
	r.tick(x)
	if again := r.occurrences("minutes")[1]; again.ID != skipped.ID || again.Status != "running" || again.Retry != 1 {
		t.Errorf("what was skipped is %+v", again)
	}
	r.end(done, r.execution("minutes", "10:02:00")+"-r1")
	before := r.count("select token::integer from orrery.singleton where key = 'the ledger'")
	r.tickAt(x, "10:03:00")
	if after := r.count("select token::integer from orrery.singleton where key = 'the ledger'"); after <= before {
		t.Errorf("the token was %d and is %d", before, after)
	}
}

// TestTickRunsWhatFits: a tick runs direct targets that end within its time, and leaves the others.
func TestTickRunsWhatFits(t *testing.T) {
	r := newRig(t)
	short, long := direct("0 1 10 * * *"), direct("0 1 10 * * *")
	short.TimeoutMS, long.TimeoutMS = 10_000, 60_000
	r.create("short", short)
	r.create("long", long)
	out := newOutside()
	x := r.runner(cron.Options{HTTP: out})
	ctx, cancel := context.WithTimeout(t.Context(), 45*time.Second)
	defer cancel()
	r.at("10:01:00")
	ticked := make(chan cron.Counts)
	go func() {
		c, err := x.Tick(ctx)
		if err != nil {
			t.Error(err)
		}
		ticked <- c
	}()
	out.next(t).answer <- nil
	if c := <-ticked; c.Started != 1 || c.Completed != 1 {
		t.Errorf("the tick did %+v", c)
	}
	r.wantLedger("short", "10:01:00 completed")
	r.wantLedger("long", "10:01:00 pending")
	r.want(0, "select claim from orrery.occurrence where status = 'pending'")
}

// TestTickMakesPartitions: a tick makes the partitions of history for the days ahead.
func TestTickMakesPartitions(t *testing.T) {
	r := newRig(t)
	table := "orrery.history_" + day().AddDate(0, 0, 4).Format("20060102")
	r.exec("drop table if exists " + table)
	r.tick(r.runner(cron.Options{}))
	r.want(1, "select count(to_regclass($1))", table)
}

// TestTriesRunOneVersion: schedule and instant decide which version of a workflow that is being rolled out an occurrence runs,
// and another try runs the same, whoever asks for it.
func TestTriesRunOneVersion(t *testing.T) {
	r := newRig(t)
	publish := func(comment string) {
		document, _ := json.Marshal(fmt.Sprintf("Comment: %s\n%s", comment, waiting))
		if _, _, err := r.front.Publish(t.Context(), caller, wire.PublishRequest{Name: "waiting", Document: document}, false); err != nil {
			t.Fatal(err)
		}
	}
	publish("the second")
	half := wire.AliasRequest{Versions: []wire.AliasVersion{{Version: 1, Weight: 50}, {Version: 2, Weight: 50}}}
	if _, _, err := r.front.SetAlias(t.Context(), caller, "waiting", "live", half); err != nil {
		t.Fatal(err)
	}
	d := overlapping(workflow("1-20 0 10 * * *"), "allow")
	d.Target.Workflow.Alias = "live"
	d.Retry = retry(1, time.Second)
	r.create("seconds", d)
	x := r.runner(cron.Options{})
	const n = 20
	versions := func() (out [n]int) {
		t.Helper()
		for i, o := range r.occurrences("seconds") {
			out[i] = o.WorkflowVersion
		}
		return out
	}
	for i := range n {
		r.tickAt(x, fmt.Sprintf("10:00:%02d", i+1))
	}
	first := versions()
	of := map[int]int{}
	for _, v := range first {
		of[v]++
	}
	if of[1] == 0 || of[2] == 0 || of[1]+of[2] != n {
		t.Errorf("the versions that run are %v", first)
	}
	fail := func() {
		t.Helper()
		r.end(failed, r.running()...)
		r.at("10:01:30")
		r.tick(x)
		r.want(n, "select count(*) from orrery.occurrence where status in ('running', 'failed')")
	}
	fail()
	r.want(n, "select count(*) from orrery.occurrence where retry = 1 and status = 'running'")
	if again := versions(); again != first {
		t.Errorf("the second tries run %v, the first %v", again, first)
	}
	fail()
	for _, o := range r.occurrences("seconds") {
		word := store.OperatorWord{Namespace: namespace, Schedule: "seconds", Occurrence: o.ID, By: "ann"}
		if outcome, err := r.db.RetryOccurrence(t.Context(), word); err != nil || outcome != store.OperatorPending {
			t.Fatalf("retry: %s, %v", outcome, err)
		}
	}
	r.tick(x)
	r.want(n, "select count(*) from orrery.occurrence where retry = 2 and status = 'running'")
	if again := versions(); again != first {
		t.Errorf("the tries that ann asked for run %v, the first %v", again, first)
	}
}

// TestUnfitInputIsRefused: an input that does not fit its workflow's schema fails without a try, and is not tried again.
func TestUnfitInputIsRefused(t *testing.T) {
	r := newRig(t)
	document, _ := json.Marshal("Input: {type: object, required: [kind]}\n" + waiting)
	if _, _, err := r.front.Publish(t.Context(), caller, wire.PublishRequest{Name: "strict", Document: document}, false); err != nil {
		t.Fatal(err)
	}
	d := workflow("0 * 10 * * *")
	d.Target.Workflow.Name = "strict"
	d.Retry = retry(3, time.Second)
	r.create("minutes", d)
	x := r.runner(cron.Options{})
	r.tickAt(x, "10:01:00")
	o := r.only("minutes")
	if o.Status != "failed" || !strings.HasPrefix(o.Reason, "guard_refused: ") || !strings.Contains(o.Reason, "input: required") {
		t.Errorf("it is %s: %s", o.Status, o.Reason)
	}
	r.wantTraces(o.ID)
	r.want(0, "select held from orrery.singleton")
}

// TestAnotherTitleChangesNothing: a schedule is known by its id.
func TestAnotherTitleChangesNothing(t *testing.T) {
	r := newRig(t)
	d := workflow("0 * * * * *")
	d.JitterMS = 30_000
	r.create("minutes", d)
	before, x := r.schedule("minutes")
	d.Title = "another name"
	r.pass(time.Second)
	r.replace("minutes", d)
	after, y := r.schedule("minutes")
	if after.ID != before.ID || !after.Cursor.At.Equal(before.Cursor.At) || !after.Wake.Equal(before.Wake) || x.Schedule.Offset != y.Schedule.Offset {
		t.Errorf("before %+v, after %+v", before, after)
	}
}

// TestOldestFirst: with one place, what is due for longest goes first.
func TestOldestFirst(t *testing.T) {
	r := newRig(t)
	for name, spec := range map[string]string{"b": "0 1 10 * * *", "c": "0 2 10 * * *", "a": "0 3 10 * * *"} {
		r.create(name, direct(spec))
	}
	p := r.process(nil, cron.Options{Workers: 1})
	r.ringAt("10:04:00", p)
	for _, want := range []string{"b", "c", "a"} {
		c := p.outside.next(t)
		if got := called(c, "Schedule"); got != want {
			t.Errorf("%s runs before %s", got, want)
		}
		c.answer <- nil
	}
}

// TestLockedRowsAreLeft: a claim waits for nobody.
func TestLockedRowsAreLeft(t *testing.T) {
	r := newRig(t)
	r.create("a", workflow("0 1 10 * * *"))
	r.create("b", workflow("0 1 10 * * *"))
	x := r.runner(cron.Options{})
	r.trigger(store.Trigger{Schedule: "a"})
	tx, err := r.pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback(context.Background())
	if _, err := tx.Exec(t.Context(), "select from orrery.occurrence for update"); err != nil {
		t.Fatal(err)
	}
	r.tickAt(x, "10:01:00")
	r.wantLedger("b", "10:01:00 running")
	r.want(2, "select count(*) from orrery.occurrence o join orrery.schedule s on s.id = o.schedule where s.name = 'a' and o.claim <= 1 and o.trigger in ('cron', 'manual')")
	r.want(1, "select count(*) from orrery.occurrence where trigger = 'manual' and status = 'pending' and claim = 0")
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.tick(x)
	r.want(0, "select count(*) from orrery.occurrence where status = 'pending' and not buffered")
}

// TestLimitEndsTheSchedule: after its last run a schedule is completed, and says so.
func TestLimitEndsTheSchedule(t *testing.T) {
	r := newRig(t)
	d := overlapping(workflow("0 * * * * *"), "allow")
	d.Limit = 2
	r.create("minutes", d)
	x := r.runner(cron.Options{})
	for i := 1; i <= 4; i++ {
		r.tickAt(x, fmt.Sprintf("10:%02d:00", i))
	}
	r.wantLedger("minutes", "10:01:00 running", "10:02:00 running")
	if s, _ := r.schedule("minutes"); s.State != store.ScheduleCompleted || !s.Next.IsZero() {
		t.Errorf("it is %s, next at %s", s.State, s.Next)
	}
	r.want(1, "select count(*) from orrery.schedule_event where kind = 'completed'")
}

// request is what a direct target is asked.
type request struct {
	what, payload string
	facts         map[string]string
}

// asked are direct targets that write down what they are asked, and answer as the test says.
type asked struct {
	requests chan request
	status   int
	answer   string
}

func (a *asked) Call(_ context.Context, method, url string, header http.Header, body []byte) (int, []byte, error) {
	facts := map[string]string{}
	for name := range header {
		facts[name] = header.Get(name)
	}
	a.requests <- request{method + " " + url, string(body), facts}
	return a.status, []byte(a.answer), nil
}

func (a *asked) Invoke(_ context.Context, function, qualifier string, facts map[string]string, payload []byte) ([]byte, error) {
	a.requests <- request{function + ":" + qualifier, string(payload), facts}
	if a.status > 299 {
		return []byte(a.answer), errors.New(a.answer)
	}
	return []byte(a.answer), nil
}

// TestWhatTheWorkGets: a direct target is asked what the definition says, with the facts of its occurrence, and its answer is
// in the ledger.
func TestWhatTheWorkGets(t *testing.T) {
	const input = `{"kind":"full"}`
	for name, x := range map[string]struct {
		target wire.ScheduleTarget
		status int
		answer string
		want   string
		facts  map[string]string
		body   string
		end    string
		kept   string
	}{
		"a request": {
			wire.ScheduleTarget{HTTP: &wire.HTTPTarget{URL: "http://outside/work", Method: "PUT", Headers: []wire.HTTPHeader{{Name: "X-Own", Value: "1"}}}},
			201, `{"id":7}`, "PUT http://outside/work", map[string]string{"X-Own": "1", "Content-Type": "application/json"}, input, "completed", `{"id":7}`,
		},
		"a request without a body": {
			wire.ScheduleTarget{HTTP: &wire.HTTPTarget{URL: "http://outside/work", Method: "GET"}},
			200, "plain", "GET http://outside/work", nil, "", "completed", `"plain"`,
		},
		"a request that is refused": {
			wire.ScheduleTarget{HTTP: &wire.HTTPTarget{URL: "http://outside/work"}},
			404, "not here", "POST http://outside/work", nil, input, "failed: the answer has status 404: not here", "",
		},
		"a function": {
			wire.ScheduleTarget{Lambda: &wire.LambdaTarget{Function: "clean", Qualifier: "live"}},
			200, `{"cleaned":3}`, "clean:live", nil, input, "completed", `{"cleaned":3}`,
		},
		"a function that fails": {
			wire.ScheduleTarget{Lambda: &wire.LambdaTarget{Function: "clean"}},
			500, "it raised", "clean:", nil, input, "failed: it raised", `"it raised"`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			d := direct("0 1 10 * * *")
			d.Target, d.Input, d.TimeoutMS = x.target, json.RawMessage(input), 10_000
			r.create("job", d)
			a := &asked{make(chan request, 1), x.status, x.answer}
			r.at("10:01:00")
			if c := r.tick(r.runner(cron.Options{HTTP: a, Lambda: a})); c.Started != 1 {
				t.Fatalf("the tick did %+v", c)
			}
			got, o := <-a.requests, r.only("job")
			if got.what != x.want || got.payload != x.body {
				t.Errorf("asked %s with %s, want %s with %s", got.what, got.payload, x.want, x.body)
			}
			prefix := ""
			facts := map[string]string{}
			if x.target.HTTP != nil {
				prefix = "Orrery-"
				facts["Idempotency-Key"] = fmt.Sprintf("default/job/%d/0", o.ID)
				facts["Traceparent"] = r.traces(o.ID)[0].Context
			}
			for fact, value := range map[string]string{
				"Schedule": "job", "Occurrence": fmt.Sprint(o.ID), "Instant": r.instant("10:01:00").Format(time.RFC3339), "Trigger": "cron", "Retry": "0",
				"Attempt": "1", "Fencing-Token": fmt.Sprint(r.traces(o.ID)[0].Token),
			} {
				facts[prefix+fact] = value
			}
			maps.Copy(facts, x.facts)
			for fact, value := range facts {
				if got.facts[fact] != value {
					t.Errorf("%s is %q, want %q", fact, got.facts[fact], value)
				}
			}
			end := o.Status
			if o.Reason != "" {
				end += ": " + o.Reason
			}
			if end != x.end {
				t.Errorf("it has %s, want %s", end, x.end)
			}
			if kept := string(r.traces(o.ID)[0].Result); kept != x.kept {
				t.Errorf("the ledger has %s, want %s", kept, x.kept)
			}
		})
	}
}

// TestExecutionsKnowTheirOccurrence: an execution finds the facts of its occurrence in its context object.
func TestExecutionsKnowTheirOccurrence(t *testing.T) {
	r := newRig(t)
	document, _ := json.Marshal("StartAt: Show\nStates:\n  Show: {Type: Pass, Parameters: {facts.$: $$.Schedule}, End: true}\n")
	if _, _, err := r.front.Publish(t.Context(), caller, wire.PublishRequest{Name: "show", Document: document}, false); err != nil {
		t.Fatal(err)
	}
	d := workflow("0 1 10 * * *")
	d.Target.Workflow.Name = "show"
	r.create("job", d)
	r.tickAt(r.runner(cron.Options{}), "10:01:00")
	o := r.only("job")
	r.wantTraces(o.ID, "completed")
	x := r.traces(o.ID)[0]
	var got struct{ Facts map[string]any }
	if err := json.Unmarshal(x.Result, &got); err != nil {
		t.Fatalf("%s: %v", x.Result, err)
	}
	for fact, want := range map[string]any{
		"Id": "job", "Trigger": "cron", "Retry": 0.0, "FencingToken": float64(x.Token),
	} {
		if got.Facts[fact] != want {
			t.Errorf("%s is %v, want %v", fact, got.Facts[fact], want)
		}
	}
	if at, err := time.Parse(time.RFC3339, fmt.Sprint(got.Facts["Instant"])); err != nil || !at.Equal(o.Instant) {
		t.Errorf("Instant is %v", got.Facts["Instant"])
	}
}
