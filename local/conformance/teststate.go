package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/orrery-dev/orrery/shared/definition"
	"github.com/orrery-dev/orrery/shared/expr"
	"github.com/orrery-dev/orrery/shared/history"
	"github.com/orrery-dev/orrery/shared/trial"
)

// stateCase is a line of teststate.jsonl: calls of TestState, each of which tries one state alone.
type stateCase struct {
	ID       string          `json:"id"`
	Calls    []stateCall     `json:"calls"`
	Recorded json.RawMessage `json:"recorded"`
}

type stateCall struct {
	Definition string  `json:"definition"`
	Input      *string `json:"input"`
	Args       struct {
		StateName       string  `json:"stateName"`
		RoleArn         string  `json:"roleArn"`
		InspectionLevel string  `json:"inspectionLevel"`
		Context         *string `json:"context"`
		Variables       *string `json:"variables"`
		Mock            *struct {
			Result      *string `json:"result"`
			ErrorOutput *struct {
				Error string `json:"error"`
				Cause string `json:"cause"`
			} `json:"errorOutput"`
		} `json:"mock"`
		StateConfiguration struct {
			RetrierRetryCount        int     `json:"retrierRetryCount"`
			MapIterationFailureCount int     `json:"mapIterationFailureCount"`
			MapItemReaderData        *string `json:"mapItemReaderData"`
		} `json:"stateConfiguration"`
	} `json:"args"`
}

func runState(line []byte, _ int) (verdict, error) {
	var c stateCase
	if err := json.Unmarshal(line, &c); err != nil {
		return verdict{}, err
	}
	v := verdict{id: c.ID}
	recorded, err := expr.Parse(c.Recorded)
	if err != nil {
		return v, err
	}
	answers, _ := recorded.(*expr.Object)
	if answers.Len() != len(c.Calls) {
		return v, fmt.Errorf("%d calls and %d answers", len(c.Calls), answers.Len())
	}
	n := 0
	for name, answer := range answers.All() {
		want, ok := answer.(*expr.Object)
		if !ok {
			return v, fmt.Errorf("the answer %s is no object", name)
		}
		if c.Calls[n].skipped(want, &v) {
			return v, nil
		}
		got, err := c.Calls[n].answer()
		if reason := notBuiltIn(err); reason != "" {
			v.skip = reason
			return v, nil
		}
		if err != nil {
			v.fail = fmt.Sprintf("%s: %v", name, err)
			return v, nil
		}
		if v.fail = newMatcher().value(name, comparableAnswer(want, true), comparableAnswer(got, false)); v.fail != "" {
			return v, nil
		}
		n++
	}
	return v, nil
}

// skipped tells that the call depends on what another service does or says of itself.
func (c *stateCall) skipped(want *expr.Object, v *verdict) bool {
	switch {
	case c.Args.Mock == nil && c.Args.RoleArn != "" && c.kind() == "Task":
		v.skip = "calls another service"
	case strings.HasPrefix(messageOf(want), "Mock result schema validation error: "):
		v.skip = "needs what another service says of its results"
	}
	return v.skip != ""
}

// state is the tried state as written; empty where there is none.
func (c *stateCall) state() *expr.Object {
	v, _ := expr.Parse([]byte(c.Definition))
	o, _ := v.(*expr.Object)
	states, ok := o.Get("States")
	if !ok {
		return o
	}
	all, _ := states.(*expr.Object)
	state, _ := all.Get(c.Args.StateName)
	o, _ = state.(*expr.Object)
	return o
}

func (c *stateCall) kind() string { return textOf(c.state(), "Type") }

// answer is what TestState would say. The error is a definition that is refused.
func (c *stateCall) answer() (*expr.Object, error) {
	if refusal := c.refused(); refusal != nil {
		return refusal, nil
	}
	r, err := trial.State(c.request())
	var request *trial.RequestError
	switch {
	case errors.As(err, &request):
		return refusal("ValidationException", request.Message), nil
	case err != nil:
		return nil, err
	}
	return c.shown(r), nil
}

// refused is what the API says before it looks at the state: it needs a role for a Task that it does itself, and a mock
// for a Map or a Parallel.
func (c *stateCall) refused() *expr.Object {
	if c.Args.Mock != nil {
		return nil
	}
	switch c.kind() {
	case "Task":
		return refusal("ValidationException", "RoleArn must be specified when testing a Task state")
	case "Map", "Parallel":
		return refusal("InvalidDefinition", "TestState API does not support Map or Parallel states. Supported state types include: [Task, Wait, Pass, Succeed, Fail, Choice]")
	}
	return nil
}

func (c *stateCall) request() trial.StateRequest {
	q := trial.StateRequest{
		Text: c.definition(), Name: c.Args.StateName, Input: textBytes(c.Input), Context: textBytes(c.Args.Context),
		Variables: textBytes(c.Args.Variables), Items: textBytes(c.Args.StateConfiguration.MapItemReaderData),
		Retries: c.Args.StateConfiguration.RetrierRetryCount, Failures: c.Args.StateConfiguration.MapIterationFailureCount,
		At: history.TimeOf(start),
	}
	if m := c.Args.Mock; m != nil {
		q.Mock = &trial.Mock{Result: textBytes(m.Result)}
		if m.ErrorOutput != nil {
			q.Mock.Failure = &history.Failure{Code: m.ErrorOutput.Error, Message: m.ErrorOutput.Cause}
		}
	}
	if q.Context == nil {
		q.Context = c.context(q.Input)
	}
	return q
}

// definition has a contract in place of every service that a Task calls and that is not known here: with a mock, none is called.
func (c *stateCall) definition() []byte {
	v, err := expr.Parse([]byte(c.Definition))
	if err != nil {
		return []byte(c.Definition)
	}
	return expr.Marshal(mocked(v))
}

func mocked(v expr.Value) expr.Value {
	switch v := v.(type) {
	case []expr.Value:
		list := make([]expr.Value, len(v))
		for i := range v {
			list[i] = mocked(v[i])
		}
		return list
	case *expr.Object:
		o := expr.NewObject()
		for name, member := range v.All() {
			o.Set(name, mocked(member))
		}
		if _, err := definition.ParseResource(textOf(o, "Resource")); textOf(o, "Type") == "Task" && err != nil {
			o.Set("Resource", "task:mocked")
		}
		return o
	}
	return v
}

// context is the context object of a call that does not bring one: the reference service tries states as express
// executions.
func (c *stateCall) context(input []byte) []byte {
	const arns = "arn:aws:states:us-east-1:111111111111:"
	object := func(members ...expr.Member) *expr.Object { return expr.NewObject(members...) }
	execution, err := expr.Parse(input)
	if err != nil {
		execution = object()
	}
	at := start.Format("2006-01-02T15:04:05.000Z07:00")
	name := c.Args.StateName
	if name == "" {
		name = "StateName"
	}
	state := object(expr.Member{Name: "Name", Value: name}, expr.Member{Name: "EnteredTime", Value: at})
	if kind := c.kind(); kind == "Task" || kind == "Map" || kind == "Parallel" {
		state.Set("RetryCount", expr.NumberOf(int64(c.Args.StateConfiguration.RetrierRetryCount)))
	}
	return expr.Marshal(object(
		expr.Member{Name: "Execution", Value: object(
			expr.Member{Name: "Id", Value: arns + "express:machine:exec"}, expr.Member{Name: "Input", Value: execution},
			expr.Member{Name: "Name", Value: "exec"}, expr.Member{Name: "RoleArn", Value: c.Args.RoleArn},
			expr.Member{Name: "StartTime", Value: at},
		)},
		expr.Member{Name: "StateMachine", Value: object(
			expr.Member{Name: "Id", Value: arns + "stateMachine:machine"}, expr.Member{Name: "Name", Value: "machine"},
		)},
		expr.Member{Name: "State", Value: state},
	))
}

// shown puts a result into the form of the API.
func (c *stateCall) shown(r *trial.StateResult) *expr.Object {
	o := expr.NewObject(expr.Member{Name: "status", Value: string(r.Status)})
	set := func(name, text string) {
		if text != "" {
			o.Set(name, text)
		}
	}
	set("output", string(r.Output))
	set("nextState", r.Next)
	set("error", r.Error)
	set("cause", r.Cause)
	if c.Args.InspectionLevel == "DEBUG" || c.Args.InspectionLevel == "TRACE" {
		o.Set("inspectionData", inspected(r))
	}
	return o
}

func inspected(r *trial.StateResult) *expr.Object {
	data := r.Steps.Clone()
	failure := expr.NewObject()
	if r.Catcher >= 0 {
		failure.Set("catchIndex", expr.NumberOf(int64(r.Catcher)))
	}
	if r.Retrier >= 0 {
		failure.Set("retryIndex", expr.NumberOf(int64(r.Retrier)))
	}
	if r.Status == trial.Retriable {
		seconds, _ := expr.NumberOfFloat(r.Pause.Seconds())
		failure.Set("retryBackoffIntervalSeconds", seconds)
	}
	if failure.Len() > 0 {
		data.Set("errorDetails", failure)
	}
	return data
}

// refusal is an error of the API.
func refusal(code, message string) *expr.Object {
	return expr.NewObject(
		expr.Member{Name: "Error", Value: expr.NewObject(
			expr.Member{Name: "Code", Value: code}, expr.Member{Name: "Message", Value: message},
		)},
		expr.Member{Name: "message", Value: message},
	)
}

// messageOf is what a recorded error says; empty where the answer is none.
func messageOf(answer *expr.Object) string { return textOf(answer, "message") }

// comparableAnswer leaves out what belongs to the transport, decodes payloads once, and gives errors one form: a client
// that raises them joins code and message. The steps of ours are values already.
func comparableAnswer(answer *expr.Object, recorded bool) *expr.Object {
	if code := textOf(answer, "exception_typename"); code != "" {
		_, message, _ := strings.Cut(textOf(answer, "exception_value"), " operation: ")
		return refusal(code, message)
	}
	o := expr.NewObject()
	for name, v := range answer.All() {
		switch inner := v.(type) {
		case string:
			if name == "output" || name == "cause" {
				v = decoded(inner)
			}
		case *expr.Object:
			if name == "inspectionData" && recorded {
				v = decodedMembers(inner)
			}
		}
		if name != "ResponseMetadata" {
			o.Set(name, v)
		}
	}
	return o
}

// notBuiltIn is what a refused definition needs that is not built; empty for other errors.
func notBuiltIn(err error) string {
	var invalid *definition.InvalidError
	if !errors.As(err, &invalid) {
		return ""
	}
	return notBuilt(invalid.Problems)
}

func textBytes(text *string) []byte {
	if text == nil {
		return nil
	}
	return []byte(*text)
}
