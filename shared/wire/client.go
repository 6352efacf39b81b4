package wire

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Client makes single calls of the API. It does not repeat them: [Temporary] says which errors are worth it. The zero
// value of every field but Base is usable. A Client is safe for concurrent use.
type Client struct {
	// Base is the address of a node or a gateway, such as http://127.0.0.1:8080.
	Base string
	// HTTP is the client to use; nil for http.DefaultClient.
	HTTP *http.Client
	// Namespace is sent as the header of that name when it is not empty, Token as bearer token.
	Namespace string
	Token     string
}

// maxAnswer bounds what is read of one answer, in bytes.
const maxAnswer = 64 << 20

// Path joins escaped segments to a path below /v1.
func Path(segments ...string) string {
	var b strings.Builder
	b.WriteString("/v1")
	for _, s := range segments {
		b.WriteByte('/')
		b.WriteString(url.PathEscape(s))
	}
	return b.String()
}

// Call sends body as JSON (none when nil) and decodes the answer into answer (ignored when nil). It gives the status of
// an answer below 400; any other is an *Error. header entries are added to the request.
func (c *Client) Call(ctx context.Context, method, path string, header http.Header, body, answer any) (int, error) {
	req, err := c.request(ctx, method, path, header, body)
	if err != nil {
		return 0, err
	}
	client := c.HTTP
	if client == nil {
		client = http.DefaultClient
	}
	resp, err := client.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return 0, fmt.Errorf("%s %s: read the answer: %w", method, path, err)
	}
	if resp.StatusCode >= 400 {
		return resp.StatusCode, decodeError(resp, text)
	}
	if answer == nil || len(text) == 0 {
		return resp.StatusCode, nil
	}
	if err := json.Unmarshal(text, answer); err != nil {
		return resp.StatusCode, fmt.Errorf("%s %s: decode the answer: %w", method, path, err)
	}
	return resp.StatusCode, nil
}

func (c *Client) request(ctx context.Context, method, path string, header http.Header, body any) (*http.Request, error) {
	var text io.Reader
	if body != nil {
		encoded, err := json.Marshal(body)
		if err != nil {
			return nil, fmt.Errorf("%s %s: encode the body: %w", method, path, err)
		}
		text = bytes.NewReader(encoded)
	}
	req, err := http.NewRequestWithContext(ctx, method, strings.TrimSuffix(c.Base, "/")+path, text)
	if err != nil {
		return nil, err
	}
	for k, v := range header {
		req.Header[k] = v
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.Namespace != "" {
		req.Header.Set(HeaderNamespace, c.Namespace)
	}
	if c.Token != "" {
		req.Header.Set("Authorization", "Bearer "+c.Token)
	}
	return req, nil
}

// decodeError reads the envelope; an answer without one (a proxy's) becomes an error by its status.
func decodeError(resp *http.Response, text []byte) error {
	var envelope ErrorEnvelope
	if json.Unmarshal(text, &envelope) != nil || envelope.Error.Code == "" {
		envelope.Error = Error{Code: codeOf(resp.StatusCode), Message: resp.Status}
	}
	if s, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil && s >= 0 {
		envelope.Error.RetryAfter = time.Duration(s) * time.Second
	}
	return &envelope.Error
}

func codeOf(status int) Code {
	switch {
	case status == http.StatusNotFound:
		return RouteNotFound
	case status == http.StatusUnauthorized:
		return Unauthenticated
	case status == http.StatusForbidden:
		return Forbidden
	case status == http.StatusTooManyRequests:
		return TooManyRequests
	case status == http.StatusBadGateway, status == http.StatusServiceUnavailable, status == http.StatusGatewayTimeout:
		return Unavailable
	case status >= 500:
		return Internal
	}
	return InvalidRequest
}

// Temporary tells whether the same call may succeed later: no answer came, or the server says that it can't now.
func Temporary(err error) bool {
	var e *Error
	if errors.As(err, &e) {
		return e.Code.Status() >= 500 || e.Code == TooManyRequests || e.Code == TooManyExecutions
	}
	return err != nil && !errors.Is(err, context.Canceled)
}
