// Package stack runs a whole Orrery on one machine, for the development server, the demo and tests of whole systems:
//
//	                      +--> function, in this process or its own binary under the emulator --+
//	client, worker --> gateway                                                                  +--> PostgreSQL
//	              \--> node 1, node 2, ...: processes of the node's binary ---------------------+
//
// What holds:
//
//   - The gateway's routes and the functions' environments come from template.yaml.
//   - Every process ends with the one that started it, however that ends.
//   - Without a database URL the stack has a throw-away server, which goes with its data when the stack is closed.
//   - Nothing listens beyond the loopback address.
package stack

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/orrery-dev/orrery/local/gateway"
	"github.com/orrery-dev/orrery/migrations"
	"github.com/orrery-dev/orrery/shared/pgserver"
)

// Options say what to run. The zero value is two nodes and functions in this process on a throw-away server.
type Options struct {
	// Root is the repository's folder; "." when empty.
	Root string
	// DatabaseURL is a PostgreSQL to use instead of a throw-away one.
	DatabaseURL string
	// NodeDatabaseURL gives the address by which a node reaches the database; nil or empty for DatabaseURL. Tests put proxies there.
	NodeDatabaseURL func(node string) string
	// NodeSettings are more of the nodes' environment, as NAME=value.
	NodeSettings []string
	// NodeBinary is the node's binary, built before; it is built when empty. Under the emulator everything is built.
	NodeBinary string
	// Nodes is how many; 2 when zero.
	Nodes int
	// Listen is the gateway's address; a free port on the loopback address when empty.
	Listen string
	// RIE runs each function as its own Lambda binary under the runtime interface emulator.
	RIE bool
	// Instances is how many calls of one function run at once; 8 when zero, 4 under the emulator.
	Instances int
	// TickEvery is how often the scheduled function runs, in place of the template's rate.
	TickEvery time.Duration
	// SessionTimeout is that of workers; the product's default when zero.
	SessionTimeout time.Duration
	// Log gets what happens, Output what the nodes write; nil discards it.
	Log    *slog.Logger
	Output io.Writer
	// Progress is told each step of the start; nil for nobody.
	Progress func(step string)
}

func (o Options) withDefaults() Options {
	if o.Root == "" {
		o.Root = "."
	}
	if o.Nodes == 0 {
		o.Nodes = 2
	}
	if o.Listen == "" {
		o.Listen = "127.0.0.1:0"
	}
	if o.Instances == 0 {
		o.Instances = 8
		if o.RIE {
			o.Instances = 4
		}
	}
	if o.Output == nil {
		o.Output = io.Discard
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.NodeDatabaseURL == nil {
		o.NodeDatabaseURL = func(string) string { return "" }
	}
	if o.Progress == nil {
		o.Progress = func(string) {}
	}
	return o
}

// Stack is what runs. Its fields do not change after Start, but for the nodes that AddNode adds.
type Stack struct {
	// URL is the gateway's, DatabaseURL the database's.
	URL         string
	DatabaseURL string
	Nodes       []*Node

	options Options
	dir     string
	server  *pgserver.Server // nil with a database of the caller's
	gateway *http.Server
	pools   []*gateway.Pool
	// ticking ends the ticks of scheduled functions; closers end what they have opened.
	ticking context.Context
	stop    context.CancelFunc
	ticks   sync.WaitGroup
	closers []func()
}

// Start runs everything and returns when every node is ready. On an error nothing is left running.
func Start(ctx context.Context, o Options) (_ *Stack, err error) {
	s := &Stack{options: o.withDefaults()}
	s.ticking, s.stop = context.WithCancel(context.WithoutCancel(ctx))
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	if s.dir, err = os.MkdirTemp("", "orrery-stack-"); err != nil {
		return nil, err
	}
	if err := s.startDatabase(ctx); err != nil {
		return nil, err
	}
	binaries, err := s.build(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.startNodes(ctx, binaries["node"]); err != nil {
		return nil, err
	}
	if err := s.startGateway(ctx, binaries); err != nil {
		return nil, err
	}
	return s, nil
}

// build gives the binaries by name.
func (s *Stack) build(ctx context.Context) (map[string]string, error) {
	if s.options.NodeBinary != "" && !s.options.RIE {
		return map[string]string{"node": s.options.NodeBinary}, nil
	}
	s.options.Progress("building the node and the functions")
	return gateway.Build(ctx, s.dir, s.binaries()...)
}

func (s *Stack) startDatabase(ctx context.Context) error {
	s.DatabaseURL = s.options.DatabaseURL
	if s.DatabaseURL == "" {
		s.options.Progress("starting PostgreSQL")
		server, err := pgserver.Start(ctx, pgserver.Options{Settings: map[string]string{"max_connections": "300"}})
		if err != nil {
			return err
		}
		s.server = server
		s.DatabaseURL = server.URL("postgres")
	}
	s.options.Progress("migrating the database")
	conn, err := pgx.Connect(ctx, s.DatabaseURL)
	if err != nil {
		return fmt.Errorf("connect to the database: %w", err)
	}
	defer conn.Close(context.WithoutCancel(ctx))
	return migrations.Apply(ctx, conn)
}

func (s *Stack) startNodes(ctx context.Context, binary string) error {
	s.options.Progress(fmt.Sprintf("starting %d nodes", s.options.Nodes))
	for i := range s.options.Nodes {
		n := &Node{ID: "node-" + strconv.Itoa(i+1), binary: binary, stack: s}
		s.Nodes = append(s.Nodes, n)
		if err := n.Start(); err != nil {
			return err
		}
	}
	for _, n := range s.Nodes {
		if err := n.WaitReady(ctx); err != nil {
			return err
		}
	}
	return nil
}

// AddNode starts one more node, under an id that no other has, and does not wait until it is ready. Close stops it, too.
func (s *Stack) AddNode(id string) (*Node, error) {
	n := &Node{ID: id, binary: s.Nodes[0].binary, stack: s}
	if err := n.Start(); err != nil {
		return nil, err
	}
	s.Nodes = append(s.Nodes, n)
	return n, nil
}

func (s *Stack) startGateway(ctx context.Context, binaries map[string]string) error {
	s.options.Progress("starting the functions behind the gateway")
	routes, functions, err := gateway.ReadTemplate(filepath.Join(s.options.Root, "template.yaml"), s.templateValues())
	if err != nil {
		return err
	}
	served := map[string]bool{}
	for _, r := range routes {
		served[r.Function] = true
	}
	invokers := map[string]gateway.Invoker{}
	for _, f := range functions {
		if f.Every > 0 {
			if err := s.startTicks(ctx, f, binaries[f.Name]); err != nil {
				return err
			}
		}
		if !served[f.Name] {
			continue
		}
		pool, err := s.pool(ctx, f, binaries[f.Name])
		if err != nil {
			return fmt.Errorf("function %s: %w", f.Name, err)
		}
		s.pools = append(s.pools, pool)
		invokers[f.Name] = pool
	}
	handler, err := gateway.New(routes, invokers, gateway.Options{Log: s.options.Log})
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", s.options.Listen)
	if err != nil {
		return err
	}
	s.URL = "http://" + listener.Addr().String()
	s.gateway = &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	go s.gateway.Serve(listener)
	return nil
}

// Close ends everything in the reverse order, each part within seconds.
func (s *Stack) Close() error {
	var errs []error
	if s.gateway != nil {
		errs = append(errs, s.gateway.Close())
	}
	s.stop()
	s.ticks.Wait()
	for _, end := range s.closers {
		end()
	}
	for _, p := range s.pools {
		p.Close()
	}
	for _, n := range s.Nodes {
		n.Stop()
	}
	if s.server != nil {
		errs = append(errs, s.server.Close())
	}
	if s.dir != "" {
		errs = append(errs, os.RemoveAll(s.dir))
	}
	return errors.Join(errs...)
}
