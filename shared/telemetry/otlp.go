package telemetry

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdk "go.opentelemetry.io/otel/sdk/trace"
)

// Spans are sent as OTLP over HTTP in JSON, which every collector takes. The library's own exporter brings gRPC and its
// gateway into each function, for the same bytes in another encoding.

// otlp sends spans to a collector. The batch that holds them calls it from one goroutine at a time.
type otlp struct {
	url    string
	header http.Header
	client *http.Client
}

const (
	otlpTimeout = 10 * time.Second
	// otlpTries bounds how often a batch is sent that the collector cannot take now; otlpPause is the first pause between.
	otlpTries = 3
	otlpPause = 500 * time.Millisecond
)

// exporterOf is what the variables ask for; nil for nothing.
func exporterOf(lookup func(string) (string, bool)) (SpanExporter, error) {
	get := func(names ...string) string {
		for _, name := range names {
			if v, _ := lookup(name); strings.TrimSpace(v) != "" {
				return strings.TrimSpace(v)
			}
		}
		return ""
	}
	endpoint := get("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
	if base := get("OTEL_EXPORTER_OTLP_ENDPOINT"); endpoint == "" && base != "" {
		endpoint = strings.TrimSuffix(base, "/") + "/v1/traces"
	}
	kind := get("OTEL_TRACES_EXPORTER")
	if kind == "" && endpoint != "" {
		kind = "otlp"
	}
	switch {
	case strings.EqualFold(get("OTEL_SDK_DISABLED"), "true"), kind == "", kind == "none":
		return nil, nil
	case kind == "console":
		return console{os.Stdout}, nil
	case kind != "otlp":
		return nil, fmt.Errorf("OTEL_TRACES_EXPORTER: must be otlp, console or none, not %q", kind)
	}
	return newOTLP(cmp.Or(endpoint, "http://localhost:4318/v1/traces"), get)
}

func newOTLP(endpoint string, get func(...string) string) (*otlp, error) {
	var faults []error
	if u, err := url.Parse(endpoint); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		faults = append(faults, errors.New("OTEL_EXPORTER_OTLP_ENDPOINT: must be an http or https URL"))
	}
	if p := get("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"); p != "" && p != "http/json" {
		faults = append(faults, fmt.Errorf("OTEL_EXPORTER_OTLP_PROTOCOL: must be http/json, not %q", p))
	}
	timeout := otlpTimeout
	if v := get("OTEL_EXPORTER_OTLP_TRACES_TIMEOUT", "OTEL_EXPORTER_OTLP_TIMEOUT"); v != "" {
		n, err := strconv.ParseInt(v, 10, 32)
		if err != nil || n < 1 {
			faults = append(faults, fmt.Errorf("OTEL_EXPORTER_OTLP_TIMEOUT: %q must be a number of milliseconds", v))
		}
		timeout = time.Duration(n) * time.Millisecond
	}
	header := http.Header{"Content-Type": {"application/json"}}
	for item := range strings.SplitSeq(get("OTEL_EXPORTER_OTLP_TRACES_HEADERS", "OTEL_EXPORTER_OTLP_HEADERS"), ",") {
		name, value, ok := strings.Cut(item, "=")
		value, err := url.PathUnescape(strings.TrimSpace(value))
		switch name = strings.TrimSpace(name); {
		case strings.TrimSpace(item) == "":
		case !ok || name == "" || err != nil: // the value may be a secret
			faults = append(faults, errors.New("OTEL_EXPORTER_OTLP_HEADERS: must be name=value, with commas between"))
		default:
			header.Set(name, value)
		}
	}
	return &otlp{endpoint, header, &http.Client{Timeout: timeout}}, errors.Join(faults...)
}

// ExportSpans sends a batch.
func (o *otlp) ExportSpans(ctx context.Context, spans []sdk.ReadOnlySpan) error {
	body, err := json.Marshal(otlpBatch(spans))
	if err != nil {
		return err
	}
	for try, pause := 1, otlpPause; ; try, pause = try+1, 2*pause {
		again, err := o.post(ctx, body)
		if err == nil || !again || try == otlpTries {
			return err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return err
		}
	}
}

// Shutdown has nothing to do: each batch is sent whole.
func (o *otlp) Shutdown(context.Context) error { return nil }

// post sends a body once, and tells whether another try may do.
func (o *otlp) post(ctx context.Context, body []byte) (again bool, err error) {
	q, err := http.NewRequestWithContext(ctx, http.MethodPost, o.url, bytes.NewReader(body))
	if err != nil {
		return false, err
	}
	q.Header = o.header
	a, err := o.client.Do(q)
	if err != nil {
		return ctx.Err() == nil, err
	}
	defer a.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(a.Body, 64<<10)) // so that the connection is used again
	switch a.StatusCode {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		again = true
	}
	if a.StatusCode < 200 || a.StatusCode > 299 {
		return again, fmt.Errorf("the collector answers %s", a.Status)
	}
	return false, nil
}

// console writes each batch as a line.
type console struct{ to io.Writer }

func (c console) ExportSpans(_ context.Context, spans []sdk.ReadOnlySpan) error {
	return json.NewEncoder(c.to).Encode(otlpBatch(spans))
}

func (c console) Shutdown(context.Context) error { return nil }

// What follows is ExportTraceServiceRequest of OTLP 1, as far as it is used here, in its JSON form: identities are
// hexadecimal, numbers of 64 bits are texts.
type (
	otlpRequest struct {
		ResourceSpans []otlpResource `json:"resourceSpans"`
	}
	otlpResource struct {
		Resource struct {
			Attributes []otlpAttribute `json:"attributes,omitempty"`
		} `json:"resource"`
		ScopeSpans []otlpScope `json:"scopeSpans"`
	}
	otlpScope struct {
		Scope struct {
			Name    string `json:"name"`
			Version string `json:"version,omitempty"`
		} `json:"scope"`
		Spans []otlpSpan `json:"spans"`
	}
	otlpSpan struct {
		TraceID    string          `json:"traceId"`
		SpanID     string          `json:"spanId"`
		Parent     string          `json:"parentSpanId,omitempty"`
		Flags      uint32          `json:"flags"`
		Name       string          `json:"name"`
		Kind       int             `json:"kind"`
		Begun      int64           `json:"startTimeUnixNano,string"`
		Ended      int64           `json:"endTimeUnixNano,string"`
		Attributes []otlpAttribute `json:"attributes,omitempty"`
		Status     otlpStatus      `json:"status"`
	}
	otlpStatus struct {
		Code    int    `json:"code,omitempty"`
		Message string `json:"message,omitempty"`
	}
	otlpAttribute struct {
		Key   string         `json:"key"`
		Value map[string]any `json:"value"`
	}
)

// otlpBatch is a batch of spans, all of this process and of our one scope.
func otlpBatch(spans []sdk.ReadOnlySpan) otlpRequest {
	var r otlpResource
	var s otlpScope
	for i, x := range spans {
		if i == 0 {
			r.Resource.Attributes = otlpAttributes(x.Resource().Attributes())
			s.Scope.Name, s.Scope.Version = x.InstrumentationScope().Name, x.InstrumentationScope().Version
		}
		s.Spans = append(s.Spans, otlpSpanOf(x))
	}
	r.ScopeSpans = []otlpScope{s}
	return otlpRequest{[]otlpResource{r}}
}

func otlpSpanOf(x sdk.ReadOnlySpan) otlpSpan {
	c := x.SpanContext()
	s := otlpSpan{
		TraceID: c.TraceID().String(), SpanID: c.SpanID().String(), Flags: uint32(c.TraceFlags()), Name: x.Name(), Kind: int(x.SpanKind()),
		Begun: x.StartTime().UnixNano(), Ended: x.EndTime().UnixNano(), Attributes: otlpAttributes(x.Attributes()),
	}
	if p := x.Parent(); p.SpanID().IsValid() {
		s.Parent = p.SpanID().String()
	}
	if x.Status().Code == codes.Error {
		s.Status = otlpStatus{otlpError, x.Status().Description}
	}
	return s
}

// otlpError is STATUS_CODE_ERROR.
const otlpError = 2

func otlpAttributes(list []attribute.KeyValue) []otlpAttribute {
	out := make([]otlpAttribute, len(list))
	for i, a := range list {
		out[i] = otlpAttribute{string(a.Key), otlpValue(a.Value)}
	}
	return out
}

func otlpValue(v attribute.Value) map[string]any {
	switch v.Type() {
	case attribute.BOOL:
		return map[string]any{"boolValue": v.AsBool()}
	case attribute.INT64:
		return map[string]any{"intValue": strconv.FormatInt(v.AsInt64(), 10)}
	case attribute.FLOAT64:
		return map[string]any{"doubleValue": v.AsFloat64()}
	}
	return map[string]any{"stringValue": v.String()}
}
