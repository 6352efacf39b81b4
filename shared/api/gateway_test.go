package api_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/orrery-dev/orrery/shared/api"
	"github.com/orrery-dev/orrery/shared/auth"
	"github.com/orrery-dev/orrery/shared/frontend"
	"github.com/orrery-dev/orrery/shared/lambdahttp"
	"github.com/orrery-dev/orrery/shared/wire"
)

// TestResolveThroughAGateway gives word on a unit whose key has slashes and brackets, through the function behind an HTTP API. The
// key is in the body: a path parameter of an HTTP API ends at a slash, escaped or not.
func TestResolveThroughAGateway(t *testing.T) {
	s := newSurface(t)
	s.publish("orders", `{"StartAt":"Each","States":{"Each":{"Type":"Map","ItemsPath":"$.items","End":true,"ItemProcessor":{"StartAt":"Both","States":{
		"Both":{"Type":"Parallel","End":true,"Branches":[{"StartAt":"Pay","States":{"Pay":{"Type":"Task","Resource":"task:pay","End":true}}}]}}}}}}`)
	s.start("orders", "grüße", `{"items":[1,2]}`)
	f := frontend.New(s.store, frontend.Options{})
	function := lambdahttp.Handler(api.ForFunction("cancel", api.Services{Executions: f}, api.Options{
		Authenticator: auth.Open{}, Log: slog.New(slog.DiscardHandler), MaxBody: 64 << 10, MaxPayload: 16 << 10, Deadline: time.Minute,
	}))
	call := func(path, body string) events.APIGatewayV2HTTPResponse {
		t.Helper()
		// The wait for an owner, who is not there, ends soon.
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		event, err := json.Marshal(events.APIGatewayV2HTTPRequest{
			Version: "2.0", RouteKey: "POST /v1/executions/{id}/resolve", RawPath: path, Body: body,
			Headers: map[string]string{"content-type": "application/json", "host": "api.example.com"},
			RequestContext: events.APIGatewayV2HTTPRequestContext{
				Stage: "$default", HTTP: events.APIGatewayV2HTTPRequestContextHTTPDescription{Method: "POST", Path: path, Protocol: "HTTP/1.1", SourceIP: "203.0.113.7"},
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		r, err := function(ctx, event)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	const path, unit = "/v1/executions/grüße/resolve", "Each[1]/Both[0]/Pay"
	r := call(path, `{"unit":"`+unit+`","resolution":"completed","output":{"receipt":7}}`)
	var got wire.ResolveResponse
	if err := json.Unmarshal([]byte(r.Body), &got); err != nil || r.StatusCode != 202 || got.Confirmed {
		t.Errorf("%d %s", r.StatusCode, r.Body)
	}
	var kind, entered, output string
	if err := s.pool.QueryRow(t.Context(), "select kind, unit, output from orrery.inbox").Scan(&kind, &entered, &output); err != nil {
		t.Fatal(err)
	}
	if kind != "resolve" || entered != unit || output != `{"receipt":7}` {
		t.Errorf("the inbox has %s of %s with %s", kind, entered, output)
	}
	for _, wrong := range []string{`{"resolution":"retry"}`, `{"unit":"","resolution":"retry"}`, `{"unit":"` + strings.Repeat("x", 4097) + `","resolution":"retry"}`, `{"unit":"A","resolution":"forget"}`} {
		if r := call(path, wrong); r.StatusCode != 422 {
			t.Errorf("%.60s: %d %s", wrong, r.StatusCode, r.Body)
		}
	}
	if r := call("/v1/executions/nobody/resolve", `{"unit":"A","resolution":"retry"}`); r.StatusCode != 404 {
		t.Errorf("an execution that is not there: %d %s", r.StatusCode, r.Body)
	}
	// The gateway hands paths over decoded.
	if r := call("/v1/executions/grüße/units/"+unit+"/resolve", `{"resolution":"retry"}`); r.StatusCode != 404 {
		t.Errorf("the key in the path: %d %s", r.StatusCode, r.Body)
	}
}
