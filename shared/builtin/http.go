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

// Call makes a request, follows redirects to what is allowed, and gives the status and the body of the answer.
func (h *HTTP) Call(ctx context.Context, method, url string, header http.Header, body []byte) (int, []byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return 0, nil, fmt.Errorf("builtin: request: %w", err)
	}
	if err := h.allow.URL(req.URL); err != nil {
		return 0, nil, err
	}
	for name, values := range header {
		req.Header[http.CanonicalHeaderKey(name)] = values
	}
	resp, err := h.client.Do(req)
	if err != nil {
		return 0, nil, fmt.Errorf("builtin: %s %s: %w", method, req.URL.Redacted(), cause(err))
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, MaxAnswer+1))
	switch {
	case err != nil:
		return 0, nil, fmt.Errorf("builtin: %s %s: read the answer: %w", method, req.URL.Redacted(), err)
	case len(answer) > MaxAnswer:
		return 0, nil, fmt.Errorf("builtin: %s %s: the answer has more than %d bytes", method, req.URL.Redacted(), MaxAnswer)
	}
	return resp.StatusCode, answer, nil
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
