package telemetry_test

import (
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/orrery-dev/orrery/shared/telemetry"
)

var traceparent = regexp.MustCompile(`^00-[0-9a-f]{32}-[0-9a-f]{16}-01$`)

// env looks variables up in pairs of names and values.
func env(pairs ...string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1], true
			}
		}
		return "", false
	}
}

// TestSpansKeepTheirIdentity: a span is recorded under the identity that it had when it began, below its parent.
func TestSpansKeepTheirIdentity(t *testing.T) {
	e := tracetest.NewInMemoryExporter()
	traces := telemetry.TracesTo(e)
	parent := traces.Begin("")
	child := traces.Begin(parent)
	if !traceparent.MatchString(parent) || !traceparent.MatchString(child) || parent[:36] != child[:36] || parent == child {
		t.Fatalf("parent %s, child %s", parent, child)
	}
	begun := time.Date(2026, 3, 7, 7, 30, 0, 0, time.UTC)
	traces.Record(telemetry.Span{
		Name: "child", Context: child, Parent: parent, Begun: begun, Ended: begun.Add(time.Second), Error: "it broke",
		Attributes: []slog.Attr{
			slog.String("schedule", "s"), slog.Int("attempt", 2), slog.Bool("b", true), slog.Time("instant", begun), slog.Float64("f", 0.5),
		},
	})
	traces.Record(telemetry.Span{Name: "parent", Context: parent, Begun: begun, Ended: begun})
	traces.Record(telemetry.Span{Name: "nameless", Begun: begun, Ended: begun})
	spans := e.GetSpans()
	if len(spans) != 2 {
		t.Fatalf("%d spans, want 2", len(spans))
	}
	x := spans[0]
	if x.SpanContext.TraceID().String() != child[3:35] || x.SpanContext.SpanID().String() != child[36:52] || x.Parent.SpanID().String() != parent[36:52] {
		t.Errorf("the span is %v below %v, want %s below %s", x.SpanContext, x.Parent, child, parent)
	}
	if x.Name != "child" || !x.StartTime.Equal(begun) || x.EndTime.Sub(x.StartTime) != time.Second || x.Status.Code != codes.Error || x.Status.Description != "it broke" {
		t.Errorf("the span is %+v", x)
	}
	got := map[string]any{}
	for _, a := range x.Attributes {
		got[string(a.Key)] = a.Value.AsInterface()
	}
	for key, want := range map[string]any{
		"orrery.schedule": "s", "orrery.attempt": int64(2), "orrery.b": true, "orrery.instant": "2026-03-07T07:30:00Z", "orrery.f": "0.5",
	} {
		if got[key] != want {
			t.Errorf("%s is %v, want %v", key, got[key], want)
		}
	}
	if y := spans[1]; y.Parent.IsValid() || y.Status.Code != codes.Unset || y.SpanContext.SpanID().String() != parent[36:52] {
		t.Errorf("the parent is %+v", y)
	}
}

// TestTracingIsOff: without a word nothing is recorded, and identities are given all the same.
func TestTracingIsOff(t *testing.T) {
	for _, pairs := range [][]string{
		nil,
		{"OTEL_TRACES_EXPORTER", "none", "OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector:4318"},
		{"OTEL_SDK_DISABLED", "true", "OTEL_TRACES_EXPORTER", "otlp"},
	} {
		traces, err := telemetry.NewTraces("test", env(pairs...))
		if traces != nil || err != nil {
			t.Errorf("%q: %v, %v", pairs, traces, err)
		}
		if id := traces.Begin(""); !traceparent.MatchString(id) {
			t.Errorf("an identity is %q", id)
		}
		traces.Record(telemetry.Span{Context: traces.Begin("")})
		if err := traces.Flush(t.Context()); err != nil {
			t.Error(err)
		}
		if err := traces.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

func TestWrongVariables(t *testing.T) {
	for _, x := range []struct {
		pairs []string
		want  string
	}{
		{[]string{"OTEL_TRACES_EXPORTER", "zipkin"}, `OTEL_TRACES_EXPORTER: must be otlp, console or none, not "zipkin"`},
		{[]string{"OTEL_EXPORTER_OTLP_ENDPOINT", "collector:4318"}, "OTEL_EXPORTER_OTLP_ENDPOINT: must be an http or https URL"},
		{[]string{"OTEL_TRACES_EXPORTER", "otlp", "OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"}, `OTEL_EXPORTER_OTLP_PROTOCOL: must be http/json, not "grpc"`},
		{[]string{"OTEL_TRACES_EXPORTER", "otlp", "OTEL_EXPORTER_OTLP_TIMEOUT", "soon"}, `OTEL_EXPORTER_OTLP_TIMEOUT: "soon" must be a number of milliseconds`},
		{[]string{"OTEL_TRACES_EXPORTER", "otlp", "OTEL_EXPORTER_OTLP_HEADERS", "secret"}, "OTEL_EXPORTER_OTLP_HEADERS: must be name=value, with commas between"},
	} {
		traces, err := telemetry.NewTraces("test", env(x.pairs...))
		if traces != nil || err == nil || err.Error() != x.want {
			t.Errorf("%q: %v, want %s", x.pairs, err, x.want)
		}
	}
}

// TestSpansReachACollector: spans arrive as OTLP in JSON, with what the variables say, also when the collector is busy at first.
func TestSpansReachACollector(t *testing.T) {
	t.Setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=test")
	type received struct {
		path, kind, key string
		body            []byte
	}
	got := make(chan received, 10)
	busy := true
	collector := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if busy {
			busy = false
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		body, _ := io.ReadAll(r.Body)
		got <- received{r.URL.Path, r.Header.Get("Content-Type"), r.Header.Get("X-Key"), body}
	}))
	defer collector.Close()
	traces, err := telemetry.NewTraces("orrery-test", env("OTEL_EXPORTER_OTLP_ENDPOINT", collector.URL+"/", "OTEL_EXPORTER_OTLP_HEADERS", "x-key=a%20b, other=1"))
	if err != nil || traces == nil {
		t.Fatalf("%v, %v", traces, err)
	}
	id := traces.Begin("")
	begun := time.Unix(1_772_868_600, 5)
	traces.Record(telemetry.Span{Name: "work", Context: id, Begun: begun, Ended: begun.Add(time.Millisecond), Error: "no", Attributes: []slog.Attr{slog.Int("attempt", 1)}})
	if err := traces.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	r := <-got
	if r.path != "/v1/traces" || r.kind != "application/json" || r.key != "a b" {
		t.Errorf("the request is %+v", r)
	}
	var body struct {
		ResourceSpans []struct {
			Resource   json.RawMessage
			ScopeSpans []struct{ Spans []json.RawMessage }
		}
	}
	if err := json.Unmarshal(r.body, &body); err != nil {
		t.Fatal(err)
	}
	want := `{"traceId":"` + id[3:35] + `","spanId":"` + id[36:52] + `","flags":1,"name":"work","kind":1,"startTimeUnixNano":"1772868600000000005",` +
		`"endTimeUnixNano":"1772868600001000005","attributes":[{"key":"orrery.attempt","value":{"intValue":"1"}}],"status":{"code":2,"message":"no"}}`
	if x := string(body.ResourceSpans[0].ScopeSpans[0].Spans[0]); x != want {
		t.Errorf("the span is\n%s\nwant\n%s", x, want)
	}
	for _, want := range []string{`"service.name","value":{"stringValue":"orrery-test"}`, `"deployment.environment.name","value":{"stringValue":"test"}`} {
		if x := string(body.ResourceSpans[0].Resource); !strings.Contains(x, want) {
			t.Errorf("the resource is %s, want %s", x, want)
		}
	}
	if err := traces.Close(t.Context()); err != nil {
		t.Error(err)
	}
	collector.Close()
	traces.Record(telemetry.Span{Name: "late", Context: id}) // after the end, and nobody hears it
}
