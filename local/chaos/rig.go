package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"time"

	"github.com/orrery-dev/orrery/local/stack"
	"github.com/orrery-dev/orrery/shared/pgserver"
	"github.com/orrery-dev/orrery/shared/wire"
)

const (
	nodes = 3
	// sessionTimeout is shorter than the product's default, so that what is lost comes again within a short run.
	sessionTimeout = 5 * time.Second
)

// rig is what the harm is done to.
type rig struct {
	server  *pgserver.Server
	ledger  *ledger
	proxies map[string]*pgserver.Proxy // by node
	stack   *stack.Stack
	log     io.WriteCloser
	// ways in: the functions first, then each node.
	ways []*wire.Client
}

type nowhere struct{ io.Writer }

func (nowhere) Close() error { return nil }

// newRig starts everything. On an error nothing is left running.
func newRig(ctx context.Context, o options) (_ *rig, err error) {
	r := &rig{proxies: map[string]*pgserver.Proxy{}, log: nowhere{io.Discard}}
	defer func() {
		if err != nil {
			err = errors.Join(err, r.close())
		}
	}()
	if o.output != "" {
		file, err := os.Create(o.output)
		if err != nil {
			return nil, err
		}
		r.log = file
	}
	settings := map[string]string{"max_connections": "300"}
	if r.server, err = pgserver.Start(ctx, pgserver.Options{Volatile: true, Settings: settings}); err != nil {
		return nil, err
	}
	if r.ledger, err = newLedger(ctx); err != nil {
		return nil, err
	}
	for i := range nodes {
		p, err := pgserver.NewProxy(r.server.URL("postgres"))
		if err != nil {
			return nil, err
		}
		r.proxies[fmt.Sprintf("node-%d", i+1)] = p
	}
	if r.stack, err = stack.Start(ctx, stack.Options{
		Root: o.root, NodeBinary: o.node, DatabaseURL: r.server.URL("postgres"), Nodes: nodes, Instances: 64, SessionTimeout: sessionTimeout,
		NodeDatabaseURL: func(node string) string { return r.proxies[node].URL() },
		Output:          r.log, Log: slog.New(slog.NewTextHandler(r.log, nil)),
	}); err != nil {
		return nil, err
	}
	r.ways = append(r.ways, client(r.stack.URL))
	for _, n := range r.stack.Nodes {
		r.ways = append(r.ways, client(n.URL))
	}
	return r, nil
}

// client calls one way in. An answer that does not come is given up after a while, as every client must.
func client(url string) *wire.Client {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxIdleConnsPerHost = 64
	return &wire.Client{Base: url, HTTP: &http.Client{Transport: t, Timeout: 25 * time.Second}}
}

func (r *rig) close() error {
	var errs []error
	if r.stack != nil {
		errs = append(errs, r.stack.Close())
	}
	for _, p := range r.proxies {
		errs = append(errs, p.Close())
	}
	if r.ledger != nil {
		errs = append(errs, r.ledger.close())
	}
	if r.server != nil {
		errs = append(errs, r.server.Close())
	}
	return errors.Join(append(errs, r.log.Close())...)
}
