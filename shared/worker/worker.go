package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/orrery-dev/orrery/shared/wire"
)

// Config says what a worker needs. URL and ID are required.
type Config struct {
	// URL is the address of a node or of the functions' gateway.
	URL string
	// ID names the worker; several processes may share it.
	ID string
	// Namespace is left empty for the token's only one, or "default".
	Namespace string
	// Token is a bearer token with the role 'worker'.
	Token string
	// Language is what tasks with a language ask for; "go" when empty.
	Language string
	// Concurrency bounds the tasks at work at once; 10 when zero, 800 at most.
	Concurrency int
	// Wait is how long one poll may wait, to the millisecond; 20 s when zero, and at most.
	Wait time.Duration
	// Drain is how long handlers may go on after Run's context has ended; 25 s when zero.
	Drain time.Duration
	// HTTP is the client to use; nil for one of the worker's own with keep-alive connections.
	HTTP *http.Client
	// Log takes what happens besides work; nil for slog.Default.
	Log *slog.Logger
}

// maxConcurrency leaves room in a heartbeat's list for what is done and not yet reported: a batch on its way, and those
// that wait for the next.
const maxConcurrency = wire.MaxHeldTokens - 2*wire.MaxReports

func (c Config) withDefaults() Config {
	if c.Language == "" {
		c.Language = "go"
	}
	if c.Concurrency <= 0 {
		c.Concurrency = 10
	}
	c.Concurrency = min(c.Concurrency, maxConcurrency)
	if c.Wait <= 0 || c.Wait > 20*time.Second {
		c.Wait = 20 * time.Second
	}
	if c.Drain <= 0 {
		c.Drain = 25 * time.Second
	}
	if c.HTTP == nil {
		t := http.DefaultTransport.(*http.Transport).Clone()
		t.MaxIdleConnsPerHost = 8
		c.HTTP = &http.Client{Transport: t, Timeout: c.Wait + 15*time.Second}
	}
	if c.Log == nil {
		c.Log = slog.Default()
	}
	return c
}

// Worker polls for tasks of its contracts and does them. Make one with New, register handlers with Handle, then Run.
type Worker struct {
	config   Config
	client   *wire.Client
	handlers map[wire.Contract]handler

	// reports is bounded so that all that is held fits in a heartbeat; a handler that has returned waits for room.
	reports chan report
	// slots holds a value for each task at work or with its report on the way, and for each that a poll asks for.
	slots chan struct{}
	tasks sync.WaitGroup // handlers at work

	mu       sync.Mutex
	session  wire.RegisterResponse // of the session in use
	held     map[string]*heldTask  // by token: at work, or not yet reported for good
	stopping bool                  // nothing more is taken
}

// New makes a worker; nothing is sent before Run.
func New(config Config) *Worker {
	config = config.withDefaults()
	return &Worker{
		config:   config,
		client:   &wire.Client{Base: config.URL, HTTP: config.HTTP, Namespace: config.Namespace, Token: config.Token},
		handlers: map[wire.Contract]handler{},
		reports:  make(chan report, min(config.Concurrency, wire.MaxHeldTokens-wire.MaxReports-config.Concurrency)),
		slots:    make(chan struct{}, config.Concurrency),
		held:     map[string]*heldTask{},
	}
}

func (w *Worker) register(c wire.Contract, h handler) {
	if _, twice := w.handlers[c]; twice {
		panic(fmt.Sprintf("worker: contract %s@%d has two handlers", c.Task, c.Version))
	}
	w.handlers[c] = h
}

// Run, which is called once, works until ctx ends, then drains and gives the session back. It fails at once when the
// server refuses the worker (a wrong token, a malformed id); anything temporary is waited out.
func (w *Worker) Run(ctx context.Context) error {
	if len(w.handlers) == 0 {
		return errors.New("worker: no handler is registered")
	}
	if err := w.open(ctx); err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return fmt.Errorf("worker %s: register: %w", w.config.ID, err)
	}
	// Handlers outlive ctx by the drain; heartbeats and reports outlive the handlers.
	work, stopWork := context.WithCancelCause(context.WithoutCancel(ctx))
	defer stopWork(ErrStopping)
	side, stopSide := context.WithCancel(context.WithoutCancel(ctx))
	defer stopSide()
	var beats, reporter sync.WaitGroup
	beats.Go(func() { w.heartbeats(side) })
	reporter.Go(func() { w.report(side, work) })

	var polls sync.WaitGroup
	for range pollers {
		polls.Go(func() { w.poll(ctx, work) })
	}
	polls.Wait()
	w.mu.Lock()
	w.stopping = true
	w.mu.Unlock()

	late := time.AfterFunc(w.config.Drain, func() {
		w.config.Log.Warn("the drain is over and handlers are still at work", "worker", w.config.ID)
		stopWork(ErrStopping)
	})
	w.tasks.Wait()
	late.Stop()
	close(w.reports)
	unreported := time.AfterFunc(reportGrace, stopSide)
	reporter.Wait()
	unreported.Stop()
	w.close(side)
	stopSide()
	beats.Wait()
	return nil
}

// reportGrace is how long the last reports and the deregistration may take at the end.
const reportGrace = 10 * time.Second
