package lambdahttp

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/aws/aws-lambda-go/events"
)

// requestOf makes the request that an event stands for, as a server would have read it. The error says in words for the
// sender why the event is none of an HTTP request.
func requestOf(ctx context.Context, payload []byte) (*http.Request, error) {
	var ev events.APIGatewayV2HTTPRequest
	if err := json.Unmarshal(payload, &ev); err != nil {
		return nil, fmt.Errorf("the event is not an HTTP event: %w", err)
	}
	if ev.Version != "2.0" {
		return nil, fmt.Errorf("the event is not an HTTP event of payload format 2.0: its version is %.20q", ev.Version)
	}
	if ev.RequestContext.HTTP.Method == "" {
		return nil, fmt.Errorf("the event is not an HTTP event: requestContext.http.method is missing")
	}
	u, err := urlOf(&ev)
	if err != nil {
		return nil, err
	}
	body, err := bodyOf(&ev)
	if err != nil {
		return nil, err
	}
	header := headerOf(&ev)
	host := header.Get("Host")
	header.Del("Host") // a server keeps it in Request.Host alone
	if host == "" {
		host = ev.RequestContext.DomainName
	}
	r := &http.Request{
		Method:        ev.RequestContext.HTTP.Method,
		URL:           u,
		RequestURI:    u.RequestURI(),
		Proto:         "HTTP/1.1",
		ProtoMajor:    1,
		ProtoMinor:    1,
		Header:        header,
		Host:          host,
		Body:          http.NoBody,
		ContentLength: int64(len(body)),
		RemoteAddr:    remoteAddr(ev.RequestContext.HTTP.SourceIP),
	}
	if major, minor, ok := http.ParseHTTPVersion(ev.RequestContext.HTTP.Protocol); ok {
		r.Proto, r.ProtoMajor, r.ProtoMinor = ev.RequestContext.HTTP.Protocol, major, minor
	}
	if len(body) > 0 {
		r.Body = io.NopCloser(bytes.NewReader(body))
	}
	return r.WithContext(ctx), nil
}

// urlOf gives path and query. A function URL passes the path as it was sent; an HTTP API passes it decoded, and puts the
// name of its stage before it unless that is $default.
func urlOf(ev *events.APIGatewayV2HTTPRequest) (*url.URL, error) {
	u := &url.URL{Path: ev.RawPath, RawQuery: ev.RawQueryString}
	if strings.Contains(ev.RequestContext.DomainName, ".lambda-url.") {
		path, err := url.PathUnescape(ev.RawPath)
		if err != nil {
			return nil, fmt.Errorf("rawPath: %w", err)
		}
		u.Path, u.RawPath = path, ev.RawPath // RawPath counts only where it is not the usual encoding of Path
	} else if stage := ev.RequestContext.Stage; stage != "" && stage != "$default" {
		if rest, ok := strings.CutPrefix(ev.RawPath, "/"+stage); ok && (rest == "" || rest[0] == '/') {
			u.Path = rest
		}
	}
	if u.Path == "" {
		u.Path = "/"
	}
	return u, nil
}

func bodyOf(ev *events.APIGatewayV2HTTPRequest) ([]byte, error) {
	if !ev.IsBase64Encoded {
		return []byte(ev.Body), nil
	}
	body, err := base64.StdEncoding.DecodeString(ev.Body)
	if err != nil {
		return nil, fmt.Errorf("the body is not base64: %w", err)
	}
	return body, nil
}

// headerOf gives the headers, with the cookies among them as HTTP has them, and with the request's id unless the client
// brought its own. Ids of API Gateway are base64 text; without their padding they have the form that the API takes.
func headerOf(ev *events.APIGatewayV2HTTPRequest) http.Header {
	h := make(http.Header, len(ev.Headers)+2)
	for name, value := range ev.Headers {
		h.Set(name, value)
	}
	if len(ev.Cookies) > 0 {
		h.Set("Cookie", strings.Join(ev.Cookies, "; "))
	}
	if id := strings.TrimRight(ev.RequestContext.RequestID, "="); id != "" && h.Get(requestIDHeader) == "" {
		h.Set(requestIDHeader, id)
	}
	return h
}

// remoteAddr is host:port, as a server has it; the port of the client is not known.
func remoteAddr(ip string) string {
	if ip == "" {
		return ""
	}
	return net.JoinHostPort(ip, "0")
}
