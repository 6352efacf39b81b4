package stack

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/orrery-dev/orrery/migrations"
	"github.com/orrery-dev/orrery/shared/auth"
	"github.com/orrery-dev/orrery/shared/cron"
	"github.com/orrery-dev/orrery/shared/frontend"
	"github.com/orrery-dev/orrery/shared/store"
	"github.com/orrery-dev/orrery/shared/wire"
)

// one gives the one number of a query.
func (s *system) one(sql string, args ...any) (n int) {
	s.t.Helper()
	if err := s.db.QueryRow(s.t.Context(), sql, args...).Scan(&n); err != nil {
		s.t.Fatalf("%s: %v", sql, err)
	}
	return n
}

// until waits until a query gives a number.
func (s *system) until(within time.Duration, want int, sql string, args ...any) {
	s.t.Helper()
	for late := time.Now().Add(within); ; time.Sleep(20 * time.Millisecond) {
		got := s.one(sql, args...)
		if got == want {
			return
		}
		if time.Now().After(late) {
			s.t.Fatalf("%s %v: %d after %v, want %d", sql, args, got, within, want)
		}
	}
}

// many makes n schedules like one that exists, named name-0, name-1, ..., in one transaction: each as if it had just been
// planned, so that what comes due from then on is still to be decided. It gives from where, by name.
func (s *system) many(like string, n int) map[string]time.Time {
	s.t.Helper()
	var document string
	if err := s.db.QueryRow(s.t.Context(), `select d.document from orrery.schedule_document d join orrery.schedule s on s.id = d.schedule
		where s.name = $1`, like).Scan(&document); err != nil {
		s.t.Fatal(err)
	}
	begun, now := map[string]time.Time{}, s.now()
	var names []string
	var cursors []time.Time
	for i := range n {
		name := fmt.Sprintf("%s-%d", like, i)
		d, err := cron.Read(name, []byte(document))
		if err != nil {
			s.t.Fatal(err)
		}
		begun[name] = now.Add(-d.Schedule.Offset)
		names, cursors = append(names, name), append(cursors, begun[name])
	}
	_, err := s.db.Exec(s.t.Context(), `
		with made as (
			insert into orrery.schedule (namespace, name, title, cursor_at, next_at, timeout_ms, retention_ms, direct, zones, key)
			select s.namespace, g.name, s.title, g.cursor_at, now(), s.timeout_ms, s.retention_ms, s.direct, s.zones, g.name
			from orrery.schedule s, unnest($2::text[], $3::timestamptz[]) as g (name, cursor_at)
			where s.name = $1
			returning id, namespace, key),
		keys as (insert into orrery.singleton (namespace, key) select namespace, key from made)
		insert into orrery.schedule_document (schedule, version, document) select id, 1, $4 from made`, like, names, cursors, document)
	if err != nil {
		s.t.Fatal(err)
	}
	return begun
}

// tickers run scheduled functions beside each other, each with a connection of its own as through a pooler, until stop is called.
func (s *system) tickers(n int) (stop func()) {
	ctx, cancel := context.WithCancel(s.t.Context())
	var all sync.WaitGroup
	for i := range n {
		db, err := store.Open(ctx, s.DatabaseURL, store.Options{MaxConns: 1, Application: "orrery-cron"})
		if err != nil {
			s.t.Fatal(err)
		}
		x, err := cron.New(db, frontend.New(db, frontend.Options{}), cron.Options{
			Claimant: fmt.Sprintf("function %d", i), Log: slog.New(slog.NewTextHandler(s.t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn})),
		})
		if err != nil {
			s.t.Fatal(err)
		}
		all.Go(func() {
			defer db.Close()
			for ctx.Err() == nil {
				if _, err := x.Tick(ctx); err != nil && ctx.Err() == nil {
					s.t.Errorf("tick: %v", err)
				}
				time.Sleep(200 * time.Millisecond)
			}
		})
	}
	return func() { cancel(); all.Wait() }
}

// TestEveryInstantRunsOnce: two nodes and four ticking functions run 2,000 schedules, and a node is killed. Every instant is in
// the ledger once and has one execution, and no two runs of a key overlap.
func TestEveryInstantRunsOnce(t *testing.T) {
	t.Parallel()
	counts := map[string]int{"second": 50, "minute": 1950}
	span := 20 * time.Second
	if os.Getenv("ORRERY_SOAK") != "" {
		span = time.Minute
	}
	s := newSystem(t, Options{})
	s.publish("tick", "StartAt: Wait\nStates:\n  Wait: {Type: Wait, Seconds: 1, End: true}\n")
	all := &wire.ScheduleMisfire{Policy: "all", Max: 1000}
	target := wire.ScheduleTarget{Workflow: &wire.WorkflowTarget{Name: "tick"}}
	specs := map[string]wire.ScheduleDefinition{
		"second": {Specs: []string{"* * * * * *"}, Dialect: "seconds", Misfire: all, Target: target},
		// Each has an offset of its own, so that some are due in each second.
		"minute": {Specs: []string{"* * * * *"}, JitterMS: 59_999, Misfire: all, Target: target},
	}
	begun := map[string]time.Time{}
	for name, d := range specs {
		d.ID = name
		s.call(s.functions, "POST", wire.Path("schedules"), d, nil)
		maps.Copy(begun, s.many(name, counts[name]))
		s.call(s.functions, "POST", wire.Path("schedules", name, "archive"), json.RawMessage(`{}`), nil)
	}
	stop := s.tickers(4)
	time.Sleep(span / 2)
	if err := s.Nodes[1].Kill(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(span / 2)
	end := s.now()
	s.until(2*time.Minute, 0, `select count(*) from orrery.schedule where next_at <= $1`, end)
	if _, err := s.db.Exec(t.Context(), `update orrery.schedule
		set state = 'paused', paused_at = now(), pause_reason = 'enough', next_at = null, next_instant = null
		where state = 'active'`); err != nil {
		t.Fatal(err)
	}
	// What waits for its turn in the queue of a paused schedule stays there.
	s.until(2*time.Minute, 0, `select count(*) from orrery.occurrence where status in ('pending', 'claimed', 'running') and not buffered`)
	stop()
	seconds := int(span / time.Second)
	if total := s.checkLedger(begun, end); total < counts["second"]*seconds+counts["minute"]*seconds/60/2 {
		t.Errorf("only %d instants are in the ledger after %v", total, span)
	}
	for what, sql := range map[string]string{
		"runs of one key overlap": `select count(*) from (
			select t.started_at < max(t.ended_at) over (partition by o.key order by t.started_at, t.ended_at
				rows between unbounded preceding and 1 preceding) as too_soon
			from orrery.trace t join orrery.occurrence o on o.id = t.occurrence) x where too_soon`,
		"occurrences have not one execution, or have one without a run": `select count(*) from orrery.occurrence o
			left join (select occurrence, count(*) as n from orrery.execution group by occurrence) e on e.occurrence = o.id
			left join (select occurrence, count(*) as n from orrery.trace where status = 'completed' group by occurrence) t on t.occurrence = o.id
			where coalesce(e.n, 0) <> (o.status = 'completed')::integer or coalesce(t.n, 0) <> (o.status = 'completed')::integer`,
		"executions have no occurrence of theirs": `select count(*) from orrery.execution e
			where not exists (select from orrery.occurrence o where o.id = e.occurrence and o.execution = e.id)`,
		"occurrences end otherwise": `select count(*) from orrery.occurrence
			where not buffered and status not in ('completed', 'skipped_overlap', 'cancelled_by_archive')`,
		"slots are held": `select coalesce(sum(held), 0)::integer from orrery.singleton`,
	} {
		if n := s.one(sql); n != 0 {
			t.Errorf("%s: %d", what, n)
		}
	}
	if n := s.one(`select count(*) from orrery.occurrence where status = 'completed'`); n < counts["second"]*seconds/4 {
		t.Errorf("only %d runs were completed in %v", n, span)
	}
}

// checkLedger compares the occurrences of each schedule with its instants from where it has begun: all that were due by end, and
// what was planned since. It gives how many there are.
func (s *system) checkLedger(begun map[string]time.Time, end time.Time) (total int) {
	s.t.Helper()
	rows, err := s.db.Query(s.t.Context(), `
		select s.name, d.document, s.cursor_at, array(select o.instant from orrery.occurrence o where o.schedule = s.id order by o.instant)
		from orrery.schedule s join orrery.schedule_document d on d.schedule = s.id
		where s.state = 'paused'`)
	if err != nil {
		s.t.Fatal(err)
	}
	schedules := 0
	for rows.Next() {
		var name, document string
		var cursor time.Time
		var got []time.Time
		if err := rows.Scan(&name, &document, &cursor, &got); err != nil {
			s.t.Fatal(err)
		}
		d, err := cron.Read(name, []byte(document))
		if err != nil {
			s.t.Fatal(err)
		}
		to := end.Add(-d.Schedule.Offset)
		if cursor.After(to) {
			to = cursor
		}
		const after = time.Microsecond // as exact as the database
		want := slices.Collect(d.Schedule.Instants(begun[name].Add(after), to.Add(after)))
		if !slices.EqualFunc(got, want, time.Time.Equal) {
			s.t.Errorf("schedule %s has the occurrences\n%v\nwant\n%v", name, got, want)
		}
		schedules, total = schedules+1, total+len(got)
	}
	if err := rows.Err(); err != nil {
		s.t.Fatal(err)
	}
	if schedules != len(begun) {
		s.t.Errorf("%d schedules have a ledger, want %d", schedules, len(begun))
	}
	s.t.Logf("%d instants of %d schedules", total, schedules)
	return total
}

// TestTicksThroughAPooler: ticking functions share two connections to the database, each for a transaction at a time, and leave
// nothing on them.
func TestTicksThroughAPooler(t *testing.T) {
	t.Parallel()
	server := newServer(t)
	s := &system{t: t, Stack: &Stack{}}
	var err error
	if s.db, err = pgx.Connect(t.Context(), server.URL("postgres")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.db.Close(context.Background()) })
	if err := migrations.Apply(t.Context(), s.db); err != nil {
		t.Fatal(err)
	}
	pool, err := server.StartBouncer(t.Context(), 2)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { pool.Close() })
	s.DatabaseURL = pool.URL("postgres")
	db, err := store.Open(t.Context(), s.DatabaseURL, store.Options{MaxConns: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	front, caller := frontend.New(db, frontend.Options{}), auth.Call{Namespace: "default"}
	document, _ := json.Marshal("StartAt: Done\nStates:\n  Done: {Type: Pass, End: true}\n")
	if _, _, err := front.Publish(t.Context(), caller, wire.PublishRequest{Name: "tick", Document: document}, false); err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		if _, _, err := front.CreateSchedule(t.Context(), caller, wire.ScheduleDefinition{
			ID: fmt.Sprint("second-", i), Specs: []string{"* * * * * *"}, Dialect: "seconds", Misfire: &wire.ScheduleMisfire{Policy: "all", Max: 1000},
			Target: wire.ScheduleTarget{Workflow: &wire.WorkflowTarget{Name: "tick"}},
		}); err != nil {
			t.Fatal(err)
		}
	}
	var left int
	stop := s.tickers(4)
	s.until(time.Minute, 1, `select (count(*) >= 15)::integer from orrery.occurrence where status = 'completed'`)
	stop()
	for what, sql := range map[string]string{
		"instants have two rows":          `select count(*) from (select from orrery.occurrence group by schedule, instant having count(*) > 1) x`,
		"runs have not one execution":     `select count(*) from orrery.occurrence o where status = 'completed' and (select count(*) from orrery.execution e where e.occurrence = o.id) <> 1`,
		"locks of sessions are left":      `select count(*) from pg_locks where locktype = 'advisory'`,
		"more connections than were let":  `select greatest(0, count(*) - 3) from pg_stat_activity where backend_type = 'client backend'`,
		"transactions are open, but this": `select count(*) - 1 from pg_stat_activity where backend_type = 'client backend' and xact_start is not null`,
	} {
		if n := s.one(sql); n != 0 {
			t.Errorf("%s: %d", what, n)
		}
	}
	through, err := pgx.Connect(t.Context(), s.DatabaseURL+"&default_query_exec_mode=simple_protocol")
	if err != nil {
		t.Fatal(err)
	}
	defer through.Close(t.Context())
	for range 4 { // on whichever connection
		if err := through.QueryRow(t.Context(), "select count(*) from pg_prepared_statements").Scan(&left); err != nil || left != 0 {
			t.Errorf("%d prepared statements are left: %v", left, err)
		}
	}
}

// held is a request of a direct target that waits for the test.
type held struct {
	header http.Header
	answer chan int // status
}

// TestLostRunner: the process that runs a direct target is killed, and another one freezes past its lease. The other takes the
// occurrence each time; what the frozen one does when it wakes counts for nothing.
func TestLostRunner(t *testing.T) {
	t.Parallel()
	const lease = 4 * time.Second
	calls := make(chan held, 10)
	outside := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := held{r.Header, make(chan int, 1)}
		calls <- h
		w.WriteHeader(<-h.answer)
	}))
	defer outside.CloseClientConnections()
	s := newSystem(t, Options{NodeSettings: []string{"ORRERY_HTTP_ALLOW=127.0.0.1", "ORRERY_SCHEDULE_LEASE=" + lease.String()}})
	s.call(s.functions, "POST", wire.Path("schedules"), wire.ScheduleDefinition{
		ID: "call", Specs: []string{"0 0 1 1 *"}, Target: wire.ScheduleTarget{HTTP: &wire.HTTPTarget{URL: outside.URL}},
	}, nil)

	// runner triggers the schedule, waits for the call, and gives the node that makes it, with the number of the occurrence.
	runner := func() (held, *Node, int) {
		s.call(s.functions, "POST", wire.Path("schedules", "call", "trigger"), json.RawMessage(`{}`), nil)
		h := <-calls
		var claimant string
		var id int
		if err := s.db.QueryRow(t.Context(), `select claimant, id from orrery.occurrence where status = 'running'`).Scan(&claimant, &id); err != nil {
			t.Fatal(err)
		}
		at := slices.IndexFunc(s.Nodes, func(n *Node) bool { return n.ID == claimant })
		if at < 0 {
			t.Fatalf("%s runs it", claimant)
		}
		return h, s.Nodes[at], id
	}
	// over is the end of the lease of what nobody renews any more, which was lost at a time.
	over := func(id int, lost time.Time) (end time.Time) {
		if err := s.db.QueryRow(t.Context(), `select look_at from orrery.occurrence where id = $1 and status = 'running' and attempt = 1`, id).Scan(&end); err != nil {
			t.Fatal(err)
		}
		if d := end.Sub(lost); d > lease {
			t.Errorf("the lease ends %v after its holder, want at most %v", d, lease)
		}
		return end
	}
	// taken waits for the second attempt. It is claimed when the lease is over, and at most 2 s after that: who may claim it
	// knows the time from its heartbeats, which come each second, and looks again after a second at the latest when a look was
	// for nothing. Both times are the database's.
	taken := func(id int, over time.Time) held {
		h := <-calls
		if h.header.Get("Orrery-Attempt") != "2" {
			t.Errorf("it is called for attempt %s", h.header.Get("Orrery-Attempt"))
		}
		var claimed time.Time
		if err := s.db.QueryRow(t.Context(), `select claimed_at from orrery.occurrence where id = $1 and status = 'running' and attempt = 2`, id).Scan(&claimed); err != nil {
			t.Fatal(err)
		}
		d := claimed.Sub(over)
		if d < 0 || d > 2*time.Second {
			t.Errorf("it was claimed %v after the end of its lease, want from 0 to 2s", d)
		}
		t.Logf("claimed %v after the end of its lease", d)
		return h
	}
	traces := `select count(*) from orrery.trace where occurrence = $1 and (attempt = 1 and status = 'lost' or attempt = 2 and status = $2)`

	first, node, id := runner()
	if err := node.Kill(); err != nil {
		t.Fatal(err)
	}
	second := taken(id, over(id, s.now()))
	first.answer <- http.StatusOK
	s.until(0, 2, traces, id, "running")
	second.answer <- http.StatusOK
	s.until(20*time.Second, 2, traces, id, "completed")
	if err := node.Start(); err != nil {
		t.Fatal(err)
	}
	if err := node.WaitReady(t.Context()); err != nil {
		t.Fatal(err)
	}

	first, node, id = runner()
	if err := node.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	wake := sync.OnceFunc(func() { _ = node.Signal(syscall.SIGCONT) })
	defer wake() // a stopped process does not end at a signal
	second = taken(id, over(id, s.now()))
	first.answer <- http.StatusOK
	wake()
	s.awaitLost(node)
	s.until(0, 2, traces, id, "running")
	second.answer <- http.StatusInternalServerError
	s.until(20*time.Second, 2, traces, id, "failed")
	if n := s.one(`select count(*) from orrery.trace`); n != 4 {
		t.Errorf("%d starts are in the ledger, want 4", n)
	}
}

// awaitLost waits until a node says that a run of it has ended without effect.
func (s *system) awaitLost(n *Node) {
	s.t.Helper()
	c := clientOf(n.URL)
	for late := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		var h wire.Health
		if _, err := c.Call(s.t.Context(), "GET", "/v1/health", nil, nil, &h); err == nil && h.Node != nil && h.Node.Scheduler != nil && h.Node.Scheduler.Lost > 0 {
			return
		}
		if time.Now().After(late) {
			s.t.Fatalf("%s does not say that its run is lost: %+v", n.ID, h.Node)
		}
	}
}
