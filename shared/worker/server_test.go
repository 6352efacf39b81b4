package worker_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/orrery-dev/orrery/shared/wire"
	"github.com/orrery-dev/orrery/shared/worker"
)

// server is a node over a database of its own, behind a proxy that notes what workers send and can lose it.
type server struct {
	t *testing.T
	// url is the proxy's. The client goes past it.
	url    string
	client *wire.Client
	node   http.Handler

	mu    sync.Mutex
	calls []call
	// fate says what becomes of a call; nil passes all.
	fate func(call) fate
}

// call is a request of a worker with its answer; the answer is empty while it is not known.
type call struct {
	path         string // below /v1/
	body, answer []byte
}

type fate int

const (
	pass       fate = iota
	loseCall        // the server never hears of it
	loseAnswer      // the server does it, and the worker gets no answer
)

func newServer(t *testing.T) *server {
	t.Helper()
	s := &server{t: t, node: newNode(t)}
	proxy := httptest.NewServer(http.HandlerFunc(s.proxy))
	direct := httptest.NewServer(s.node)
	t.Cleanup(func() {
		proxy.CloseClientConnections()
		proxy.Close()
		direct.Close()
	})
	s.url = proxy.URL
	s.client = &wire.Client{Base: direct.URL}
	return s
}

// proxy passes a call on, or cuts its connection.
func (s *server) proxy(w http.ResponseWriter, r *http.Request) {
	c := call{path: strings.TrimPrefix(r.URL.Path, "/v1/")}
	c.body, _ = io.ReadAll(r.Body)
	s.mu.Lock()
	decide := s.fate
	s.mu.Unlock()
	f := pass
	if decide != nil {
		f = decide(c)
	}
	if f == loseCall {
		panic(http.ErrAbortHandler)
	}
	r.Body = io.NopCloser(bytes.NewReader(c.body))
	answer := httptest.NewRecorder()
	s.node.ServeHTTP(answer, r)
	c.answer = answer.Body.Bytes()
	s.mu.Lock()
	s.calls = append(s.calls, c)
	s.mu.Unlock()
	if f == loseAnswer {
		panic(http.ErrAbortHandler)
	}
	for k, v := range answer.Header() {
		w.Header()[k] = v
	}
	w.WriteHeader(answer.Code)
	_, _ = w.Write(c.answer)
}

// decide sets what becomes of the calls from now on.
func (s *server) decide(f func(call) fate) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fate = f
}

// first applies a fate to the first n calls of a path, and passes all others.
func (s *server) first(n int, path string, f fate) {
	var mu sync.Mutex
	s.decide(func(c call) fate {
		mu.Lock()
		defer mu.Unlock()
		if c.path != path || n == 0 {
			return pass
		}
		n--
		return f
	})
}

// seen gives the calls of a path that the server has answered, decoded.
func seen[Q, A any](s *server, path string) (requests []Q, answers []A) {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.calls {
		if c.path != path {
			continue
		}
		var q Q
		var a A
		if err := json.Unmarshal(c.body, &q); err != nil {
			s.t.Fatal(err)
		}
		if err := json.Unmarshal(c.answer, &a); err != nil {
			s.t.Fatal(err)
		}
		requests, answers = append(requests, q), append(answers, a)
	}
	return requests, answers
}

// call makes a call of a client or an operator.
func (s *server) call(method, path string, body, answer any) {
	s.t.Helper()
	if _, err := s.client.Call(s.t.Context(), method, path, nil, body, answer); err != nil {
		s.t.Fatalf("%s %s: %v", method, path, err)
	}
}

// publish makes a workflow of one Task state that has the members besides; it is the last unless they name another.
func (s *server) publish(members string) {
	s.t.Helper()
	if !strings.Contains(members, `"Next"`) {
		members += `,"End":true`
	}
	document := `{"StartAt":"Do","States":{"Do":{"Type":"Task","Resource":"task:do"` + members + `}}}`
	s.call("POST", wire.Path("workflows"), wire.PublishRequest{Name: "w", Document: json.RawMessage(document)}, nil)
}

func (s *server) start(name, input string) {
	s.t.Helper()
	s.call("POST", wire.Path("executions"), wire.StartRequest{Workflow: "w", Name: name, Input: json.RawMessage(input)}, nil)
}

// result waits for the end of an execution.
func (s *server) result(name string) wire.Result {
	s.t.Helper()
	for range 3 {
		var r wire.Result
		s.call("GET", wire.Path("executions", name, "result")+"?wait_ms=10000", nil, &r)
		if r.Status.Ended() {
			return r
		}
	}
	s.t.Fatalf("%s does not end; its history: %s", name, strings.Join(s.history(name), ", "))
	return wire.Result{}
}

// succeeds waits for the end of an execution, which must be a success with the output.
func (s *server) succeeds(name, output string) {
	s.t.Helper()
	if r := s.result(name); r.Status != wire.Succeeded || string(r.Output) != output {
		s.t.Errorf("%s: %s with %s, error %+v, want output %s", name, r.Status, r.Output, r.Error, output)
	}
}

// fails waits for the end of an execution, which must be a failure with the code after so many attempts.
func (s *server) fails(name, code string, attempts int) wire.ExecutionError {
	s.t.Helper()
	r := s.result(name)
	if r.Status != wire.Failed || r.Error == nil || r.Error.Code != code {
		s.t.Fatalf("%s: %s with %s, error %.200s, want error %.200s", name, r.Status, r.Output, fmt.Sprint(r.Error), code)
	}
	if n := s.count(name, "TaskScheduled"); n != attempts {
		s.t.Errorf("%s: %d attempts, want %d", name, n, attempts)
	}
	return *r.Error
}

// history gives the types of the events.
func (s *server) history(name string) (types []string) {
	s.t.Helper()
	var p wire.HistoryPage
	s.call("GET", wire.Path("executions", name, "history")+"?limit=1000", nil, &p)
	for _, e := range p.Events {
		types = append(types, e.Type)
	}
	return types
}

func (s *server) count(name, event string) (n int) {
	s.t.Helper()
	for _, e := range s.history(name) {
		if e == event {
			n++
		}
	}
	return n
}

// queue gives how many tasks are queued and claimed.
func (s *server) queue() (queued, claimed int64) {
	s.t.Helper()
	var l wire.QueueList
	s.call("GET", wire.Path("queues"), nil, &l)
	for _, q := range l.Queues {
		queued, claimed = queued+q.Queued, claimed+q.Claimed
	}
	return queued, claimed
}

func (s *server) sessions() (ids []string) {
	s.t.Helper()
	var l wire.WorkerList
	s.call("GET", wire.Path("workers"), nil, &l)
	for _, w := range l.Workers {
		for _, session := range w.Sessions {
			ids = append(ids, session.ID)
		}
	}
	slices.Sort(ids)
	return ids
}

// worker makes a worker of the server with settings for tests; it does not run yet.
func (s *server) worker(change func(*worker.Config)) *worker.Worker {
	c := worker.Config{
		URL: s.url, ID: "w1", Wait: 2 * time.Second, Drain: 5 * time.Second,
		Log: slog.New(slog.NewTextHandler(s.t.Output(), nil)),
	}
	if change != nil {
		change(&c)
	}
	return worker.New(c)
}

// run runs a worker until stop is called, which returns when it has drained, or else until the test ends.
func (s *server) run(w *worker.Worker) (stop func()) {
	s.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		select {
		case err := <-ended:
			if err != nil {
				s.t.Errorf("the worker ended with %v", err)
			}
		case <-time.After(30 * time.Second):
			s.t.Error("the worker does not end")
		}
	})
	s.t.Cleanup(stop)
	return stop
}

// await waits for something that other goroutines do.
func await(t *testing.T, what string, done func() bool) {
	t.Helper()
	for late := time.Now().Add(20 * time.Second); !done(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(late) {
			t.Fatal("still waiting: " + what)
		}
	}
}

// receive takes the next value that a handler sends.
func receive[T any](t *testing.T, what string, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(20 * time.Second):
		t.Fatal("still waiting: " + what)
	}
	panic("not reached")
}

func name(prefix string, i int) string { return fmt.Sprintf("%s-%d", prefix, i) }
