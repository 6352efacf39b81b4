//go:build linux

package functions_test

import (
	"encoding/base64"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/orrery-dev/orrery/local/gateway"
	"github.com/orrery-dev/orrery/local/tap"
	"github.com/orrery-dev/orrery/shared/storetest"
	"github.com/orrery-dev/orrery/shared/wire"
)

// maxBinary is how large a stripped function may be, in bytes.
const maxBinary = 20 << 20

// emulator runs each function's own binary as Lambda does, against a database that is empty at first.
type emulator struct {
	t     *testing.T
	pools map[string]*gateway.Pool
	tap   *tap.Tap // of the scheduled function
}

func newEmulator(t *testing.T) *emulator {
	t.Helper()
	url := storetest.EmptyURL(t)
	_, functions, err := gateway.ReadTemplate("../template.yaml", map[string]string{"DatabaseUrl": url})
	if err != nil {
		t.Fatal(err)
	}
	rie, err := gateway.InstallEmulator(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range functions {
		names = append(names, f.Name)
	}
	binaries, err := gateway.Build(t.Context(), t.TempDir(), names...)
	if err != nil {
		t.Fatal(err)
	}
	e := &emulator{t, map[string]*gateway.Pool{}, tap.New(t, url)}
	for _, f := range functions {
		if info, err := os.Stat(binaries[f.Name]); err != nil || info.Size() > maxBinary {
			t.Errorf("%s: the binary has %d bytes, want at most %d: %v", f.Name, info.Size(), maxBinary, err)
		}
		log := slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelError}))
		var own map[string]string
		if f.Name == "cron" {
			own = map[string]string{"DATABASE_URL": e.tap.URL}
		}
		pool, err := rie.Pool(f, binaries[f.Name], own, gateway.Limits{Instances: 1, Queue: 10, Wait: time.Minute}, log)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(pool.Close)
		e.pools[f.Name] = pool
	}
	return e
}

// invoke passes an event to a function and gives what comes back.
func (e *emulator) invoke(function string, event any) []byte {
	e.t.Helper()
	text, err := json.Marshal(event)
	if err != nil {
		e.t.Fatal(err)
	}
	result, err := e.pools[function].Invoke(e.t.Context(), text)
	if err != nil {
		e.t.Fatalf("%s: %v", function, err)
	}
	return result
}

// expect passes an HTTP event and checks status and code; an empty code is an answer without an error.
func (e *emulator) expect(what, function string, event any, status int, code wire.Code) {
	e.t.Helper()
	var r events.APIGatewayV2HTTPResponse
	if err := json.Unmarshal(e.invoke(function, event), &r); err != nil {
		e.t.Fatalf("%s, %s: %v", function, what, err)
	}
	var envelope wire.ErrorEnvelope
	if err := json.Unmarshal([]byte(r.Body), &envelope); err != nil || r.IsBase64Encoded {
		e.t.Errorf("%s, %s: the body is no JSON text: %q", function, what, r.Body)
	}
	if r.StatusCode != status || envelope.Error.Code != code {
		e.t.Errorf("%s, %s: %d %s, want %d %s: %s", function, what, r.StatusCode, envelope.Error.Code, status, code, r.Body)
	}
}

// deployments has migrate serve CloudFormation, which gets its answer at an address that the event names.
func (e *emulator) deployments() {
	e.t.Helper()
	answers := make(chan map[string]any, 1)
	waiting := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var answer map[string]any
		if err := json.NewDecoder(r.Body).Decode(&answer); err != nil || r.Method != http.MethodPut {
			e.t.Errorf("%s with %v: %v", r.Method, answer, err)
		}
		answers <- answer
	}))
	defer waiting.Close()
	for _, kind := range []string{"Create", "Update", "Delete"} {
		e.invoke("migrate", map[string]any{
			"RequestType": kind, "ResponseURL": waiting.URL, "RequestId": "r", "LogicalResourceId": "Schema", "StackId": "s",
			"PhysicalResourceId": "schema", "ResourceProperties": map[string]any{"Version": "1"},
		})
		if a := <-answers; a["Status"] != "SUCCESS" || a["PhysicalResourceId"] != "schema" {
			e.t.Errorf("%s is answered %v", kind, a)
		}
	}
}

func recorded(t *testing.T, function string) map[string]any {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(function, "event.json"))
	if err != nil {
		t.Fatal(err)
	}
	var event map[string]any
	if err := json.Unmarshal(text, &event); err != nil {
		t.Fatal(err)
	}
	return event
}

// TestFunctionsUnderTheEmulator invokes each function with its recorded event, then with what events can look like besides.
// The order matters: the schema comes first, and each event builds on those before.
func TestFunctionsUnderTheEmulator(t *testing.T) {
	e := newEmulator(t)
	for range 2 { // a second time changes nothing
		var answer struct{ Version string }
		if err := json.Unmarshal(e.invoke("migrate", recorded(t, "migrate")), &answer); err != nil || answer.Version == "" {
			t.Fatalf("migrate: %+v, %v", answer, err)
		}
	}
	e.deployments()
	steps := []struct {
		function    string
		status      int
		code        wire.Code
		again       int // status of the same event a second time
		missing     int // status without a body
		missingCode wire.Code
	}{
		{"publish", 201, "", 200, 422, wire.InvalidRequest},
		{"start", 201, "", 200, 422, wire.InvalidRequest},
		{"session", 200, "", 200, 422, wire.InvalidRequest},
		{"poll", 404, wire.SessionNotFound, 404, 422, wire.InvalidRequest},
		{"complete", 400, wire.MalformedToken, 400, 422, wire.InvalidRequest},
		{"signal", 409, wire.ExecutionFinished, 409, 409, wire.ExecutionFinished},
		{"cancel", 409, wire.ExecutionFinished, 409, 409, wire.ExecutionFinished},
		{"query", 200, "", 200, 200, ""},
	}
	for _, s := range steps {
		event := recorded(t, s.function)
		e.expect("as recorded", s.function, event, s.status, s.code)
		if body, ok := event["body"].(string); ok {
			event["body"], event["isBase64Encoded"] = base64.StdEncoding.EncodeToString([]byte(body)), true
			e.expect("with a base64 body", s.function, event, s.again, s.code)
			event["body"] = "!"
			e.expect("with a body that is no base64", s.function, event, 400, wire.MalformedEvent)
		}
		delete(event, "body")
		event["isBase64Encoded"] = false
		e.expect("without a body", s.function, event, s.missing, s.missingCode)
		event["body"] = `{"no_such_field":1}`
		if s.function != "query" {
			e.expect("with an unknown field", s.function, event, 422, wire.InvalidRequest)
		}
		moved(event, "GET", "/v1/ready")
		e.expect("on another route", s.function, event, 404, wire.RouteNotFound)
		e.expect("with no HTTP event", s.function, map[string]any{"records": []int{1}}, 400, wire.MalformedEvent)
	}
	e.ticks()
	if got := string(e.invoke("query", moved(recorded(t, "query"), "GET", "/v1/executions/order-1"))); !strings.Contains(got, `\"SUCCEEDED\"`) {
		t.Errorf("the execution that the recorded events started: %s", got)
	}
}

// moved is the event for another route.
func moved(event map[string]any, method, path string) map[string]any {
	event["rawPath"], event["routeKey"] = path, method+" "+path
	http := event["requestContext"].(map[string]any)["http"].(map[string]any)
	http["method"], http["path"] = method, path
	return event
}
