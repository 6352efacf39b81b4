package expr_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/orrery-dev/orrery/shared/expr"
)

// machine runs the states that need no work (Pass, Choice, Wait without
// waiting, Succeed, Fail) one after the other, as far as the evaluators of this
// package decide what happens.
type machine struct {
	t         *testing.T
	states    *expr.Object
	name      string
	input     expr.Value
	first     expr.Value // input of the execution
	entered   int64      // number of the event that entered the state
	event     int64
	variables *expr.Object

	exits  []exit
	output expr.Value
	failed *failure
}

type exit struct {
	state    string
	output   expr.Value
	assigned *expr.Object
}

type failure struct{ name, cause string }

func newMachine(t *testing.T, definition, input expr.Value) *machine {
	start, _ := at(definition, "StartAt").(string)
	return &machine{
		t: t, states: at(definition, "States").(*expr.Object), name: start, input: input, first: input,
		event: 1, variables: expr.NewObject(),
	}
}

func (m *machine) run() {
	for m.name != "" && m.failed == nil {
		m.event++
		m.entered = m.event
		state := at(m.states, m.name).(*expr.Object)
		if err := m.step(state); err != nil {
			e, ok := errors.AsType[*expr.Error](err)
			if !ok {
				m.t.Fatalf("state %s: %v", m.name, err)
			}
			m.failed = &failure{e.Name, e.InState(m.name, m.entered)}
		}
	}
	m.output = m.input
}

func (m *machine) scope() *expr.Scope {
	return &expr.Scope{
		Input:     m.input,
		Context:   m.context,
		Variables: m.variables.Get,
		Draw:      drawer{},
	}
}

func (m *machine) context() *expr.Object {
	const arn = "arn:aws:states:us-east-1:111111111111:"
	execution := object("Id", arn+"execution:machine:run", "Input", m.first, "Name", "run", "RoleArn", "role",
		"StartTime", "2026-11-30T03:29:21.000Z", "RedriveCount", expr.Number("0"))
	return object("Execution", execution,
		"StateMachine", object("Id", arn+"stateMachine:machine", "Name", "machine"),
		"State", object("Name", m.name, "EnteredTime", "2026-11-30T03:29:21.000Z"))
}

// object makes an object of names and values in turn.
func object(pairs ...any) *expr.Object {
	o := expr.NewObject()
	for i := 0; i < len(pairs); i += 2 {
		o.Set(pairs[i].(string), pairs[i+1])
	}
	return o
}

// drawer draws the same each time.
type drawer struct{}

func (drawer) UUID() string     { return "00000000-0000-4000-8000-000000000000" }
func (drawer) Float64() float64 { return 0.5 }

func (m *machine) step(state *expr.Object) error {
	lang, err := expr.LanguageOf("JSONPath")
	if err != nil {
		return err
	}
	kind := expr.Kind(at(state, "Type").(string))
	flow, problems := lang.Flow(kind, state)
	if problems != nil {
		return fmt.Errorf("problems: %v", problems)
	}
	entry, err := flow.Enter(m.scope())
	if err != nil {
		return err
	}
	fields := m.scope().With(entry.Input)
	next, _ := at(state, "Next").(string)
	leave := flow.Leave
	switch kind {
	case expr.Choice:
		next, leave, err = m.choose(lang, state, flow, fields)
	case expr.Wait:
		err = m.wait(lang, state, fields)
	case expr.Fail:
		return m.fail(lang, state, fields)
	}
	if err != nil {
		return err
	}
	out, err := leave(m.scope(), entry.Effective)
	if err != nil {
		return err
	}
	if _, within := expr.Size(out.Output, payloadLimit); !within {
		m.failed = &failure{expr.StatesDataLimitExceeded, fmt.Sprintf(
			"The state/task '%s' returned a result with a size exceeding the maximum number of bytes service limit.", m.name)}
		return nil
	}
	m.exit(out, next)
	return nil
}

// payloadLimit is the size that the reference service allows for an output.
const payloadLimit = 262_144

func (m *machine) exit(out expr.Exit, next string) {
	m.exits = append(m.exits, exit{m.name, out.Output, out.Assigned})
	for name, v := range out.Assigned.All() {
		m.variables.Set(name, v)
	}
	m.event++
	m.input, m.name = out.Output, next
}

type leaver func(*expr.Scope, expr.Value) (expr.Exit, error)

func (m *machine) choose(lang expr.Language, state *expr.Object, flow expr.Flow, sc *expr.Scope) (string, leaver, error) {
	for _, c := range at(state, "Choices").([]expr.Value) {
		rule, problems := lang.Rule(state, c.(*expr.Object))
		if problems != nil {
			return "", nil, fmt.Errorf("problems: %v", problems)
		}
		ok, err := rule.Holds(sc)
		if err != nil {
			return "", nil, err
		}
		if ok {
			return at(c, "Next").(string), rule.Leave, nil
		}
	}
	next, _ := at(state, "Default").(string)
	return next, flow.Leave, nil
}

func (m *machine) wait(lang expr.Language, state *expr.Object, sc *expr.Scope) error {
	seconds, problems := lang.Integer(state, "Seconds")
	if problems != nil {
		return fmt.Errorf("problems: %v", problems)
	}
	if seconds != nil {
		_, err := seconds.Eval(sc)
		return err
	}
	instant, problems := lang.Instant(state, "Timestamp")
	if problems != nil {
		return fmt.Errorf("problems: %v", problems)
	}
	until, err := instant.Eval(sc)
	if err != nil {
		return err
	}
	return expr.CheckWait(until.Sub(recordedNow))
}

func (m *machine) fail(lang expr.Language, state *expr.Object, sc *expr.Scope) error {
	var texts [2]string
	for i, name := range []string{"Error", "Cause"} {
		f, problems := lang.Text(state, name)
		if problems != nil {
			return fmt.Errorf("problems: %v", problems)
		}
		if f == nil {
			continue
		}
		var err error
		if texts[i], err = f.Eval(sc); err != nil {
			return err
		}
	}
	m.failed = &failure{texts[0], texts[1]}
	return nil
}
