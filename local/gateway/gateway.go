package gateway

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/orrery-dev/orrery/shared/lambdahttp"
	"github.com/orrery-dev/orrery/shared/telemetry"
)

// Invoker runs a function: it takes an event as JSON and gives the function's result as JSON. Pool is one.
type Invoker interface {
	Invoke(ctx context.Context, event []byte) ([]byte, error)
}

// Options are the settings of a gateway. The zero value has the defaults.
type Options struct {
	// Timeout bounds a request, its time in the queue included; 30 s by default, the longest that API Gateway allows.
	Timeout time.Duration
	// Log gets the failures of functions; slog.Default by default.
	Log *slog.Logger
}

const defaultTimeout = 30 * time.Second

// Gateway serves the routes of a template.
type Gateway struct {
	routes    routeTable
	functions map[string]Invoker
	timeout   time.Duration
	log       *slog.Logger
}

// New makes a gateway of routes and of the functions that they name. The error names every route at fault.
func New(routes []Route, functions map[string]Invoker, o Options) (*Gateway, error) {
	table, err := newRouteTable(routes)
	for _, r := range routes {
		if functions[r.Function] == nil {
			err = errors.Join(err, fmt.Errorf("route %s: there is no function %q", r.Key(), r.Function))
		}
	}
	if err != nil {
		return nil, fmt.Errorf("gateway: %w", err)
	}
	return &Gateway{table, functions, cmp.Or(o.Timeout, defaultTimeout), cmp.Or(o.Log, slog.Default())}, nil
}

// ServeHTTP answers as API Gateway does. What it says itself has the form {"message": "..."}.
func (g *Gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	event, err := lambdahttp.EventFromRequest(r)
	switch {
	case errors.Is(err, lambdahttp.ErrBodyTooLarge):
		say(w, http.StatusRequestEntityTooLarge)
		return
	case err != nil: // the path, or a body that broke off
		say(w, http.StatusBadRequest)
		return
	}
	w.Header().Set("Apigw-Requestid", event.RequestContext.RequestID)
	route, parameters, ok := g.routes.find(r.Method, event.RawPath)
	if !ok {
		say(w, http.StatusNotFound)
		return
	}
	event.RouteKey, event.RequestContext.RouteKey, event.PathParameters = route.Key(), route.Key(), parameters
	payload, err := json.Marshal(event)
	if err != nil || len(payload) > lambdahttp.MaxPayload {
		say(w, http.StatusRequestEntityTooLarge)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), g.timeout)
	defer cancel()
	g.answer(ctx, w, route.Function, payload)
}

// answer runs the function and passes its answer on, or says what became of it.
func (g *Gateway) answer(ctx context.Context, w http.ResponseWriter, function string, payload []byte) {
	result, err := g.functions[function].Invoke(ctx, payload)
	var resp events.APIGatewayV2HTTPResponse
	if err == nil {
		resp, err = responseOf(result)
	}
	if err == nil {
		lambdahttp.WriteResponse(w, resp)
		return
	}
	switch {
	case errors.Is(err, ErrBusy):
		say(w, http.StatusServiceUnavailable)
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, ErrClosed):
		g.log.Warn("function did not answer in time", telemetry.KeyFunction, function, telemetry.KeyError, err)
		say(w, http.StatusServiceUnavailable)
	case errors.Is(err, context.Canceled): // the client has gone
	default:
		g.log.Error("function failed", telemetry.KeyFunction, function, telemetry.KeyError, err)
		say(w, http.StatusInternalServerError)
	}
}

// responseOf reads a result as API Gateway does: one without a status is the body of an answer, a string as its text.
func responseOf(result []byte) (events.APIGatewayV2HTTPResponse, error) {
	var resp events.APIGatewayV2HTTPResponse
	var with struct {
		StatusCode json.RawMessage `json:"statusCode"`
	}
	if json.Unmarshal(result, &with) == nil && with.StatusCode != nil {
		if err := json.Unmarshal(result, &resp); err != nil {
			return resp, fmt.Errorf("the result is no answer: %w", err)
		}
		return resp, nil
	}
	if !json.Valid(result) {
		return resp, errors.New("the result is not JSON")
	}
	body := string(result)
	_ = json.Unmarshal(result, &body) // leaves the body where it is no string
	return events.APIGatewayV2HTTPResponse{
		StatusCode: http.StatusOK, Headers: map[string]string{"Content-Type": "application/json"}, Body: body,
	}, nil
}

// say answers in the gateway's own name. Every 503 may be repeated at once: the API's calls can be, and a call that found
// no place has not run.
func say(w http.ResponseWriter, status int) {
	w.Header().Set("Content-Type", "application/json")
	if status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "1")
	}
	w.WriteHeader(status)
	_, _ = fmt.Fprintf(w, `{"message":%q}`, http.StatusText(status))
}
