package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/orrery-dev/orrery/shared/definition"
	"github.com/orrery-dev/orrery/shared/expr"
	"github.com/orrery-dev/orrery/shared/history"
	"github.com/orrery-dev/orrery/shared/trial"
	"github.com/orrery-dev/orrery/shared/wire"
)

// stateTrial is what test-state says.
type stateTrial struct {
	Status   trial.StateStatus    `json:"status"`
	Output   json.RawMessage      `json:"output,omitempty"`
	Next     string               `json:"next,omitempty"`
	Error    *wire.ExecutionError `json:"error,omitempty"`
	Assigned json.RawMessage      `json:"assigned,omitempty"`
	// Retrier and Catcher are indexes in Retry and Catch.
	Retrier *int  `json:"retrier,omitempty"`
	Catcher *int  `json:"catcher,omitempty"`
	PauseMS int64 `json:"pause_ms,omitempty"`
	// Undo is what the compensation of the state would be given.
	Undo   json.RawMessage `json:"undo,omitempty"`
	WaitMS int64           `json:"wait_ms,omitempty"`
	Steps  json.RawMessage `json:"steps,omitempty"`
}

// stateFlags are the flags of test-state, as given.
type stateFlags struct {
	state, input, variables, context string
	result, items                    string
	code, cause, at                  string
	retries, failures                int
	strict, steps                    bool
	limit                            time.Duration
}

func (c *cli) testState() *cobra.Command {
	var f stateFlags
	cmd := &cobra.Command{
		Use:   "test-state FILE",
		Short: "Try one state of a document alone",
		Long: "Try one state alone, without a server: FILE is a document, of which --state names one, or a state alone, in JSON or\n" +
			"YAML (- for the standard input). Values are JSON, @FILE or -. What a Task, Parallel or Map comes to is given by --result, or\n" +
			"by --error with --cause. The status is 1 if the state fails.",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			q, err := c.stateRequest(args[0], f)
			if err != nil {
				return err
			}
			var r *trial.StateResult
			if err := within(cmd, f.limit, func() (err error) { r, err = trial.State(q); return err }); err != nil {
				return stateError(args[0], err)
			}
			a := stateAnswer(r, f.steps)
			if err := c.print(a, func(t *table) { showState(t, a, r) }); err != nil {
				return err
			}
			if r.Status == trial.Failed {
				return errNo
			}
			return nil
		},
	}
	f.define(cmd)
	return cmd
}

func (f *stateFlags) define(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringVarP(&f.state, "state", "s", "", "state of the document, at any depth; needed where it has several")
	fl.StringVarP(&f.input, "input", "i", "", "input of the state; {} when left out")
	fl.StringVar(&f.variables, "variables", "", "object of what $name means")
	fl.StringVar(&f.context, "context", "", "object of what $$ means; that of a new execution when left out")
	fl.StringVar(&f.result, "result", "", "what the work of the state gives")
	fl.StringVar(&f.code, "error", "", "error name that the work of the state fails with")
	fl.StringVar(&f.cause, "cause", "", "cause of that error")
	fl.StringVar(&f.items, "items", "", "what the ItemReader of a Map has read")
	fl.IntVar(&f.retries, "retries", 0, "how often the error was tried again before")
	fl.IntVar(&f.failures, "failures", 0, "how many iterations of a Map have failed")
	fl.StringVar(&f.at, "at", "", "time at which the state is entered; now when left out")
	fl.BoolVar(&f.steps, "steps", false, "show the values on the way through the state")
	fl.BoolVar(&f.strict, "strict", false, "keep to Amazon States Language")
	maxTime(cmd, &f.limit)
}

func (c *cli) stateRequest(file string, f stateFlags) (trial.StateRequest, error) {
	q := trial.StateRequest{Name: f.state, Retries: f.retries, Failures: f.failures, Strict: f.strict}
	var err error
	if q.Text, err = c.readFile(file); err != nil {
		return q, err
	}
	if q.At, err = clockAt(f.at); err != nil {
		return q, err
	}
	var result json.RawMessage
	for _, v := range []struct {
		text string
		into *[]byte
	}{{f.input, &q.Input}, {f.variables, &q.Variables}, {f.context, &q.Context}, {f.items, &q.Items}, {f.result, (*[]byte)(&result)}} {
		text, err := c.payload(v.text)
		if err != nil {
			return q, err
		}
		*v.into = text
	}
	switch {
	case f.code == "" && f.cause != "":
		return q, usageError{errors.New("--cause needs --error")}
	case f.code != "":
		q.Mock = &trial.Mock{Result: result, Failure: &history.Failure{Code: f.code, Message: f.cause}}
	case result != nil:
		q.Mock = &trial.Mock{Result: result}
	}
	return q, nil
}

// stateError is the error of a state that could not be tried.
func stateError(file string, err error) error {
	var invalid *definition.InvalidError
	var request *trial.RequestError
	switch {
	case errors.As(err, &invalid):
		return refused(file, invalid.Problems)
	case errors.As(err, &request):
		return givenError{fmt.Errorf("%s: %w", file, err)}
	}
	return err
}

func stateAnswer(r *trial.StateResult, steps bool) stateTrial {
	a := stateTrial{
		Status: r.Status, Output: r.Output, Next: r.Next, Assigned: r.Assigned, Undo: r.Undo,
		PauseMS: r.Pause.Milliseconds(), WaitMS: r.Waited.Milliseconds(),
	}
	if r.Status != trial.Succeeded {
		a.Error = &wire.ExecutionError{Code: r.Error, Message: r.Cause}
	}
	if r.Retrier >= 0 {
		a.Retrier = &r.Retrier
	}
	if r.Catcher >= 0 {
		a.Catcher = &r.Catcher
	}
	if steps {
		a.Steps = expr.Marshal(r.Steps)
	}
	return a
}

func showState(t *table, a stateTrial, r *trial.StateResult) {
	t.row("status", a.Status)
	if a.Error != nil {
		t.row("error", strings.TrimSpace(orDash(a.Error.Code)+" "+a.Error.Message))
	}
	if a.Catcher != nil {
		t.row("caught by", fmt.Sprintf("Catch[%d]", *a.Catcher))
	}
	switch {
	case a.Status == trial.Retriable:
		t.row("retried by", fmt.Sprintf("Retry[%d], after %s", r.Retrier, r.Pause))
	case a.Retrier != nil:
		t.row("used up", fmt.Sprintf("Retry[%d]", *a.Retrier))
	}
	if a.WaitMS > 0 {
		t.row("waited", r.Waited)
	}
	if a.Output != nil {
		t.row("output", string(a.Output))
	}
	if a.Assigned != nil {
		t.row("assigned", string(a.Assigned))
	}
	if a.Undo != nil {
		t.row("undo with", string(a.Undo))
	}
	switch {
	case a.Next != "":
		t.row("next", a.Next)
	case a.Status == trial.Succeeded:
		t.row("next", "-")
	}
	if a.Steps == nil {
		return
	}
	t.row()
	t.row("STEP", "VALUE")
	for step, v := range r.Steps.All() {
		t.row(step, string(expr.Marshal(v)))
	}
}
