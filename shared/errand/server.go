package errand

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/orrery-dev/orrery/shared/builtin"
	"github.com/orrery-dev/orrery/shared/telemetry"
	"github.com/orrery-dev/orrery/shared/worker"
)

// Config says what a server does by itself.
type Config struct {
	// ID names the process among the workers.
	ID string
	// HTTPAllow and LambdaAllow are lists with commas of what may be called, as [builtin.ParseAllow] and [builtin.NewLambda]
	// read them. What is empty is off.
	HTTPAllow, LambdaAllow string
	// S3Allow is the same for the buckets that Maps read their items from and write their results to, as [builtin.NewS3] reads it.
	S3Allow     string
	S3PathStyle bool
	// Connections is the name of a file with what HTTP requests may be given; see [ReadConnections]. Empty for none.
	Connections string
	// Concurrency bounds the calls at once, in each namespace; 100 when zero.
	Concurrency int
	// Executions shows the executions whose results are written.
	Executions Executions
	// Namespaces lists the namespaces whose tasks are done.
	Namespaces func(context.Context) ([]string, error)
	Log        *slog.Logger
}

const (
	defaultConcurrency = 100
	// namespacesEvery is the time between two looks for new namespaces.
	namespacesEvery = time.Minute
	// drain is how long calls may go on when the process stops. What is not done by then is given to another process.
	drain = 2 * time.Second
)

// Server does the tasks.
type Server struct {
	config Config
	areas  Areas
	http   *requests
	lambda *functions
	s3     *buckets
	out    *results
}

// New makes a server that claims and reports through areas; nil where nothing is allowed.
func New(ctx context.Context, c Config, areas Areas) (*Server, error) {
	if c.Concurrency == 0 {
		c.Concurrency = defaultConcurrency
	}
	s := &Server{config: c, areas: areas}
	allow, err := builtin.ParseAllow(c.HTTPAllow)
	if err != nil {
		return nil, fmt.Errorf("errand: %w", err)
	}
	if caller := builtin.NewHTTP(allow); caller != nil {
		connections, err := ReadConnections(c.Connections)
		if err != nil {
			return nil, err
		}
		s.http = &requests{caller, connections}
	}
	caller, err := builtin.NewLambda(ctx, c.LambdaAllow)
	if err != nil {
		return nil, fmt.Errorf("errand: %w", err)
	}
	if caller != nil {
		s.lambda = &functions{caller}
	}
	reader, err := builtin.NewS3(ctx, c.S3Allow, c.S3PathStyle)
	if err != nil {
		return nil, fmt.Errorf("errand: %w", err)
	}
	if reader != nil {
		s.s3, s.out = &buckets{reader}, &results{reader, c.Executions}
	}
	if s.http == nil && s.lambda == nil && s.s3 == nil {
		return nil, nil
	}
	return s, nil
}

// Run does tasks until ctx ends, a worker for each namespace.
func (s *Server) Run(ctx context.Context) {
	var workers sync.WaitGroup
	defer workers.Wait()
	known := map[string]bool{}
	tick := time.NewTicker(namespacesEvery)
	defer tick.Stop()
	for {
		names, err := s.config.Namespaces(ctx)
		if err != nil && ctx.Err() == nil {
			s.config.Log.Error("the namespaces could not be read", telemetry.KeyError, err)
		}
		for _, name := range names {
			if !known[name] {
				known[name] = true
				workers.Go(func() { s.serve(ctx, name) })
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// Beside gives work with tasks done while it goes on. A nil server does none.
func (s *Server) Beside(work func(context.Context) error) func(context.Context) error {
	if s == nil {
		return work
	}
	return func(ctx context.Context) error {
		inner, stop := context.WithCancel(ctx)
		var serving sync.WaitGroup
		serving.Go(func() { s.Run(inner) })
		defer serving.Wait()
		defer stop()
		return work(ctx)
	}
}

// retryEvery is the pause before a worker that was refused begins again.
const retryEvery = 5 * time.Second

// serve is the worker of one namespace.
func (s *Server) serve(ctx context.Context, namespace string) {
	for ctx.Err() == nil {
		if err := s.worker(namespace).Run(ctx); err != nil {
			s.config.Log.Error("the server does no tasks of its own", telemetry.KeyNamespace, namespace, telemetry.KeyError, err)
		}
		select {
		case <-time.After(retryEvery):
		case <-ctx.Done():
		}
	}
}

func (s *Server) worker(namespace string) *worker.Worker {
	w := worker.New(worker.Config{
		URL: inside, ID: "orrery " + s.config.ID, Namespace: namespace, Concurrency: s.config.Concurrency, Drain: drain,
		HTTP: &http.Client{Transport: transport{s.areas}}, Log: s.config.Log.With(telemetry.KeyNamespace, namespace),
	})
	if s.http != nil {
		worker.Handle(w, HTTPTask, version, inTime(MaxRequestTime, "States.Http.Socket", s.http.do))
	}
	if s.lambda != nil {
		worker.Handle(w, LambdaTask, version, inTime(MaxInvocationTime, "Lambda.ClientExecutionTimeoutException", s.lambda.invoke))
		worker.Handle(w, FunctionTask, version, inTime(MaxInvocationTime, "Lambda.ClientExecutionTimeoutException", s.lambda.call))
	}
	if s.s3 != nil {
		worker.Handle(w, ItemsTask, version, inTime(MaxReadTime, codeItems, s.s3.read))
		worker.Handle(w, ResultsTask, version, inTime(MaxWriteTime, codeResults, s.out.in(namespace)))
	}
	return w
}

// The limits of a call, whatever its Task says.
const (
	MaxRequestTime    = 60 * time.Second
	MaxInvocationTime = 16 * time.Minute
	MaxReadTime       = 15 * time.Minute
	MaxWriteTime      = time.Hour
)

// lateBy is how long the time-out of the decider is waited for, which says more than that of a call.
const lateBy = 2 * time.Second

// inTime bounds a call in time. After the time of its attempt nothing is reported that could come before the decider's own
// time-out.
func inTime[In, Out any](limit time.Duration, code string, call func(context.Context, worker.Task, In) (Out, error)) func(context.Context, worker.Task, In) (Out, error) {
	return func(ctx context.Context, t worker.Task, in In) (Out, error) {
		bounded, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		out, err := call(bounded, t, in)
		switch {
		case err == nil:
		case errors.Is(context.Cause(ctx), worker.ErrTimedOut):
			time.Sleep(lateBy)
			err = worker.Errorf("States.Timeout", "")
		case bounded.Err() != nil && ctx.Err() == nil:
			err = worker.Errorf(code, "There was no answer in %s.", limit)
		}
		return out, err
	}
}
