package api_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/orrery-dev/orrery/shared/wire"
)

// TestWithoutANode goes through a worker's and a client's day with functions alone: executions start, tasks are handed out
// and reports are taken, and nothing else proceeds.
func TestWithoutANode(t *testing.T) {
	s := newSurface(t)
	s.publish("orders", oneTask)
	e := s.start("orders", "order-1", `{"amount": 10.50}`)
	if e.ID != "order-1" || e.Workflow != "orders" || e.Version != 1 || e.Status != wire.Running || e.StartedAt.IsZero() {
		t.Errorf("started %+v", e)
	}
	session := s.register("worker/1")
	tasks := s.poll(session, "p1")
	if len(tasks) != 1 {
		t.Fatalf("the poll got %d tasks, want 1", len(tasks))
	}
	a := tasks[0]
	if left := time.Until(a.Deadline); left < 50*time.Second || left > 70*time.Second {
		t.Errorf("the deadline is in %v, want about 60 s", left)
	}
	if a.Token == "" || a.IdempotencyKey == "" {
		t.Errorf("token %q, idempotency key %q", a.Token, a.IdempotencyKey)
	}
	got := fmt.Sprint(a.Execution, a.Workflow, a.Version, a.Unit, a.Task, a.ContractVersion, string(a.Input), a.Attempt, a.Redelivery, a.TimeoutMS, a.HeartbeatTimeoutMS)
	want := fmt.Sprint("order-1", "orders", 1, "Charge", "payments.charge", 2, `{"amount":10.50}`, 1, 0, 60000, 20000)
	if got != want {
		t.Errorf("assignment\n got %s\nwant %s", got, want)
	}

	if again := s.poll(session, "p1"); len(again) != 1 || again[0].Token != a.Token {
		t.Errorf("a poll that is repeated gets %+v", again)
	}
	if other := s.poll(session, "p2"); len(other) != 0 {
		t.Errorf("another poll gets %+v", other)
	}
	var beat wire.HeartbeatResponse
	s.call("POST", "/v1/workers/heartbeat", wire.HeartbeatRequest{SessionID: session, Beat: 1, Tokens: []wire.HeldToken{{Token: a.Token}}}, 200, &beat)
	if len(beat.Cancelled)+len(beat.Unknown) != 0 {
		t.Errorf("heartbeat: %+v", beat)
	}
	if o := s.complete(a.Token, `{"paid":true}`); o != wire.ReportAccepted {
		t.Errorf("the first report is %s", o)
	}
	if o := s.complete(a.Token, `{"paid":true}`); o != wire.ReportDuplicate {
		t.Errorf("the second report is %s", o)
	}
	if again := s.poll(session, "p1"); len(again) != 0 {
		t.Errorf("after its report the poll gets %+v", again)
	}
	s.nothingProceeds(session)
}

// nothingProceeds checks order-1 after a report that no owner has applied.
func (s *surface) nothingProceeds(session string) {
	t := s.t
	var d wire.ExecutionDetail
	s.call("GET", "/v1/executions/order-1", nil, 200, &d)
	if d.Status != wire.Running || d.Turn != 1 || d.Owner != nil || string(d.Input) != `{"amount":10.50}` || d.Output != nil || d.Error != nil {
		t.Errorf("detail %+v", d)
	}
	if len(d.Units) != 1 || d.Units[0].Key != "Charge" || d.Units[0].Kind != "task" || d.Units[0].Task != "payments.charge" || d.Units[0].Version != 2 || d.Units[0].Attempt != 1 {
		t.Errorf("units %+v", d.Units)
	}
	var r wire.Result
	s.call("GET", "/v1/executions/order-1/result?wait_ms=50", nil, 202, &r)
	if r.Status != wire.Running || r.Output != nil {
		t.Errorf("result %+v", r)
	}
	var sig wire.SignalResponse
	s.call("POST", "/v1/executions/order-1/signals/packed", `{"payload":{"parcels":2}}`, 202, &sig)
	var cancel wire.CancelResponse
	s.call("POST", "/v1/executions/order-1/cancel", `{"reason":"why not"}`, 202, &cancel)
	if sig.Confirmed || cancel.Confirmed || cancel.Execution.Status != wire.Running {
		t.Errorf("nobody can have confirmed: %+v %+v", sig, cancel)
	}
	if n := s.rows()["inbox"]; n != 3 {
		t.Errorf("%d inbox entries, want 3: the report, the signal, the cancel", n)
	}
	var h wire.Health
	s.call("GET", "/v1/health", nil, 200, &h)
	if h.Role != wire.RoleFunction || h.Ready || h.Reason == "" || h.InboxDepth != 3 || len(h.Nodes) != 0 {
		t.Errorf("health %+v", h)
	}
	var w wire.WorkerList
	s.call("GET", "/v1/workers", nil, 200, &w)
	if len(w.Workers) != 1 || w.Workers[0].ID != "worker/1" || len(w.Workers[0].Sessions) != 1 || w.Workers[0].Sessions[0].ID != session {
		t.Errorf("workers %+v", w)
	}
	var back wire.DeregisterResponse
	s.call("POST", "/v1/workers/deregister", wire.DeregisterRequest{SessionID: session}, 200, &back)
	if len(back.Tokens) != 0 {
		t.Errorf("given back %v, but it was reported", back.Tokens)
	}
	s.refused("POST", "/v1/workers/poll", wire.PollRequest{SessionID: session, PollID: "p9"}, wire.SessionNotFound)
	var p wire.PartitionList
	s.call("GET", "/v1/partitions", nil, 200, &p)
	if len(p.Partitions) != 256 || p.Partitions[7].Partition != 7 || p.Partitions[7].Owner != nil {
		t.Errorf("%d partitions, the eighth is %+v", len(p.Partitions), p.Partitions[7])
	}
}

func TestDeregisterGivesBack(t *testing.T) {
	s := newSurface(t)
	s.publish("orders", oneTask)
	s.start("orders", "order-1", `{}`)
	session := s.register("w")
	token := s.poll(session, "p1")[0].Token
	var q wire.QueueList
	s.call("GET", "/v1/queues", nil, 200, &q)
	if want := (wire.Queue{Task: "payments.charge", Version: 2, Claimed: 1, Workers: 1}); len(q.Queues) != 1 || q.Queues[0] != want {
		t.Errorf("queues %+v, want %+v", q.Queues, want)
	}
	var back wire.DeregisterResponse
	s.call("POST", "/v1/workers/deregister", wire.DeregisterRequest{SessionID: session}, 200, &back)
	if !slices.Equal(back.Tokens, []string{token}) {
		t.Errorf("given back %v, want the token of the poll", back.Tokens)
	}
}

func TestCompleteAndPollInOneCall(t *testing.T) {
	s := newSurface(t)
	s.publish("orders", oneTask)
	for i := range 3 {
		s.start("orders", fmt.Sprintf("order-%d", i), `{}`)
	}
	session := s.register("w")
	var p wire.PollResponse
	s.call("POST", "/v1/workers/poll", wire.PollRequest{SessionID: session, PollID: "p1"}, 200, &p) // one task, by default
	if len(p.Assignments) != 1 {
		t.Fatalf("the poll got %d tasks, want 1", len(p.Assignments))
	}
	var r wire.ReportResponse
	s.call("POST", "/v1/tasks/complete", wire.CompleteRequest{
		Reports: []wire.Completion{{Token: p.Assignments[0].Token, Output: json.RawMessage(`1`)}},
		Poll:    &wire.PollRequest{SessionID: session, PollID: "p2", MaxTasks: 10},
	}, 200, &r)
	if r.Results[0].Outcome != wire.ReportAccepted || len(r.Assignments) != 2 {
		t.Errorf("results %+v, %d assignments", r.Results, len(r.Assignments))
	}
	var empty wire.ReportResponse
	s.call("POST", "/v1/tasks/fail", wire.FailRequest{Reports: []wire.Failure{
		{Token: r.Assignments[0].Token, Error: wire.TaskError{Code: "Card.Declined"}},
	}, SessionID: session}, 200, &empty)
	s.call("POST", "/v1/tasks/uncertain", wire.UncertainRequest{Reports: []wire.Uncertainty{{Token: r.Assignments[1].Token}}}, 200, &empty)
	if empty.Assignments != nil {
		t.Error("a report without a poll has assignments")
	}
	if n := s.rows()["inbox"]; n != 3 {
		t.Errorf("%d inbox entries, want 3", n)
	}
}

func TestEmptyPollNamesAWait(t *testing.T) {
	s := newSurface(t)
	session := s.register("w")
	w := s.send("POST", "/v1/workers/poll", wire.PollRequest{SessionID: session, PollID: "p", WaitMS: 100})
	if w.Code != 200 || w.Header().Get("Retry-After") != "1" || !strings.Contains(w.Body.String(), `"assignments":[]`) {
		t.Errorf("%d %s, Retry-After %q", w.Code, w.Body, w.Header().Get("Retry-After"))
	}
}

func TestStartIsIdempotentByName(t *testing.T) {
	s := newSurface(t)
	s.publish("orders", oneTask)
	s.publish("hello", noTask)
	first := s.start("orders", "order-1", `{"a":1,"b":2}`)
	before := s.rows()
	var again wire.Execution
	s.call("POST", "/v1/executions", `{"workflow":"orders","name":"order-1","input": { "a":1, "b":2 }}`, 200, &again)
	if !reflect.DeepEqual(again, first) {
		t.Errorf("again %+v, first %+v", again, first)
	}
	s.call("POST", "/v1/executions", `{"workflow":"orders","version":1,"name":"order-1","input":{"a":1,"b":2}}`, 200, nil)
	s.refused("POST", "/v1/executions", `{"workflow":"orders","name":"order-1","input":{"a":1}}`, wire.ExecutionExists)
	s.refused("POST", "/v1/executions", `{"workflow":"hello","name":"order-1","input":{"a":1,"b":2}}`, wire.ExecutionExists)
	if after := s.rows(); !maps.Equal(before, after) {
		t.Errorf("rows %v, want %v", after, before)
	}
	var a, b, c wire.Execution
	s.call("POST", "/v1/executions", `{"workflow":"orders"}`, 201, &a, "Idempotency-Key", "k 1")
	s.call("POST", "/v1/executions", `{"workflow":"orders"}`, 200, &b, "Idempotency-Key", "k 1")
	s.call("POST", "/v1/executions", `{"workflow":"orders"}`, 201, &c)
	if a.ID != b.ID || a.ID == c.ID || len(c.ID) != 36 {
		t.Errorf("ids %q, %q, %q", a.ID, b.ID, c.ID)
	}
}

func TestSignalAndCancelAreIdempotentByKey(t *testing.T) {
	s := newSurface(t)
	s.publish("orders", oneTask)
	s.start("orders", "order-1", `{}`)
	for range 2 {
		s.call("POST", "/v1/executions/order-1/signals/packed", `{"payload":1}`, 202, nil, "Idempotency-Key", "k1")
		s.call("POST", "/v1/executions/order-1/cancel", `{"reason":"x"}`, 202, nil, "Idempotency-Key", "k2")
		s.call("POST", "/v1/executions/order-1/resolve", `{"unit":"Charge","resolution":"failed","error":{"code":"E"}}`, 202, nil, "Idempotency-Key", "k3")
	}
	if n := s.rows()["inbox"]; n != 3 {
		t.Errorf("%d inbox entries, want 3", n)
	}
	s.refused("POST", "/v1/executions/order-1/resolve", `{"unit":"Charge","resolution":"failed","error":{"code":"F"}}`, wire.IdempotencyKeyReused, "Idempotency-Key", "k3")
	s.refused("POST", "/v1/executions/order-1/redrive", ``, wire.CommandRefused)
	s.refused("POST", "/v1/executions/order-1/signals/packed", `{"payload":2}`, wire.IdempotencyKeyReused, "Idempotency-Key", "k1")
	s.refused("POST", "/v1/executions/order-1/cancel", `{"reason":"x"}`, wire.IdempotencyKeyReused, "Idempotency-Key", "k1")
}

func TestExecutionThatEndsInItsFirstTurn(t *testing.T) {
	s := newSurface(t)
	s.publish("hello", noTask)
	if e := s.start("hello", "h1", `{"who":"you"}`); e.Status != wire.Succeeded || e.EndedAt.IsZero() {
		t.Errorf("started %+v", e)
	}
	var r wire.Result
	s.call("GET", "/v1/executions/h1/result", nil, 200, &r)
	if r.Status != wire.Succeeded || string(r.Output) != `{"said":"bye"}` || r.EndedAt.IsZero() {
		t.Errorf("result %+v", r)
	}
	var d wire.ExecutionDetail
	s.call("GET", "/v1/executions/h1", nil, 200, &d)
	if d.Status != wire.Succeeded || string(d.Output) != `{"said":"bye"}` || string(d.Input) != `{"who":"you"}` || len(d.Units) != 0 {
		t.Errorf("detail %+v", d)
	}
	s.refused("POST", "/v1/executions/h1/signals/x", ``, wire.ExecutionFinished)
	s.refused("POST", "/v1/executions/h1/cancel", ``, wire.ExecutionFinished)
	s.refused("POST", "/v1/executions/h1/resolve", `{"unit":"X","resolution":"retry"}`, wire.ExecutionFinished)
	var again wire.RedriveResponse
	s.call("POST", "/v1/executions/h1/redrive", nil, 202, &again)
	if again.Confirmed || again.Execution.Status != wire.Succeeded {
		t.Errorf("nobody can have confirmed: %+v", again)
	}

	types := func(q string) (all []string) {
		for next := ""; ; {
			var p wire.HistoryPage
			s.call("GET", "/v1/executions/h1/history?"+q+"&cursor="+next, nil, 200, &p)
			for _, e := range p.Events {
				all = append(all, fmt.Sprint(e.ID, " ", e.Type))
			}
			if next = p.Next; next == "" {
				return all
			}
		}
	}
	want := []string{"1 ExecutionStarted", "2 PassStateEntered", "3 PassStateExited", "4 PassStateEntered", "5 PassStateExited", "6 ExecutionSucceeded"}
	for _, limit := range []int{1, 2, 4, 6, 100} {
		if got := types(fmt.Sprintf("order=asc&limit=%d", limit)); !slices.Equal(got, want) {
			t.Errorf("by %d: %v, want %v", limit, got, want)
		}
		got := types(fmt.Sprintf("order=desc&limit=%d", limit))
		slices.Reverse(got)
		if !slices.Equal(got, want) {
			t.Errorf("backwards by %d: %v, want %v", limit, got, want)
		}
	}
	var p wire.HistoryPage
	s.call("GET", "/v1/executions/h1/history?limit=3", nil, 200, &p)
	if got := string(p.Events[2].Data); got != `{"name":"Hello","output":{"who":"you"}}` || p.Events[2].Turn != 1 {
		t.Errorf("the third event has %s in turn %d", got, p.Events[2].Turn)
	}
}

func TestListExecutions(t *testing.T) {
	s := newSurface(t)
	s.publish("orders", oneTask)
	s.publish("hello", noTask)
	for i := range 5 {
		s.start("orders", fmt.Sprintf("o%d", i), `{}`)
		s.start("hello", fmt.Sprintf("h%d", i), `{}`)
	}
	ids := func(q string) (all []string) {
		for next, pages := "", 0; ; pages++ {
			var l wire.ExecutionList
			s.call("GET", "/v1/executions?"+q+"&cursor="+next, nil, 200, &l)
			for _, e := range l.Executions {
				all = append(all, e.ID)
			}
			if next = l.Next; next == "" || pages > 20 {
				return all
			}
		}
	}
	future := time.Now().Add(time.Hour).UTC().Format(time.RFC3339)
	for q, want := range map[string]string{
		"limit=3":                               "h4 o4 h3 o3 h2 o2 h1 o1 h0 o0",
		"workflow=orders&limit=2":               "o4 o3 o2 o1 o0",
		"status=SUCCEEDED":                      "h4 h3 h2 h1 h0",
		"status=RUNNING&workflow=hello":         "",
		"workflow=hello&version=2":              "",
		"started_after=" + future:               "",
		"status=FAILED&limit=1":                 "",
		"started_before=" + future + "&limit=9": "h4 o4 h3 o3 h2 o2 h1 o1 h0 o0",
	} {
		if got := strings.Join(ids(q), " "); got != want {
			t.Errorf("%s: %s, want %s", q, got, want)
		}
	}
	s.refused("GET", "/v1/executions?cursor=x", nil, wire.InvalidRequest)
}

func TestPublish(t *testing.T) {
	s := newSurface(t)
	publish := func(query, name string, version int, document string, status int) wire.Workflow {
		t.Helper()
		var w wire.Workflow
		s.call("POST", "/v1/workflows"+query, wire.PublishRequest{Name: name, Version: version, Document: json.RawMessage(document)}, status, &w)
		return w
	}
	yaml, _ := json.Marshal("StartAt: Hello # a comment\nStates:\n  Hello: {Type: Pass, Next: Bye}\n  Bye: {Type: Pass, Result: {said: bye}, End: true}\n")
	empty := s.rows()
	if w := publish("?dry_run=true", "w", 0, noTask, 200); w.Version != 1 || w.Hash == "" || !w.PublishedAt.IsZero() {
		t.Errorf("dry run: %+v", w)
	}
	if !maps.Equal(s.rows(), empty) {
		t.Error("a dry run has stored something")
	}
	first := publish("", "w", 0, noTask, 201)
	if w := publish("", "w", 0, string(yaml), 200); w.Version != 1 || w.Hash != first.Hash {
		t.Errorf("the same as YAML: %+v, want %+v", w, first)
	}
	publish("", "w", 1, noTask, 200)
	if w := publish("?dry_run=true", "w", 0, oneTask, 200); w.Version != 2 {
		t.Errorf("dry run of another document: %+v", w)
	}
	if w := publish("", "w", 0, oneTask, 201); w.Version != 2 {
		t.Errorf("another document: %+v", w)
	}
	publish("", "w", 7, noTask, 201)
	for _, q := range []string{"", "?dry_run=true"} {
		s.refused("POST", "/v1/workflows"+q, wire.PublishRequest{Name: "w", Version: 1, Document: json.RawMessage(oneTask)}, wire.VersionExists)
	}
	publish("", "a", 0, noTask, 201)

	var w wire.Workflow
	s.call("GET", "/v1/workflows/w", nil, 200, &w)
	if w.Version != 7 || !slices.Equal(w.Versions, []int{7, 2, 1}) || len(w.Document) == 0 {
		t.Errorf("newest %+v", w)
	}
	s.call("GET", "/v1/workflows/w/versions/2", nil, 200, &w)
	if w.Version != 2 || !strings.Contains(string(w.Document), "payments.charge") {
		t.Errorf("version 2: %+v", w)
	}
	var l wire.WorkflowList
	s.call("GET", "/v1/workflows?limit=1", nil, 200, &l)
	if len(l.Workflows) != 1 || l.Workflows[0].Name != "a" || l.Next == "" {
		t.Errorf("first page %+v", l)
	}
	next := l.Next
	l = wire.WorkflowList{}
	s.call("GET", "/v1/workflows?limit=1&cursor="+next, nil, 200, &l)
	if len(l.Workflows) != 1 || l.Workflows[0].Name != "w" || l.Workflows[0].Version != 7 || l.Next != "" {
		t.Errorf("second page %+v", l)
	}
	e := s.refused("POST", "/v1/workflows", wire.PublishRequest{Name: "w", Document: json.RawMessage(`{"StartAt":"A","States":{"B":{"Type":"Pass"}}}`)}, wire.InvalidWorkflow)
	if len(e.Details) < 2 || e.Details[0].Rule == "" || !strings.HasPrefix(e.Details[len(e.Details)-1].Field, "/") {
		t.Errorf("all problems with their pointers: %+v", e.Details)
	}
}

func TestOtherNamespacesAreNotSeen(t *testing.T) {
	s := newSurface(t)
	if _, err := s.pool.Exec(t.Context(), `insert into orrery.namespace (name) values ('shop')`); err != nil {
		t.Fatal(err)
	}
	s.publish("orders", oneTask)
	s.start("orders", "order-1", `{}`)
	session := s.register("w")
	token := s.poll(session, "p1")[0].Token
	before := s.rows()
	in := []string{wire.HeaderNamespace, "shop"}
	report := wire.CompleteRequest{Reports: []wire.Completion{{Token: token, Output: json.RawMessage(`1`)}}}
	for _, tt := range []struct {
		method, path string
		body         any
		code         wire.Code
	}{
		{"GET", "/v1/workflows/orders", nil, wire.WorkflowNotFound},
		{"GET", "/v1/executions/order-1", nil, wire.ExecutionNotFound},
		{"POST", "/v1/executions", `{"workflow":"orders"}`, wire.WorkflowNotFound},
		{"POST", "/v1/executions/order-1/signals/packed", ``, wire.ExecutionNotFound},
		{"POST", "/v1/executions/order-1/cancel", ``, wire.ExecutionNotFound},
		{"POST", "/v1/workers/poll", wire.PollRequest{SessionID: session, PollID: "p"}, wire.SessionNotFound},
		{"POST", "/v1/workers/heartbeat", wire.HeartbeatRequest{SessionID: session, Beat: 1, Tokens: []wire.HeldToken{}}, wire.SessionNotFound},
		{"POST", "/v1/workers/deregister", wire.DeregisterRequest{SessionID: session}, wire.SessionNotFound},
		{"POST", "/v1/tasks/complete", report, wire.TokenNotFound},
	} {
		s.refused(tt.method, tt.path, tt.body, tt.code, in...)
		s.refused(tt.method, tt.path, tt.body, wire.NamespaceNotFound, wire.HeaderNamespace, "nowhere")
	}
	var l wire.ExecutionList
	s.call("GET", "/v1/executions", nil, 200, &l, in...)
	var q wire.QueueList
	s.call("GET", "/v1/queues", nil, 200, &q, in...)
	var w wire.WorkerList
	s.call("GET", "/v1/workers", nil, 200, &w, in...)
	if len(l.Executions)+len(q.Queues)+len(w.Workers) != 0 {
		t.Errorf("seen from another namespace: %+v %+v %+v", l, q, w)
	}
	if after := s.rows(); !maps.Equal(before, after) {
		t.Errorf("rows %v, want %v", after, before)
	}
}

// TestActiveLimit: a start beyond the limit of active executions is a 429 that names it and says when to come again; a name that
// is there is answered all the same.
func TestActiveLimit(t *testing.T) {
	s := newSurface(t)
	s.publish("orders", oneTask)
	s.start("orders", "order-1", `{}`)
	if _, err := s.pool.Exec(t.Context(), "update orrery.namespace set max_active = 2"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.store.CountActive(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.start("orders", "order-2", `{}`)
	before := s.rows()
	q := wire.StartRequest{Workflow: "orders", Name: "order-3", Input: json.RawMessage(`{}`)}
	e := s.refused("POST", "/v1/executions", q, wire.TooManyExecutions)
	if !strings.Contains(e.Message, "limit of 2 active executions") || !strings.Contains(e.Message, `"default"`) {
		t.Errorf("the message %q does not name the limit", e.Message)
	}
	if after := s.call("POST", "/v1/executions", q, 429, nil).Get("Retry-After"); after != "1" {
		t.Errorf("Retry-After %q", after)
	}
	if after := s.rows(); !maps.Equal(before, after) {
		t.Errorf("a refused start has changed rows: %v, before %v", after, before)
	}
	q.Name = "order-2"
	s.call("POST", "/v1/executions", q, 200, nil)
}
