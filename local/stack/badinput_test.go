package stack

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/orrery-dev/orrery/shared/wire"
)

// TestBothWaysRefuseAlike sends the same bad requests to the functions and to a node: whoever answers, the answer is the
// same, in status, code, text and details.
func TestBothWaysRefuseAlike(t *testing.T) {
	t.Parallel()
	s := newSystem(t, Options{Nodes: 1})
	s.publish("held", heldDocument)
	s.start([]starting{
		{wire.StartRequest{Workflow: "held", Name: "running"}, s.functions},
		{wire.StartRequest{Workflow: "held", Name: "ended"}, s.functions},
	})
	x := s.register(s.functions, "w", "mix.held")
	token := map[string]string{}
	for _, a := range x.collect(s.nodes[0], 2) {
		token[a.Execution] = a.Token
	}
	s.call(s.functions, "POST", wire.Path("tasks", "complete"), wire.CompleteRequest{
		Reports: []wire.Completion{{Token: token["ended"], Output: json.RawMessage(`1`)}},
	}, nil)
	s.call(s.functions, "GET", wire.Path("executions", "ended", "result")+"?wait_ms=10000", nil, nil)
	other := s.register(s.nodes[0], "other", "mix.held")
	forged := token["running"][:len(token["running"])-6] + "AAAAAA"

	const nobody = "01936f2e-0000-7000-8000-000000000000"
	for _, q := range []struct {
		name, method, path, body string
		code                     wire.Code
	}{
		{"no JSON", "POST", "/v1/executions", `{"workflow":`, wire.MalformedJSON},
		{"no body", "POST", "/v1/executions", ``, wire.InvalidRequest},
		{"NUL", "POST", "/v1/executions", `{"workflow":"held","input":"\u0000"}`, wire.MalformedJSON},
		{"unknown fields", "POST", "/v1/executions", `{"workflow":"held","colour":1,"input":{},"size":2}`, wire.InvalidRequest},
		{"wrong types", "POST", "/v1/workers/register", `{"worker_id":7,"contracts":[{"task":"t","version":"1"}]}`, wire.InvalidRequest},
		{"a large payload", "POST", "/v1/executions", `{"workflow":"held","input":"` + strings.Repeat("x", wire.MaxPayload) + `"}`, wire.PayloadTooLarge},
		{"a large body", "POST", "/v1/executions", `{"workflow":"held","input":"` + strings.Repeat("x", wire.MaxBody) + `"}`, wire.BodyTooLarge},
		{"a name that is taken", "POST", "/v1/executions", `{"workflow":"held","name":"running","input":{"other":1}}`, wire.ExecutionExists},
		{"a bad document", "POST", "/v1/workflows", `{"name":"w","document":{"StartAt":"A","States":{"B":{"Type":"Psas","Nxet":"A"}}}}`, wire.InvalidWorkflow},
		{"a document in bad YAML", "POST", "/v1/workflows", `{"name":"w","document":"a: [1\n"}`, wire.InvalidWorkflow},
		{"an unknown workflow", "GET", "/v1/workflows/nothing", ``, wire.WorkflowNotFound},
		{"an unknown execution", "GET", "/v1/executions/nothing", ``, wire.ExecutionNotFound},
		{"an unknown execution's history", "GET", "/v1/executions/nothing/history", ``, wire.ExecutionNotFound},
		{"a signal to nobody", "POST", "/v1/executions/nothing/signals/go", `{}`, wire.ExecutionNotFound},
		{"a signal to what has ended", "POST", "/v1/executions/ended/signals/go", `{}`, wire.ExecutionFinished},
		{"a cancel of what has ended", "POST", "/v1/executions/ended/cancel", `{}`, wire.ExecutionFinished},
		{"a query", "GET", "/v1/executions?limit=0&status=HAPPY&colour=1", ``, wire.InvalidRequest},
		{"a cursor", "GET", "/v1/executions?cursor=x", ``, wire.InvalidRequest},
		{"a session that is unknown", "POST", "/v1/workers/poll", `{"session_id":"` + nobody + `","poll_id":"p"}`, wire.SessionNotFound},
		{"a heartbeat without its list", "POST", "/v1/workers/heartbeat", `{"session_id":"` + x.SessionID + `","beat":1}`, wire.InvalidRequest},
		{"a token that is none", "POST", "/v1/tasks/complete", `{"reports":[{"token":"nonsense","output":1}]}`, wire.MalformedToken},
		{"a forged token", "POST", "/v1/tasks/complete", `{"reports":[{"token":"` + forged + `","output":1}]}`, wire.TokenNotFound},
		{"a foreign token", "POST", "/v1/tasks/fail",
			`{"session_id":"` + other.SessionID + `","reports":[{"token":"` + token["running"] + `","error":{"code":"E"}}]}`, wire.ForeignToken},
	} {
		nodes, functions := refusal(t, s.Nodes[0].URL, q.method, q.path, q.body), refusal(t, s.URL, q.method, q.path, q.body)
		if nodes != functions {
			t.Errorf("%s: the node answers\n%s\nand the functions\n%s", q.name, nodes, functions)
		}
		if !strings.Contains(nodes, `"code":"`+string(q.code)+`"`) || !strings.HasPrefix(nodes, http.StatusText(q.code.Status())) {
			t.Errorf("%s: %.300s, want %s", q.name, nodes, q.code)
		}
	}

	// A report that is too late is none of them: it is acknowledged, and changes nothing.
	before := len(s.events("ended", true))
	for _, c := range []*wire.Client{s.functions, s.nodes[0]} {
		var r wire.ReportResponse
		s.call(c, "POST", wire.Path("tasks", "fail"), wire.FailRequest{
			Reports: []wire.Failure{{Token: token["ended"], Error: wire.TaskError{Code: "E"}}},
		}, &r)
		if r.Results[0].Outcome != wire.ReportStale {
			t.Errorf("a report for what has ended is %s", r.Results[0].Outcome)
		}
	}
	if after := len(s.events("ended", true)); after != before {
		t.Errorf("%d events after late reports, %d before", after, before)
	}
	if d := s.detail("running"); d.Turn > 2 || len(d.Units) != 1 || d.Units[0].Attempt != 1 || d.Units[0].Redelivery != 0 {
		t.Errorf("what was refused has changed the execution: %+v", d)
	}
}

// refusal gives status, headers that are for callers, and body of an answer.
func refusal(t *testing.T, base, method, path, body string) string {
	t.Helper()
	var b io.Reader
	if body != "" {
		b = strings.NewReader(body)
	}
	req, err := http.NewRequestWithContext(t.Context(), method, base+path, b)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join([]string{http.StatusText(resp.StatusCode), resp.Header.Get("Content-Type"), resp.Header.Get("Retry-After"), string(text)}, "\n")
}
