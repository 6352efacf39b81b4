package errand_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/orrery-dev/orrery/shared/builtin"
	"github.com/orrery-dev/orrery/shared/errand"
	"github.com/orrery-dev/orrery/shared/wire"
)

// echo answers with what it was asked, and by its path with what a test wants.
func echo(t *testing.T) (base, host string, gone chan struct{}) {
	t.Helper()
	gone = make(chan struct{}, 1)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header()["Date"] = nil
		switch r.URL.Path {
		case "/json":
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `{"b": 1.50, "a": [null]}`)
		case "/missing":
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprint(w, `not here`)
		case "/large":
			io.Copy(w, strings.NewReader(strings.Repeat("x", builtin.MaxAnswer+1)))
		case "/binary":
			w.Write([]byte("a\x00b"))
		case "/slow":
			<-r.Context().Done()
			gone <- struct{}{}
		default:
			w.Header().Set("Content-Type", "text/plain")
			fmt.Fprintf(w, "%s %s key=%s auth=%s x=%s type=%s body=%s", r.Method, r.URL.RequestURI(), r.Header.Get("Idempotency-Key"),
				r.Header.Get("Authorization"), r.Header.Get("X-One"), r.Header.Get("Content-Type"), body)
		}
	}))
	t.Cleanup(s.Close)
	return s.URL, strings.TrimPrefix(s.URL, "http://"), gone
}

func TestHTTP(t *testing.T) {
	base, host, _ := echo(t)
	file := filepath.Join(t.TempDir(), "connections.json")
	connections := `{
		"shop": {"hosts": "` + host + `", "basic": {"user": "u", "password": "secret-p"}, "query": {"key": "secret-q"}, "body": {"token": "secret-b"}},
		"bank": {"hosts": "bank.example.com", "headers": {"X-One": "secret-h"}}}`
	if err := os.WriteFile(file, []byte(connections), 0o600); err != nil {
		t.Fatal(err)
	}
	d := open(t, errand.Config{HTTPAllow: host, Connections: file})
	answered := func(body string) string {
		return `"ResponseBody":"` + strings.ReplaceAll(body, `"`, `\"`) + `","StatusCode":200,"StatusText":"OK"}`
	}
	for _, tt := range []struct{ name, input, output, code, cause string }{
		{"get", `"ApiEndpoint":"BASE/x?a=1","Method":"GET","QueryParameters":{"b":[1,"two"],"a":"2"},"Headers":{"X-One":["p","q"]}`,
			answered("GET /x?a=2&b=1&b=two key=key-1 auth= x=p,q type= body="), "", ""},
		{"json answer", `"ApiEndpoint":"BASE/json","Method":"GET"`,
			`"ResponseBody":{"b":1.50,"a":[null]},"StatusCode":200,"StatusText":"OK"}`, "", ""},
		{"json body", `"ApiEndpoint":"BASE/","Method":"POST","RequestBody":{"n":1.0}`,
			answered(`POST / key=key-1 auth= x= type=application/json; charset=UTF-8 body={"n":1.0}`), "", ""},
		{"text body", `"ApiEndpoint":"BASE/","Method":"PUT","RequestBody":"plain","Headers":{"Content-Type":"text/plain","Idempotency-Key":"mine"}`,
			answered(`PUT / key=mine auth= x= type=text/plain body=plain`), "", ""},
		{"form", `"ApiEndpoint":"BASE/","Method":"POST","RequestBody":{"a":{"b":"x y"},"l":[1,2]},"Transform":{"RequestBodyEncoding":"URL_ENCODED"}`,
			answered(`POST / key=key-1 auth= x= type=application/x-www-form-urlencoded body=a%5Bb%5D=x+y&l%5B0%5D=1&l%5B1%5D=2`), "", ""},
		{"form of repeats", `"ApiEndpoint":"BASE/","Method":"POST","RequestBody":{"l":[1,2]},
			"Transform":{"RequestBodyEncoding":"URL_ENCODED","RequestEncodingOptions":{"ArrayFormat":"REPEAT"}}`,
			answered(`POST / key=key-1 auth= x= type=application/x-www-form-urlencoded body=l=1&l=2`), "", ""},
		{"form of commas", `"ApiEndpoint":"BASE/","Method":"POST","RequestBody":{"l":[1,2]},
			"Transform":{"RequestBodyEncoding":"URL_ENCODED","RequestEncodingOptions":{"ArrayFormat":"COMMAS"}}`,
			answered(`POST / key=key-1 auth= x= type=application/x-www-form-urlencoded body=l=1%2C2`), "", ""},
		{"form of brackets", `"ApiEndpoint":"BASE/","Method":"POST","RequestBody":{"l":[1]},
			"Transform":{"RequestBodyEncoding":"URL_ENCODED","RequestEncodingOptions":{"ArrayFormat":"BRACKETS"}}`,
			answered(`POST / key=key-1 auth= x= type=application/x-www-form-urlencoded body=l%5B%5D=1`), "", ""},
		{"connection", `"ApiEndpoint":"BASE/","Method":"POST","RequestBody":{"n":1},
			"Authentication":{"ConnectionArn":"arn:aws:events:eu-west-1:123456789012:connection/shop/0-1"}`,
			answered(`POST /?key=secret-q key=key-1 auth=Basic dTpzZWNyZXQtcA== x= type=application/json; charset=UTF-8 body={"n":1,"token":"secret-b"}`), "", ""},
		{"status", `"ApiEndpoint":"BASE/missing","Method":"GET"`, "", "States.Http.StatusCode.404", "not here"},
		{"too large", `"ApiEndpoint":"BASE/large?secret=1","Method":"GET"`, "", "States.DataLimitExceeded", "builtin: GET BASE/large: the answer has more than 1048576 bytes"},
		{"binary", `"ApiEndpoint":"BASE/binary","Method":"GET"`, "", "States.TaskFailed", "The answer cannot be stored"},
		{"nobody listens", `"ApiEndpoint":"BASE:1/x","Method":"GET"`, "", "States.Runtime", "'ApiEndpoint' must be the URL"},
		{"forbidden", `"ApiEndpoint":"http://169.254.169.254/latest","Method":"GET"`, "", "States.Permissions", "the host 169.254.169.254"},
		{"a user", `"ApiEndpoint":"http://u:p@x/","Method":"GET"`, "", "States.Runtime", "without a user"},
		{"a header of the connection", `"ApiEndpoint":"BASE/","Method":"GET","Headers":{"host":"x"}`, "", "States.Runtime", "The header 'host' is not supported"},
		{"no such connection", `"ApiEndpoint":"BASE/","Method":"GET","InvocationConfig":{"ConnectionArn":"none"}`, "",
			"Events.ConnectionResource.ResourceNotFound", "There is no connection 'none'"},
		{"a connection elsewhere", `"ApiEndpoint":"BASE/","Method":"GET","InvocationConfig":{"ConnectionArn":"bank"}`, "",
			"States.Permissions", "The connection 'bank' is not for the host"},
	} {
		r := d.do(t, errand.HTTPTask, "{"+strings.ReplaceAll(tt.input, "BASE", base)+"}")
		cause := strings.ReplaceAll(tt.cause, "BASE", base)
		if !strings.HasSuffix(r.output, tt.output) || r.code != tt.code || !strings.Contains(r.cause, cause) {
			t.Errorf("%s: got %+v, want %s %s %s", tt.name, r, tt.output, tt.code, cause)
		}
		if strings.Contains(r.cause, "secret") {
			t.Errorf("%s: the cause has a secret: %s", tt.name, r.cause)
		}
	}
}

// A server that is not there, and one that breaks off, are failures that the document can tell.
func TestHTTPSocket(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	defer s.Close()
	d := open(t, errand.Config{HTTPAllow: "127.0.0.1:*"})
	for _, url := range []string{s.URL, "http://127.0.0.1:1"} {
		if r := d.do(t, errand.HTTPTask, `{"ApiEndpoint":"`+url+`/p?secret=1","Method":"GET"}`); r.code != "States.Http.Socket" || r.final || strings.Contains(r.cause, "secret") {
			t.Errorf("%s: %+v", url, r)
		}
	}
}

// A call whose task is cancelled, or over time, ends.
func TestCallsEnd(t *testing.T) {
	base, host, gone := echo(t)
	d := open(t, errand.Config{HTTPAllow: host})
	input := []byte(`{"ApiEndpoint":"` + base + `/slow","Method":"GET"}`)
	left := func(what string) {
		select {
		case <-gone:
		case <-time.After(20 * time.Second):
			t.Fatalf("%s does not end the call", what)
		}
	}
	d.cancelled["c"] = true
	d.hand(t, wire.Assignment{Token: "c", Task: errand.HTTPTask, Input: input})
	left("a cancel")
	d.report(t)
	d.hand(t, wire.Assignment{Token: "late", Task: errand.HTTPTask, Input: input, TimeoutMS: 50})
	left("the end of its time")
	if r := d.report(t); r.code != "States.Timeout" {
		t.Errorf("after its time: %+v", r)
	}
	if !d.held["c"] {
		t.Error("the call was not listed in a heartbeat")
	}
}

func TestReadConnections(t *testing.T) {
	for _, content := range []string{`{`, `[]`, `{"a": null}`, `{"a": {"hosts": ""}}`, `{"a": {"hosts": "x y"}}`, `{"a": {"hosts": "x", "secret": "s"}}`} {
		file := filepath.Join(t.TempDir(), "c.json")
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := errand.New(t.Context(), errand.Config{HTTPAllow: "x", Connections: file}, nil); err == nil {
			t.Errorf("%s is accepted", content)
		}
	}
	for _, c := range []errand.Config{{HTTPAllow: "a b"}, {HTTPAllow: "x", Connections: "/nowhere"}} {
		if _, err := errand.New(t.Context(), c, nil); err == nil {
			t.Errorf("%+v is accepted", c)
		}
	}
	if s, err := errand.New(t.Context(), errand.Config{}, nil); s != nil || err != nil {
		t.Errorf("a server of nothing: %v, %v", s, err)
	}
}
