package api_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/orrery-dev/orrery/shared/api"
	"github.com/orrery-dev/orrery/shared/frontend"
	"github.com/orrery-dev/orrery/shared/history"
	"github.com/orrery-dev/orrery/shared/wire"
)

// bench is a surface with something of everything in it.
type bench struct {
	*surface
	session, token string // of worker w, which holds order-1's task
	foreign        string // session of another worker
	forged         string // the token with another signature
}

func newBench(t *testing.T) *bench {
	s := newSurface(t)
	s.publish("orders", oneTask)
	s.start("orders", "order-1", `{}`)
	b := &bench{surface: s, session: s.register("w"), foreign: s.register("x")}
	b.token = s.poll(b.session, "p1")[0].Token
	raw, err := base64.RawURLEncoding.DecodeString(b.token)
	if err != nil {
		t.Fatal(err)
	}
	raw[len(raw)-1] ^= 1
	b.forged = base64.RawURLEncoding.EncodeToString(raw)
	return b
}

// request is a valid request with a body that has every field of its type.
type request struct{ method, path, body string }

func (b *bench) requests() map[string]request {
	poll := `{"session_id":"` + b.session + `","max_tasks":2,"wait_ms":5,"poll_id":"p7"}`
	reports := func(rest string) string {
		return `{"reports":[{"token":"` + b.token + `",` + rest + `}],"session_id":"` + b.session + `"`
	}
	return map[string]request{
		"/v1/workers/register":                 {"POST", "/v1/workers/register", `{"worker_id":"w","language":"go","contracts":[{"task":"t","version":1}]}`},
		"/v1/workers/heartbeat":                {"POST", "/v1/workers/heartbeat", `{"session_id":"` + b.session + `","beat":1,"tokens":[{"token":"` + b.token + `","details":{}}]}`},
		"/v1/workers/deregister":               {"POST", "/v1/workers/deregister", `{"session_id":"` + b.session + `"}`},
		"/v1/workers/poll":                     {"POST", "/v1/workers/poll", poll},
		"/v1/tasks/complete":                   {"POST", "/v1/tasks/complete", reports(`"output":{}`) + `,"poll":` + poll + `}`},
		"/v1/tasks/fail":                       {"POST", "/v1/tasks/fail", reports(`"error":{"code":"E","message":"m","retryable":true,"details":{}}`) + `}`},
		"/v1/tasks/uncertain":                  {"POST", "/v1/tasks/uncertain", reports(`"reason":"r"`) + `}`},
		"/v1/workflows":                        {"POST", "/v1/workflows", `{"name":"n","version":1,"document":` + noTask + `}`},
		"/v1/workflows/{name}/aliases/{alias}": {"PUT", "/v1/workflows/orders/aliases/live", `{"versions":[{"version":1,"weight":100}]}`},
		"/v1/contracts/{task}/{version}":       {"PUT", "/v1/contracts/pay/2", `{"input":{},"output":{}}`},
		"/v1/executions":                       {"POST", "/v1/executions", `{"workflow":"orders","version":1,"alias":"live","input":{},"attributes":{},"name":"n","timeout_ms":9}`},
		"/v1/executions/{id}/signals/{signal}": {"POST", "/v1/executions/order-1/signals/packed", `{"payload":{}}`},
		"/v1/executions/{id}/cancel":           {"POST", "/v1/executions/order-1/cancel", `{"reason":"r"}`},
		"/v1/executions/{id}/redrive":          {"POST", "/v1/executions/order-1/redrive", `{"reason":"r"}`},
		"/v1/executions/{id}/resolve": {"POST", "/v1/executions/order-1/resolve",
			`{"unit":"Charge","resolution":"failed","output":{},"error":{"code":"E","message":"m","retryable":true,"details":{}}}`},
		"/v1/schedules":                                      {"POST", "/v1/schedules", wholeDefinition},
		"/v1/schedules/{id}":                                 {"PUT", "/v1/schedules/nightly", wholeDefinition},
		"/v1/schedules/preview":                              {"POST", "/v1/schedules/preview", `{"definition":` + wholeDefinition + `,"after":"2026-01-01T00:00:00Z","count":5}`},
		"/v1/schedules/{id}/pause":                           {"POST", "/v1/schedules/nightly/pause", `{"reason":"r"}`},
		"/v1/schedules/{id}/resume":                          {"POST", "/v1/schedules/nightly/resume", `{"instants":"skip"}`},
		"/v1/schedules/{id}/archive":                         {"POST", "/v1/schedules/nightly/archive", `{"reason":"r"}`},
		"/v1/schedules/{id}/trigger":                         {"POST", "/v1/schedules/nightly/trigger", `{"overlap":"allow","input":{}}`},
		"/v1/schedules/{id}/backfill":                        {"POST", "/v1/schedules/nightly/backfill", `{"from":"2026-01-01T00:00:00Z","to":"2026-01-02T00:00:00Z","preview":true,"slots":2}`},
		"/v1/schedules/{id}/occurrences/{occurrence}/cancel": {"POST", "/v1/schedules/nightly/occurrences/1/cancel", `{"reason":"r"}`},
		"/v1/schedules/{id}/occurrences/{occurrence}/retry":  {"POST", "/v1/schedules/nightly/occurrences/1/retry", `{"reason":"r"}`},
	}
}

// wholeDefinition has every field that a definition of a schedule can have.
const wholeDefinition = `{"id":"nightly","title":"t","specs":["0 2 * * *"],"exclude":["2030-12-25"],"dialect":"unix","zone":"UTC","day_match":"or",
	"gap":"shift","repeat":"first","start_at":"2026-01-01T00:00:00Z","end_at":"2100-01-01T00:00:00Z","limit":9,"jitter_ms":1,
	"misfire":{"policy":"all","max":5,"window_ms":1000,"grace_ms":1000},"start_deadline_ms":1000,
	"overlap":{"policy":"skip","key":"k","slots":2,"keep":"","limit":0},"retry":{"attempts":1,"backoff_ms":1,"max_backoff_ms":2},
	"pause_after":3,"on_resume":"skip","timeout_ms":1000,"retention_ms":60000,
	"target":{"workflow":{"name":"orders","version":1,"alias":"live"},"http":{"method":"POST","url":"http://x/","headers":[{"name":"A","value":"b"}]},
		"lambda":{"function":"f","qualifier":"q"}},"input":{}}`

// payloads are fields that take any JSON.
var payloads = []string{"attributes", "output", "details", "input", "payload", "document"}

// required are the fields that must be there, by name.
var required = []string{"worker_id", "contracts", "task", "session_id", "beat", "tokens", "token", "poll_id", "reports", "output", "error", "code", "name", "document", "workflow", "unit", "resolution", "versions", "version", "weight", "definition", "from", "to"}

// optional are the places of fields that share the name of a required one, by route.
var optional = map[string][]string{
	"/v1/tasks/complete": {"session_id"}, "/v1/tasks/fail": {"session_id"}, "/v1/tasks/uncertain": {"session_id"}, "/v1/executions": {"name", "version"}, "/v1/workflows": {"version"},
	"/v1/executions/{id}/resolve": {"output", "error"}, "/v1/contracts/{task}/{version}": {"output"},
	"/v1/schedules": definitionNames, "/v1/schedules/{id}": definitionNames,
	"/v1/schedules/preview": {"definition.target.workflow", "definition.target.workflow.name", "definition.target.workflow.version", "definition.target.http.headers[0].name"},
}

// definitionNames are checked with the meaning of a definition.
var definitionNames = []string{"target.workflow", "target.workflow.name", "target.workflow.version", "target.http.headers[0].name"}

// fields walks a body and calls visit for the place of each field, with what sets the field there and what removes it.
func fields(at string, v any, visit func(path, name string, holder map[string]any)) {
	switch v := v.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			path := strings.TrimPrefix(at+"."+name, ".")
			visit(path, name, v)
			if !slices.Contains(payloads, name) {
				fields(path, v[name], visit)
			}
		}
	case []any:
		for i, e := range v {
			fields(at+"["+strconv.Itoa(i)+"]", e, visit)
		}
	}
}

// TestEveryBodyRefused breaks the body of every route in every way, and sees that nothing has changed.
func TestEveryBodyRefused(t *testing.T) {
	b := newBench(t)
	requests := b.requests()
	before := b.rows()
	for _, r := range api.Routes() {
		q, known := requests[r.Pattern]
		if r.Method != "POST" && r.Method != "PUT" {
			continue
		}
		if !known {
			t.Errorf("no request for %s", r.Pattern)
			continue
		}
		b.refused(q.method, q.path, q.body[:len(q.body)-1], wire.MalformedJSON)
		b.refused(q.method, q.path, q.body+"x", wire.MalformedJSON)
		b.refused(q.method, q.path, strings.Replace(q.body, "{", `{"nul":"\u0000",`, 1), wire.MalformedJSON)
		b.refused(q.method, q.path, strings.Replace(q.body, "{", `{"lone":"\udc00",`, 1), wire.MalformedJSON)
		b.refused(q.method, q.path, q.body+strings.Repeat(" ", 64<<10), wire.BodyTooLarge)
		for _, other := range []string{`[]`, `"text"`, `7`, `true`, `null`} {
			b.fault(q, other, "", "type=object")
		}
		b.fault(q, strings.Replace(q.body, "{", `{"colour":1,`, 1), "colour", "unknown")
		b.brokenFields(r.Pattern, q)
	}
	if after := b.rows(); !maps.Equal(before, after) {
		t.Errorf("rows %v, want %v", after, before)
	}
}

// fault sends a body that must be refused for the field with the rule.
func (b *bench) fault(q request, body, field, rule string) {
	b.t.Helper()
	e := b.refused(q.method, q.path, body, wire.InvalidRequest)
	if !slices.ContainsFunc(e.Details, func(d wire.Detail) bool { return d.Field == field && d.Rule == rule }) {
		b.t.Errorf("%s with %s: %+v, want %s: %s", q.path, body, e.Details, field, rule)
	}
}

// brokenFields gives each field a value of another type, takes each required one away, and adds one beside each.
func (b *bench) brokenFields(pattern string, q request) {
	b.t.Helper()
	var body any
	if err := json.Unmarshal([]byte(q.body), &body); err != nil {
		b.t.Fatalf("%s: %v", q.path, err)
	}
	send := func(field, rule string) {
		b.t.Helper()
		text, _ := json.Marshal(body)
		b.fault(q, string(text), field, rule)
	}
	n := 0
	fields("", body, func(path, name string, holder map[string]any) {
		n++
		old := holder[name]
		if slices.Contains(required, name) && !(slices.Contains(optional[pattern], path)) {
			delete(holder, name)
			send(path, "required")
		}
		if !slices.Contains(payloads, name) {
			holder[name] = wrongType(old)
			send(path, "type="+typeOf(old))
		}
		holder[name] = old
		holder["no_such_field"] = 1
		send(strings.TrimSuffix(path, name)+"no_such_field", "unknown")
		delete(holder, "no_such_field")
	})
	if n == 0 {
		b.t.Errorf("%s: no fields in %s", q.path, q.body)
	}
}

func wrongType(v any) any {
	switch v.(type) {
	case string, bool:
		return 7
	}
	return "text"
}

func typeOf(v any) string {
	switch v.(type) {
	case string:
		return "string"
	case bool:
		return "boolean"
	case float64:
		return "integer"
	case []any:
		return "array"
	}
	return "object"
}

// TestUnknownIDs asks for what is not there.
func TestUnknownIDs(t *testing.T) {
	b := newBench(t)
	before := b.rows()
	const nobody = "01936f2e-0000-7000-8000-000000000000"
	for _, tt := range []struct {
		method, path, body string
		code               wire.Code
	}{
		{"GET", "/v1/workflows/nothing", "", wire.WorkflowNotFound},
		{"GET", "/v1/workflows/orders/versions/9", "", wire.WorkflowNotFound},
		{"POST", "/v1/executions", `{"workflow":"nothing"}`, wire.WorkflowNotFound},
		{"POST", "/v1/executions", `{"workflow":"orders","version":9}`, wire.WorkflowNotFound},
		{"GET", "/v1/executions/nothing", "", wire.ExecutionNotFound},
		{"GET", "/v1/executions/nothing/history", "", wire.ExecutionNotFound},
		{"GET", "/v1/executions/nothing/result?wait_ms=20000", "", wire.ExecutionNotFound},
		{"POST", "/v1/executions/nothing/signals/packed", "", wire.ExecutionNotFound},
		{"POST", "/v1/executions/nothing/cancel", "", wire.ExecutionNotFound},
		{"POST", "/v1/workers/heartbeat", `{"session_id":"` + nobody + `","beat":1,"tokens":[]}`, wire.SessionNotFound},
		{"POST", "/v1/workers/heartbeat", `{"session_id":"no uuid","beat":1,"tokens":[]}`, wire.SessionNotFound},
		{"POST", "/v1/workers/poll", `{"session_id":"` + nobody + `","poll_id":"p"}`, wire.SessionNotFound},
		{"POST", "/v1/workers/deregister", `{"session_id":"` + nobody + `"}`, wire.SessionNotFound},
		{"POST", "/v1/tasks/complete", `{"reports":[{"token":"` + b.token + `","output":1}],"session_id":"` + nobody + `"}`, wire.SessionNotFound},
		{"POST", "/v1/tasks/complete", `{"reports":[{"token":"` + b.token + `","output":1}],"poll":{"session_id":"` + nobody + `","poll_id":"p"}}`, wire.SessionNotFound},
		{"GET", "/v1/nothing", "", wire.RouteNotFound},
	} {
		b.refused(tt.method, tt.path, tt.body, tt.code)
	}
	if after := b.rows(); !maps.Equal(before, after) {
		t.Errorf("rows %v, want %v", after, before)
	}
}

// TestBadTokens brings malformed, forged, foreign and repeated tokens to every route that takes tokens. One bad token
// refuses the whole request, and each is named.
func TestBadTokens(t *testing.T) {
	b := newBench(t)
	before := b.rows()
	good := b.token
	bodies := map[string]func(session string, tokens ...string) string{
		"/v1/tasks/complete":  b.reports(`"output":1`),
		"/v1/tasks/fail":      b.reports(`"error":{"code":"E"}`),
		"/v1/tasks/uncertain": b.reports(`"reason":"r"`),
	}
	for path, body := range bodies {
		for _, tt := range []struct {
			name, session string
			tokens        []string
			code          wire.Code
			faults        []string
		}{
			{"malformed", "", []string{"nonsense", "", good}, wire.MalformedToken, []string{"reports[0].token token", "reports[1].token token"}},
			{"cut", b.session, []string{good, good[:len(good)-9]}, wire.MalformedToken, []string{"reports[1].token token"}},
			{"forged", b.session, []string{b.forged}, wire.TokenNotFound, []string{"reports[0].token signature"}},
			{"forged, with a good one", "", []string{good, b.forged}, wire.TokenNotFound, []string{"reports[1].token signature"}},
			{"foreign", b.foreign, []string{good}, wire.ForeignToken, []string{"reports[0].token own"}},
			{"twice", b.session, []string{good, good}, wire.InvalidRequest, []string{"reports[1].token unique"}},
			{"of every sort", b.foreign, []string{good, b.forged, "x"}, wire.MalformedToken,
				[]string{"reports[0].token own", "reports[1].token signature", "reports[2].token token"}},
		} {
			e := b.refused("POST", path, body(tt.session, tt.tokens...), tt.code)
			if got := faultsOf(e); !slices.Equal(got, tt.faults) {
				t.Errorf("%s %s: %v, want %v", path, tt.name, got, tt.faults)
			}
		}
	}
	beat := func(session, token string) string {
		return `{"session_id":"` + session + `","beat":5,"tokens":[{"token":"` + token + `"}]}`
	}
	b.refused("POST", "/v1/workers/heartbeat", beat(b.session, "nonsense"), wire.MalformedToken)
	b.refused("POST", "/v1/workers/heartbeat", beat(b.foreign, good), wire.ForeignToken)
	b.refused("POST", "/v1/tasks/complete",
		strings.TrimSuffix(b.reports(`"output":1`)("", good), "}")+`,"poll":{"session_id":"`+b.foreign+`","poll_id":"p"}}`, wire.ForeignToken)
	if after := b.rows(); !maps.Equal(before, after) {
		t.Errorf("rows %v, want %v", after, before)
	}
	// A token of an earlier key is what a worker lists after a restore.
	var answer wire.HeartbeatResponse
	b.call("POST", "/v1/workers/heartbeat", beat(b.session, b.forged), 200, &answer)
	if !slices.Equal(answer.Unknown, []string{b.forged}) {
		t.Errorf("a token of an earlier key: %+v", answer)
	}
	// The same worker under a new session still reports what it began.
	if o := b.completeUnder(b.register("w"), good); o != wire.ReportAccepted {
		t.Errorf("under a new session of the same worker: %s", o)
	}
}

func (b *bench) reports(rest string) func(session string, tokens ...string) string {
	return func(session string, tokens ...string) string {
		var list []string
		for _, t := range tokens {
			list = append(list, `{"token":"`+t+`",`+rest+`}`)
		}
		body := `{"reports":[` + strings.Join(list, ",") + `]`
		if session != "" {
			body += `,"session_id":"` + session + `"`
		}
		return body + `}`
	}
}

func (b *bench) completeUnder(session, token string) wire.ReportOutcome {
	b.t.Helper()
	var r wire.ReportResponse
	b.call("POST", "/v1/tasks/complete", b.reports(`"output":1`)(session, token), 200, &r)
	return r.Results[0].Outcome
}

func faultsOf(e wire.Error) (list []string) {
	for _, d := range e.Details {
		list = append(list, d.Field+" "+d.Rule)
	}
	return list
}

// TestStaleReports: what is over is acknowledged, and changes nothing.
func TestStaleReports(t *testing.T) {
	b := newBench(t)
	settings, err := b.store.Settings(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	signer := frontend.NewSigner(settings.MACKey)
	token, err := signer.Parse(b.token)
	if err != nil {
		t.Fatal(err)
	}
	change := func(f func(*frontend.Token)) string {
		c := token
		f(&c)
		return signer.Sign(c)
	}
	stale := map[string]string{
		"an attempt that is over":     change(func(t *frontend.Token) { t.Row.Attempt = 9 }),
		"a unit that is over":         change(func(t *frontend.Token) { t.Row.Unit = "Gone" }),
		"an execution that is gone":   change(func(t *frontend.Token) { t.Execution += 1000 }),
		"an execution that has ended": change(func(t *frontend.Token) { t.Execution = b.ended() }),
	}
	before := b.rows()
	for name, text := range stale {
		for path, rest := range map[string]string{"complete": `"output":1`, "fail": `"error":{"code":"E"}`, "uncertain": `"reason":"r"`} {
			var r wire.ReportResponse
			b.call("POST", "/v1/tasks/"+path, b.reports(rest)(b.session, text), 200, &r)
			if fmt.Sprint(r.Results) != fmt.Sprint([]wire.ReportResult{{Token: text, Outcome: wire.ReportStale}}) {
				t.Errorf("%s of %s: %+v", path, name, r.Results)
			}
		}
	}
	if after := b.rows(); !maps.Equal(before, after) {
		t.Errorf("rows %v, want %v", after, before)
	}
	if o := b.completeUnder(b.session, b.token); o != wire.ReportAccepted {
		t.Errorf("the running attempt's own report is %s", o)
	}
	if o := b.completeUnder(b.session, b.token); o != wire.ReportDuplicate {
		t.Errorf("the same again is %s", o)
	}
}

// ended is the number of an execution that has ended.
func (b *bench) ended() history.ExecutionID {
	b.publish("hello", noTask)
	b.start("hello", "h1", `{}`)
	d, err := b.store.Execution(b.t.Context(), 1, "h1")
	if err != nil {
		b.t.Fatal(err)
	}
	return d.ID
}
