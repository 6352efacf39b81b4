package builtin

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	neturl "net/url"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	// MaxAnswer bounds the body of an answer, in bytes, after decompression.
	MaxAnswer = 1 << 20
	// maxAnswerHeader bounds its header.
	maxAnswerHeader = 64 << 10
	maxRedirects    = 5
	connectTime     = 10 * time.Second
)

// ErrTooLarge is an answer with more than MaxAnswer bytes.
var ErrTooLarge = fmt.Errorf("the answer has more than %d bytes", MaxAnswer)

// HTTP makes requests to what is allowed. It is safe for concurrent use.
type HTTP struct {
	allow  Allow
	client *http.Client
}

// NewHTTP makes a caller; nil where nothing is allowed.
func NewHTTP(a Allow) *HTTP {
	if a.Empty() {
		return nil
	}
	h := &HTTP{allow: a}
	dialer := &net.Dialer{Timeout: connectTime, Control: func(_, address string, _ syscall.RawConn) error { return a.Address(address) }}
	h.client = &http.Client{
		CheckRedirect: h.redirect,
		Transport: &http.Transport{
			DialContext: dialer.DialContext, TLSHandshakeTimeout: connectTime, MaxResponseHeaderBytes: maxAnswerHeader,
			MaxIdleConns: 100, MaxIdleConnsPerHost: 4, IdleConnTimeout: 90 * time.Second, ForceAttemptHTTP2: true,
		},
	}
	return h
}

// Request is a request to make.
type Request struct {
	Method, URL string
	Header      http.Header
	Body        []byte
	// Secret tells for whom the body is, where not for everybody who is allowed: a redirect takes it nowhere else. Nil for all.
	Secret *Allow
}

// ofSecret is the key of Request.Secret in the context of a request, where redirect finds it.
type ofSecret struct{}

// Response is an answer.
type Response struct {
	Status int
	// Reason is what stands behind the status, such as "Not Found"; it may be empty.
	Reason string
	Header http.Header
	Body   []byte
}

// Call makes a request, follows redirects to what is allowed, and gives the status and the body of the answer.
func (h *HTTP) Call(ctx context.Context, method, url string, header http.Header, body []byte) (int, []byte, error) {
	r, err := h.Do(ctx, Request{Method: method, URL: url, Header: header, Body: body})
	return r.Status, r.Body, err
}

// Do makes a request, follows redirects to what is allowed, and gives the answer, whatever its status. An error tells the place
// of the URL, and neither its query nor a header: they may be secrets.
func (h *HTTP) Do(ctx context.Context, q Request) (Response, error) {
	req, err := http.NewRequestWithContext(context.WithValue(ctx, ofSecret{}, q.Secret), q.Method, q.URL, bytes.NewReader(q.Body))
	if err != nil {
		return Response{}, fmt.Errorf("builtin: the method or the URL of the request cannot be used: %w", cause(err))
	}
	if err := h.allow.URL(req.URL); err != nil {
		return Response{}, err
	}
	for name, values := range q.Header {
		req.Header[http.CanonicalHeaderKey(name)] = values
	}
	resp, err := h.client.Do(req)
	if err != nil {
		return Response{}, fmt.Errorf("builtin: %s %s: %w", q.Method, placeOf(req.URL), cause(err))
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, MaxAnswer+1))
	switch {
	case err != nil:
		return Response{}, fmt.Errorf("builtin: %s %s: read the answer: %w", q.Method, placeOf(req.URL), err)
	case len(answer) > MaxAnswer:
		return Response{}, fmt.Errorf("builtin: %s %s: %w", q.Method, placeOf(req.URL), ErrTooLarge)
	}
	reason := strings.TrimSpace(strings.TrimPrefix(resp.Status, strconv.Itoa(resp.StatusCode)))
	return Response{Status: resp.StatusCode, Reason: reason, Header: resp.Header, Body: answer}, nil
}

// placeOf is a URL without what may be secret in it.
func placeOf(u *neturl.URL) string {
	return (&neturl.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}

// cause takes off what the client says again about the request.
func cause(err error) error {
	if e, ok := errors.AsType[*neturl.Error](err); ok {
		return e.Err
	}
	return err
}

// passedOn are the headers that a redirect to another host keeps: what an author has set may be a secret of the first one.
var passedOn = []string{"Content-Type", "Traceparent", "Idempotency-Key", "User-Agent"}

// redirect looks at each step again.
func (h *HTTP) redirect(req *http.Request, via []*http.Request) error {
	first := via[0]
	switch {
	case len(via) > maxRedirects:
		return fmt.Errorf("more than %d redirects", maxRedirects)
	case first.URL.Scheme == "https" && req.URL.Scheme != "https":
		return fmt.Errorf("%w: a redirect from https to %s", ErrForbidden, req.URL.Scheme)
	}
	if err := h.allow.URL(req.URL); err != nil {
		return err
	}
	if secret, _ := req.Context().Value(ofSecret{}).(*Allow); secret != nil && req.ContentLength != 0 && secret.URL(req.URL) != nil {
		return fmt.Errorf("%w: a redirect with the body to %s", ErrForbidden, req.URL.Host)
	}
	if req.URL.Host != first.URL.Host {
		kept := http.Header{}
		for _, name := range passedOn {
			if v, ok := req.Header[name]; ok {
				kept[name] = v
			}
		}
		req.Header = kept
	}
	return nil
}
