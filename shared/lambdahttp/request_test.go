package lambdahttp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"pgregory.net/rapid"
)

// seen is what a handler can see of a request, without the headers that every event has.
type seen struct {
	Method, Path, Escaped, Query, Host, Remote, Body string
	Length                                           int64
	Header                                           http.Header
}

func look(t require, r *http.Request) seen {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	h := r.Header.Clone()
	maps.DeleteFunc(h, func(name string, _ []string) bool {
		return strings.HasPrefix(name, "X-Forwarded-") || slices.Contains([]string{"Accept", "User-Agent", "X-Amzn-Trace-Id"}, name)
	})
	return seen{r.Method, r.URL.Path, r.URL.EscapedPath(), r.URL.RawQuery, r.Host, r.RemoteAddr, string(body), r.ContentLength, h}
}

// require is what *testing.T and *rapid.T have in common here.
type require interface{ Fatal(args ...any) }

func readEvent(t *testing.T, name string) json.RawMessage {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestEvents reads events as Lambda delivers them. The handler must see what a server would have shown it.
func TestEvents(t *testing.T) {
	const (
		api = "a1b2c3d4e5.execute-api.eu-central-1.amazonaws.com"
		fn  = "2cxn22odiwguak4feg4jtt7cwm0ziblr.lambda-url.eu-central-1.on.aws"
		who = "203.0.113.7:0"
		id  = "ATfSmjLgPHcESJw"
	)
	tests := map[string]seen{
		"json_body": {"POST", "/v1/executions", "/v1/executions", "", api, who,
			`{"workflow":"orders","input":{"customer":"Zoë"}}`, 49, http.Header{
				"Content-Type": {"application/json"}, "Content-Length": {"49"}, "Orrery-Namespace": {"shop"}, "Orrery-Request-Id": {id}}},
		"base64_body": {"POST", "/v1/workers/poll", "/v1/workers/poll", "", api, who, "a=1&b=\xff\x00", 8, http.Header{
			"Content-Type": {"application/octet-stream"}, "Content-Length": {"8"}, "Orrery-Request-Id": {id}}},
		"missing_body": {"POST", "/v1/executions/order 7/cancel", "/v1/executions/order%207/cancel", "", api, who, "", 0, http.Header{
			"Content-Length": {"0"}, "Orrery-Request-Id": {id}}},
		"wrong_route": {"GET", "/v2/nothing", "/v2/nothing", "status=running&status=failed&name=a%2Fb+c&empty=", api, who, "", 0,
			http.Header{"Orrery-Request-Id": {id}}},
		"cookies": {"GET", "/ui/executions", "/ui/executions", "", api, who, "", 0, http.Header{
			"Cookie": {"session=abc123; theme=dark"}, "Accept-Language": {"de,en"}, "Orrery-Request-Id": {id}}},
		"function_url": {"PUT", "/v1/a/b/space value", "/v1/a%2Fb/space%20value", "q=%3F", fn, who, "hi", 2, http.Header{
			"Cookie": {"session=abc123; theme=dark"}, "Content-Type": {"text/plain"}, "Content-Length": {"2"},
			"Orrery-Request-Id": {"d16a6b55-dea9-4b23-8499-eb85c3d2d904"}}},
		"stage": {"HEAD", "/v1/health", "/v1/health", "", api, who, "", 0, http.Header{"Orrery-Request-Id": {id}}},
	}
	for name, want := range tests {
		t.Run(name, func(t *testing.T) {
			r, err := requestOf(t.Context(), readEvent(t, name))
			if err != nil {
				t.Fatal(err)
			}
			if r.RequestURI != r.URL.RequestURI() {
				t.Errorf("RequestURI is %q, the URL says %q", r.RequestURI, r.URL.RequestURI())
			}
			equal(t, look(t, r), want)
		})
	}
}

func equal(t *testing.T, got, want any) {
	t.Helper()
	g, _ := json.MarshalIndent(got, "", " ")
	w, _ := json.MarshalIndent(want, "", " ")
	if string(g) != string(w) {
		t.Errorf("got\n%s\nwant\n%s", g, w)
	}
}

// TestNoHTTPEvent sends what is no HTTP event: the function answers, and says what is wrong.
func TestNoHTTPEvent(t *testing.T) {
	h := Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the handler ran") }))
	with := func(change func(map[string]any)) string {
		var ev map[string]any
		if err := json.Unmarshal(readEvent(t, "base64_body"), &ev); err != nil {
			t.Fatal(err)
		}
		change(ev)
		text, _ := json.Marshal(ev)
		return string(text)
	}
	tests := map[string]struct{ payload, says string }{
		"scheduled event":  {string(readEvent(t, "scheduled")), `version is \"0\"`},
		"format 1.0":       {string(readEvent(t, "format_1")), `version is \"1.0\"`},
		"nothing":          {`{}`, `version is \"\"`},
		"null":             {`null`, `version is \"\"`},
		"an array":         {`[1]`, "not an HTTP event"},
		"no JSON":          {`{`, "not an HTTP event"},
		"no method":        {`{"version":"2.0"}`, "method is missing"},
		"body not base64":  {with(func(ev map[string]any) { ev["body"] = "%%%" }), "the body is not base64"},
		"path not escaped": {strings.Replace(string(readEvent(t, "function_url")), "a%2Fb", "a%zz", 1), "rawPath"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			resp, err := h(t.Context(), json.RawMessage(test.payload))
			if err != nil {
				t.Fatal(err)
			}
			if resp.StatusCode != 400 || !strings.Contains(resp.Body, `{"error":{"code":"MALFORMED_EVENT"`) ||
				!strings.Contains(resp.Body, test.says) {
				t.Errorf("got %d %s, want 400 with %q", resp.StatusCode, resp.Body, test.says)
			}
		})
	}
}

// TestOwnRequestID keeps the id that a client brings.
func TestOwnRequestID(t *testing.T) {
	ev := strings.Replace(string(readEvent(t, "json_body")), `"accept": "*/*"`, `"orrery-request-id": "mine"`, 1)
	r, err := requestOf(t.Context(), []byte(ev))
	if err != nil {
		t.Fatal(err)
	}
	if got := r.Header["Orrery-Request-Id"]; len(got) != 1 || got[0] != "mine" {
		t.Errorf("got %q, want mine", got)
	}
}

// drawRequest makes a request as a server has read it, of what an HTTP API can pass on: no percent sign or question mark
// in the decoded path (TestGatewayPath says what becomes of those).
func drawRequest(t *rapid.T) *http.Request {
	text := rapid.StringMatching(`[ -~äλ世]{0,12}`)
	token := rapid.StringMatching(`[A-Za-z][A-Za-z0-9-]{0,8}`)
	query := url.Values{}
	for range rapid.IntRange(0, 4).Draw(t, "parameters") {
		query.Add(text.Draw(t, "name"), text.Draw(t, "value"))
	}
	u := &url.URL{
		Path:     "/" + rapid.StringMatching(`[ !#$&-;=@-Z_a-z~äλ世/]{0,20}`).Draw(t, "path"),
		RawQuery: query.Encode(),
	}
	r := &http.Request{
		Method: rapid.SampledFrom([]string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}).Draw(t, "method"),
		URL:    u, RequestURI: u.RequestURI(), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{}, Body: http.NoBody,
		Host:       token.Draw(t, "host") + ".example.com" + rapid.SampledFrom([]string{"", ":8080"}).Draw(t, "port"),
		RemoteAddr: rapid.SampledFrom([]string{"192.0.2.1:0", "[2001:db8::1]:0"}).Draw(t, "remote"),
	}
	for range rapid.IntRange(0, 4).Draw(t, "headers") {
		r.Header.Add("x-"+token.Draw(t, "header"), strings.TrimSpace(text.Draw(t, "value")))
	}
	if kind := rapid.SampledFrom([]string{"", "application/json", "text/plain; charset=utf-8", "image/png"}).Draw(t, "type"); kind != "" {
		r.Header.Set("Content-Type", kind)
	}
	if n := rapid.IntRange(0, 3).Draw(t, "cookies"); n > 0 {
		cookies := rapid.SliceOfN(rapid.StringMatching(`[a-z]{1,4}=[!-:<-~]{0,6}`), n, n).Draw(t, "cookie")
		r.Header.Set("Cookie", strings.Join(cookies, "; "))
	}
	if body := rapid.SliceOfN(rapid.Byte(), 0, 40).Draw(t, "body"); len(body) > 0 {
		r.Body, r.ContentLength = io.NopCloser(strings.NewReader(string(body))), int64(len(body))
		r.Header.Set("Content-Length", strconv.Itoa(len(body)))
	}
	return r
}

// TestRoundTrip turns requests into events and back. A handler sees the same request, but that values of a header given
// several times are one, and that it has an id.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := drawRequest(t)
		header := r.Header.Clone()
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Fatal(err)
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		ev, err := EventFromRequest(r)
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(ev)
		if err != nil {
			t.Fatal(err)
		}
		back, err := requestOf(context.Background(), text)
		if err != nil {
			t.Fatal(err)
		}
		r.Body, r.Header = io.NopCloser(bytes.NewReader(body)), header
		for name, values := range header {
			header[name] = []string{strings.Join(values, ",")}
		}
		header["Orrery-Request-Id"] = []string{ev.RequestContext.RequestID}
		got, want := look(t, back), look(t, r)
		g, _ := json.Marshal(got)
		w, _ := json.Marshal(want)
		if string(g) != string(w) {
			t.Fatalf("got  %s\nwant %s\nevent %s", g, w, text)
		}
	})
}

// TestRoundTripOfPath sends any path through a function URL's event, which has it as it was sent.
func TestRoundTripOfPath(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		path := "/" + rapid.StringMatching(`([a-z/;:@&=+$,~-]|%2[0-9A-F]|%3F|%CE%BB|%2f){0,12}`).Draw(t, "path")
		var ev events.APIGatewayV2HTTPRequest
		ev.RawPath, ev.RequestContext.DomainName = path, "id.lambda-url.eu-central-1.on.aws"
		u, err := urlOf(&ev)
		if err != nil {
			t.Fatal(err)
		}
		if u.EscapedPath() != path {
			t.Fatalf("got %q, want %q", u.EscapedPath(), path)
		}
	})
}

// TestGatewayPath has paths as they were sent to a real HTTP API and as its function got them.
func TestGatewayPath(t *testing.T) {
	tests := []struct {
		sent, passed string
		err          error
	}{
		{"/v1/plain", "/v1/plain", nil},
		{"/v1/space%20value", "/v1/space value", nil},
		{"/v1/question%3Fvalue", "/v1/question", nil},
		{"/v1/percent%25done", "", ErrBadPath},
		{"/v1/hash%23value", "/v1/hash#value", nil},
		{"/v1/slash%2Fvalue", "/v1/slash/value", nil},
		{"/v1/unicode-%CE%BB-%E4%B8%96%E7%95%8C", "/v1/unicode-λ-世界", nil},
		{"/v1/literal%252Fvalue", "/v1/literal/value", nil},
		{"/v1/literal%253Fvalue", "/v1/literal?value", nil},
		{"/v1/literal%2525value", "/v1/literal%value", nil},
	}
	for _, test := range tests {
		ev, err := EventFromRequest(httptest.NewRequest("GET", test.sent, nil))
		if !errors.Is(err, test.err) || ev.RawPath != test.passed || ev.RequestContext.HTTP.Path != test.passed {
			t.Errorf("%s: got %q, %v, want %q, %v", test.sent, ev.RawPath, err, test.passed, test.err)
		}
	}
}

// TestEventFromRequest compares a whole event with what API Gateway documents.
func TestEventFromRequest(t *testing.T) {
	r := httptest.NewRequest("POST", "http://api.example.com:8080/v1/a?x=1&x=2&y=%20", strings.NewReader(`{"a":1}`))
	r.RemoteAddr = "192.0.2.1:5000"
	r.Header = http.Header{"Content-Type": {"application/json"}, "User-Agent": {"curl"}, "X-Many": {"a", "b"},
		"Cookie": {"a=1; b=2", "c=3"}, "Connection": {"keep-alive"}, "X-Forwarded-For": {"198.51.100.1"}}
	ev, err := EventFromRequest(r)
	if err != nil {
		t.Fatal(err)
	}
	at, err := time.Parse("02/Jan/2006:15:04:05 -0700", ev.RequestContext.Time)
	if err != nil || at.Unix() != ev.RequestContext.TimeEpoch/1000 {
		t.Errorf("time is %q, timeEpoch %d", ev.RequestContext.Time, ev.RequestContext.TimeEpoch)
	}
	if len(ev.RequestContext.RequestID) < 16 {
		t.Errorf("requestId is %q", ev.RequestContext.RequestID)
	}
	ev.RequestContext.Time, ev.RequestContext.TimeEpoch, ev.RequestContext.RequestID = "", 0, ""
	equal(t, ev, events.APIGatewayV2HTTPRequest{
		Version: "2.0", RouteKey: "$default", RawPath: "/v1/a", RawQueryString: "x=1&x=2&y=%20",
		Cookies: []string{"a=1", "b=2", "c=3"},
		Headers: map[string]string{"content-type": "application/json", "content-length": "7", "host": "api.example.com:8080",
			"user-agent": "curl", "x-many": "a,b", "x-forwarded-for": "198.51.100.1,192.0.2.1", "x-forwarded-proto": "http",
			"x-forwarded-port": "8080"},
		QueryStringParameters: map[string]string{"x": "1,2", "y": " "},
		RequestContext: events.APIGatewayV2HTTPRequestContext{RouteKey: "$default", AccountID: "123456789012", Stage: "$default",
			APIID: "local", DomainName: "api.example.com", DomainPrefix: "api",
			HTTP: events.APIGatewayV2HTTPRequestContextHTTPDescription{Method: "POST", Path: "/v1/a", Protocol: "HTTP/1.1",
				SourceIP: "192.0.2.1", UserAgent: "curl"}},
		Body: `{"a":1}`,
	})
}

// TestBodyForms tells when a body travels as text.
func TestBodyForms(t *testing.T) {
	tests := map[string]struct {
		header http.Header
		body   string
		base64 bool
	}{
		"json":            {http.Header{"Content-Type": {"application/json"}}, `{}`, false},
		"problem":         {http.Header{"Content-Type": {"application/problem+json"}}, `{}`, false},
		"json, not UTF-8": {http.Header{"Content-Type": {"application/json"}}, "\xff", true},
		"packed json":     {http.Header{"Content-Type": {"application/json"}, "Content-Encoding": {"gzip"}}, `{}`, true},
		"form":            {http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}, `a=1`, true},
		"no type":         {http.Header{}, `a=1`, true},
		"nothing":         {http.Header{}, ``, false},
	}
	for name, test := range tests {
		r := httptest.NewRequest("POST", "/", strings.NewReader(test.body))
		r.Header = test.header
		ev, err := EventFromRequest(r)
		if err != nil {
			t.Fatal(err)
		}
		if ev.IsBase64Encoded != test.base64 {
			t.Errorf("%s: base64 is %v", name, ev.IsBase64Encoded)
		}
	}
}

// TestLargeBody refuses a body that Lambda would not carry, without reading all of it.
func TestLargeBody(t *testing.T) {
	source := strings.NewReader(strings.Repeat("x", MaxPayload+1000))
	_, err := EventFromRequest(httptest.NewRequest("POST", "/", source))
	if !errors.Is(err, ErrBodyTooLarge) || source.Len() == 0 {
		t.Errorf("got %v with %d bytes left", err, source.Len())
	}
}
