package errand

import (
	"context"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/orrery-dev/orrery/shared/builtin"
	"github.com/orrery-dev/orrery/shared/expr"
	"github.com/orrery-dev/orrery/shared/worker"
)

// requests makes HTTP requests.
type requests struct {
	caller      *builtin.HTTP
	connections Connections
}

// do makes the request that the input describes.
func (h *requests) do(ctx context.Context, t worker.Task, in value) (value, error) {
	o, _ := in.Value.(*expr.Object)
	q, err := h.request(o, t)
	if err != nil {
		return value{}, err
	}
	r, err := h.authorized(ctx, o, q)
	if said, ok := errors.AsType[*worker.Error](err); ok {
		return value{}, said
	}
	switch {
	case errors.Is(err, builtin.ErrForbidden):
		return value{}, worker.Errorf(codePermissions, "%v", err)
	case errors.Is(err, builtin.ErrTooLarge):
		return value{}, worker.Errorf(codeDataLimit, "%v", err)
	case err != nil:
		return value{}, worker.Errorf("States.Http.Socket", "%v", err)
	}
	body, err := bodyOf(r)
	if err != nil {
		return value{}, err
	}
	answer := expr.NewObject(
		expr.Member{Name: "Headers", Value: headersOf(r.Header)}, expr.Member{Name: "ResponseBody", Value: body},
		expr.Member{Name: "StatusCode", Value: expr.NumberOf(int64(r.Status))}, expr.Member{Name: "StatusText", Value: r.Reason},
	)
	if r.Status < 200 || r.Status >= 300 {
		return value{}, worker.Errorf(fmt.Sprintf("States.Http.StatusCode.%d", r.Status), "%s", scalar(body))
	}
	return value{answer}, nil
}

// request reads what a Task says. The failures are final: another attempt would say the same.
func (h *requests) request(o *expr.Object, t worker.Task) (builtin.Request, error) {
	q := builtin.Request{Method: text(o, "Method"), Header: http.Header{}}
	target, err := url.Parse(text(o, "ApiEndpoint"))
	if err != nil || target.Host == "" || target.User != nil {
		return q, worker.Finalf(codeRuntime, "The field 'ApiEndpoint' must be the URL of an HTTP API, without a user")
	}
	for name, v := range object(o, "Headers").All() {
		if !authors(http.CanonicalHeaderKey(name)) {
			return q, worker.Finalf(codeRuntime, "The header '%s' is not supported", name)
		}
		q.Header.Set(name, joined(v))
	}
	query := target.Query()
	for name, v := range object(o, "QueryParameters").All() {
		query.Del(name)
		for _, e := range listed(v) {
			query.Add(name, scalar(e))
		}
	}
	body, _ := o.Get("RequestBody")
	if body, err = h.connect(o, target, &q, query, body); err != nil {
		return q, err
	}
	if q.Body, err = encoded(o, body, q.Header); err != nil {
		return q, err
	}
	target.RawQuery = query.Encode()
	q.URL = target.String()
	usually(q.Header, "Idempotency-Key", t.IdempotencyKey)
	usually(q.Header, "Traceparent", t.TraceParent)
	usually(q.Header, "User-Agent", "orrery")
	return q, nil
}

// ownHeaders are those that no document sets: they belong to the connection, or are among those that the reference service refuses.
var ownHeaders = []string{
	"A-Im", "Accept-Charset", "Accept-Datetime", "Accept-Encoding", "Cache-Control", "Connection", "Content-Encoding", "Content-Length",
	"Content-Md5", "Date", "Expect", "Forwarded", "From", "Host", "Http2-Settings", "If-Match", "If-Modified-Since", "If-None-Match",
	"If-Range", "If-Unmodified-Since", "Keep-Alive", "Max-Forwards", "Origin", "Pragma", "Referer", "Server", "Te", "Trailer",
	"Transfer-Encoding", "Upgrade", "Via", "Warning",
}

// authors tells whether a document may set a header.
func authors(name string) bool {
	for _, prefix := range []string{"Proxy-", "X-Forwarded", "X-Amz-", "X-Amzn-"} {
		if strings.HasPrefix(name, prefix) {
			return false
		}
	}
	return !slices.Contains(ownHeaders, name)
}

// usually sets a header that the document does not set.
func usually(h http.Header, name, value string) {
	if h.Get(name) == "" && value != "" {
		h.Set(name, value)
	}
}

func listed(v expr.Value) []expr.Value {
	if list, ok := v.([]expr.Value); ok {
		return list
	}
	return []expr.Value{v}
}

// joined prints the value of a header: the elements of a list with commas.
func joined(v expr.Value) string {
	var parts []string
	for _, e := range listed(v) {
		parts = append(parts, scalar(e))
	}
	return strings.Join(parts, ",")
}

// connectionOf is what a Task says about a connection; empty where it names none.
func connectionOf(o *expr.Object) string {
	if name := text(object(o, "InvocationConfig"), "ConnectionArn"); name != "" {
		return name
	}
	return text(object(o, "Authentication"), "ConnectionArn")
}

// connect adds what the connection that a Task names brings, but for a token, and gives the body with it.
func (h *requests) connect(o *expr.Object, target *url.URL, q *builtin.Request, query url.Values, body expr.Value) (expr.Value, error) {
	name := connectionOf(o)
	if name == "" {
		return body, nil
	}
	c, ok := h.connections[connectionName(name)]
	switch {
	case !ok:
		return nil, worker.Finalf("Events.ConnectionResource.ResourceNotFound", "There is no connection '%s'", name)
	case c.allow.URL(target) != nil:
		return nil, worker.Finalf(codePermissions, "The connection '%s' is not for the host %s", name, target.Host)
	}
	q.Secret = &c.allow
	return c.apply(q.Header, query, body)
}

// encoded is the body as it is sent.
func encoded(o *expr.Object, body expr.Value, header http.Header) ([]byte, error) {
	if body == nil {
		return nil, nil
	}
	transform := object(o, "Transform")
	switch encoding := text(transform, "RequestBodyEncoding"); encoding {
	case "", "NONE":
		usually(header, "Content-Type", "application/json; charset=UTF-8")
		return []byte(scalar(body)), nil
	case "URL_ENCODED":
		fields, isObject := body.(*expr.Object)
		if !isObject {
			return nil, worker.Finalf(codeRuntime, "The field 'RequestBody' must be an Object to be URL_ENCODED")
		}
		usually(header, "Content-Type", "application/x-www-form-urlencoded")
		return formEncoded(fields, text(object(transform, "RequestEncodingOptions"), "ArrayFormat"))
	default:
		return nil, worker.Finalf(codeRuntime, "The field 'RequestBodyEncoding' must be one of NONE, URL_ENCODED")
	}
}

// bodyOf reads the body of an answer: JSON as a value, anything else as a text.
func bodyOf(r builtin.Response) (expr.Value, error) {
	media, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if media == "application/json" || strings.HasSuffix(media, "+json") {
		if v, err := expr.Parse(r.Body); err == nil {
			return v, nil
		}
	}
	return storable(string(r.Body))
}

// headersOf shows the headers of an answer, their names in lower case.
func headersOf(h http.Header) *expr.Object {
	o := expr.NewObject()
	names := make([]string, 0, len(h))
	for name := range h {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		var list []expr.Value
		for _, v := range h[name] {
			list = append(list, strings.ToValidUTF8(v, "\uFFFD"))
		}
		o.Set(strings.ToLower(name), list)
	}
	return o
}
