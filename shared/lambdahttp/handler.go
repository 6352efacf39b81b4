package lambdahttp

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"
)

// Func is a Lambda function that takes HTTP events. It takes the event as JSON, because Lambda passes whatever it was
// invoked with. Its error is always nil: the answer tells what is wrong.
type Func func(context.Context, json.RawMessage) (events.APIGatewayV2HTTPResponse, error)

// Start serves the handler as a Lambda function. It does not return.
func Start(h http.Handler) { lambda.Start(Handler(h)) }

// Handler makes a Lambda function of the handler.
func Handler(h http.Handler) Func {
	return func(ctx context.Context, payload json.RawMessage) (events.APIGatewayV2HTTPResponse, error) {
		r, err := requestOf(withRemaining(ctx), payload)
		if err != nil {
			return failure(http.StatusBadRequest, "MALFORMED_EVENT", err.Error()), nil
		}
		return serve(h, r), nil
	}
}

// serve runs the handler over a request. A panic is a failure of this request: it would otherwise end the process, and
// the next request would pay for a new one.
func serve(h http.Handler, r *http.Request) (resp events.APIGatewayV2HTTPResponse) {
	defer func() {
		if p := recover(); p != nil {
			slog.ErrorContext(r.Context(), "panic in a handler", "error", p, "request_id", r.Header.Get(requestIDHeader),
				"stack", string(debug.Stack()))
			resp = failure(http.StatusInternalServerError, "INTERNAL", "the handler panicked")
		}
	}()
	w := &recorder{header: http.Header{}}
	h.ServeHTTP(w, r)
	return w.result(r.Method)
}

// failure is an answer with the error envelope of the API.
func failure(status int, code, message string) events.APIGatewayV2HTTPResponse {
	var envelope struct {
		Error struct {
			Code    string `json:"code"`
			Message string `json:"message"`
		} `json:"error"`
	}
	envelope.Error.Code, envelope.Error.Message = code, message
	body, _ := json.Marshal(envelope) // two strings always encode
	return events.APIGatewayV2HTTPResponse{
		StatusCode: status,
		Headers:    map[string]string{"Content-Type": "application/json"},
		Body:       string(body),
	}
}

type deadlineKey struct{}

func withRemaining(ctx context.Context) context.Context {
	if end, ok := ctx.Deadline(); ok {
		return context.WithValue(ctx, deadlineKey{}, end)
	}
	return ctx
}

// Remaining is the time until Lambda ends the function that serves the request, for a handler that waits and must answer
// before. Outside a function it is false. It differs from the context's own deadline where something between has shortened
// that.
func Remaining(ctx context.Context) (time.Duration, bool) {
	end, ok := ctx.Value(deadlineKey{}).(time.Time)
	if !ok {
		return 0, false
	}
	return time.Until(end), true
}
