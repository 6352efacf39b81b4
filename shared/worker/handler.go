package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/orrery-dev/orrery/shared/wire"
)

// Task is what a handler is told besides its input.
type Task struct {
	wire.Assignment
	progress func(details json.RawMessage)
}

// Progress records how far the task is, as JSON, with the next heartbeat. A later call replaces an earlier one.
func (t Task) Progress(details any) error {
	text, err := json.Marshal(details)
	if err != nil {
		return fmt.Errorf("worker: progress of %s: %w", t.Unit, err)
	}
	t.progress(text)
	return nil
}

// Error is a known failure: the effect did not happen. Code is what Retry and Catch of the document match.
type Error struct {
	Code    string
	Message string
	// Final ends the retries whatever the document says.
	Final bool
	// Details is kept in the history; any value that encodes as JSON, or nil.
	Details any
}

func (e *Error) Error() string { return e.Code + ": " + e.Message }

// Errorf makes a failure that the document may retry.
func Errorf(code, format string, args ...any) error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// Finalf makes a failure that is not retried.
func Finalf(code, format string, args ...any) error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...), Final: true}
}

// Uncertain is returned when it is not known whether the effect happened: the same attempt is delivered again.
type Uncertain struct{ Reason string }

func (u *Uncertain) Error() string { return "uncertain: " + u.Reason }

// Why the context of a handler has ended, by context.Cause.
var (
	ErrCancelled = errors.New("worker: the task is no longer wanted")
	ErrTimedOut  = errors.New("worker: the task has timed out")
	ErrStopping  = errors.New("worker: the worker stops")
)

// The codes of failures that a handler did not name.
const (
	CodeError = "Worker.Error" // any other error value
	CodePanic = "Worker.Panic" // the handler panicked
	CodeInput = "Worker.Input" // the input does not decode into the handler's type; not retried
	// CodeOutput: the output does not encode as JSON, or the server refused it (too large, NUL in a text); not retried.
	CodeOutput = "Worker.Output"
)

type handler func(ctx context.Context, t Task) (json.RawMessage, error)

// Handle registers f for a contract, before Run. In and Out are what the task's input and output are in JSON.
// Registering a contract twice panics.
func Handle[In, Out any](w *Worker, task string, version int, f func(ctx context.Context, t Task, in In) (Out, error)) {
	w.register(wire.Contract{Task: task, Version: version}, func(ctx context.Context, t Task) (json.RawMessage, error) {
		var in In
		if err := json.Unmarshal(t.Input, &in); err != nil {
			return nil, Finalf(CodeInput, "%v", err)
		}
		out, err := f(ctx, t, in)
		if err != nil {
			return nil, err
		}
		text, err := json.Marshal(out)
		if err != nil {
			return nil, Finalf(CodeOutput, "%v", err)
		}
		return text, nil
	})
}

// protect turns a panic into a failure, so that one task never ends the worker.
func (h handler) protect(ctx context.Context, t Task) (out json.RawMessage, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &Error{Code: CodePanic, Message: fmt.Sprint(p), Details: map[string]string{"stack": string(debug.Stack())}}
		}
	}()
	return h(ctx, t)
}

// report is one finished task on its way to the server; exactly one of the three is set.
type report struct {
	complete  *wire.Completion
	fail      *wire.Failure
	uncertain *wire.Uncertainty
}

func reportOf(token string, out json.RawMessage, err error) report {
	var unsure *Uncertain
	switch {
	case err == nil:
		return report{complete: &wire.Completion{Token: token, Output: out}}
	case errors.As(err, &unsure):
		return report{uncertain: &wire.Uncertainty{Token: token, Reason: clip(unsure.Reason, 1024)}}
	}
	return report{fail: &wire.Failure{Token: token, Error: taskError(err)}}
}

func taskError(err error) wire.TaskError {
	known := &Error{Code: CodeError, Message: err.Error()}
	errors.As(err, &known)
	e := wire.TaskError{Code: clip(known.Code, 256), Message: clip(known.Message, 32768)}
	if e.Code == "" {
		e.Code = CodeError
	}
	if known.Final {
		no := false
		e.Retryable = &no
	}
	if known.Details != nil {
		if text, err := json.Marshal(known.Details); err == nil {
			e.Details = text
		}
	}
	return e
}

// clip cuts to at most n characters, the server's bound, so that a long message never makes a report unacceptable.
func clip(s string, n int) string {
	count := 0
	for i := range s {
		if count == n {
			return s[:i]
		}
		count++
	}
	return s
}
