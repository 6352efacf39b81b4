package cron_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/orrery-dev/orrery/shared/auth"
	"github.com/orrery-dev/orrery/shared/cron"
	"github.com/orrery-dev/orrery/shared/frontend"
	"github.com/orrery-dev/orrery/shared/history"
	"github.com/orrery-dev/orrery/shared/schedule"
	"github.com/orrery-dev/orrery/shared/store"
	"github.com/orrery-dev/orrery/shared/storetest"
	"github.com/orrery-dev/orrery/shared/wire"
)

// The tests named Scenario have the numbers of the list of cases that schedules must pass; those of the calendar are with
// package schedule.

// rig is a real database whose clock the test sets, with a workflow that occurrences start. The day is today, so that history
// has its partitions; the hour is the test's.
type rig struct {
	t     *testing.T
	pool  *pgxpool.Pool // to look at rows, and to break things
	db    *store.Store
	front *frontend.Frontend
	node  store.Joined // owns all partitions
	held  []store.Held

	mu  sync.Mutex
	now time.Time
}

const namespace history.NamespaceID = 1

// waiting is a workflow whose executions wait until the test ends them, or somebody cancels them.
const waiting = "StartAt: Wait\nStates:\n  Wait: {Type: Wait, Seconds: 3600, End: true}\n"

func newRig(t *testing.T) *rig {
	t.Helper()
	t.Parallel()
	url := storetest.URL(t)
	r := &rig{t: t, now: day().Add(10 * time.Hour)}
	var err error
	if r.pool, err = pgxpool.New(t.Context(), url); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.pool.Close)
	if r.db, err = store.Open(context.Background(), url, store.Options{Direct: true, MaxConns: 10, Now: r.time}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.db.Close)
	r.front = frontend.New(r.db, frontend.Options{})
	document, _ := json.Marshal(waiting)
	_, _, err = r.front.Publish(t.Context(), caller, wire.PublishRequest{Name: "waiting", Document: document}, false)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// day is the beginning of today.
func day() time.Time { return time.Now().UTC().Truncate(24 * time.Hour) }

// time is the database's.
func (r *rig) time() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.now
}

// at sets the clock to a time of today, such as 10:30:00.
func (r *rig) at(clock string) {
	r.t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.now = r.instant(clock)
}

// instant is a time of today.
func (r *rig) instant(clock string) time.Time {
	r.t.Helper()
	at, err := time.Parse(time.TimeOnly, clock)
	if err != nil {
		r.t.Fatal(err)
	}
	return day().Add(time.Duration(at.Hour())*time.Hour + time.Duration(at.Minute())*time.Minute + time.Duration(at.Second())*time.Second)
}

func (r *rig) pass(d time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.now = r.now.Add(d)
}

// exec runs a statement that no process of ours would send.
func (r *rig) exec(sql string, args ...any) {
	r.t.Helper()
	if _, err := r.pool.Exec(context.Background(), sql, args...); err != nil {
		r.t.Fatalf("%s: %v", sql, err)
	}
}

func (r *rig) count(sql string, args ...any) (n int) {
	r.t.Helper()
	if err := r.pool.QueryRow(context.Background(), sql, args...).Scan(&n); err != nil {
		r.t.Fatalf("%s: %v", sql, err)
	}
	return n
}

// want compares a count with what the test expects.
func (r *rig) want(n int, sql string, args ...any) {
	r.t.Helper()
	if got := r.count(sql, args...); got != n {
		r.t.Errorf("%s %v: got %d, want %d", sql, args, got, n)
	}
}

// until waits for what goes on in the background.
func (r *rig) until(what string, is func() bool) {
	r.t.Helper()
	for late := time.Now().Add(30 * time.Second); !is(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(late) {
			r.t.Fatalf("never: %s\n%s", what, r.ledger(""))
		}
	}
}

// workflow is a schedule of executions.
func workflow(specs ...string) wire.ScheduleDefinition {
	return wire.ScheduleDefinition{
		Specs: specs, Dialect: "seconds", Target: wire.ScheduleTarget{Workflow: &wire.WorkflowTarget{Name: "waiting"}},
	}
}

// direct is a schedule of requests.
func direct(specs ...string) wire.ScheduleDefinition {
	return wire.ScheduleDefinition{
		Specs: specs, Dialect: "seconds", Target: wire.ScheduleTarget{HTTP: &wire.HTTPTarget{URL: "http://outside/work"}},
	}
}

// overlapping is a schedule with an overlap policy.
func overlapping(d wire.ScheduleDefinition, policy string) wire.ScheduleDefinition {
	d.Overlap = &wire.ScheduleOverlap{Policy: policy}
	return d
}

// caller is whoever changes schedules.
var caller = auth.Call{Namespace: "default"}

// create makes a schedule.
func (r *rig) create(name string, w wire.ScheduleDefinition) {
	r.t.Helper()
	w.ID = name
	if _, created, err := r.front.CreateSchedule(r.t.Context(), caller, w); err != nil || !created {
		r.t.Fatalf("create %s: %v, %+v", name, created, err)
	}
}

func (r *rig) schedule(name string) (store.Schedule, *cron.Definition) {
	r.t.Helper()
	s, _, err := r.db.Schedule(r.t.Context(), namespace, name)
	if err != nil {
		r.t.Fatal(err)
	}
	d, err := cron.Read(name, s.Document)
	if err != nil {
		r.t.Fatal(err)
	}
	return s, d
}

// replace gives a schedule another definition.
func (r *rig) replace(name string, w wire.ScheduleDefinition) {
	r.t.Helper()
	_, err := r.front.ReplaceSchedule(r.t.Context(), caller, name, wire.ReplaceQuery{}, w)
	r.changed(name, err)
}

func (r *rig) pause(name string) {
	r.t.Helper()
	_, err := r.front.PauseSchedule(r.t.Context(), caller, name, wire.PauseRequest{Reason: "by the test"})
	r.changed(name, err)
}

func (r *rig) resume(name string, how schedule.Resume) {
	r.t.Helper()
	_, err := r.front.ResumeSchedule(r.t.Context(), caller, name, wire.ResumeRequest{Instants: string(how)})
	r.changed(name, err)
}

func (r *rig) archive(name string) {
	r.t.Helper()
	_, err := r.front.ArchiveSchedule(r.t.Context(), caller, name, wire.ArchiveRequest{})
	r.changed(name, err)
}

func (r *rig) changed(name string, err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatalf("change %s: %+v", name, err)
	}
}

// trigger triggers a schedule by hand.
func (r *rig) trigger(q store.Trigger) (store.TriggerOutcome, history.OccurrenceID) {
	r.t.Helper()
	q.Namespace = namespace
	if q.Own == "" {
		_, d := r.schedule(q.Schedule)
		q.Own = d.Overlap
	}
	outcome, id, err := r.db.Trigger(r.t.Context(), q)
	if err != nil {
		r.t.Fatal(err)
	}
	return outcome, id
}

// occurrences lists those of a schedule by instant.
func (r *rig) occurrences(name string) []store.Occurrence {
	r.t.Helper()
	s, _ := r.schedule(name)
	page, err := r.db.Occurrences(r.t.Context(), store.OccurrenceQuery{Schedule: s.ID, Limit: 1000})
	if err != nil {
		r.t.Fatal(err)
	}
	slices.SortStableFunc(page.Occurrences, func(a, b store.Occurrence) int { return a.Instant.Compare(b.Instant) })
	return page.Occurrences
}

// only gives the one occurrence that a schedule has.
func (r *rig) only(name string) store.Occurrence {
	r.t.Helper()
	list := r.occurrences(name)
	if len(list) != 1 {
		r.t.Fatalf("schedule %s has %d occurrences, want 1:\n%s", name, len(list), r.ledger(name))
	}
	return list[0]
}

// ledger shows the occurrences of a schedule, a line each: "11:00:00 running". Those that wait for their key are "waiting", and
// of a stretch that was missed the number of instants is shown. Without a name it shows all.
func (r *rig) ledger(name string) string {
	rows, err := r.pool.Query(context.Background(), `
		select to_char(o.instant at time zone 'utc', 'HH24:MI:SS ') || case when o.buffered then 'waiting' else o.status::text end
			|| coalesce(' ' || o.skipped, '') || case when $1 = '' then format(' %s %s %s', s.name, o.id, o.reason) else '' end
		from orrery.occurrence o join orrery.schedule s on s.id = o.schedule where $1 in ('', s.name)
		order by o.instant, o.id`, name)
	if err != nil {
		return err.Error()
	}
	var out []string
	for rows.Next() {
		var line string
		if err := rows.Scan(&line); err != nil {
			return err.Error()
		}
		out = append(out, line)
	}
	return strings.Join(out, "\n")
}

// wantLedger compares the ledger of a schedule.
func (r *rig) wantLedger(name string, lines ...string) {
	r.t.Helper()
	if got, want := r.ledger(name), strings.Join(lines, "\n"); got != want {
		r.t.Errorf("at %s the occurrences of %s are\n%s\nwant\n%s", r.time().Format(time.TimeOnly), name, got, want)
	}
}

func (r *rig) traces(id history.OccurrenceID) []store.Trace {
	r.t.Helper()
	list, err := r.db.Traces(r.t.Context(), id, 100)
	if err != nil {
		r.t.Fatal(err)
	}
	return list
}

// wantTraces compares the statuses of the starts of an occurrence.
func (r *rig) wantTraces(id history.OccurrenceID, statuses ...string) {
	r.t.Helper()
	var got []string
	for _, x := range r.traces(id) {
		got = append(got, x.Status)
	}
	if !slices.Equal(got, statuses) {
		r.t.Errorf("the starts of occurrence %d are %q, want %q", id, got, statuses)
	}
}

// own makes the test the owner of all partitions.
func (r *rig) own() {
	r.t.Helper()
	if r.node.Fence != 0 {
		return
	}
	var err error
	if r.node, err = r.db.Join(r.t.Context(), store.JoinRequest{Node: "test", Behaviour: history.BehaviourLevel, Timeout: time.Hour}); err != nil {
		r.t.Fatal(err)
	}
	owners, _, err := r.db.Partitions(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	q := store.TakeRequest{By: r.node.Fence, Timeout: time.Hour}
	for _, o := range owners {
		q.Partitions = append(q.Partitions, o.Partition)
	}
	if r.held, err = r.db.Take(r.t.Context(), q); err != nil || len(r.held) != len(owners) {
		r.t.Fatalf("took %d of %d partitions: %v", len(r.held), len(owners), err)
	}
}

// end ends executions as their owner does, in one commit.
func (r *rig) end(status history.Status, names ...string) store.Committed {
	r.t.Helper()
	return r.endBy(r.db, status, names...)
}

func (r *rig) endBy(db *store.Store, status history.Status, names ...string) store.Committed {
	r.t.Helper()
	r.own()
	b := store.Batch{Fence: r.node.Fence}
	for _, name := range names {
		d, err := r.db.Execution(r.t.Context(), namespace, name)
		if err != nil {
			r.t.Fatal(err)
		}
		end := &history.End{Status: status}
		if status != history.Succeeded {
			end.Error, end.Cause = "Test.Failed", "the test says so"
		}
		at := slices.IndexFunc(r.held, func(h store.Held) bool { return h.Partition == d.Partition })
		b.Items = append(b.Items, store.Item{Partition: d.Partition, Epoch: r.held[at].Epoch, Turn: &history.Turn{
			Execution: d.ID, Seq: 2, At: history.TimeOf(r.time()), FirstEvent: 100, End: end, Settles: r.settles(name),
			Events: []history.Event{{Type: history.EventExited, Scope: history.MainScope}},
		}})
	}
	done, err := db.Commit(context.Background(), b)
	if err != nil {
		r.t.Fatal(err)
	}
	return done
}

func (r *rig) settles(execution string) (id history.OccurrenceID) {
	r.t.Helper()
	if err := r.pool.QueryRow(context.Background(), "select occurrence from orrery.execution where name = $1", execution).Scan(&id); err != nil {
		r.t.Fatal(err)
	}
	return id
}

// running are the executions that run, by name.
func (r *rig) running() (names []string) {
	r.t.Helper()
	rows, err := r.pool.Query(context.Background(), "select name from orrery.execution where status = 1 order by name")
	if err != nil {
		r.t.Fatal(err)
	}
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			r.t.Fatal(err)
		}
		names = append(names, name)
	}
	return names
}

// execution is the name of what an occurrence of a schedule starts.
func (r *rig) execution(schedule, clock string) string {
	return schedule + "-" + r.instant(clock).Format("20060102T150405Z")
}

// faulty is a database that breaks where the test says.
type faulty struct {
	*store.Store
	// before and after, where set, come before and after the call of a method; an error is that of the call.
	before, after func(method string) error
}

func (f *faulty) around(method string, call func() error) error {
	if f.before != nil {
		if err := f.before(method); err != nil {
			return err
		}
	}
	err := call()
	if f.after != nil && err == nil {
		err = f.after(method)
	}
	return err
}

func (f *faulty) Plan(ctx context.Context, plans []store.Planned) (won []history.ScheduleID, err error) {
	err = f.around("Plan", func() (err error) { won, err = f.Store.Plan(ctx, plans); return err })
	return won, err
}

func (f *faulty) ClaimRuns(ctx context.Context, q store.RunClaim) (out store.ClaimedRuns, err error) {
	err = f.around("ClaimRuns", func() (err error) { out, err = f.Store.ClaimRuns(ctx, q); return err })
	return out, err
}

func (f *faulty) StartRuns(ctx context.Context, starts []store.RunStart, lease time.Duration) error {
	return f.around("StartRuns", func() error { return f.Store.StartRuns(ctx, starts, lease) })
}

func (f *faulty) SettleRuns(ctx context.Context, ends []store.RunEnd) (out store.Settled, err error) {
	err = f.around("SettleRuns", func() (err error) { out, err = f.Store.SettleRuns(ctx, ends); return err })
	return out, err
}

func (f *faulty) Renew(ctx context.Context, refs []store.ClaimRef, lease time.Duration) (out []store.Renewed, err error) {
	err = f.around("Renew", func() (err error) { out, err = f.Store.Renew(ctx, refs, lease); return err })
	return out, err
}

// call is a request that somebody makes of the outside world.
type call struct {
	ctx    context.Context
	header http.Header
	answer chan error // capacity 1; nil for a good end
}

// outside is what direct targets call. Each call waits for the test to answer it, or for its own end.
type outside struct {
	calls    chan *call
	stubborn bool // it does not hear that a call was given up
}

func newOutside() *outside { return &outside{calls: make(chan *call, 10000)} }

func (o *outside) Call(ctx context.Context, _, _ string, header http.Header, _ []byte) (int, []byte, error) {
	c := &call{ctx, header, make(chan error, 1)}
	o.calls <- c
	over := ctx.Done()
	if o.stubborn {
		over = nil
	}
	select {
	case err := <-c.answer:
		return http.StatusOK, []byte(`{"done":true}`), err
	case <-over:
		return 0, nil, context.Cause(ctx)
	}
}

// next waits for a call.
func (o *outside) next(t *testing.T) *call {
	t.Helper()
	select {
	case c := <-o.calls:
		return c
	case <-time.After(30 * time.Second):
		t.Fatal("nobody calls")
		return nil
	}
}

// runner makes a process that runs schedules, for ticks.
func (r *rig) runner(o cron.Options) *cron.Runner {
	r.t.Helper()
	return r.runnerOver(r.db, r.front, o)
}

func (r *rig) runnerOver(db cron.Store, open cron.Opener, o cron.Options) *cron.Runner {
	r.t.Helper()
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	out, err := cron.New(db, open, o)
	if err != nil {
		r.t.Fatal(err)
	}
	return out
}

// tick has a runner do what is due.
func (r *rig) tick(x *cron.Runner) cron.Counts {
	r.t.Helper()
	counts, err := x.Tick(r.t.Context())
	if err != nil {
		r.t.Fatalf("tick: %v", err)
	}
	return counts
}

// tickAt ticks at a time of today.
func (r *rig) tickAt(x *cron.Runner, clock string) cron.Counts {
	r.t.Helper()
	r.at(clock)
	return r.tick(x)
}

// process is a runner that runs, as in a node.
type process struct {
	*cron.Runner
	outside *outside
	stop    func() // ends Run
}

// process begins to run schedules; over db is nil for the rig's own database.
func (r *rig) process(db cron.Store, o cron.Options) *process {
	r.t.Helper()
	p := &process{outside: newOutside()}
	o.Drain = max(o.Drain, time.Millisecond)
	if o.HTTP == nil {
		o.HTTP = p.outside
	}
	if db == nil {
		db = r.db
	}
	p.Runner = r.runnerOver(db, r.front, o)
	p.run(r.t)
	r.t.Cleanup(func() {
		p.stop()
		for { // no work outlives the test
			select {
			case c := <-p.outside.calls:
				c.answer <- fmt.Errorf("the test is over")
				continue
			default:
			}
			if p.Drain() == 0 {
				return
			}
		}
	})
	return p
}

// run begins a Run, or another one after stop.
func (p *process) run(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		p.Run(ctx, func() bool { return true })
		close(done)
	}()
	p.stop = func() { cancel(); <-done }
}

// ringAt sets the clock and rings.
func (r *rig) ringAt(clock string, ps ...*process) {
	r.t.Helper()
	r.at(clock)
	for _, p := range ps {
		p.Ring()
	}
}
