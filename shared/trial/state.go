package trial

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/orrery-dev/orrery/shared/decide"
	"github.com/orrery-dev/orrery/shared/definition"
	"github.com/orrery-dev/orrery/shared/expr"
	"github.com/orrery-dev/orrery/shared/history"
)

// StateRequest says which state is tried alone, and with what.
type StateRequest struct {
	// Text is a document, or a state alone, as JSON or YAML.
	Text []byte
	// Name is the state of the document, which may be left out where it has only one; for a state alone, its name.
	Name string
	// Input is JSON; nil is the empty object.
	Input []byte
	// Variables is a JSON object of what `$name` means; nil for none.
	Variables []byte
	// Context is a JSON object of what `$$` means; nil for that of an execution that has just begun.
	Context []byte
	// Mock is what the work of a Task, Parallel or Map comes to; it is needed there and nowhere else.
	Mock *Mock
	// Retries is how often the failure has been tried again before.
	Retries int
	// Failures is how many iterations of a Map have failed.
	Failures int
	// Items is a JSON array of what an ItemReader has read; nil for none.
	Items  []byte
	Strict bool
	// At is when the state is entered.
	At history.Time
}

// Mock stands in for the work of a state: a result or a failure.
type Mock struct {
	Result  []byte // JSON
	Failure *history.Failure
}

// StateStatus is how a trial of a state ended.
type StateStatus string

// The ends of a trial of a state.
const (
	Succeeded StateStatus = "SUCCEEDED"
	Failed    StateStatus = "FAILED"
	// Retriable is a failure that is tried again.
	Retriable StateStatus = "RETRIABLE"
	// Caught is a failure that a catcher handles.
	Caught StateStatus = "CAUGHT_ERROR"
)

// StateResult is what came of a state.
type StateResult struct {
	Status StateStatus
	// Output is JSON: Succeeded, Caught.
	Output []byte
	// Next is the state that follows; empty where the state is the last.
	Next string
	// Assigned is a JSON object of the variables that the state gives values to; nil for none.
	Assigned []byte
	// Error and Cause tell of the failure, whatever became of it.
	Error, Cause string
	// Catcher is the number, from 0, of the catcher that handled the failure, and Retrier that of the retrier that matches
	// it, also where it is used up; -1 for none.
	Catcher, Retrier int
	// Pause is how long a Retriable failure rests.
	Pause time.Duration
	// Undo is what the compensation of a Task would be given, as JSON; nil where it has none.
	Undo []byte
	// Waited is how long a Wait has lasted.
	Waited time.Duration
	// Steps are the values on the way: input, afterInputPath, afterParameters, afterItemsPath, afterItemSelector, result,
	// afterResultSelector, afterResultPath, and for a Map maxConcurrency and the tolerated failures.
	Steps *expr.Object
}

// RequestError is a request that does not make sense.
type RequestError struct{ Message string }

func (e *RequestError) Error() string { return e.Message }

func badRequest(format string, args ...any) error {
	return &RequestError{fmt.Sprintf(format, args...)}
}

// maxRetries bounds StateRequest.Retries: each is a turn.
const maxRetries = 1000

// State tries one state alone. The error is a [*RequestError], or a [*definition.InvalidError] where the text is refused.
func State(q StateRequest) (*StateResult, error) {
	if q.Retries < 0 || q.Retries > maxRetries {
		return nil, badRequest("The number of retries must be between 0 and %d", maxRetries)
	}
	if q.Failures < 0 {
		return nil, badRequest("The number of failed iterations must not be negative")
	}
	if q.Input == nil {
		q.Input = []byte("{}")
	}
	state, name, err := q.find()
	if err != nil {
		return nil, err
	}
	st, problems := definition.ParseState(expr.Marshal(state), name, definition.Options{Strict: q.Strict})
	refused := problems.Err()
	if refused != nil && !onlyNotBuilt(problems) {
		return nil, refused
	}
	p, err := newProbe(q, state)
	if err != nil {
		return nil, err
	}
	if refused != nil {
		return nil, refused
	}
	t := &stateTrial{q: q, p: p, name: name, kind: st.Type, shown: history.New()}
	t.m = t.machine(st)
	return t.run()
}

// ways begin the names of the states that stand for where the tried state leads to.
const ways = "to: "

// machine puts the state between a beginning and its ways out. What needs others to do work becomes a task for one worker.
func (t *stateTrial) machine(st *definition.State) *definition.Machine {
	alone := t.p.around(st, t.q)
	if st.Type == definition.Parallel || st.Type == definition.Map || st.Type == definition.Task {
		alone.Type, alone.Branches, alone.Processor = definition.Task, nil, nil
		alone.Resource = mockedResource(st.Resource)
	}
	states := []*definition.State{alone}
	known := map[string]bool{}
	way := func(name string) string {
		if name == "" {
			return ""
		}
		if !known[name] {
			known[name] = true
			states = append(states, last(ways+name))
		}
		return ways + name
	}
	alone.Next, alone.Default = way(st.Next), way(st.Default)
	for i := range alone.Choices {
		alone.Choices[i].Next = way(alone.Choices[i].Next)
	}
	for i := range alone.Catch {
		alone.Catch[i].Next = way(alone.Catch[i].Next)
	}
	return definition.NewMachine(states...)
}

// mockedResource is a worker's in place of a state's, which is nil for a state that is no Task. What the server does itself
// stays as it is: its parameters are checked before the mock is asked.
func mockedResource(r *definition.Resource) *definition.Resource {
	if r != nil && r.Kind.ByServer() {
		return r
	}
	return &definition.Resource{
		Kind: definition.ResourceWorker, Text: "task:mock", Contract: history.Contract{Task: "mock", Version: 1}, Token: r != nil && r.Token,
	}
}

// last is a Succeed state.
func last(name string) *definition.State {
	lang, _ := expr.LanguageOf("")
	flow, _ := lang.Flow(expr.Succeed, expr.NewObject())
	return &definition.State{Name: name, Type: definition.Succeed, Flow: flow}
}

// stateTrial drives one state.
type stateTrial struct {
	q     StateRequest
	p     *probe
	m     *definition.Machine
	name  string
	kind  definition.StateType
	s     *history.State
	shown *history.State

	r        StateResult
	last     history.Event // the failure that was recorded last
	retrying bool
}

func (t *stateTrial) run() (*StateResult, error) {
	t.r.Catcher, t.r.Retrier = -1, -1
	s, turn, err := decide.Start(t.m, 1, history.Start{
		Namespace: "default", Name: "trial", Workflow: "trial", Version: 1, Input: t.q.Input, Seed: 1,
	}, t.q.At)
	if err != nil {
		return nil, err
	}
	t.s = s
	for retries := 0; ; {
		if err := t.read(turn); err != nil {
			return nil, err
		}
		if t.r.Status != "" {
			return t.finish(), nil
		}
		if t.retrying {
			if retries == t.q.Retries {
				t.r.Status, t.r.Pause = Retriable, t.last.At.Sub(s.At())
				return t.finish(), nil
			}
			retries++
		}
		if turn, err = known(1).Handle(t.m, s, []history.Command{t.next()}, max(s.At(), s.WakeAt())); err != nil {
			return nil, err
		}
		if len(turn.Events) == 0 {
			return nil, errors.New("the state does not go on")
		}
	}
}

// next is the command that takes the state further: the end of its pause or wait, or what its work comes to.
func (t *stateTrial) next() history.Command {
	open := t.s.OpenVisits()
	if len(open) == 0 || !open[0].HasRow() {
		return history.Command{Kind: history.KindTimer}
	}
	row, ok := open[0].TokenRow()
	if !ok {
		row = open[0].Row()
	}
	if f := t.p.failure(t.q); f != nil {
		return history.Command{Kind: history.KindFail, Row: row, Failure: f}
	}
	return history.Command{Kind: history.KindComplete, Row: row, Output: t.q.Mock.Result}
}

// read takes from a turn what it tells of the state.
func (t *stateTrial) read(turn history.Turn) error {
	views, err := history.Describe(t.shown, turn.Seq, turn.At, turn.FirstEvent, turn.Events, nil)
	if err != nil {
		return err
	}
	for i, ev := range turn.Events {
		t.event(ev, views[i])
		if t.r.Status != "" {
			break
		}
	}
	return nil
}

func (t *stateTrial) event(ev history.Event, view history.View) {
	switch ev.Type {
	case history.EventEntered:
		if next, ok := strings.CutPrefix(ev.State, ways); ok {
			t.r.Next = next
			t.left()
		}
	case history.EventScheduled:
		t.retrying = false
	case history.EventFailed, history.EventTimedOut, history.EventAgain:
		t.last, t.retrying = ev, ev.Retrier > 0
		t.r.Error, t.r.Cause = ev.Error, bare(t.name, ev.Cause)
		if ev.Retrier > 0 {
			t.r.Retrier = ev.Retrier - 1
		}
	case history.EventUndoable:
		t.r.Undo = detail(view, "input")
	case history.EventExited:
		t.r.Output, t.r.Assigned = detail(view, "output"), detail(view, "assignedVariables")
		if t.kind == definition.Wait {
			t.r.Waited = view.At.Sub(t.q.At)
		}
	case history.EventEnded:
		if ev.Status == history.Succeeded {
			t.left()
			return
		}
		t.r.Status = Failed
		t.r.Error, t.r.Cause = textDetail(view, "error"), bare(t.name, textDetail(view, "cause"))
	}
}

// left is the end of a state that was left by one of its ways.
func (t *stateTrial) left() {
	t.r.Status = Succeeded
	if c := t.p.caught; c != nil {
		t.r.Status, t.r.Catcher, t.r.Error, t.r.Cause = Caught, c.index, c.code, c.cause
		return
	}
	t.r.Error, t.r.Cause, t.r.Retrier = "", "", -1
}

func (t *stateTrial) finish() *StateResult {
	t.r.Steps = t.p.shown(t.kind)
	return &t.r
}
