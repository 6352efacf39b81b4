package node_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/orrery-dev/orrery/shared/auth"
	"github.com/orrery-dev/orrery/shared/frontend"
	"github.com/orrery-dev/orrery/shared/node"
	"github.com/orrery-dev/orrery/shared/store"
	"github.com/orrery-dev/orrery/shared/storetest"
	"github.com/orrery-dev/orrery/shared/wire"
)

// The timeouts are short, for quick tests, and long enough for a busy machine.
const (
	nodeTimeout    = time.Second
	sessionTimeout = 2 * time.Second
)

var caller = auth.Call{Namespace: "default", RequestID: "test"}

// system is nodes over one real database.
type system struct {
	t         *testing.T
	url       string
	db        *pgxpool.Pool // for looking
	scheduler func(*process) node.Scheduler
	loads     *loadMeter // nil, or what counts the loads of every process
}

func newSystem(t *testing.T) *system {
	t.Helper()
	url := storetest.URL(t)
	db, err := pgxpool.New(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	return &system{t: t, url: url, db: db}
}

// process is a running node with its frontend.
type process struct {
	*frontend.Frontend
	node   *node.Node
	traced *tracer
	stop   func() error
}

// tracer counts the transactions that the work of a node begins: a pipeline or a lone statement each.
type tracer struct{ transactions atomic.Int64 }

func (x *tracer) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	x.transactions.Add(1)
	return ctx
}
func (*tracer) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

func (x *tracer) TraceBatchStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	x.transactions.Add(1)
	return ctx
}
func (*tracer) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}
func (*tracer) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData)     {}

func (s *system) open(conns int, x *tracer) *store.Store {
	s.t.Helper()
	db, err := store.Open(s.t.Context(), s.url, store.Options{MaxConns: conns, Direct: true, Application: "node", Tracer: x})
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(db.Close)
	return db
}

// run starts a node and waits until it is ready and owns partitions.
func (s *system) run(id string, change ...func(*node.Config)) *process {
	s.t.Helper()
	p := s.begin(id, change...)
	s.await("node "+id+" to own partitions", func() bool {
		h := p.node.Health()
		return h.Ready && h.Node.Partitions > 0
	})
	return p
}

func (s *system) begin(id string, change ...func(*node.Config)) *process {
	s.t.Helper()
	c := node.Config{
		ID: id, NodeTimeout: nodeTimeout, SessionTimeout: sessionTimeout,
		Log: slog.New(slog.NewTextHandler(s.t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn})),
	}
	for _, f := range change {
		f(&c)
	}
	p := &process{traced: &tracer{}}
	var work node.Store = s.open(4, p.traced)
	if s.loads != nil {
		work = metered{work, s.loads}
	}
	n, err := node.New(c, work, s.open(1, &tracer{}))
	if err != nil {
		s.t.Fatal(err)
	}
	p.node = n
	p.Frontend = n.Frontend(frontend.Options{SessionTimeout: sessionTimeout, HeartbeatInterval: 500 * time.Millisecond, NodeTimeout: c.NodeTimeout})
	if s.scheduler != nil {
		n.UseScheduler(s.scheduler(p))
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- n.Run(ctx) }()
	var once sync.Once
	p.stop = func() (err error) {
		once.Do(func() { cancel(); err = <-ended })
		return err
	}
	s.t.Cleanup(func() { _ = p.stop() })
	return p
}

// await waits until something holds.
func (s *system) await(what string, holds func() bool) {
	s.t.Helper()
	for end := time.Now().Add(20 * time.Second); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			s.t.Fatalf("waited in vain for %s", what)
		}
	}
}

// count runs a query that gives one number.
func (s *system) count(sql string, args ...any) int {
	s.t.Helper()
	var n int
	if err := s.db.QueryRow(context.Background(), sql, args...).Scan(&n); err != nil {
		s.t.Fatal(err)
	}
	return n
}

func (s *system) publish(p *process, name, document string) {
	s.t.Helper()
	q := wire.PublishRequest{Name: name, Document: json.RawMessage(document)}
	if _, _, err := p.Publish(s.t.Context(), caller, q, false); err != nil {
		s.t.Fatal(err)
	}
}

func (s *system) register(p *process, worker string) string {
	s.t.Helper()
	a, err := p.Register(s.t.Context(), caller, wire.RegisterRequest{
		WorkerID: worker, Contracts: []wire.Contract{{Task: "work", Version: 1}},
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return a.SessionID
}

// start starts an execution; it may be called in any goroutine.
func (s *system) start(p *process, workflow, name string) {
	q := wire.StartRequest{Workflow: workflow, Name: name, Input: json.RawMessage(`{}`)}
	if _, _, err := p.Start(context.Background(), caller, q); err != nil {
		s.t.Errorf("start %s: %v", name, err)
	}
}

// end waits for the end of an execution and gives its status.
func (s *system) end(p *process, name string) wire.Status {
	s.t.Helper()
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); {
		r, err := p.Result(context.Background(), caller, name, wire.ResultQuery{WaitMS: 5000})
		if err == nil && r.Status.Ended() {
			return r.Status
		}
	}
	s.t.Errorf("execution %s does not end", name)
	return wire.Running
}

// serve polls and completes until the context ends, through whatever process pick gives; it goes on when one dies.
func (s *system) serve(ctx context.Context, session string, pick func() *process) {
	for ctx.Err() == nil {
		q := wire.PollRequest{SessionID: session, MaxTasks: 1, WaitMS: 1000, PollID: rand.Text()}
		got, err := pick().Poll(ctx, caller, q)
		if err != nil {
			time.Sleep(20 * time.Millisecond)
			continue
		}
		var reports []wire.Completion
		for _, a := range got.Assignments {
			reports = append(reports, wire.Completion{Token: a.Token, Output: json.RawMessage(`"done"`)})
		}
		for len(reports) > 0 && ctx.Err() == nil {
			if _, err := pick().Complete(ctx, caller, wire.CompleteRequest{Reports: reports}); err == nil {
				break
			}
			time.Sleep(20 * time.Millisecond)
		}
	}
}

// checkHistories fails the test unless every history is gapless and ends once, and nothing is left over.
func (s *system) checkHistories() {
	s.t.Helper()
	if n := s.count(`select count(*) from orrery.execution e
		where e.last_seq <> (select count(*) from orrery.history h where h.execution = e.id and h.born = e.born)`); n != 0 {
		s.t.Errorf("%d histories have gaps", n)
	}
	if n := s.count(`select count(*) from orrery.inbox where answered_at is null`); n != 0 {
		s.t.Errorf("%d entries are left in the inbox", n)
	}
	if n := s.count(`select count(*) from orrery.task t join orrery.execution e on e.id = t.execution
		where e.status <> 1 and t.state in ('queued', 'done')`); n != 0 {
		s.t.Errorf("%d tasks of ended executions are left", n)
	}
}
