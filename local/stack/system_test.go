package stack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"github.com/orrery-dev/orrery/local/gateway"
	"github.com/orrery-dev/orrery/shared/storetest"
	"github.com/orrery-dev/orrery/shared/wire"
	"github.com/orrery-dev/orrery/shared/worker"
)

// nodeTimeout is the product's default: the age of a heartbeat beyond which a node is dead.
const nodeTimeout = 5 * time.Second

// system is a stack under test: processes of the node's binary, and functions in this process.
type system struct {
	*Stack
	t  *testing.T
	db *pgx.Conn
	// functions and nodes are clients of the two ways in.
	functions *wire.Client
	nodes     []*wire.Client
}

// newSystem runs a stack for a test. Without a database URL it gets a database of its own on the tests' server.
func newSystem(t *testing.T, o Options) *system {
	t.Helper()
	o.Root, o.Output = "../..", t.Output()
	if !o.RIE {
		o.NodeBinary = nodeBinary(t)
	}
	o.Log = slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn}))
	if o.DatabaseURL == "" {
		o.DatabaseURL = storetest.URL(t)
	}
	stack, err := Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := stack.Close(); err != nil {
			t.Errorf("close the stack: %v", err)
		}
	})
	s := &system{Stack: stack, t: t, functions: clientOf(stack.URL)}
	for _, n := range stack.Nodes {
		s.nodes = append(s.nodes, clientOf(n.URL))
	}
	if s.db, err = pgx.Connect(t.Context(), o.DatabaseURL); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.db.Close(context.Background()) })
	return s
}

// binaries has the node's binary, which all tests share.
var binaries struct {
	once sync.Once
	dir  string
	node string
	err  error
}

// nodeBinary builds the node once.
func nodeBinary(t *testing.T) string {
	t.Helper()
	b := &binaries
	b.once.Do(func() {
		if b.dir, b.err = os.MkdirTemp("", "orrery-stack-test-"); b.err != nil {
			return
		}
		var built map[string]string
		built, b.err = gateway.Build(context.Background(), b.dir, "node") // others need it when this test has ended
		b.node = built["node"]
	})
	if b.err != nil {
		t.Fatal(b.err)
	}
	return b.node
}

func clientOf(url string) *wire.Client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = 64
	return &wire.Client{Base: url, HTTP: &http.Client{Transport: transport, Timeout: 40 * time.Second}}
}

// try makes a call until its answer is final, as clients do: every call can be repeated safely.
func (s *system) try(c *wire.Client, method, path string, body, answer any) error {
	ctx, cancel := context.WithTimeout(s.t.Context(), time.Minute)
	defer cancel()
	for {
		_, err := c.Call(ctx, method, path, nil, body, answer)
		if err == nil || !wire.Temporary(err) || ctx.Err() != nil {
			return err
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// call is try for a call that must succeed.
func (s *system) call(c *wire.Client, method, path string, body, answer any) {
	s.t.Helper()
	if err := s.try(c, method, path, body, answer); err != nil {
		s.t.Fatalf("%s %s: %v", method, path, err)
	}
}

func (s *system) publish(name, document string) {
	s.t.Helper()
	text, err := json.Marshal(document)
	if err != nil {
		s.t.Fatal(err)
	}
	s.call(s.functions, "POST", wire.Path("workflows"), wire.PublishRequest{Name: name, Document: text}, nil)
}

// now is the database's time, by which events are dated.
func (s *system) now() time.Time {
	s.t.Helper()
	var at time.Time
	if err := s.db.QueryRow(s.t.Context(), "select clock_timestamp()").Scan(&at); err != nil {
		s.t.Fatal(err)
	}
	return at
}

// starting is an execution to start and where.
type starting struct {
	wire.StartRequest
	at *wire.Client
}

// start starts executions, eight at a time.
func (s *system) start(list []starting) {
	s.t.Helper()
	var g errgroup.Group
	g.SetLimit(8)
	for _, x := range list {
		g.Go(func() error {
			if err := s.try(x.at, "POST", wire.Path("executions"), x.StartRequest, nil); err != nil {
				return fmt.Errorf("start %s: %w", x.Name, err)
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		s.t.Fatal(err)
	}
}

func (s *system) detail(id string) wire.ExecutionDetail {
	s.t.Helper()
	var d wire.ExecutionDetail
	s.call(s.functions, "GET", wire.Path("executions", id), nil, &d)
	return d
}

// running gives executions that have not ended, a page at most.
func (s *system) running() []wire.Execution {
	s.t.Helper()
	var l wire.ExecutionList
	s.call(s.functions, "GET", wire.Path("executions")+"?status=RUNNING&limit=1000", nil, &l)
	return l.Executions
}

// awaitEnd waits until every execution has ended.
func (s *system) awaitEnd(within time.Duration) {
	s.t.Helper()
	for late := time.Now().Add(within); ; time.Sleep(100 * time.Millisecond) {
		running := s.running()
		if len(running) == 0 {
			return
		}
		if time.Now().After(late) {
			s.t.Errorf("%d executions are running still", len(running))
			for _, e := range running[:min(3, len(running))] {
				d := s.detail(e.ID)
				s.t.Errorf("%s: blocked %v, turn %d, units %+v, owner %+v, wakes at %v", e.ID, d.Blocked, d.Turn, d.Units, d.Owner, d.WakeAt)
				s.t.Error(s.rows(e.ID))
			}
			for _, c := range s.nodes {
				var h wire.Health
				_, err := c.Call(s.t.Context(), "GET", "/v1/health", nil, nil, &h)
				s.t.Errorf("health %+v of %+v, %v; partitions by owner %v", h, h.Node, err, s.owners())
			}
			s.t.FailNow()
		}
	}
}

// rows shows what the queue and the inbox have of an execution.
func (s *system) rows(id string) string {
	conn, err := pgx.Connect(s.t.Context(), s.DatabaseURL)
	if err != nil {
		return err.Error()
	}
	defer conn.Close(context.Background())
	var text string
	if err := conn.QueryRow(s.t.Context(), `
		select coalesce(string_agg(to_jsonb(t)::text, e'\n'), 'no tasks') || e'\n'
		       || coalesce((select string_agg(to_jsonb(i)::text, e'\n') from orrery.inbox i where i.execution = min(e.id)), 'no entries')
		from orrery.execution e
		left join orrery.task t on t.execution = e.id
		where e.name = $1`, id).Scan(&text); err != nil {
		return err.Error()
	}
	return text
}

// owners counts the partitions by the id and incarnation of their owners.
func (s *system) owners() map[wire.Owner]int {
	s.t.Helper()
	var l wire.PartitionList
	s.call(s.functions, "GET", wire.Path("partitions"), nil, &l)
	counts := map[wire.Owner]int{}
	for _, p := range l.Partitions {
		o := wire.Owner{}
		if p.Owner != nil {
			o = *p.Owner
		}
		counts[o]++
	}
	return counts
}

// ownedBy waits until every partition is owned by the nodes and each of them owns some, and gives how long it took.
func (s *system) ownedBy(within time.Duration, nodes ...string) time.Duration {
	s.t.Helper()
	began := time.Now()
	for {
		counts := map[string]int{}
		for o, n := range s.owners() {
			counts[o.Node] += n
		}
		all := len(counts) == len(nodes)
		for _, n := range nodes {
			all = all && counts[n] > 0
		}
		took := time.Since(began)
		if all {
			return took
		}
		if took > within {
			s.t.Fatalf("after %v the partitions are owned by %v, want %v", took, counts, nodes)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// calm is a time in which something moves while anything has to: what has come to a node stays there for two heartbeats.
const calm = 4 * time.Second

// settled waits until all nodes have their shares, and nothing has moved for a while.
func (s *system) settled() {
	s.t.Helper()
	var before map[wire.Owner]int
	since := time.Now()
	for late := since.Add(30 * time.Second); time.Since(since) < calm; time.Sleep(50 * time.Millisecond) {
		now := s.owners()
		if len(now) != len(s.Nodes) || !maps.Equal(now, before) {
			before, since = now, time.Now()
		}
		if time.Now().After(late) {
			s.t.Fatalf("the partitions are owned by %v and do not come to rest", now)
		}
	}
}

// incarnation is that of a running node as the database has it.
func (s *system) incarnation(node string) string {
	s.t.Helper()
	var l wire.NodeList
	s.call(s.functions, "GET", wire.Path("nodes"), nil, &l)
	for _, n := range l.Nodes {
		if n.ID == node && n.Live {
			return n.Incarnation
		}
	}
	return ""
}

// work runs a worker of the library until the test ends, and gives what stops it before.
func (s *system) work(w *worker.Worker) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			s.t.Errorf("a worker ended with %v", err)
		}
	})
	s.t.Cleanup(stop)
	return stop
}

func (s *system) workerConfig(id, url string) worker.Config {
	return worker.Config{
		ID: id, URL: url, Concurrency: 16, Drain: time.Second,
		Log: slog.New(slog.NewTextHandler(s.t.Output(), &slog.HandlerOptions{Level: slog.LevelError})),
	}
}

// session is a worker's session that a test drives by hand.
type session struct {
	*system
	wire.RegisterResponse
	polls int
}

func (s *system) register(c *wire.Client, worker string, tasks ...string) *session {
	s.t.Helper()
	q := wire.RegisterRequest{WorkerID: worker}
	for _, task := range tasks {
		q.Contracts = append(q.Contracts, wire.Contract{Task: task, Version: 1})
	}
	x := &session{system: s}
	s.call(c, "POST", wire.Path("workers", "register"), q, &x.RegisterResponse)
	return x
}

// poll polls once.
func (x *session) poll(c *wire.Client, max int, wait time.Duration) []wire.Assignment {
	x.t.Helper()
	x.polls++
	q := wire.PollRequest{SessionID: x.SessionID, MaxTasks: max, WaitMS: wait.Milliseconds(), PollID: fmt.Sprintf("%s-%d", x.SessionID, x.polls)}
	var a wire.PollResponse
	x.call(c, "POST", wire.Path("workers", "poll"), q, &a)
	return a.Assignments
}

// collect polls until it has so many tasks.
func (x *session) collect(c *wire.Client, n int) []wire.Assignment {
	x.t.Helper()
	var got []wire.Assignment
	for late := time.Now().Add(30 * time.Second); len(got) < n; {
		got = append(got, x.poll(c, n-len(got), time.Second)...)
		if time.Now().After(late) {
			x.t.Fatalf("%d tasks have come, want %d", len(got), n)
		}
	}
	return got
}

// events reads the whole history of an execution and checks its form: events and turns are numbered from 1 without gaps,
// it begins once, and where it has ended, it ends once and with that.
func (s *system) events(id string, ended bool) []wire.Event {
	s.t.Helper()
	var all []wire.Event
	for next := ""; ; {
		var p wire.HistoryPage
		s.call(s.functions, "GET", wire.Path("executions", id, "history")+"?limit=1000&cursor="+next, nil, &p)
		all = append(all, p.Events...)
		if next = p.Next; next == "" {
			break
		}
	}
	if err := wellFormed(all, ended); err != nil {
		s.t.Errorf("history of %s: %v", id, err)
	}
	return all
}

var endings = map[string]bool{"ExecutionSucceeded": true, "ExecutionFailed": true, "ExecutionTimedOut": true, "ExecutionAborted": true}

func wellFormed(events []wire.Event, ended bool) error {
	var turn int64
	for i, e := range events {
		if e.ID != int64(i)+1 {
			return fmt.Errorf("event %d is number %d", i+1, e.ID)
		}
		if e.Turn != turn && e.Turn != turn+1 {
			return fmt.Errorf("turn %d comes after turn %d", e.Turn, turn)
		}
		if turn = e.Turn; (e.Type == "ExecutionStarted") != (i == 0) {
			return fmt.Errorf("event %d is %s", e.ID, e.Type)
		}
		if endings[e.Type] && i != len(events)-1 {
			return fmt.Errorf("%s is event %d of %d", e.Type, e.ID, len(events))
		}
	}
	if len(events) == 0 || ended != endings[events[len(events)-1].Type] {
		return errors.New("the last event does not tell whether it has ended")
	}
	return nil
}

// find gives the first event of a type and a unit.
func find(events []wire.Event, kind, unit string) *wire.Event {
	for i := range events {
		if events[i].Type == kind && events[i].Unit == unit {
			return &events[i]
		}
	}
	return nil
}

func typesOf(events []wire.Event) string {
	var types []string
	for _, e := range events {
		types = append(types, e.Type)
	}
	return strings.Join(types, " ")
}
