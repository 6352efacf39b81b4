package lambdahttp

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/aws/aws-lambda-go/events"
)

// Errors of EventFromRequest that are the client's.
var (
	ErrBadPath      = errors.New("the path cannot be decoded")
	ErrBodyTooLarge = errors.New("the body is larger than Lambda carries")
)

// EventFromRequest makes the event that an API Gateway HTTP API passes to a function, in payload format 2.0, for a
// request that a server has read; it reads the body. The route key is $default and there are no path parameters: the
// route is whoever calls this to say. The error is ErrBadPath, ErrBodyTooLarge or one of reading the body.
func EventFromRequest(r *http.Request) (events.APIGatewayV2HTTPRequest, error) {
	var none events.APIGatewayV2HTTPRequest
	path, err := gatewayPath(r.URL)
	if err != nil {
		return none, err
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, MaxPayload+1))
	if err != nil {
		return none, fmt.Errorf("reading the body: %w", err)
	}
	if len(body) > MaxPayload {
		return none, ErrBodyTooLarge
	}
	now := time.Now().UTC()
	domain := hostname(r.Host)
	prefix, _, _ := strings.Cut(domain, ".")
	ev := events.APIGatewayV2HTTPRequest{
		Version:               "2.0",
		RouteKey:              "$default",
		RawPath:               path,
		RawQueryString:        r.URL.RawQuery,
		Cookies:               cookiesOf(r.Header),
		Headers:               eventHeaders(r, len(body)),
		QueryStringParameters: eventQuery(r.URL),
		RequestContext: events.APIGatewayV2HTTPRequestContext{
			RouteKey:     "$default",
			AccountID:    "123456789012",
			Stage:        "$default",
			RequestID:    rand.Text(),
			APIID:        "local",
			DomainName:   domain,
			DomainPrefix: prefix,
			Time:         now.Format("02/Jan/2006:15:04:05 -0700"),
			TimeEpoch:    now.UnixMilli(),
			HTTP: events.APIGatewayV2HTTPRequestContextHTTPDescription{
				Method: r.Method, Path: path, Protocol: r.Proto, SourceIP: hostname(r.RemoteAddr), UserAgent: r.UserAgent(),
			},
		},
	}
	if len(body) > 0 {
		ev.Body, ev.IsBase64Encoded = encodeBody(body, !isText(r.Header))
	}
	return ev, nil
}

// gatewayPath is the path as an HTTP API passes it. Recordings of the real one show that it decodes twice: after the
// first time it cuts the path at a question mark, and refuses what cannot be decoded a second time. So %2F becomes a
// slash and %3F ends the path; a client that needs them in a path is wrong there, and must be wrong here.
func gatewayPath(u *url.URL) (string, error) {
	once, _, _ := strings.Cut(u.Path, "?")
	twice, err := url.PathUnescape(once)
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrBadPath, err)
	}
	return twice, nil
}

// notPassed are the headers that concern one connection, and the cookies, which have a field of their own.
var notPassed = map[string]bool{
	"Cookie": true, "Connection": true, "Keep-Alive": true, "Proxy-Connection": true, "Te": true, "Trailer": true,
	"Transfer-Encoding": true, "Upgrade": true,
}

// eventHeaders gives names in lower case and the values of each joined by commas, with what a gateway adds.
func eventHeaders(r *http.Request, length int) map[string]string {
	h := make(map[string]string, len(r.Header)+5)
	for name, values := range r.Header {
		if !notPassed[name] {
			h[strings.ToLower(name)] = strings.Join(values, ",")
		}
	}
	h["host"] = r.Host
	if length > 0 { // a body in chunks comes without
		h["content-length"] = fmt.Sprint(length)
	}
	forwarded := append([]string(nil), r.Header["X-Forwarded-For"]...)
	h["x-forwarded-for"] = strings.Join(append(forwarded, hostname(r.RemoteAddr)), ",")
	h["x-forwarded-proto"], h["x-forwarded-port"] = "http", "80"
	if r.TLS != nil {
		h["x-forwarded-proto"], h["x-forwarded-port"] = "https", "443"
	}
	if _, port, err := net.SplitHostPort(r.Host); err == nil {
		h["x-forwarded-port"] = port
	}
	return h
}

func eventQuery(u *url.URL) map[string]string {
	var q map[string]string
	for name, values := range u.Query() {
		if q == nil {
			q = map[string]string{}
		}
		q[name] = strings.Join(values, ",")
	}
	return q
}

func cookiesOf(h http.Header) []string {
	var cookies []string
	for _, line := range h["Cookie"] {
		for cookie := range strings.SplitSeq(line, ";") {
			if cookie = strings.TrimSpace(cookie); cookie != "" {
				cookies = append(cookies, cookie)
			}
		}
	}
	return cookies
}

// isText tells whether an HTTP API passes a body of such headers as text; any other it passes in base64, a form's too.
func isText(h http.Header) bool {
	if h.Get("Content-Encoding") != "" {
		return false
	}
	kind, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	if err != nil {
		return false
	}
	return strings.HasPrefix(kind, "text/") || strings.HasSuffix(kind, "+json") || strings.HasSuffix(kind, "+xml") ||
		kind == "application/json" || kind == "application/xml" || kind == "application/javascript"
}

// hostname is an address without its port.
func hostname(address string) string {
	if host, _, err := net.SplitHostPort(address); err == nil {
		return host
	}
	return address
}

// WriteResponse answers a request with what a function gave, as an HTTP API does. A result that it could not use gives
// 500.
func WriteResponse(w http.ResponseWriter, resp events.APIGatewayV2HTTPResponse) {
	body := []byte(resp.Body)
	var err error
	if resp.IsBase64Encoded {
		body, err = base64.StdEncoding.DecodeString(resp.Body)
	}
	if err != nil || resp.StatusCode < 200 || resp.StatusCode > 599 {
		resp = events.APIGatewayV2HTTPResponse{StatusCode: http.StatusInternalServerError}
		body = []byte(`{"message":"Internal Server Error"}`)
		resp.Headers = map[string]string{"Content-Type": "application/json"}
	}
	h := w.Header()
	for name, value := range resp.Headers {
		h.Set(name, value)
	}
	for _, cookie := range resp.Cookies {
		h.Add("Set-Cookie", cookie)
	}
	h.Del("Content-Length") // the server counts what is written
	if h.Get("Content-Type") == "" && len(body) > 0 {
		h.Set("Content-Type", "text/plain; charset=utf-8")
	}
	w.WriteHeader(resp.StatusCode)
	_, _ = w.Write(body) // a client that has gone needs no answer
}
