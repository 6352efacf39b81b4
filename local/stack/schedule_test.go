package stack

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

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

// many makes n schedules like one that exists, named name-0, name-1, ..., in one transaction.
func (s *system) many(like, name string, n int) {
	s.t.Helper()
	_, err := s.db.Exec(s.t.Context(), `
		with made as (
			insert into orrery.schedule (namespace, name, title, cursor_at, next_at, next_instant, timeout_ms, retention_ms, direct, zones, key)
			select namespace, format('%s-%s', $2::text, i), title, cursor_at, next_at, next_instant, timeout_ms, retention_ms, direct, zones,
				format('%s-%s', $2::text, i)
			from orrery.schedule, generate_series(0, $3::integer - 1) i
			where name = $1
			returning id, namespace, key),
		keys as (insert into orrery.singleton (namespace, key) select namespace, key from made)
		insert into orrery.schedule_document (schedule, version, document)
		select m.id, 1, d.document
		from made m, orrery.schedule s join orrery.schedule_document d on d.schedule = s.id
		where s.name = $1`, like, name, n)
	if err != nil {
		s.t.Fatal(err)
	}
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
	const schedules, eachSecond = 2000, 50
	span := 6 * time.Second
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
	for name, d := range specs {
		d.ID = name
		s.call(s.functions, "POST", wire.Path("schedules"), d, nil)
	}
	s.many("second", "second", eachSecond-1)
	s.many("minute", "minute", schedules-eachSecond-1)
	stop := s.tickers(4)
	time.Sleep(span / 2)
	if err := s.Nodes[1].Kill(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(span / 2)
	if _, err := s.db.Exec(t.Context(), `update orrery.schedule
		set state = 'paused', paused_at = now(), pause_reason = 'enough', next_at = null, next_instant = null`); err != nil {
		t.Fatal(err)
	}
	end := s.now()
	// What waits for its turn in the queue of a paused schedule stays there.
	s.until(2*time.Minute, 0, `select count(*) from orrery.occurrence where status in ('pending', 'claimed', 'running') and not buffered`)
	stop()
	s.checkLedger(end)
	for what, sql := range map[string]string{
		"runs of one key overlap": `select count(*) from (
			select t.started_at < max(t.ended_at) over (partition by o.key order by t.started_at, t.ended_at
				rows between unbounded preceding and 1 preceding) as too_soon
			from orrery.trace t join orrery.occurrence o on o.id = t.occurrence) x where too_soon`,
		"occurrences have not one execution": `select count(*) from orrery.occurrence o where o.status = 'completed'
			and ((select count(*) from orrery.execution e where e.occurrence = o.id) <> 1
				or (select count(*) from orrery.trace t where t.occurrence = o.id and t.status = 'completed') <> 1)`,
		"executions have no occurrence of theirs": `select count(*) from orrery.execution e
			where not exists (select from orrery.occurrence o where o.id = e.occurrence and o.execution = e.id)`,
		"occurrences end otherwise": `select count(*) from orrery.occurrence where not buffered and status not in ('completed', 'skipped_overlap')`,
		"slots are held":            `select coalesce(sum(held), 0)::integer from orrery.singleton`,
	} {
		if n := s.one(sql); n != 0 {
			t.Errorf("%s: %d", what, n)
		}
	}
	if n := s.one(`select count(*) from orrery.occurrence where status = 'completed'`); n < eachSecond*int(span/time.Second)/4 {
		t.Errorf("only %d runs were completed in %v", n, span)
	}
}

// checkLedger compares the instants of each schedule up to its cursor with its occurrences.
func (s *system) checkLedger(end time.Time) {
	s.t.Helper()
	rows, err := s.db.Query(s.t.Context(), `
		select s.name, d.document, s.created_at, s.cursor_at,
			array(select o.instant from orrery.occurrence o where o.schedule = s.id order by o.instant)
		from orrery.schedule s join orrery.schedule_document d on d.schedule = s.id`)
	if err != nil {
		s.t.Fatal(err)
	}
	schedules, total, behind := 0, 0, 0
	for rows.Next() {
		var name, document string
		var created, cursor time.Time
		var got []time.Time
		if err := rows.Scan(&name, &document, &created, &cursor, &got); err != nil {
			s.t.Fatal(err)
		}
		d, err := cron.Read(name, []byte(document))
		if err != nil {
			s.t.Fatal(err)
		}
		// Schedules that were copied have the cursor of the first, which was made before them.
		from := created.Add(-time.Second).Truncate(time.Second).Add(time.Second)
		if len(got) > 0 && got[0].Before(from) {
			from = got[0]
		}
		want := slices.Collect(d.Schedule.Instants(from, cursor.Add(time.Microsecond)))
		if len(got) > 0 && len(want) > len(got) && want[0].Before(got[0]) {
			want = want[1:] // it was made in the course of that second
		}
		if !slices.EqualFunc(got, want, time.Time.Equal) {
			s.t.Errorf("schedule %s has the occurrences\n%v\nwant\n%v", name, got, want)
		}
		schedules, total = schedules+1, total+len(got)
		if d.Timing.Jitter == 0 && cursor.Before(end.Add(-5*time.Second)) {
			behind++
		}
	}
	if err := rows.Err(); err != nil {
		s.t.Fatal(err)
	}
	if behind > 0 {
		s.t.Errorf("%d schedules were planned more than 5 s before the end", behind)
	}
	s.t.Logf("%d instants of %d schedules", total, schedules)
}

// held is a request of a direct target that waits for the test.
type held struct {
	header http.Header
	answer chan int // status
}

// TestLostRunner: the process that runs a direct target is killed, and another one freezes past its lease. The other takes the
// occurrence each time; what the frozen one does when it wakes counts for nothing.
func TestLostRunner(t *testing.T) {
	const lease = 3 * time.Second
	within := lease + 6*time.Second // on a machine with much else to do
	if os.Getenv("ORRERY_SOAK") != "" {
		within = lease + 2*time.Second
	}
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
	// taken waits for the second attempt, which begins soon after the end of the lease.
	taken := func(id int, lost time.Time) held {
		h := <-calls
		if h.header.Get("Orrery-Attempt") != "2" {
			t.Errorf("it is called for attempt %s", h.header.Get("Orrery-Attempt"))
		}
		var begun time.Time
		if err := s.db.QueryRow(t.Context(), `select started_at from orrery.trace where occurrence = $1 and attempt = 2`, id).Scan(&begun); err != nil {
			t.Fatal(err)
		}
		d := begun.Sub(lost)
		if d > within {
			t.Errorf("it was taken over after %v, with a lease of %v", d, lease)
		}
		t.Logf("taken over after %v, with a lease of %v", d, lease)
		return h
	}
	traces := `select count(*) from orrery.trace where occurrence = $1 and (attempt = 1 and status = 'lost' or attempt = 2 and status = $2)`

	first, node, id := runner()
	lost := s.now()
	if err := node.Kill(); err != nil {
		t.Fatal(err)
	}
	second := taken(id, lost)
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
	lost = s.now()
	if err := node.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	wake := sync.OnceFunc(func() { _ = node.Signal(syscall.SIGCONT) })
	defer wake() // a stopped process does not end at a signal
	second = taken(id, lost)
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
