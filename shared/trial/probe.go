package trial

import (
	"strings"

	"github.com/orrery-dev/orrery/shared/definition"
	"github.com/orrery-dev/orrery/shared/expr"
	"github.com/orrery-dev/orrery/shared/history"
)

// probe stands between the decider and the expressions of one state: they see the context and the variables that were
// asked for, and the values on the way are noted. Its interfaces wrap those of the state one by one.
type probe struct {
	input     expr.Value
	context   *expr.Object // nil for the decider's own
	variables *expr.Object // nil for none
	reads     bool         // the Map has an ItemReader
	items     []expr.Value // that it has read; nil where nobody says
	steps     *expr.Object // by the name of the step
	caught    *caught
	name      string // of the state
	exceeded  bool   // more iterations have failed than the Map tolerates
}

// caught is a failure that a catcher has handled.
type caught struct {
	index       int
	code, cause string
}

// around gives a copy of the state in which every expression is looked at.
func (p *probe) around(st *definition.State, q StateRequest) *definition.State {
	c := *st
	p.name = st.Name
	c.Flow = &probedFlow{st.Flow, p, st, q.Failures}
	c.TimeoutSeconds, c.HeartbeatSeconds = probed(p, st.TimeoutSeconds), probed(p, st.HeartbeatSeconds)
	c.IdempotencyKey = probed(p, st.IdempotencyKey)
	c.Seconds, c.Timestamp = probed(p, st.Seconds), probed(p, st.Timestamp)
	c.Error, c.Cause = probed(p, st.Error), probed(p, st.Cause)
	if u := st.Compensate; u != nil {
		c.Compensate = &definition.Compensation{Arguments: probed(p, u.Arguments), Task: u.Task}
	}
	c.Choices = make([]definition.Rule, len(st.Choices))
	for i, r := range st.Choices {
		c.Choices[i] = definition.Rule{Rule: probedRule{r.Rule, p}, Next: r.Next}
	}
	c.Catch = make([]definition.Catcher, len(st.Catch))
	for i, x := range st.Catch {
		c.Catch[i] = x
		c.Catch[i].Catcher = probedCatcher{x.Catcher, p, i}
	}
	return &c
}

// scope is what an expression sees instead of sc.
func (p *probe) scope(sc *expr.Scope) *expr.Scope {
	c := &expr.Scope{Input: sc.Input, Context: sc.Context, Variables: p.variable, Draw: sc.Draw, Limits: sc.Limits, Trace: p.note}
	if p.context != nil {
		c.Context = func() *expr.Object { return p.context }
	}
	return c
}

func (p *probe) variable(name string) (expr.Value, bool) { return p.variables.Get(name) }

func (p *probe) note(step string, v expr.Value) { p.steps.Set(step, v) }

// failure is what the work fails with; nil where it succeeds.
func (p *probe) failure(q StateRequest) *history.Failure {
	switch {
	case q.Mock.Failure != nil:
		return q.Mock.Failure
	case p.exceeded:
		return &history.Failure{
			Code: expr.StatesExceedToleratedFailureThreshold, Message: "The specified tolerated failure threshold was exceeded",
		}
	}
	result, _ := expr.Parse(q.Mock.Result)
	p.note("result", result)
	return nil
}

// stepOrder are the steps in the order in which they are taken.
var stepOrder = []string{"afterInputPath", "afterParameters", "afterItemsPath", "afterItemSelector", "result", "afterResultSelector",
	"afterResultPath", "maxConcurrency", "toleratedFailureCount", "toleratedFailurePercentage"}

// hidden are the steps that the reference service does not show of a type of state.
var hidden = map[definition.StateType]string{
	definition.Parallel: "afterInputPath afterParameters result",
	definition.Map:      "afterParameters result",
}

// shown gives the steps of a state.
func (p *probe) shown(kind definition.StateType) *expr.Object {
	o := expr.NewObject(expr.Member{Name: "input", Value: p.input})
	for _, step := range stepOrder {
		if v, ok := p.steps.Get(step); ok && !strings.Contains(" "+hidden[kind]+" ", " "+step+" ") {
			o.Set(step, v)
		}
	}
	return o
}

// probedFlow is the flow of a state. That of a Map also does what the Map does before its first iteration.
type probedFlow struct {
	expr.Flow
	p        *probe
	st       *definition.State
	failures int
}

func (f *probedFlow) Enter(sc *expr.Scope) (expr.Entry, error) {
	sc = f.p.scope(sc)
	entry, err := f.Flow.Enter(sc)
	if err == nil && f.st.Type == definition.Map {
		err = f.items(sc, entry)
	}
	return entry, err
}

// items evaluates what a Map iterates over, and its limits.
func (f *probedFlow) items(sc *expr.Scope, entry expr.Entry) error {
	inner := sc.With(entry.Input)
	items := f.p.items
	if !f.p.reads {
		var err error
		if items, err = f.st.Items.Eval(inner); err != nil {
			return err
		}
	}
	if err := f.inputs(inner, items); err != nil {
		return err
	}
	limit, err := number(f.st.MaxConcurrency, inner)
	if err != nil {
		return err
	}
	f.p.note("maxConcurrency", expr.NumberOf(limit))
	return f.tolerance(inner, len(items))
}

// inputs evaluates what each iteration would be given.
func (f *probedFlow) inputs(sc *expr.Scope, items []expr.Value) error {
	list := make([]expr.Value, len(items))
	for i, item := range items {
		var err error
		if list[i], err = f.Flow.Item(sc, i, item); err != nil {
			return err
		}
	}
	if _, ok := f.p.steps.Get("afterItemSelector"); ok {
		f.p.note("afterItemSelector", list)
	}
	return nil
}

// tolerance finds out whether more iterations have failed than may.
func (f *probedFlow) tolerance(sc *expr.Scope, items int) error {
	if f.st.ToleratedFailureCount != nil {
		most, err := f.st.ToleratedFailureCount.Eval(sc)
		if err != nil {
			return err
		}
		f.p.note("toleratedFailureCount", expr.NumberOf(most))
		f.p.exceeded = int64(f.failures) > most
	}
	if f.st.ToleratedFailurePercentage != nil {
		most, err := f.st.ToleratedFailurePercentage.Eval(sc)
		if err != nil {
			return err
		}
		shown, _ := expr.NumberOfFloat(most)
		f.p.note("toleratedFailurePercentage", shown)
		f.p.exceeded = f.p.exceeded || float64(f.failures)*100 > most*float64(items)
	}
	return nil
}

// number evaluates a field that may be absent.
func number(field expr.Field[int64], sc *expr.Scope) (int64, error) {
	if field == nil {
		return 0, nil
	}
	return field.Eval(sc)
}

func (f *probedFlow) Leave(sc *expr.Scope, result expr.Value) (expr.Exit, error) {
	return f.Flow.Leave(f.p.scope(sc), result)
}

type probedRule struct {
	expr.Rule
	p *probe
}

func (r probedRule) Holds(sc *expr.Scope) (bool, error) { return r.Rule.Holds(r.p.scope(sc)) }

func (r probedRule) Leave(sc *expr.Scope, entered expr.Value) (expr.Exit, error) {
	return r.Rule.Leave(r.p.scope(sc), entered)
}

type probedCatcher struct {
	expr.Catcher
	p     *probe
	index int
}

func (c probedCatcher) Leave(sc *expr.Scope, name, cause string) (expr.Exit, error) {
	cause = bare(c.p.name, cause)
	exit, err := c.Catcher.Leave(c.p.scope(sc), name, cause)
	if err == nil {
		c.p.caught = &caught{c.index, name, cause}
	}
	return exit, err
}

// probed looks at a field; nil stays nil.
func probed[T any](p *probe, f expr.Field[T]) expr.Field[T] {
	if f == nil {
		return nil
	}
	return probedField[T]{f, p}
}

type probedField[T any] struct {
	expr.Field[T]
	p *probe
}

func (f probedField[T]) Eval(sc *expr.Scope) (T, error) { return f.Field.Eval(f.p.scope(sc)) }

// enteredBy is the number of the event that enters the state of a trial: the one after the start.
const enteredBy = 2

// bare is a cause without its introduction by the state, which is known.
func bare(state, cause string) string {
	return strings.TrimPrefix(cause, (&expr.Error{}).InState(state, enteredBy))
}
