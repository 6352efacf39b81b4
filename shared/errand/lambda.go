package errand

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"

	"github.com/orrery-dev/orrery/shared/builtin"
	"github.com/orrery-dev/orrery/shared/expr"
	"github.com/orrery-dev/orrery/shared/worker"
)

// functions invokes functions.
type functions struct{ caller *builtin.Lambda }

// invoke calls a function and describes the call.
func (f *functions) invoke(ctx context.Context, t worker.Task, in value) (value, error) {
	q, r, err := f.run(ctx, t, in)
	if err != nil {
		return value{}, err
	}
	payload, err := answerOf(r, q.Type)
	if err != nil {
		return value{}, err
	}
	o := expr.NewObject()
	set := func(name, text string) {
		if text != "" {
			o.Set(name, text)
		}
	}
	set("ExecutedVersion", r.Version)
	set("LogResult", r.LogTail)
	o.Set("Payload", payload)
	o.Set("SdkHttpMetadata", httpMetadata(r))
	o.Set("SdkResponseMetadata", expr.NewObject(expr.Member{Name: "RequestId", Value: r.RequestID}))
	o.Set("StatusCode", expr.NumberOf(int64(r.Status)))
	return value{o}, nil
}

// call calls a function and gives its bare answer.
func (f *functions) call(ctx context.Context, t worker.Task, in value) (value, error) {
	_, r, err := f.run(ctx, t, in)
	if err != nil {
		return value{}, err
	}
	payload, err := answerOf(r, "")
	return value{payload}, err
}

// run makes the call that the input describes.
func (f *functions) run(ctx context.Context, t worker.Task, in value) (builtin.Invocation, builtin.Result, error) {
	o, _ := in.Value.(*expr.Object)
	q := builtin.Invocation{
		Function: text(o, "FunctionName"), Qualifier: text(o, "Qualifier"), Type: text(o, "InvocationType"),
		LogTail: text(o, "LogType") == "Tail", ClientContext: clientContext(o, t),
	}
	if payload, ok := o.Get("Payload"); ok {
		q.Payload = expr.Marshal(payload)
	}
	r, err := f.caller.Run(ctx, q)
	if err != nil {
		return q, r, refusal(err)
	}
	if r.Failed != "" {
		return q, r, failureOf(r.Payload)
	}
	return q, r, nil
}

// clientContext is that of the document, with what the function may need to do its work once.
func clientContext(o *expr.Object, t worker.Task) []byte {
	given, _ := o.Get("ClientContext")
	about, ok := given.(*expr.Object)
	if !ok {
		about = expr.NewObject()
	}
	custom := expr.NewObject()
	for name, v := range object(about, "custom").All() {
		custom.Set(name, v)
	}
	custom.Set("Idempotency-Key", t.IdempotencyKey)
	if t.TraceParent != "" {
		custom.Set("Traceparent", t.TraceParent)
	}
	about.Set("custom", custom)
	return expr.Marshal(about)
}

// answerOf reads the payload of a function that has not failed: none where nobody has waited for it.
func answerOf(r builtin.Result, invocation string) (expr.Value, error) {
	if len(r.Payload) == 0 {
		if invocation == "Event" || invocation == "DryRun" {
			return "", nil
		}
		return nil, nil
	}
	v, err := expr.Parse(r.Payload)
	if err != nil {
		return nil, unstorable(err)
	}
	return v, nil
}

// httpMetadata shows the answer of the service as the reference service does.
func httpMetadata(r builtin.Result) *expr.Object {
	all, first := expr.NewObject(), expr.NewObject()
	for _, name := range slices.Sorted(maps.Keys(r.Header)) {
		var values []expr.Value
		for _, v := range r.Header[name] {
			values = append(values, v)
		}
		all.Set(name, values)
		first.Set(name, r.Header.Get(name))
	}
	return expr.NewObject(
		expr.Member{Name: "AllHttpHeaders", Value: all}, expr.Member{Name: "HttpHeaders", Value: first},
		expr.Member{Name: "HttpStatusCode", Value: expr.NumberOf(int64(r.Status))},
	)
}

// failureOf is the failure of a function: its cause is all that the function says.
func failureOf(payload []byte) error {
	var said struct {
		ErrorType string `json:"errorType"`
	}
	if json.Unmarshal(payload, &said) == nil && said.ErrorType != "" {
		return &worker.Error{Code: said.ErrorType, Message: string(payload)}
	}
	return worker.Errorf("Lambda.Unknown",
		"The cause could not be determined because Lambda did not return an error type. Returned payload: %s", payload)
}

// refusal is the failure of a call that the function did not take.
func refusal(err error) error {
	said, ok := errors.AsType[*builtin.ServiceError](err)
	switch {
	case errors.Is(err, builtin.ErrForbidden):
		return worker.Errorf(codePermissions, "%v", err)
	case errors.Is(err, builtin.ErrTooLarge):
		return worker.Errorf(codeDataLimit, "%v", err)
	case !ok || said.Code == "" && said.Status < http.StatusBadRequest:
		return worker.Errorf("Lambda.SdkClientException", "%v", err)
	}
	code := cmp.Or(said.Code, "AWSLambdaException")
	return &worker.Error{Code: "Lambda." + code, Message: fmt.Sprintf(
		"%s (Service: Lambda, Status Code: %d, Request ID: %s)", said.Message, said.Status, said.RequestID)}
}
