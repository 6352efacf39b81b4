package api_test

import (
	"fmt"
	"log/slog"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/orrery-dev/orrery/shared/api"
	"github.com/orrery-dev/orrery/shared/auth"
	"github.com/orrery-dev/orrery/shared/wire"
)

func TestRefusedRequestReachesNobody(t *testing.T) {
	type faults map[string]string // field -> rule
	long := strings.Repeat("x", 5000)
	tests := []struct {
		name                 string
		method, target, body string
		headers              []string
		code                 wire.Code
		faults               faults
	}{
		{"no JSON", "POST", "/v1/executions", `{"workflow":`, nil, wire.MalformedJSON, faults{"body": "json"}},
		{"two values", "POST", "/v1/executions", `{} {}`, nil, wire.MalformedJSON, faults{"body": "json"}},
		{"NUL in a payload", "POST", "/v1/executions", `{"workflow":"w","input":"a\u0000b"}`, nil, wire.MalformedJSON, faults{"body": "json"}},
		{"a lone surrogate", "POST", "/v1/executions", `{"workflow":"w","input":"\ud800"}`, nil, wire.MalformedJSON, faults{"body": "json"}},
		{"no UTF-8", "POST", "/v1/executions", "{\"workflow\":\"\xff\"}", nil, wire.MalformedJSON, faults{"body": "json"}},
		{"nested too deep", "POST", "/v1/executions", `{"workflow":"w","input":` + strings.Repeat("[", 600) + strings.Repeat("]", 600) + `}`, nil, wire.MalformedJSON, faults{"body": "json"}},
		{"a body of another type", "POST", "/v1/executions", `[1]`, nil, wire.InvalidRequest, faults{"": "type=object"}},
		{"null", "POST", "/v1/executions", `null`, nil, wire.InvalidRequest, faults{"": "type=object"}},
		{"no body", "POST", "/v1/executions", ``, nil, wire.InvalidRequest, faults{"workflow": "required"}},
		{"an unknown field", "POST", "/v1/executions", `{"workflow":"w","Workflow":"x","colour":1}`, nil, wire.InvalidRequest,
			faults{"Workflow": "unknown", "colour": "unknown"}},
		{"an unknown field deep inside", "POST", "/v1/tasks/fail", `{"reports":[{"token":"t","error":{"code":"x","stack":"y"}}]}`, nil, wire.InvalidRequest,
			faults{"reports[0].error.stack": "unknown"}},
		{"wrong types", "POST", "/v1/workers/register", `{"worker_id":7,"language":true,"contracts":{"task":"x"}}`, nil, wire.InvalidRequest,
			faults{"worker_id": "type=string", "language": "type=string", "contracts": "type=array"}},
		{"wrong types inside a list", "POST", "/v1/workers/register", `{"worker_id":"w","contracts":[1,{"task":"t","version":"2"},null]}`, nil, wire.InvalidRequest,
			faults{"contracts[0]": "type=object", "contracts[1].version": "type=integer", "contracts[2]": "type=object"}},
		{"a fraction", "POST", "/v1/workers/heartbeat", `{"session_id":"s","beat":1.5,"tokens":[]}`, nil, wire.InvalidRequest, faults{"beat": "type=integer"}},
		{"too large an integer", "POST", "/v1/workers/heartbeat", `{"session_id":"s","beat":99999999999999999999,"tokens":[]}`, nil, wire.InvalidRequest, faults{"beat": "type=integer"}},
		{"a missing list", "POST", "/v1/workers/heartbeat", `{"session_id":"s","beat":1}`, nil, wire.InvalidRequest, faults{"tokens": "required"}},
		{"null for a list", "POST", "/v1/workers/heartbeat", `{"session_id":"s","beat":1,"tokens":null}`, nil, wire.InvalidRequest, faults{"tokens": "required"}},
		{"an empty list", "POST", "/v1/tasks/complete", `{"reports":[]}`, nil, wire.InvalidRequest, faults{"reports": "min=1"}},
		{"a missing output", "POST", "/v1/tasks/complete", `{"reports":[{"token":"t"}]}`, nil, wire.InvalidRequest, faults{"reports[0].output": "required"}},
		{"two sessions", "POST", "/v1/tasks/complete", `{"session_id":"a","reports":[{"token":"t","output":1}],"poll":{"session_id":"b","poll_id":"p"}}`, nil,
			wire.InvalidRequest, faults{"poll.session_id": "same"}},
		{"out of bounds", "POST", "/v1/workers/poll", `{"session_id":"s","max_tasks":101,"wait_ms":-1,"poll_id":"a b"}`, nil, wire.InvalidRequest,
			faults{"max_tasks": "max=100", "wait_ms": "min=0", "poll_id": "id"}},
		{"zero tasks", "POST", "/v1/workers/poll", `{"session_id":"s","max_tasks":0,"wait_ms":20001,"poll_id":""}`, nil, wire.InvalidRequest,
			faults{"max_tasks": "min=1", "wait_ms": "max=20000", "poll_id": "id"}},
		{"a bad name", "POST", "/v1/executions", `{"workflow":"a/b","name":"` + long[:81] + `"}`, nil, wire.InvalidRequest, faults{"workflow": "name", "name": "name"}},
		{"an empty name", "POST", "/v1/executions", `{"workflow":""}`, nil, wire.InvalidRequest, faults{"workflow": "name"}},
		{"a bad name in the path", "GET", "/v1/executions/a%2Fb", ``, nil, wire.InvalidRequest, faults{"path id": "name"}},
		{"a control character in the path", "POST", "/v1/executions/a/signals/x%00", ``, nil, wire.InvalidRequest, faults{"path signal": "name"}},
		{"a bad version in the path", "GET", "/v1/workflows/w/versions/new", ``, nil, wire.InvalidRequest, faults{"path version": "type=integer"}},
		{"version zero in the path", "GET", "/v1/workflows/w/versions/0", ``, nil, wire.InvalidRequest, faults{"path version": "min=1"}},
		{"path and body together", "POST", "/v1/executions/a:b/cancel", `{"reason":1}`, nil, wire.InvalidRequest, faults{"path id": "name", "reason": "type=string"}},
		{"a bad query", "GET", "/v1/executions?status=DONE&limit=0&version=x&started_after=today&colour=1&limit=2", ``, nil, wire.InvalidRequest,
			faults{"query status": "one=RUNNING SUCCEEDED FAILED TIMED_OUT CANCELLED", "query limit": "once", "query version": "type=integer",
				"query started_after": "timestamp", "query colour": "unknown"}},
		{"a query where none is taken", "GET", "/v1/queues?limit=5", ``, nil, wire.InvalidRequest, faults{"query limit": "unknown"}},
		{"a query that does not decode", "GET", "/v1/workflows?limit=%zz", ``, nil, wire.InvalidRequest, faults{"query": "encoding"}},
		{"a boolean that is none", "POST", "/v1/workflows?dry_run=yes", `{"name":"w","document":{}}`, nil, wire.InvalidRequest, faults{"query dry_run": "type=boolean"}},
		{"too large a payload", "POST", "/v1/executions", `{"workflow":"w","input":"` + long[:1100] + `"}`, nil, wire.PayloadTooLarge, faults{"input": "max=1024"}},
		{"too large an output", "POST", "/v1/tasks/complete", `{"reports":[{"token":"t","output":1},{"token":"u","output":"` + long[:1100] + `"}]}`, nil,
			wire.PayloadTooLarge, faults{"reports[1].output": "max=1024"}},
		{"too large a body", "POST", "/v1/executions", `{"workflow":"w","input":"` + long + `"}`, nil, wire.BodyTooLarge, faults{"body": "max=4096"}},
		{"bad headers", "GET", "/v1/queues", ``, []string{"Orrery-Namespace", "a b", "Idempotency-Key", strings.Repeat("k", 129), "Orrery-Request-Id", "ü"},
			wire.InvalidRequest, faults{"header Orrery-Namespace": "name", "header Idempotency-Key": "key", "header Orrery-Request-Id": "id"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t)
			w := r.send(tt.method, tt.target, tt.body, tt.headers...)
			e := failure(t, w)
			if w.Code != tt.code.Status() || e.Code != tt.code {
				t.Errorf("%d %s, want %d %s", w.Code, e.Code, tt.code.Status(), tt.code)
			}
			got := faults{}
			for _, d := range e.Details {
				if _, twice := got[d.Field]; !twice {
					got[d.Field] = d.Rule
				}
			}
			if !reflect.DeepEqual(got, tt.faults) {
				t.Errorf("faults %v, want %v", got, tt.faults)
			}
			if len(r.calls) != 0 {
				t.Errorf("the area was called: %v", r.calls)
			}
		})
	}
}

func TestManyFaultsAreBounded(t *testing.T) {
	r := newRig(t)
	var b strings.Builder
	for i := range 200 {
		fmt.Fprintf(&b, `"x%d":1,`, i)
	}
	if e := failure(t, r.send("POST", "/v1/executions", "{"+b.String()+`"workflow":"w"}`)); len(e.Details) != 50 {
		t.Errorf("%d details, want 50", len(e.Details))
	}
}

func FuzzBody(f *testing.F) {
	for _, tt := range good {
		if tt.body != "" {
			f.Add(tt.body)
		}
	}
	var targets []string
	for _, tt := range good {
		if tt.method == "POST" {
			targets = append(targets, tt.target)
		}
	}
	s := &stub{}
	h := api.New(api.Services{Workers: s, Tasks: s, Executions: s, Workflows: s}, api.Options{
		Authenticator: auth.Open{}, Log: slog.New(slog.DiscardHandler), MaxBody: 4096, MaxPayload: 1024, Deadline: time.Minute,
	})
	f.Fuzz(func(t *testing.T, body string) {
		for _, target := range targets {
			s.calls = nil
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequest("POST", target, strings.NewReader(body)))
			if w.Code >= 500 || (w.Code >= 400) != (len(s.calls) == 0) {
				t.Errorf("%s with %q: %d after %d calls", target, body, w.Code, len(s.calls))
			}
		}
	})
}
