package builtin

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
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

// Invoke calls a function with a payload and waits for its answer. The facts are in its client context, under custom. The
// error is a *FunctionError where the function has failed.
func (l *Lambda) Invoke(ctx context.Context, function, qualifier string, facts map[string]string, payload []byte) ([]byte, error) {
	if !slices.ContainsFunc(l.patterns, func(p string) bool { return matches(p, function) }) {
		return nil, fmt.Errorf("%w: the function %s", ErrForbidden, function)
	}
	about, err := json.Marshal(map[string]any{"custom": facts})
	if err != nil {
		return nil, fmt.Errorf("builtin: invoke %s: %w", function, err)
	}
	in := &lambda.InvokeInput{
		FunctionName: &function, Payload: payload, ClientContext: aws.String(base64.StdEncoding.EncodeToString(about)),
	}
	if qualifier != "" {
		in.Qualifier = &qualifier
	}
	out, err := l.client.Invoke(ctx, in)
	switch {
	case err != nil:
		return nil, fmt.Errorf("builtin: invoke %s: %w", function, err)
	case out.FunctionError != nil:
		return nil, failureOf(out.Payload)
	case len(out.Payload) > MaxAnswer:
		return nil, fmt.Errorf("builtin: invoke %s: the answer has more than %d bytes", function, MaxAnswer)
	}
	return out.Payload, nil
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
