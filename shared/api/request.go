package api

import (
	"io"
	"net/http"
	"net/url"
	"reflect"
	"time"

	"github.com/orrery-dev/orrery/shared/auth"
	"github.com/orrery-dev/orrery/shared/expr"
	"github.com/orrery-dev/orrery/shared/wire"
)

// request is one request on its way to an area.
type request struct {
	*http.Request
	call       auth.Call
	maxPayload int
}

// answer is what a route gives. Status 0 means 200.
type answer struct {
	status     int
	body       any
	retryAfter time.Duration
}

func ok(body any) answer { return answer{body: body} }

func createdIf(created bool, body any) answer {
	if created {
		return answer{status: http.StatusCreated, body: body}
	}
	return ok(body)
}

func acceptedIf(accepted bool, body any) answer {
	if accepted {
		return answer{status: http.StatusAccepted, body: body}
	}
	return ok(body)
}

func unavailableIf(unavailable bool, body any) answer {
	if unavailable {
		return answer{status: http.StatusServiceUnavailable, body: body, retryAfter: time.Second}
	}
	return ok(body)
}

// read fills path, query and body, each a pointer to a struct with check tags, or nil where the route takes none, and
// returns every fault of the three together. An empty body is as good as {}. A query on a route that takes none is
// refused; a body there is left unread.
func (r *request) read(path, query, body any) error {
	b := &binder{maxPayload: r.maxPayload}
	var text []byte
	if body != nil {
		var err error
		if text, err = io.ReadAll(r.Body); err != nil {
			return err
		}
	}
	var parsed expr.Value = expr.NewObject()
	if len(text) > 0 {
		var err error
		if parsed, err = expr.Parse(text); err != nil {
			return err
		}
	}
	if path != nil {
		dst := reflect.ValueOf(path).Elem()
		b.object(&place{name: "path "}, r.pathValues(planOf(dst.Type())), dst)
	}
	r.readQuery(b, query)
	if body != nil {
		b.object(&place{}, parsed, reflect.ValueOf(body).Elem())
	}
	return b.err()
}

func (r *request) pathValues(p *plan) *expr.Object {
	o := expr.NewObject()
	for i := range p.fields {
		o.Set(p.fields[i].name, scalar(r.PathValue(p.fields[i].name), p.fields[i].kind))
	}
	return o
}

func (r *request) readQuery(b *binder, query any) {
	at := &place{name: "query "}
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		b.fault(&place{name: "query"}, "encoding", "must be percent-encoded name=value pairs")
		return
	}
	dst := reflect.ValueOf(&struct{}{}).Elem()
	if query != nil {
		dst = reflect.ValueOf(query).Elem()
	}
	p := planOf(dst.Type())
	o := expr.NewObject()
	for name, list := range values {
		f := p.byName[name]
		if f == nil {
			o.Set(name, nil)
			continue
		}
		if len(list) > 1 {
			b.fault(&place{parent: at, name: name}, "once", "must be given once")
		}
		o.Set(name, scalar(list[0], f.kind))
	}
	b.object(at, o, dst)
}

// scalar is the text of a path or a query as the JSON value that a field of the kind takes; what is not one stays a
// string, and is refused as such.
func scalar(text string, kind reflect.Kind) expr.Value {
	switch kind {
	case reflect.Int, reflect.Int64, reflect.Bool:
		if v, err := expr.Parse([]byte(text)); err == nil {
			return v
		}
	}
	return text
}

// callOf reads the headers that go with every request. Faults are named like those of fields.
func callOf(h http.Header, requestID string) (auth.Call, error) {
	c := auth.Call{
		RequestID:      requestID,
		Namespace:      h.Get(wire.HeaderNamespace),
		IdempotencyKey: h.Get(wire.HeaderIdempotencyKey),
		TraceParent:    traceParent(h.Get(wire.HeaderTraceParent)),
	}
	var faults []wire.Detail
	if id := h.Get(wire.HeaderRequestID); id != "" && !isID(id) {
		faults = append(faults, wire.Detail{Field: "header " + wire.HeaderRequestID, Rule: idForm.rule, Message: "must be " + idForm.says})
	}
	if c.Namespace != "" && !isName(c.Namespace) {
		faults = append(faults, wire.Detail{Field: "header " + wire.HeaderNamespace, Rule: nameForm.rule, Message: "must be " + nameForm.says})
	}
	if c.IdempotencyKey != "" && !isKey(c.IdempotencyKey) {
		faults = append(faults, wire.Detail{Field: "header " + wire.HeaderIdempotencyKey, Rule: "key", Message: "must be 1 to 128 printable ASCII characters"})
	}
	if faults != nil {
		return c, wire.Invalid(faults...)
	}
	return c, nil
}

// traceParent is the header when it has the form of version 00 of W3C Trace Context, else empty: a trace context that
// cannot be read is to be ignored.
func traceParent(h string) string {
	const form = "00-0123456789abcdef0123456789abcdef-0123456789abcdef-01"
	if len(h) != len(form) || h[:3] != "00-" {
		return ""
	}
	for i := range len(h) {
		hex := isDigit(h[i]) || h[i] >= 'a' && h[i] <= 'f'
		if dash := form[i] == '-'; dash != (h[i] == '-') || !dash && !hex {
			return ""
		}
	}
	return h
}
