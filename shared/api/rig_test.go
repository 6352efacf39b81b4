package api_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/orrery-dev/orrery/shared/api"
	"github.com/orrery-dev/orrery/shared/auth"
	"github.com/orrery-dev/orrery/shared/frontend"
	"github.com/orrery-dev/orrery/shared/store"
	"github.com/orrery-dev/orrery/shared/storetest"
	"github.com/orrery-dev/orrery/shared/wire"
)

// surface is the whole API over a database of its own, as functions serve it: no node is there.
type surface struct {
	t       *testing.T
	handler http.Handler
	pool    *pgxpool.Pool // for looking at the rows
	store   *store.Store
}

func newSurface(t *testing.T) *surface {
	t.Helper()
	url := storetest.URL(t)
	pool, err := pgxpool.New(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	db, err := store.Open(t.Context(), url, store.Options{MaxConns: 2})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	f := frontend.New(db, frontend.Options{SessionTimeout: 30 * time.Second, HeartbeatInterval: 5 * time.Second, NodeTimeout: 5 * time.Second, MaxPayload: 16 << 10})
	h := api.New(api.Services{Workers: f, Tasks: f, Executions: f, Workflows: f, Schedules: f, Cluster: f}, api.Options{
		Authenticator: auth.Open{}, Log: slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelError})),
		MaxBody: 64 << 10, MaxPayload: 16 << 10, Deadline: time.Minute,
	})
	return &surface{t, h, pool, db}
}

// call makes a request and decodes the answer, which must have the status; body is JSON text or a value.
func (s *surface) call(method, path string, body any, status int, answer any, headers ...string) http.Header {
	s.t.Helper()
	w := s.send(method, path, body, headers...)
	if w.Code != status {
		s.t.Fatalf("%s %s: %d %s, want %d", method, path, w.Code, w.Body, status)
	}
	if answer != nil {
		if err := json.Unmarshal(w.Body.Bytes(), answer); err != nil {
			s.t.Fatalf("%s %s: %v in %s", method, path, err, w.Body)
		}
	}
	return w.Header()
}

// asksOwner matches the routes that wait for the word of an owner.
var asksOwner = regexp.MustCompile(`^/v1/executions/.*/(signals/.*|cancel|redrive|resolve)$`)

func (s *surface) send(method, path string, body any, headers ...string) *httptest.ResponseRecorder {
	s.t.Helper()
	text, isText := body.(string)
	if !isText && body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			s.t.Fatal(err)
		}
		text = string(b)
	}
	ctx := s.t.Context()
	if asksOwner.MatchString(path) {
		// The wait for an owner, who is not there, ends soon: as a function's does whose time is over.
		short, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		ctx = short
	}
	q := httptest.NewRequestWithContext(ctx, method, path, strings.NewReader(text))
	for i := 0; i < len(headers); i += 2 {
		q.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	s.handler.ServeHTTP(w, q)
	return w
}

// refused makes a request that must fail with the code.
func (s *surface) refused(method, path string, body any, code wire.Code, headers ...string) wire.Error {
	s.t.Helper()
	w := s.send(method, path, body, headers...)
	e := failure(s.t, w)
	if w.Code != code.Status() || e.Code != code {
		s.t.Errorf("%s %s: %d %s (%s), want %d %s", method, path, w.Code, e.Code, e.Message, code.Status(), code)
	}
	return e
}

// oneTask is a workflow with one task and a wait for a signal after it.
const oneTask = `{"StartAt":"Charge","States":{
	"Charge":{"Type":"Task","Resource":"task:payments.charge@2","TimeoutSeconds":60,"HeartbeatSeconds":20,"Next":"Packed"},
	"Packed":{"Type":"Task","Resource":"signal:packed","End":true}}}`

const noTask = `{"StartAt":"Hello","States":{"Hello":{"Type":"Pass","Next":"Bye"},"Bye":{"Type":"Pass","Result":{"said":"bye"},"End":true}}}`

func (s *surface) publish(name, document string) wire.Workflow {
	s.t.Helper()
	var w wire.Workflow
	s.call("POST", "/v1/workflows", wire.PublishRequest{Name: name, Document: json.RawMessage(document)}, 201, &w)
	return w
}

func (s *surface) start(workflow, name, input string) wire.Execution {
	s.t.Helper()
	var e wire.Execution
	s.call("POST", "/v1/executions", wire.StartRequest{Workflow: workflow, Name: name, Input: json.RawMessage(input)}, 201, &e)
	return e
}

func (s *surface) register(worker string) string {
	s.t.Helper()
	var r wire.RegisterResponse
	s.call("POST", "/v1/workers/register", wire.RegisterRequest{WorkerID: worker, Language: "go", Contracts: []wire.Contract{{Task: "payments.charge", Version: 2}}}, 200, &r)
	return r.SessionID
}

func (s *surface) poll(session, pollID string) []wire.Assignment {
	s.t.Helper()
	var p wire.PollResponse
	s.call("POST", "/v1/workers/poll", wire.PollRequest{SessionID: session, PollID: pollID, MaxTasks: 10}, 200, &p)
	return p.Assignments
}

func (s *surface) complete(token, output string) wire.ReportOutcome {
	s.t.Helper()
	var r wire.ReportResponse
	s.call("POST", "/v1/tasks/complete", wire.CompleteRequest{Reports: []wire.Completion{{Token: token, Output: json.RawMessage(output)}}}, 200, &r)
	if len(r.Results) != 1 || r.Results[0].Token != token {
		s.t.Fatalf("results %+v", r.Results)
	}
	return r.Results[0].Outcome
}

// rows counts the rows of every table, partitions left out.
func (s *surface) rows() map[string]int {
	s.t.Helper()
	tables, err := s.pool.Query(context.Background(), `
		select c.relname from pg_class c join pg_namespace n on n.oid = c.relnamespace
		where n.nspname = 'orrery' and c.relkind in ('r', 'p') and not c.relispartition`)
	if err != nil {
		s.t.Fatal(err)
	}
	counts := map[string]int{}
	var name string
	var names []string
	for tables.Next() {
		if err := tables.Scan(&name); err != nil {
			s.t.Fatal(err)
		}
		names = append(names, name)
	}
	for _, name := range names {
		var n int
		if err := s.pool.QueryRow(context.Background(), `select count(*) from orrery.`+name).Scan(&n); err != nil {
			s.t.Fatal(err)
		}
		counts[name] = n
	}
	return counts
}
