package errand

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/orrery-dev/orrery/shared/auth"
	"github.com/orrery-dev/orrery/shared/wire"
)

// Areas are what the worker needs of the server.
type Areas interface {
	Register(ctx context.Context, c auth.Call, q wire.RegisterRequest) (wire.RegisterResponse, error)
	Heartbeat(ctx context.Context, c auth.Call, q wire.HeartbeatRequest) (wire.HeartbeatResponse, error)
	Poll(ctx context.Context, c auth.Call, q wire.PollRequest) (wire.PollResponse, error)
	Deregister(ctx context.Context, c auth.Call, q wire.DeregisterRequest) (wire.DeregisterResponse, error)
	Complete(ctx context.Context, c auth.Call, q wire.CompleteRequest) (wire.ReportResponse, error)
	Fail(ctx context.Context, c auth.Call, q wire.FailRequest) (wire.ReportResponse, error)
	Uncertain(ctx context.Context, c auth.Call, q wire.UncertainRequest) (wire.ReportResponse, error)
}

// inside stands for the address of the server in its own process.
const inside = "http://inside"

// transport takes the requests of a worker to the areas behind the routes. The rules of the routes are not asked, which keep
// workers from the contracts of the server.
type transport struct{ areas Areas }

// RoundTrip implements [http.RoundTripper].
func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	r.Body.Close()
	if err != nil {
		return nil, err
	}
	call := auth.Call{Namespace: r.Header.Get(wire.HeaderNamespace), Principal: auth.Principal{Name: "server"}}
	answer, err := t.serve(r.Context(), r.URL.Path, call, body)
	if err != nil && r.Context().Err() != nil {
		return nil, r.Context().Err()
	}
	return respond(r, answer, err)
}

func (t transport) serve(ctx context.Context, path string, c auth.Call, body []byte) (any, error) {
	switch path {
	case wire.Path("workers", "register"):
		return pass(ctx, c, body, t.areas.Register)
	case wire.Path("workers", "heartbeat"):
		return pass(ctx, c, body, t.areas.Heartbeat)
	case wire.Path("workers", "poll"):
		return pass(ctx, c, body, t.areas.Poll)
	case wire.Path("workers", "deregister"):
		return pass(ctx, c, body, t.areas.Deregister)
	case wire.Path("tasks", "complete"):
		return pass(ctx, c, body, t.areas.Complete)
	case wire.Path("tasks", "fail"):
		return pass(ctx, c, body, t.areas.Fail)
	case wire.Path("tasks", "uncertain"):
		return pass(ctx, c, body, t.areas.Uncertain)
	}
	return nil, wire.Errorf(wire.RouteNotFound, "there is no route %s", path)
}

func pass[Q, A any](ctx context.Context, c auth.Call, body []byte, area func(context.Context, auth.Call, Q) (A, error)) (any, error) {
	var q Q
	if err := json.Unmarshal(body, &q); err != nil {
		return nil, fmt.Errorf("errand: read a request: %w", err)
	}
	return area(ctx, c, q)
}

// respond writes what an area has answered as a client reads it.
func respond(r *http.Request, answer any, err error) (*http.Response, error) {
	status := http.StatusOK
	if err != nil {
		refusal := &wire.Error{Code: wire.Internal, Message: err.Error()}
		if said, ok := errors.AsType[*wire.Error](err); ok {
			refusal = said
		}
		status, answer = refusal.Code.Status(), wire.ErrorEnvelope{Error: *refusal}
	}
	text, err := json.Marshal(answer)
	if err != nil {
		return nil, fmt.Errorf("errand: write an answer: %w", err)
	}
	return &http.Response{
		StatusCode: status, Status: http.StatusText(status), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{},
		Body: io.NopCloser(bytes.NewReader(text)), ContentLength: int64(len(text)), Request: r,
	}, nil
}
