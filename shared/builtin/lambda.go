package builtin

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/middleware"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/lambda/types"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// Lambda invokes functions that are allowed. It is safe for concurrent use.
type Lambda struct {
	patterns []string
	client   *lambda.Client
}

// FunctionError is what a function says that has failed.
type FunctionError struct {
	Type    string
	Message string
}

func (e *FunctionError) Error() string { return e.Type + ": " + e.Message }

// NewLambda makes a caller of the functions whose name or ARN a pattern of the list, which has commas, matches: * stands for
// any characters. It is nil where the list is empty. Region and credentials are those of the environment.
func NewLambda(ctx context.Context, list string) (*Lambda, error) {
	l := &Lambda{}
	for entry := range strings.SplitSeq(list, ",") {
		if entry = strings.TrimSpace(entry); entry != "" {
			l.patterns = append(l.patterns, entry)
		}
	}
	if len(l.patterns) == 0 {
		return nil, nil
	}
	c, err := config.LoadDefaultConfig(ctx, config.WithRetryer(func() aws.Retryer { return aws.NopRetryer{} }))
	if err != nil {
		return nil, fmt.Errorf("builtin: configuration of AWS: %w", err)
	}
	l.client = lambda.NewFromConfig(c)
	return l, nil
}

// Invocation is a call of a function to make.
type Invocation struct {
	// Function is a name or an ARN, Qualifier a version or an alias; empty for the newest.
	Function, Qualifier string
	// Type is RequestResponse, Event or DryRun; empty for the first.
	Type string
	// LogTail asks for the end of the function's log.
	LogTail bool
	// ClientContext is a JSON object; nil for none.
	ClientContext []byte
	Payload       []byte
}

// Result is what became of a call that the service has taken.
type Result struct {
	Status  int
	Version string // that was executed
	// Failed is how the function has failed, such as "Unhandled"; empty where it has not. The payload then says why.
	Failed    string
	LogTail   string // base64
	RequestID string
	Header    http.Header
	Payload   []byte
}

// ServiceError is a call that the service has refused, or of which nobody knows what became.
type ServiceError struct {
	// Code is that of the service, such as "ResourceNotFoundException"; empty where no answer came.
	Code, Message string
	// Status is zero where no answer came.
	Status    int
	RequestID string
	err       error
}

func (e *ServiceError) Error() string { return "builtin: invoke: " + e.err.Error() }

func (e *ServiceError) Unwrap() error { return e.err }

// Invoke calls a function with a payload and waits for its answer. The facts are in its client context, under custom. The
// error is a *FunctionError where the function has failed.
func (l *Lambda) Invoke(ctx context.Context, function, qualifier string, facts map[string]string, payload []byte) ([]byte, error) {
	about, err := json.Marshal(map[string]any{"custom": facts})
	if err != nil {
		return nil, fmt.Errorf("builtin: invoke %s: %w", function, err)
	}
	r, err := l.Run(ctx, Invocation{Function: function, Qualifier: qualifier, ClientContext: about, Payload: payload})
	switch {
	case err != nil:
		return nil, err
	case r.Failed != "":
		return nil, failureOf(r.Payload)
	}
	return r.Payload, nil
}

// Run calls a function. The error is ErrForbidden, ErrTooLarge or a *ServiceError.
func (l *Lambda) Run(ctx context.Context, q Invocation) (Result, error) {
	if !slices.ContainsFunc(l.patterns, func(p string) bool { return matches(p, q.Function) }) {
		return Result{}, fmt.Errorf("%w: the function %s", ErrForbidden, q.Function)
	}
	in := &lambda.InvokeInput{FunctionName: &q.Function, Payload: q.Payload, InvocationType: types.InvocationType(q.Type)}
	if q.Qualifier != "" {
		in.Qualifier = &q.Qualifier
	}
	if q.LogTail {
		in.LogType = types.LogTypeTail
	}
	if q.ClientContext != nil {
		in.ClientContext = aws.String(base64.StdEncoding.EncodeToString(q.ClientContext))
	}
	out, err := l.client.Invoke(ctx, in)
	if err != nil {
		return Result{}, serviceError(err)
	}
	if len(out.Payload) > MaxAnswer {
		return Result{}, fmt.Errorf("builtin: invoke %s: %w", q.Function, ErrTooLarge)
	}
	r := Result{
		Status: int(out.StatusCode), Version: aws.ToString(out.ExecutedVersion), Failed: aws.ToString(out.FunctionError),
		LogTail: aws.ToString(out.LogResult), Payload: out.Payload,
	}
	r.RequestID, _ = middleware.GetRequestIDMetadata(out.ResultMetadata)
	if raw, ok := middleware.GetRawResponse(out.ResultMetadata).(*smithyhttp.Response); ok {
		r.Header = raw.Header
	}
	return r, nil
}

// serviceError reads what the service says.
func serviceError(err error) error {
	e := &ServiceError{Message: err.Error(), err: err}
	if said, ok := errors.AsType[smithy.APIError](err); ok {
		e.Code, e.Message = said.ErrorCode(), said.ErrorMessage()
	}
	if answer, ok := errors.AsType[*awshttp.ResponseError](err); ok {
		e.Status, e.RequestID = answer.HTTPStatusCode(), answer.ServiceRequestID()
	}
	return e
}

// failureOf reads what a failed function answers.
func failureOf(payload []byte) error {
	var said struct{ ErrorType, ErrorMessage string }
	if json.Unmarshal(payload, &said) != nil || said.ErrorType == "" && said.ErrorMessage == "" {
		return errors.New("the function has failed and does not say why")
	}
	return &FunctionError{said.ErrorType, said.ErrorMessage}
}

// matches compares a name with a pattern in which * stands for any characters.
func matches(pattern, name string) bool {
	parts := strings.Split(pattern, "*")
	first, last := parts[0], parts[len(parts)-1]
	if len(parts) == 1 {
		return name == pattern
	}
	if len(name) < len(first)+len(last) || !strings.HasPrefix(name, first) || !strings.HasSuffix(name, last) {
		return false
	}
	middle := name[len(first) : len(name)-len(last)]
	for _, part := range parts[1 : len(parts)-1] {
		i := strings.Index(middle, part)
		if i < 0 {
			return false
		}
		middle = middle[i+len(part):]
	}
	return true
}
