package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/orrery-dev/orrery/shared/api"
	"github.com/orrery-dev/orrery/shared/auth"
	"github.com/orrery-dev/orrery/shared/wire"
)

type rig struct {
	*stub
	handler http.Handler
	log     bytes.Buffer
}

func newRig(t *testing.T, change ...func(*api.Options)) *rig {
	t.Helper()
	r := &rig{stub: &stub{}}
	o := api.Options{
		Authenticator: auth.Open{}, Log: slog.New(slog.NewJSONHandler(&r.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		MaxBody: 4096, MaxPayload: 1024, Deadline: 30 * time.Second,
	}
	for _, f := range change {
		f(&o)
	}
	s := r.stub
	r.handler = api.New(api.Services{Workers: s, Tasks: s, Executions: s, Workflows: s, Schedules: s, Cluster: s, Readiness: readiness{s}}, o)
	return r
}

// send makes a request; headers are name, value, name, value, ...
func (r *rig) send(method, target, body string, headers ...string) *httptest.ResponseRecorder {
	var in io.Reader
	if body != "" {
		in = strings.NewReader(body)
	}
	q := httptest.NewRequest(method, target, in)
	for i := 0; i < len(headers); i += 2 {
		q.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	r.handler.ServeHTTP(w, q)
	return w
}

func (r *rig) lastCall(t *testing.T) stubCall {
	t.Helper()
	if len(r.calls) == 0 {
		t.Fatal("nothing was called")
	}
	return r.calls[len(r.calls)-1]
}

func failure(t *testing.T, w *httptest.ResponseRecorder) wire.Error {
	t.Helper()
	var e wire.ErrorEnvelope
	if err := json.Unmarshal(w.Body.Bytes(), &e); err != nil || e.Error.Code == "" {
		t.Fatalf("no error envelope in %d %s", w.Code, w.Body)
	}
	return e.Error
}

// good is a request of every route, with what its area gets from it.
var good = []struct {
	method, target, body string
	name                 string
	args                 []any
}{
	{"POST", "/v1/workers/register", `{"worker_id":"host:17/b","language":"go","contracts":[{"task":"pay","version":2}]}`, "Register",
		[]any{wire.RegisterRequest{WorkerID: "host:17/b", Language: "go", Contracts: []wire.Contract{{Task: "pay", Version: 2}}}}},
	{"POST", "/v1/workers/heartbeat", `{"session_id":"s","beat":1,"tokens":[{"token":"t","details":null}]}`, "Heartbeat",
		[]any{wire.HeartbeatRequest{SessionID: "s", Beat: 1, Tokens: []wire.HeldToken{{Token: "t", Details: json.RawMessage("null")}}}}},
	{"POST", "/v1/workers/heartbeat", `{"session_id":"s","beat":1e2,"tokens":[]}`, "Heartbeat",
		[]any{wire.HeartbeatRequest{SessionID: "s", Beat: 100, Tokens: []wire.HeldToken{}}}},
	{"POST", "/v1/workers/poll", `{"session_id":"s","poll_id":"p"}`, "Poll", []any{wire.PollRequest{SessionID: "s", PollID: "p", MaxTasks: 1}}},
	{"POST", "/v1/workers/deregister", `{"session_id":"s"}`, "Deregister", []any{wire.DeregisterRequest{SessionID: "s"}}},
	{"POST", "/v1/tasks/complete", `{"reports":[{"token":"t","output": {"b" : 1, "a":1.0}}],"poll":null}`, "Complete",
		[]any{wire.CompleteRequest{Reports: []wire.Completion{{Token: "t", Output: json.RawMessage(`{"b":1,"a":1.0}`)}}}}},
	{"POST", "/v1/tasks/complete", `{"reports":[{"token":"t","output":null}],"poll":{"session_id":"s","poll_id":"p","max_tasks":100,"wait_ms":20000}}`, "Complete",
		[]any{wire.CompleteRequest{Reports: []wire.Completion{{Token: "t", Output: json.RawMessage(`null`)}}, SessionID: "s",
			Poll: &wire.PollRequest{SessionID: "s", PollID: "p", MaxTasks: 100, WaitMS: 20000}}}},
	{"POST", "/v1/tasks/fail", `{"reports":[{"token":"t","error":{"code":"Card.Declined","retryable":false}}]}`, "Fail",
		[]any{wire.FailRequest{Reports: []wire.Failure{{Token: "t", Error: wire.TaskError{Code: "Card.Declined", Retryable: new(bool)}}}}}},
	{"POST", "/v1/tasks/uncertain", `{"reports":[{"token":"t","reason":"lost the line"}],"session_id":"s"}`, "Uncertain",
		[]any{wire.UncertainRequest{Reports: []wire.Uncertainty{{Token: "t", Reason: "lost the line"}}, SessionID: "s"}}},
	{"POST", "/v1/workflows?dry_run=true", `{"name":"orders","document":"StartAt: A"}`, "Publish",
		[]any{wire.PublishRequest{Name: "orders", Document: json.RawMessage(`"StartAt: A"`)}, true}},
	{"GET", "/v1/workflows", "", "ListWorkflows", []any{wire.PageQuery{Limit: 100}}},
	{"GET", "/v1/workflows?limit=7&cursor=x%20y", "", "ListWorkflows", []any{wire.PageQuery{Limit: 7, Cursor: "x y"}}},
	{"GET", "/v1/workflows/orders", "", "GetWorkflow", []any{"orders", 0}},
	{"GET", "/v1/workflows/orders/versions/3", "", "GetWorkflow", []any{"orders", 3}},
	{"GET", "/v1/workflows/orders/aliases", "", "ListAliases", []any{"orders"}},
	{"GET", "/v1/workflows/orders/aliases/live", "", "GetAlias", []any{"orders", "live"}},
	{"PUT", "/v1/workflows/orders/aliases/live", `{"versions":[{"version":2,"weight":0},{"version":3,"weight":100}]}`, "SetAlias",
		[]any{"orders", "live", wire.AliasRequest{Versions: []wire.AliasVersion{{Version: 2}, {Version: 3, Weight: 100}}}}},
	{"DELETE", "/v1/workflows/orders/aliases/live", "", "DeleteAlias", []any{"orders", "live"}},
	{"GET", "/v1/contracts", "", "ListContracts", nil},
	{"GET", "/v1/contracts/pay/2", "", "GetContract", []any{wire.Contract{Task: "pay", Version: 2}}},
	{"PUT", "/v1/contracts/pay/2", `{"input":true}`, "SetContract",
		[]any{wire.Contract{Task: "pay", Version: 2}, wire.ContractRequest{Input: json.RawMessage("true")}}},
	{"DELETE", "/v1/contracts/pay/2", "", "DeleteContract", []any{wire.Contract{Task: "pay", Version: 2}}},
	{"POST", "/v1/executions", `{"workflow":"orders","alias":"live"}`, "Start",
		[]any{wire.StartRequest{Workflow: "orders", Alias: "live", Input: json.RawMessage("{}")}}},
	{"POST", "/v1/executions", `{"workflow":"orders"}`, "Start", []any{wire.StartRequest{Workflow: "orders", Input: json.RawMessage("{}")}}},
	{"POST", "/v1/executions", `{"workflow":"orders","input":null,"name":"order-1","version":2,"timeout_ms":5,"wait_ms":7}`, "Start",
		[]any{wire.StartRequest{Workflow: "orders", Input: json.RawMessage("null"), Name: "order-1", Version: 2, TimeoutMS: 5, WaitMS: 7}}},
	{"GET", "/v1/executions?status=FAILED&workflow=orders&version=2&started_after=2026-03-07T08:30:00%2B01:00", "", "ListExecutions",
		[]any{wire.ExecutionQuery{Status: wire.Failed, Workflow: "orders", Version: 2, Limit: 100, StartedAfter: time.Date(2026, 3, 7, 7, 30, 0, 0, time.UTC)}}},
	{"GET", "/v1/executions/order-1", "", "GetExecution", []any{"order-1"}},
	{"GET", "/v1/executions/gr%C3%BC%C3%9Fe", "", "GetExecution", []any{"grüße"}},
	{"GET", "/v1/executions/order-1/history?order=desc&limit=1", "", "History", []any{"order-1", wire.HistoryQuery{Order: "desc", Limit: 1}}},
	{"GET", "/v1/executions/order-1/history", "", "History", []any{"order-1", wire.HistoryQuery{Order: "asc", Limit: 100}}},
	{"GET", "/v1/executions/order-1/result?wait_ms=20", "", "Result", []any{"order-1", wire.ResultQuery{WaitMS: 20}}},
	{"POST", "/v1/executions/order-1/signals/packed", "", "Signal", []any{"order-1", "packed", wire.SignalRequest{Payload: json.RawMessage("null")}}},
	{"POST", "/v1/executions/order-1/redrive", `{"reason":"paid by now"}`, "Redrive", []any{"order-1", wire.RedriveRequest{Reason: "paid by now"}}},
	{"POST", "/v1/executions/order-1/resolve", `{"unit":"Ship[0]/Pack","resolution":"failed","error":{"code":"Lost"}}`, "Resolve", []any{"order-1",
		wire.ResolveRequest{Unit: "Ship[0]/Pack", Resolution: "failed", Output: []byte("null"), Error: &wire.TaskError{Code: "Lost"}}}},
	{"POST", "/v1/executions/order-1/cancel", `{"reason":"no longer wanted"}`, "Cancel", []any{"order-1", wire.CancelRequest{Reason: "no longer wanted"}}},
	{"POST", "/v1/schedules", `{"id":"nightly","specs":["0 2 * * *"],"target":{"workflow":{"name":"report"}},"input":{ "n":1 }}`, "CreateSchedule",
		[]any{wire.ScheduleDefinition{ID: "nightly", Specs: []string{"0 2 * * *"}, Target: wire.ScheduleTarget{Workflow: &wire.WorkflowTarget{Name: "report"}}, Input: json.RawMessage(`{"n":1}`)}}},
	{"POST", "/v1/schedules/preview", `{"definition":{"specs":["@daily"]},"count":3}`, "PreviewDefinition",
		[]any{wire.PreviewRequest{Definition: wire.ScheduleDefinition{Specs: []string{"@daily"}}, Count: 3}}},
	{"GET", "/v1/schedules?status=paused&limit=7&cursor=a", "", "ListSchedules", []any{wire.ScheduleQuery{Status: wire.SchedulePaused, Limit: 7, Cursor: "a"}}},
	{"GET", "/v1/schedules/nightly", "", "GetSchedule", []any{"nightly"}},
	{"GET", "/v1/schedules/preview", "", "GetSchedule", []any{"preview"}},
	{"PUT", "/v1/schedules/nightly?version=2", `{"title":"t"}`, "ReplaceSchedule", []any{"nightly", wire.ReplaceQuery{Version: 2}, wire.ScheduleDefinition{Title: "t"}}},
	{"GET", "/v1/schedules/nightly/preview?after=2026-03-07T08:30:00%2B01:00", "", "PreviewSchedule",
		[]any{"nightly", wire.PreviewQuery{After: time.Date(2026, 3, 7, 7, 30, 0, 0, time.UTC), Count: 10}}},
	{"GET", "/v1/schedules/nightly/events", "", "ScheduleEvents", []any{"nightly", wire.EventQuery{Limit: 100}}},
	{"POST", "/v1/schedules/nightly/pause", `{"reason":"audit"}`, "PauseSchedule", []any{"nightly", wire.PauseRequest{Reason: "audit"}}},
	{"POST", "/v1/schedules/nightly/resume", `{"instants":"latest"}`, "ResumeSchedule", []any{"nightly", wire.ResumeRequest{Instants: "latest"}}},
	{"POST", "/v1/schedules/nightly/archive", "", "ArchiveSchedule", []any{"nightly", wire.ArchiveRequest{}}},
	{"POST", "/v1/schedules/nightly/trigger", `{"overlap":"allow","input":{}}`, "TriggerSchedule", []any{"nightly", wire.TriggerRequest{Overlap: "allow", Input: json.RawMessage("{}")}}},
	{"POST", "/v1/schedules/nightly/backfill", `{"from":"2026-01-01T00:00:00Z","to":"2026-02-01T00:00:00Z","preview":true}`, "BackfillSchedule",
		[]any{"nightly", wire.BackfillRequest{From: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), To: time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC), Preview: true, Slots: 1}}},
	{"GET", "/v1/schedules/nightly/occurrences?status=failed&trigger=cron", "", "ListOccurrences",
		[]any{"nightly", wire.OccurrenceQuery{Status: wire.OccurrenceFailed, Trigger: "cron", Limit: 100}}},
	{"GET", "/v1/schedules/nightly/occurrences/7", "", "GetOccurrence", []any{"nightly", int64(7)}},
	{"POST", "/v1/schedules/nightly/occurrences/7/cancel", "", "CancelOccurrence", []any{"nightly", int64(7), wire.OccurrenceRequest{}}},
	{"POST", "/v1/schedules/nightly/occurrences/7/retry", `{"reason":"mended"}`, "RetryOccurrence", []any{"nightly", int64(7), wire.OccurrenceRequest{Reason: "mended"}}},
	{"GET", "/v1/queues", "", "ListQueues", nil},
	{"GET", "/v1/workers", "", "ListWorkers", nil},
	{"GET", "/v1/nodes", "", "ListNodes", nil},
	{"GET", "/v1/partitions", "", "ListPartitions", nil},
	{"GET", "/v1/attention", "", "ListAttention", []any{wire.AttentionQuery{Limit: 100}}},
	{"GET", "/v1/attention?limit=7&cursor=1%2F2%2F3%2FA", "", "ListAttention", []any{wire.AttentionQuery{Limit: 7, Cursor: "1/2/3/A"}}},
	{"GET", "/v1/health", "", "Health", nil},
	{"GET", "/v1/ready", "", "Ready", nil},
}

func TestEveryRouteReachesItsArea(t *testing.T) {
	r := newRig(t)
	r.ready, r.status, r.confirmed = true, wire.Succeeded, true
	served := map[string]bool{}
	for _, tt := range good {
		w := r.send(tt.method, tt.target, tt.body)
		if w.Code != http.StatusOK {
			t.Errorf("%s %s: %d %s", tt.method, tt.target, w.Code, w.Body)
			continue
		}
		c := r.lastCall(t)
		if c.name != tt.name || !reflect.DeepEqual(c.args, tt.args) {
			t.Errorf("%s %s\n got %s(%+v)\nwant %s(%+v)", tt.method, tt.target, c.name, c.args, tt.name, tt.args)
		}
		if ct := w.Header().Get("Content-Type"); ct != "application/json" {
			t.Errorf("%s %s: content type %q", tt.method, tt.target, ct)
		}
		served[c.name] = true
	}
	if want := len(api.Routes()) - 1; len(served) != want { // getWorkflow serves two routes
		t.Errorf("%d areas' methods were reached, want %d", len(served), want)
	}
}

func TestStatuses(t *testing.T) {
	tests := []struct {
		name                 string
		method, target, body string
		set                  func(*stub)
		status               int
		retryAfter           string
	}{
		{"a new execution", "POST", "/v1/executions", `{"workflow":"w"}`, func(s *stub) { s.created = true }, 201, ""},
		{"the same execution", "POST", "/v1/executions", `{"workflow":"w"}`, nil, 200, ""},
		{"a new version", "POST", "/v1/workflows", `{"name":"w","document":{}}`, func(s *stub) { s.created = true }, 201, ""},
		{"a dry run creates nothing", "POST", "/v1/workflows?dry_run=true", `{"name":"w","document":{}}`, func(s *stub) { s.created = true }, 200, ""},
		{"a confirmed signal", "POST", "/v1/executions/e/signals/s", "", func(s *stub) { s.confirmed = true }, 200, ""},
		{"a signal without a word", "POST", "/v1/executions/e/signals/s", "", nil, 202, ""},
		{"a confirmed cancel", "POST", "/v1/executions/e/cancel", "", func(s *stub) { s.confirmed = true }, 200, ""},
		{"a cancel without a word", "POST", "/v1/executions/e/cancel", "", nil, 202, ""},
		{"a result", "GET", "/v1/executions/e/result", "", func(s *stub) { s.status = wire.Failed }, 200, ""},
		{"no result yet", "GET", "/v1/executions/e/result", "", func(s *stub) { s.status = wire.Running }, 202, ""},
		{"an empty queue", "POST", "/v1/workers/poll", `{"session_id":"s","poll_id":"p"}`, func(s *stub) { s.poll.RetryAfter = 1100 * time.Millisecond }, 200, "2"},
		{"ready", "GET", "/v1/ready", "", func(s *stub) { s.ready = true }, 200, ""},
		{"not ready", "GET", "/v1/ready", "", nil, 503, "1"},
		{"health of what is not ready", "GET", "/v1/health", "", nil, 200, ""},
	}
	for _, tt := range tests {
		r := newRig(t)
		if tt.set != nil {
			tt.set(r.stub)
		}
		w := r.send(tt.method, tt.target, tt.body)
		if w.Code != tt.status || w.Header().Get("Retry-After") != tt.retryAfter {
			t.Errorf("%s: %d, Retry-After %q; want %d, %q", tt.name, w.Code, w.Header().Get("Retry-After"), tt.status, tt.retryAfter)
		}
	}
}

func TestErrors(t *testing.T) {
	tests := []struct {
		err        error
		status     int
		code       wire.Code
		retryAfter string
	}{
		{context.DeadlineExceeded, 503, wire.Unavailable, "1"},
		{fmt.Errorf("x: %w", context.Canceled), 503, wire.Unavailable, "1"},
		{auth.ErrUnauthenticated, 401, wire.Unauthenticated, ""},
		{errors.New("password=secret"), 500, wire.Internal, ""},
		{wire.Errorf(wire.Unavailable, "x").After(2500 * time.Millisecond), 503, wire.Unavailable, "3"},
		{wire.Errorf(wire.TooManyExecutions, "x"), 429, wire.TooManyExecutions, "1"},
	}
	for _, code := range wire.Codes() {
		wait := ""
		if s := code.Status(); s == 429 || s == 503 {
			wait = "1"
		}
		tests = append(tests, struct {
			err        error
			status     int
			code       wire.Code
			retryAfter string
		}{fmt.Errorf("wrapped: %w", wire.Errorf(code, "x")), code.Status(), code, wait})
	}
	for _, tt := range tests {
		r := newRig(t)
		r.err = tt.err
		w := r.send("GET", "/v1/queues", "")
		if e := failure(t, w); w.Code != tt.status || e.Code != tt.code || w.Header().Get("Retry-After") != tt.retryAfter {
			t.Errorf("%v: %d %s, Retry-After %q; want %d %s, %q", tt.err, w.Code, e.Code, w.Header().Get("Retry-After"), tt.status, tt.code, tt.retryAfter)
		}
		if strings.Contains(w.Body.String(), "secret") {
			t.Errorf("the text of a fault is told: %s", w.Body)
		}
		if (tt.status >= 500) != (strings.Contains(r.log.String(), `"level":"ERROR"`) || strings.Contains(r.log.String(), `"level":"WARN"`)) {
			t.Errorf("%v: log %s", tt.err, r.log.String())
		}
	}
}

func TestRoutesThatAreNot(t *testing.T) {
	tests := []struct {
		method, target string
		status         int
		code           wire.Code
		allow          string
	}{
		{"GET", "/", 404, wire.RouteNotFound, ""},
		{"GET", "/v1/nothing", 404, wire.RouteNotFound, ""},
		{"POST", "/v1/executions/a/b/c", 404, wire.RouteNotFound, ""},
		{"GET", "/v1/executions/.", 404, wire.RouteNotFound, ""},
		{"GET", "/v1/executions/../workflows", 404, wire.RouteNotFound, ""},
		{"GET", "/v1//executions", 404, wire.RouteNotFound, ""},
		{"DELETE", "/v1/executions", 405, wire.MethodNotAllowed, "POST, GET"},
		{"GET", "/v1/workers/poll", 405, wire.MethodNotAllowed, "POST"},
		{"PUT", "/v1/executions/e/cancel", 405, wire.MethodNotAllowed, "POST"},
	}
	for _, tt := range tests {
		r := newRig(t)
		w := r.send(tt.method, tt.target, "")
		if e := failure(t, w); w.Code != tt.status || e.Code != tt.code || w.Header().Get("Allow") != tt.allow {
			t.Errorf("%s %s: %d %s, Allow %q", tt.method, tt.target, w.Code, e.Code, w.Header().Get("Allow"))
		}
		if w.Header().Get(wire.HeaderRequestID) == "" {
			t.Errorf("%s %s: no request id", tt.method, tt.target)
		}
	}
}

func TestFunctionServesItsOwnRoutesOnly(t *testing.T) {
	s := &stub{ready: true}
	services := api.Services{Workers: s, Tasks: s, Executions: s, Workflows: s, Schedules: s, Cluster: s, Readiness: readiness{s}}
	o := api.Options{Authenticator: auth.Open{}, Log: slog.New(slog.DiscardHandler), MaxBody: 4096, MaxPayload: 1024, Deadline: time.Second}
	functions := map[string]int{}
	for _, route := range api.Routes() {
		if !route.NodeOnly() {
			functions[route.Function]++
		}
	}
	for function, count := range functions {
		h := api.ForFunction(function, services, o)
		served := 0
		for _, route := range api.Routes() {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequest(route.Method, strings.NewReplacer("{", "", "}", "").Replace(route.Pattern), nil))
			own := w.Code != http.StatusNotFound && w.Code != http.StatusMethodNotAllowed
			if own != (route.Function == function) {
				t.Errorf("%s: %s %s: %d", function, route.Method, route.Pattern, w.Code)
			}
			if own {
				served++
			}
		}
		if served != count {
			t.Errorf("%s serves %d routes, want %d", function, served, count)
		}
	}
	want := []string{"cancel", "complete", "poll", "publish", "query", "session", "signal", "start"}
	var got []string
	for f := range functions {
		got = append(got, f)
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("functions %v, want %v", got, want)
	}
}

func TestAbsentAreaHasNoRoutes(t *testing.T) {
	h := api.New(api.Services{Cluster: &stub{}}, api.Options{Authenticator: auth.Open{}, Log: slog.New(slog.DiscardHandler), Deadline: time.Second})
	for target, want := range map[string]int{"/v1/queues": 200, "/v1/ready": 404, "/v1/executions": 404} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("GET", target, nil))
		if w.Code != want {
			t.Errorf("%s: %d, want %d", target, w.Code, want)
		}
	}
}

func TestCallCarriesTheHeaders(t *testing.T) {
	r := newRig(t)
	const trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	w := r.send("GET", "/v1/queues", "", wire.HeaderNamespace, "shop", wire.HeaderRequestID, "req-1", wire.HeaderIdempotencyKey, "k 1", wire.HeaderTraceParent, trace)
	want := auth.Call{Namespace: "shop", RequestID: "req-1", IdempotencyKey: "k 1", TraceParent: trace}
	if c := r.lastCall(t).call; !reflect.DeepEqual(c, want) {
		t.Errorf("got %+v, want %+v", c, want)
	}
	if got := w.Header().Get(wire.HeaderRequestID); got != "req-1" {
		t.Errorf("the answer has request id %q", got)
	}
	if !strings.Contains(r.log.String(), `"request_id":"req-1"`) {
		t.Errorf("the log lacks the request id: %s", r.log.String())
	}
	w = r.send("GET", "/v1/queues", "", wire.HeaderTraceParent, "nonsense")
	c := r.lastCall(t).call
	if c.Namespace != wire.DefaultNamespace || c.TraceParent != "" || len(c.RequestID) != 26 || c.RequestID != w.Header().Get(wire.HeaderRequestID) {
		t.Errorf("got %+v", c)
	}
}

// member is an authenticator that knows one caller.
type member []string

func (m member) Authenticate(_ context.Context, c auth.Credentials) (auth.Principal, error) {
	if c.Authorization != "Bearer sesame" {
		return auth.Principal{}, auth.ErrUnauthenticated
	}
	return auth.Principal{Name: "ali", Namespaces: m}, nil
}

func TestAuthenticationAndNamespaces(t *testing.T) {
	tests := []struct {
		namespaces            []string
		authorization, header string
		code                  wire.Code
		namespace             string
	}{
		{[]string{"a"}, "", "", wire.Unauthenticated, ""},
		{[]string{"a"}, "Bearer sesame", "", "", "a"},
		{[]string{"a", "b"}, "Bearer sesame", "", wire.NamespaceRequired, ""},
		{[]string{"a", "b"}, "Bearer sesame", "b", "", "b"},
		{[]string{"a", "b"}, "Bearer sesame", "c", wire.NamespaceNotFound, ""},
		{nil, "Bearer sesame", "c", "", "c"},
		{nil, "Bearer sesame", "", "", wire.DefaultNamespace},
	}
	for _, tt := range tests {
		r := newRig(t, func(o *api.Options) { o.Authenticator = member(tt.namespaces) })
		w := r.send("GET", "/v1/queues", "", "Authorization", tt.authorization, wire.HeaderNamespace, tt.header)
		if tt.code != "" {
			if e := failure(t, w); e.Code != tt.code || len(r.calls) != 0 {
				t.Errorf("%+v: %s after %d calls", tt, e.Code, len(r.calls))
			}
			continue
		}
		if c := r.lastCall(t).call; c.Namespace != tt.namespace || c.Principal.Name != "ali" {
			t.Errorf("%+v: call %+v", tt, c)
		}
	}
	r := newRig(t, func(o *api.Options) { o.Authenticator = member{"a"} })
	r.ready = true
	for _, target := range []string{"/v1/health", "/v1/ready"} {
		if w := r.send("GET", target, ""); w.Code != 200 {
			t.Errorf("%s asks for authentication: %d", target, w.Code)
		}
	}
	if w := r.send("GET", "/v1/queues", ""); w.Header().Get("WWW-Authenticate") != "Bearer" {
		t.Error("401 lacks WWW-Authenticate")
	}
}

func TestDeadline(t *testing.T) {
	tests := []struct {
		name            string
		set, own        time.Duration
		atLeast, atMost time.Duration
	}{
		{"the server's", 10 * time.Second, 0, 9 * time.Second, 10 * time.Second},
		{"the function's, with time to answer", 10 * time.Second, 5 * time.Second, 4 * time.Second, 4500 * time.Millisecond},
	}
	for _, tt := range tests {
		r := newRig(t, func(o *api.Options) { o.Deadline = tt.set })
		var left time.Duration
		r.do = func(ctx context.Context) {
			end, _ := ctx.Deadline()
			left = time.Until(end)
		}
		q := httptest.NewRequest("GET", "/v1/queues", nil)
		if tt.own > 0 {
			ctx, cancel := context.WithTimeout(q.Context(), tt.own)
			defer cancel()
			q = q.WithContext(ctx)
		}
		r.handler.ServeHTTP(httptest.NewRecorder(), q)
		if left < tt.atLeast || left > tt.atMost {
			t.Errorf("%s: %v left, want %v to %v", tt.name, left, tt.atLeast, tt.atMost)
		}
	}
}

func TestPanicIsOneFailedRequest(t *testing.T) {
	r := newRig(t)
	r.do = func(context.Context) { panic("boom") }
	w := r.send("GET", "/v1/queues", "")
	if e := failure(t, w); w.Code != 500 || e.Code != wire.Internal || strings.Contains(w.Body.String(), "boom") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if !strings.Contains(r.log.String(), "boom") || !strings.Contains(r.log.String(), `"stack"`) {
		t.Errorf("the log lacks panic and stack: %s", r.log.String())
	}
	r.do = nil
	if w := r.send("GET", "/v1/queues", ""); w.Code != 200 {
		t.Errorf("the next request: %d", w.Code)
	}
}
