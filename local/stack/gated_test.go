package stack

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/orrery-dev/orrery/shared/api"
	"github.com/orrery-dev/orrery/shared/auth"
	"github.com/orrery-dev/orrery/shared/config"
	"github.com/orrery-dev/orrery/shared/frontend"
	"github.com/orrery-dev/orrery/shared/node"
	"github.com/orrery-dev/orrery/shared/store"
	"github.com/orrery-dev/orrery/shared/telemetry"
)

// gatedMode in the environment makes the test binary a node whose transactions stop at a gate: between their checks and
// their COMMIT they wait for a lock that the test can hold.
const gatedMode = "ORRERY_STACK_TEST_GATED_NODE"

// gateKey is that lock. The wait for it is not bounded as that for other locks is.
const (
	gateKey       = 4711
	gateStatement = "select set_config('lock_timeout', '0', true), pg_advisory_xact_lock_shared(4711)"
)

func TestMain(m *testing.M) {
	if os.Getenv(gatedMode) != "" {
		fmt.Fprintln(os.Stderr, runGatedNode())
		os.Exit(1)
	}
	code := m.Run()
	os.RemoveAll(binaries.dir)
	os.Exit(code)
}

// runGatedNode is functions/node with a gate, and without an end but by a signal.
func runGatedNode() error {
	ctx := context.Background()
	c, err := config.Load(config.Node, nil, os.LookupEnv, os.Stdout)
	if err != nil {
		return err
	}
	log := telemetry.NewLogger(os.Stderr, c.LogLevel)
	db, err := store.Open(ctx, c.DirectURL, store.Options{MaxConns: c.PoolSize, Direct: true, Application: "orrery-node " + c.NodeID, Gate: gateStatement})
	if err != nil {
		return err
	}
	beats, err := store.Open(ctx, c.DirectURL, store.Options{MaxConns: 1, Direct: true, Application: "orrery-heartbeat " + c.NodeID})
	if err != nil {
		return err
	}
	n, err := node.New(node.Config{ID: c.NodeID, NodeTimeout: c.NodeTimeout, SessionTimeout: c.SessionTimeout, Log: log}, db, beats)
	if err != nil {
		return err
	}
	front := n.Frontend(frontend.Options{SessionTimeout: c.SessionTimeout, HeartbeatInterval: c.HeartbeatInterval, NodeTimeout: c.NodeTimeout})
	handler := api.New(
		api.Services{Workers: front, Tasks: front, Executions: front, Workflows: front, Cluster: front, Readiness: n},
		api.Options{Authenticator: auth.Open{}, Log: log, MaxBody: c.MaxBody, MaxPayload: c.MaxPayload, Deadline: c.RequestTimeout})
	go func() { log.Error("the node has ended", "error", n.Run(ctx)) }()
	return http.ListenAndServe(c.Listen, handler)
}

// useGate has a node run again, as the test binary with the gate. Every transaction that stops there keeps its connection:
// the node gets more of them than a test sends it requests, or none is left for the commit that the test waits for.
func (s *system) useGate(n *Node) *gate {
	s.t.Helper()
	self, err := os.Executable()
	if err != nil {
		s.t.Fatal(err)
	}
	script := filepath.Join(s.t.TempDir(), "node")
	if err := os.WriteFile(script, fmt.Appendf(nil, "#!/bin/sh\n%s=1 ORRERY_POOL_SIZE=32 exec '%s'\n", gatedMode, self), 0o755); err != nil {
		s.t.Fatal(err)
	}
	if err := n.Stop(); err != nil {
		s.t.Fatal(err)
	}
	n.binary = script
	if err := n.Start(); err != nil {
		s.t.Fatal(err)
	}
	if err := n.WaitReady(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
	conn, err := pgx.Connect(s.t.Context(), s.DatabaseURL)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { conn.Close(context.Background()) })
	return &gate{s, conn}
}

// gate is the test's hold on the lock.
type gate struct {
	s    *system
	conn *pgx.Conn
}

func (g *gate) close() { g.exec("select pg_advisory_lock($1)", gateKey) }
func (g *gate) open()  { g.exec("select pg_advisory_unlock($1)", gateKey) }

func (g *gate) exec(sql string, args ...any) {
	g.s.t.Helper()
	if _, err := g.conn.Exec(g.s.t.Context(), sql, args...); err != nil {
		g.s.t.Fatal(err)
	}
}

// waiting tells how many commits of a fence stand at the gate: transactions that hold a fence and wait for the lock.
func (g *gate) waiting() (n int) {
	g.s.t.Helper()
	err := g.conn.QueryRow(g.s.t.Context(), `
		select count(*)
		from pg_locks w
		join pg_locks f on f.pid = w.pid and f.locktype = 'advisory' and f.objsubid = 2 and f.granted
		where w.locktype = 'advisory' and w.objid = $1 and w.objsubid = 1 and not w.granted
		  and w.database = (select oid from pg_database where datname = current_database())`, gateKey).Scan(&n)
	if err != nil {
		g.s.t.Fatal(err)
	}
	return n
}

// awaitWaiting waits for a commit at the gate.
func (g *gate) awaitWaiting() {
	g.s.t.Helper()
	for late := time.Now().Add(10 * time.Second); g.waiting() == 0; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(late) {
			g.s.t.Fatal("no commit comes to the gate")
		}
	}
}
