package trial

import (
	"slices"

	"github.com/orrery-dev/orrery/shared/definition"
	"github.com/orrery-dev/orrery/shared/expr"
)

// usualName is the name of a state alone that has none.
const usualName = "StateName"

// find gives the object of the state to try, with the query language of its document.
func (q *StateRequest) find() (state *expr.Object, name string, err error) {
	v, problems := definition.ReadValue(q.Text, definition.Options{})
	if err := problems.Err(); err != nil {
		return nil, "", err
	}
	o, ok := v.(*expr.Object)
	if !ok {
		return nil, "", badRequest("Definition must be a valid JSON object")
	}
	states, isDocument := o.Get("States")
	if !isDocument {
		name = q.Name
		if name == "" {
			name = usualName
		}
		return o, name, nil
	}
	if _, problems := definition.Parse(q.Text, definition.Options{Strict: q.Strict}); !onlyNotBuilt(problems) {
		return nil, "", problems.Err()
	}
	name = q.Name
	if all, ok := states.(*expr.Object); ok && name == "" && all.Len() == 1 {
		for only := range all.All() {
			name = only
		}
	}
	if name == "" {
		return nil, "", badRequest("The document has several states: say which one to try")
	}
	if state = stateIn(o, name); state == nil {
		return nil, "", badRequest("State not found in definition")
	}
	state = state.Clone()
	language, there := o.Get("QueryLanguage")
	if _, own := state.Get("QueryLanguage"); there && !own {
		state.Set("QueryLanguage", language)
	}
	return state, name, nil
}

// stateIn finds a state by its name in a machine or a list of machines, at any depth; nil where there is none.
func stateIn(v expr.Value, name string) *expr.Object {
	switch v := v.(type) {
	case []expr.Value:
		for _, e := range v {
			if found := stateIn(e, name); found != nil {
				return found
			}
		}
	case *expr.Object:
		states, _ := v.Get("States")
		all, _ := states.(*expr.Object)
		if found, ok := all.Get(name); ok {
			o, _ := found.(*expr.Object)
			return o
		}
		return stateIn(machinesIn(v, all), name)
	}
	return nil
}

// machinesIn lists the machines inside a machine: those of its states, and for a document those that run beside it.
func machinesIn(machine, states *expr.Object) []expr.Value {
	var list []expr.Value
	for _, state := range states.All() {
		o, _ := state.(*expr.Object)
		for _, field := range []string{"Branches", "ItemProcessor", "Iterator"} {
			if inner, ok := o.Get(field); ok {
				list = append(list, inner)
			}
		}
	}
	handlers, _ := machine.Get("OnSignal")
	bySignal, _ := handlers.(*expr.Object)
	for _, inner := range bySignal.All() {
		list = append(list, inner)
	}
	cleanup, _ := machine.Get("Cleanup")
	return append(list, cleanup)
}

func onlyNotBuilt(problems definition.Problems) bool {
	return !slices.ContainsFunc(problems.Errors(), func(p definition.Problem) bool { return p.Rule != definition.RuleNotBuilt })
}

// newProbe reads the values of a request and checks them against the state.
func newProbe(q StateRequest, state *expr.Object) (*probe, error) {
	p := &probe{steps: expr.NewObject()}
	var err error
	if p.input, err = expr.Parse(q.Input); err != nil {
		return nil, badRequest("The input must be valid JSON: %v", err)
	}
	if p.variables, err = objectOf("variables", q.Variables); err != nil {
		return nil, err
	}
	if p.context, err = objectOf("context", q.Context); err != nil {
		return nil, err
	}
	if q.Context != nil {
		if err := contextForm.check("", p.context); err != nil {
			return nil, err
		}
	}
	if q.Items != nil {
		items, err := expr.Parse(q.Items)
		if p.items, _ = items.([]expr.Value); err != nil || p.items == nil {
			return nil, badRequest("What an ItemReader has read must be a JSON array")
		}
	}
	_, p.reads = state.Get("ItemReader")
	return p, checkMock(q.Mock, state)
}

// objectOf reads JSON that must be an object; nil for no text.
func objectOf(what string, text []byte) (*expr.Object, error) {
	if text == nil {
		return nil, nil
	}
	v, err := expr.Parse(text)
	if err != nil {
		return nil, badRequest("The %s must be valid JSON: %v", what, err)
	}
	o, ok := v.(*expr.Object)
	if !ok {
		return nil, badRequest("The %s must be a JSON object", what)
	}
	return o, nil
}

// checkMock checks that there is a mock where the state has work, and that it can be what the work gives.
func checkMock(m *Mock, state *expr.Object) error {
	v, _ := state.Get("Type")
	kind, _ := v.(string)
	works := kind == string(definition.Task) || kind == string(definition.Parallel) || kind == string(definition.Map)
	switch {
	case m == nil && works:
		return badRequest("State type '%s' is only supported when a mock is specified", kind)
	case m == nil:
		return nil
	case !works:
		return badRequest("State type '%s' is not supported when a mock is specified", kind)
	case m.Result != nil && m.Failure != nil:
		return badRequest("A test mock should have only one of the following fields: [result, errorOutput].")
	case m.Result == nil && m.Failure == nil:
		return badRequest("A mock is either a result or an error")
	case m.Failure != nil:
		return nil
	}
	result, err := expr.Parse(m.Result)
	if err != nil {
		return badRequest("Mocked result must be valid JSON")
	}
	list, isList := result.([]expr.Value)
	_, isObject := result.(*expr.Object)
	writer, _ := state.Get("ResultWriter")
	place, _ := writer.(*expr.Object)
	_, writes := place.Get("Resource")
	switch {
	case writes && !isObject:
		return badRequest("Mocked result must be a JSON object.")
	case kind == string(definition.Task) || writes:
		return nil
	case !isList:
		return badRequest("Mocked result must be an array.")
	}
	branches, _ := state.Get("Branches")
	if all, _ := branches.([]expr.Value); kind == string(definition.Parallel) && len(list) != len(all) {
		return badRequest("Mocked result must contain the same number of items as number of Parallel branches.")
	}
	return nil
}

// form is what a context object may hold: by member, the form inside it, or what leaf it is.
type form map[string]any

// leaf is the type of a value of a context object.
type leaf string

const (
	textLeaf   leaf = "string"
	numberLeaf leaf = "number"
	anyLeaf    leaf = ""
)

var contextForm = form{
	"Execution":    form{"Id": textLeaf, "Input": anyLeaf, "Name": textLeaf, "RoleArn": textLeaf, "StartTime": textLeaf, "RedriveCount": numberLeaf, "RedriveTime": textLeaf},
	"StateMachine": form{"Id": textLeaf, "Name": textLeaf},
	"State":        form{"Name": textLeaf, "EnteredTime": textLeaf, "RetryCount": numberLeaf},
	"Task":         form{"Token": textLeaf},
	"Map":          form{"Item": form{"Index": numberLeaf, "Key": textLeaf, "Value": anyLeaf, "Source": textLeaf}},
}

// check reports the first member that a context object cannot have.
func (f form) check(path string, o *expr.Object) error {
	for name, v := range o.All() {
		at := path + name
		switch want := f[name].(type) {
		case nil:
			return badRequest("Invalid Context object provided: Field '%s' is not allowed", name)
		case form:
			inner, ok := v.(*expr.Object)
			if !ok {
				return badRequest("Invalid Context object provided: %s must be an object", at)
			}
			if err := want.check(at+".", inner); err != nil {
				return err
			}
		case leaf:
			_, isText := v.(string)
			_, isNumber := v.(expr.Number)
			if want == textLeaf && !isText || want == numberLeaf && !isNumber {
				return badRequest("Invalid Context object provided: %s must be a %s", at, string(want))
			}
		}
	}
	return nil
}
