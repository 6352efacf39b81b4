package telemetry

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// Traces is where the spans of a process go: nowhere while it is nil.
//
// A span is recorded when it has ended, under the identity that it was given when it began. What is traced here may outlive
// the process that began it, and its identity is in the database; so nothing is held meanwhile, and whoever sees the end
// records it.
type Traces struct {
	provider *sdk.TracerProvider
	tracer   trace.Tracer
}

// Span is a piece of work that has ended.
type Span struct {
	Name string
	// Context is the span's own identity, and Parent that of the span that it belongs to; empty for the first of a trace. Both are
	// W3C traceparents. A span whose Context is none is not recorded.
	Context, Parent string
	Begun, Ended    time.Time
	// Attributes have keys of the log's list.
	Attributes []slog.Attr
	// Error says what went wrong; empty for nothing.
	Error string
}

// SpanExporter takes spans away.
type SpanExporter = sdk.SpanExporter

// NewTraces reads the standard variables (OTEL_*), each through lookup, as os.LookupEnv is one. It returns nil, which is off,
// unless OTEL_TRACES_EXPORTER or an endpoint asks for spans. The error names what cannot be done.
func NewTraces(service string, lookup func(string) (string, bool)) (*Traces, error) {
	e, err := exporterOf(lookup)
	if e == nil || err != nil {
		return nil, err
	}
	return tracesTo(sdk.NewBatchSpanProcessor(e), service), nil
}

// TracesTo hands every span to the exporter as it is recorded, for tests.
func TracesTo(e SpanExporter) *Traces { return tracesTo(sdk.NewSimpleSpanProcessor(e), "test") }

// scope names what makes the spans.
const scope = "github.com/orrery-dev/orrery"

func tracesTo(p sdk.SpanProcessor, service string) *Traces {
	own := resource.NewSchemaless(attribute.String("service.name", service), attribute.String("service.version", Version()))
	// OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES come after our own words. A part that cannot be read is left out.
	r, _ := resource.Merge(own, resource.Environment())
	provider := sdk.NewTracerProvider(sdk.WithSpanProcessor(p), sdk.WithResource(r), sdk.WithIDGenerator(givenIDs{}))
	return &Traces{provider, provider.Tracer(scope, trace.WithInstrumentationVersion(Version()))}
}

// Begin gives a new span its identity, as a W3C traceparent that says whether the span will be recorded: that of the parent's
// trace, or of a new trace where parent is empty or none. While tracing is off it says yes, for those who trace further on.
func (t *Traces) Begin(parent string) string {
	ids, sampled := newIDs(parent), true
	if t != nil {
		_, s := t.tracer.Start(within(ids, parent), "")
		sampled = s.SpanContext().IsSampled() // and the span is dropped: it has not ended
	}
	return traceParent(ids, sampled)
}

// Record hands over a span that has ended.
func (t *Traces) Record(x Span) {
	ids, ok := parseContext(x.Context)
	if t == nil || !ok {
		return
	}
	_, s := t.tracer.Start(within(identity{ids.TraceID(), ids.SpanID()}, x.Parent), x.Name, trace.WithTimestamp(x.Begun))
	for _, a := range x.Attributes {
		s.SetAttributes(attributeOf(a))
	}
	if x.Error != "" {
		s.SetStatus(codes.Error, x.Error)
	}
	s.End(trace.WithTimestamp(x.Ended))
}

// Flush sends what was recorded, for a process that may be frozen afterwards.
func (t *Traces) Flush(ctx context.Context) error {
	if t == nil {
		return nil
	}
	if err := t.provider.ForceFlush(ctx); err != nil {
		return fmt.Errorf("telemetry: send spans: %w", err)
	}
	return nil
}

// Close sends what was recorded, and records nothing more.
func (t *Traces) Close(ctx context.Context) error {
	if t == nil {
		return nil
	}
	if err := t.provider.Shutdown(ctx); err != nil {
		return fmt.Errorf("telemetry: send the last spans: %w", err)
	}
	return nil
}

// OnTraceError has failures to send spans told to the log, and not to the standard error.
func OnTraceError(log *slog.Logger) {
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { log.Warn("spans could not be sent", KeyError, err) }))
}

// attributeOf puts a value under a name of ours.
func attributeOf(a slog.Attr) attribute.KeyValue {
	key := "orrery." + a.Key
	switch v := a.Value.Resolve(); v.Kind() {
	case slog.KindInt64:
		return attribute.Int64(key, v.Int64())
	case slog.KindBool:
		return attribute.Bool(key, v.Bool())
	case slog.KindTime:
		return attribute.String(key, v.Time().UTC().Format(time.RFC3339Nano))
	default:
		return attribute.String(key, v.String())
	}
}

// identity is what names a span.
type identity struct {
	trace trace.TraceID
	span  trace.SpanID
}

// newIDs draws an identity in the trace of a parent, or in a new one.
func newIDs(parent string) (n identity) {
	rand.Read(n.span[:])
	if p, ok := parseContext(parent); ok {
		n.trace = p.TraceID()
		return n
	}
	rand.Read(n.trace[:])
	return n
}

type identityKey struct{}

// within is the context of a span that is to get an identity, and belongs to a parent.
func within(ids identity, parent string) context.Context {
	ctx := context.WithValue(context.Background(), identityKey{}, ids)
	if p, ok := parseContext(parent); ok {
		ctx = trace.ContextWithRemoteSpanContext(ctx, p)
	}
	return ctx
}

// givenIDs gives spans the identity of their context.
type givenIDs struct{}

func (givenIDs) NewIDs(ctx context.Context) (trace.TraceID, trace.SpanID) {
	ids := ctx.Value(identityKey{}).(identity)
	return ids.trace, ids.span
}

func (givenIDs) NewSpanID(ctx context.Context, _ trace.TraceID) trace.SpanID {
	return ctx.Value(identityKey{}).(identity).span
}

// traceParent is an identity in the form of W3C Trace Context.
func traceParent(ids identity, sampled bool) string {
	flags := "00"
	if sampled {
		flags = "01"
	}
	return "00-" + ids.trace.String() + "-" + ids.span.String() + "-" + flags
}

// parseContext reads a traceparent; false where it is none.
func parseContext(text string) (trace.SpanContext, bool) {
	part := strings.Split(text, "-")
	if len(part) != 4 || len(part[3]) != 2 {
		return trace.SpanContext{}, false
	}
	var c trace.SpanContextConfig
	var err error
	if c.TraceID, err = trace.TraceIDFromHex(part[1]); err != nil {
		return trace.SpanContext{}, false
	}
	if c.SpanID, err = trace.SpanIDFromHex(part[2]); err != nil {
		return trace.SpanContext{}, false
	}
	flags, err := hex.DecodeString(part[3])
	if err != nil {
		return trace.SpanContext{}, false
	}
	c.TraceFlags, c.Remote = trace.TraceFlags(flags[0]), true
	return trace.NewSpanContext(c), true
}
