package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/orrery-dev/orrery/local/gateway/testdata/probe/handler"
	"github.com/orrery-dev/orrery/shared/lambdahttp"
)

// server is a gateway with the routes of the test template and one function for all of them.
func server(t *testing.T, f Invoker, o Options) *httptest.Server {
	t.Helper()
	routes, functions, err := ReadTemplate("testdata/template.yaml", nil)
	if err != nil {
		t.Fatal(err)
	}
	routes = slices.DeleteFunc(routes, func(r Route) bool { return r.Pattern == DefaultPattern })
	all := map[string]Invoker{}
	for _, fn := range functions {
		all[fn.Name] = f
	}
	g, err := New(routes, all, o)
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(g)
	t.Cleanup(s.Close)
	return s
}

// probeFunction is the function of the test template.
func probeFunction(t *testing.T) Function {
	t.Helper()
	_, functions, err := ReadTemplate("testdata/template.yaml", map[string]string{"DatabaseUrl": "postgres://local"})
	if err != nil {
		t.Fatal(err)
	}
	return functions[slices.IndexFunc(functions, func(f Function) bool { return f.Name == "probe" })]
}

func inProcessProbe(t *testing.T, limits Limits) *Pool {
	t.Helper()
	p := InProcess(probeFunction(t), limits, Shared(lambdahttp.Handler(handler.New())))
	t.Cleanup(p.Close)
	return p
}

type answer struct {
	status int
	header http.Header
	body   string
}

func send(t *testing.T, method, url, body string, header http.Header) answer {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for name, values := range header {
		req.Header[name] = values
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{resp.StatusCode, resp.Header, string(text)}
}

func (a answer) seen(t *testing.T) handler.Seen {
	t.Helper()
	var s handler.Seen
	if err := json.Unmarshal([]byte(a.body), &s); err != nil {
		t.Fatalf("%v in %d %s", err, a.status, a.body)
	}
	return s
}

// testForms sends requests of every form to the probe. Both kinds of pool must pass it.
func testForms(t *testing.T, url string) {
	jsonType := http.Header{"Content-Type": {"application/json"}}
	tests := map[string]struct {
		method, path, body string
		header             http.Header
		want               handler.Seen
	}{
		"JSON": {"POST", "/v1/executions?a=1&a=%2F", `{"a":"ä"}`, jsonType,
			handler.Seen{Method: "POST", Path: "/v1/executions", Query: "a=1&a=%2F", Body: []byte(`{"a":"ä"}`)}},
		"binary": {"PUT", "/v1/raw", "\xff\x00\x01", nil, handler.Seen{Method: "PUT", Path: "/v1/raw", Body: []byte("\xff\x00\x01")}},
		"form": {"POST", "/v1/form", "a=1", http.Header{"Content-Type": {"application/x-www-form-urlencoded"}},
			handler.Seen{Method: "POST", Path: "/v1/form", Body: []byte("a=1")}},
		"no body":      {"POST", "/v1/executions", "", nil, handler.Seen{Method: "POST", Path: "/v1/executions"}},
		"encoded path": {"GET", "/v1/things/a%20%C3%A4", "", nil, handler.Seen{Method: "GET", Path: "/v1/things/a ä", ID: "a ä"}},
		"headers": {"DELETE", "/v1/x", "", http.Header{"Cookie": {"a=1; b=2"}, "X-Many": {"x", "y"}},
			handler.Seen{Method: "DELETE", Path: "/v1/x", Cookie: "a=1; b=2", Many: "x,y"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			a := send(t, test.method, url+test.path, test.body, test.header)
			got := a.seen(t)
			if got.Seconds != 20 {
				t.Errorf("the function has %d s, want 20", got.Seconds)
			}
			got.Env, got.Pid, got.Seconds = nil, 0, 0
			if len(got.Body) == 0 {
				got.Body = nil
			}
			g, _ := json.Marshal(got)
			w, _ := json.Marshal(test.want)
			if a.status != http.StatusAccepted || a.header.Get("Content-Type") != "application/json" {
				t.Errorf("got %d %v", a.status, a.header)
			}
			if string(g) != string(w) {
				t.Errorf("got  %s\nwant %s", g, w)
			}
			if cookies := a.header["Set-Cookie"]; !slices.Equal(cookies, []string{"first=1", "second=2"}) {
				t.Errorf("cookies are %q", cookies)
			}
			if a.header.Get("Apigw-Requestid") == "" {
				t.Error("the answer has no request id")
			}
		})
	}
	said := map[string]struct {
		method, path string
		status       int
		body         string
	}{
		"no route":        {"GET", "/v2/none", 404, `{"message":"Not Found"}`},
		"no such method":  {"GET", "/v1", 404, `{"message":"Not Found"}`},
		"bad path":        {"GET", "/v1/50%25off", 400, `{"message":"Bad Request"}`},
		"head":            {"HEAD", "/v1/things/1", 202, ""},
		"handler panic":   {"GET", "/v1/panic", 500, `{"error":{"code":"INTERNAL","message":"the handler panicked"}}`},
		"too much answer": {"GET", "/v1/large", 500, `{"error":{"code":"RESPONSE_TOO_LARGE","message":"the answer is larger than the 6291456 bytes that Lambda carries"}}`},
	}
	for name, test := range said {
		t.Run(name, func(t *testing.T) {
			if a := send(t, test.method, url+test.path, "", nil); a.status != test.status || a.body != test.body {
				t.Errorf("got %d %s, want %d %s", a.status, a.body, test.status, test.body)
			}
		})
	}
	for name, body := range map[string]string{
		"too large a body": strings.Repeat("x", lambdahttp.MaxPayload+1), "too large an event": strings.Repeat("x", lambdahttp.MaxPayload-100),
	} {
		t.Run(name, func(t *testing.T) {
			if a := send(t, "POST", url+"/v1/x", body, nil); a.status != 413 || a.body != `{"message":"Request Entity Too Large"}` {
				t.Errorf("got %d %.200s", a.status, a.body)
			}
		})
	}
}

func TestForms(t *testing.T) {
	testForms(t, server(t, inProcessProbe(t, Limits{}), Options{}).URL)
}

// invoker is a function that gives a result or fails.
type invoker func(context.Context, []byte) ([]byte, error)

func (i invoker) Invoke(ctx context.Context, event []byte) ([]byte, error) { return i(ctx, event) }

// TestResults has results and errors of functions, and what API Gateway makes of them.
func TestResults(t *testing.T) {
	tests := map[string]struct {
		result      string
		err         error
		status      int
		contentType string
		body        string
	}{
		"an answer":       {`{"statusCode":201,"headers":{"content-type":"text/x"},"body":"b"}`, nil, 201, "text/x", "b"},
		"without a type":  {`{"statusCode":200,"body":"b"}`, nil, 200, "text/plain; charset=utf-8", "b"},
		"base64":          {`{"statusCode":200,"body":"YQ==","isBase64Encoded":true}`, nil, 200, "text/plain; charset=utf-8", "a"},
		"a string":        {`"hello"`, nil, 200, "application/json", "hello"},
		"an object":       {`{"a": 1}`, nil, 200, "application/json", `{"a": 1}`},
		"null":            {`null`, nil, 200, "application/json", "null"},
		"no JSON":         {`{`, nil, 500, "application/json", `{"message":"Internal Server Error"}`},
		"no status":       {`{"statusCode":"x"}`, nil, 500, "application/json", `{"message":"Internal Server Error"}`},
		"a small status":  {`{"statusCode":7}`, nil, 500, "application/json", `{"message":"Internal Server Error"}`},
		"a failure":       {"", &FunctionError{"T", "m"}, 500, "application/json", `{"message":"Internal Server Error"}`},
		"a timeout":       {"", ErrTimeout, 500, "application/json", `{"message":"Internal Server Error"}`},
		"a busy function": {"", ErrBusy, 503, "application/json", `{"message":"Service Unavailable"}`},
		"a closed pool":   {"", ErrClosed, 503, "application/json", `{"message":"Service Unavailable"}`},
		"too late":        {"", context.DeadlineExceeded, 503, "application/json", `{"message":"Service Unavailable"}`},
	}
	quiet := Options{Log: slog.New(slog.DiscardHandler)}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := server(t, invoker(func(context.Context, []byte) ([]byte, error) { return []byte(test.result), test.err }), quiet)
			a := send(t, "GET", s.URL+"/v1/x", "", nil)
			if a.status != test.status || a.body != test.body || a.header.Get("Content-Type") != test.contentType {
				t.Errorf("got %d %s %s", a.status, a.header.Get("Content-Type"), a.body)
			}
			if (a.header.Get("Retry-After") == "1") != (test.status == 503) {
				t.Errorf("Retry-After is %q", a.header.Get("Retry-After"))
			}
		})
	}
}

// TestRouteInEvent tells the function its route and the parameters of the path.
func TestRouteInEvent(t *testing.T) {
	var event events.APIGatewayV2HTTPRequest
	s := server(t, invoker(func(_ context.Context, payload []byte) ([]byte, error) {
		return []byte(`{}`), json.Unmarshal(payload, &event)
	}), Options{})
	send(t, "PATCH", s.URL+"/v1/a/b%20c", "", nil)
	if event.RouteKey != "ANY /v1/{proxy+}" || event.RequestContext.RouteKey != event.RouteKey || event.PathParameters["proxy"] != "a/b c" {
		t.Errorf("got %q %q %v", event.RouteKey, event.RequestContext.RouteKey, event.PathParameters)
	}
}

// TestGatewayTimeout answers 503 when the gateway's time is over; the function runs on.
func TestGatewayTimeout(t *testing.T) {
	var log bytes.Buffer
	ended := make(chan bool, 1)
	p := InProcess(probeFunction(t), Limits{Instances: 1}, Shared(func(ctx context.Context, _ json.RawMessage) (events.APIGatewayV2HTTPResponse, error) {
		<-ctx.Done()
		ended <- errors.Is(ctx.Err(), context.Canceled)
		return events.APIGatewayV2HTTPResponse{}, nil
	}))
	s := server(t, p, Options{Timeout: 20 * time.Millisecond, Log: slog.New(slog.NewTextHandler(&log, nil))})
	if a := send(t, "GET", s.URL+"/v1/x", "", nil); a.status != 503 {
		t.Errorf("got %d %s", a.status, a.body)
	}
	if len(ended) > 0 {
		t.Error("the function was ended")
	}
	p.Close()
	if !<-ended {
		t.Error("the function was not ended by the close of its pool")
	}
	if !strings.Contains(log.String(), "function=probe") {
		t.Errorf("the log has %s", &log)
	}
}
