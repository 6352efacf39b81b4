package definition

import "github.com/orrery-dev/orrery/shared/expr"

// ParseState reads one state alone, as JSON or YAML: the object that stands
// under its name in a document. Next, Default and the targets of rules and
// catchers may name any state, because the others are not there; everything else
// is checked as in a document. Where a problem is an error, the state is nil.
func ParseState(text []byte, name string, opts Options) (*State, Problems) {
	r := &report{}
	s := parseState(text, name, opts, r)
	if r.errors > 0 {
		return nil, r.problems
	}
	return s, r.problems
}

func parseState(text []byte, name string, opts Options, r *report) *State {
	v, ok := readWithin(text, opts.withDefaults(), r)
	if !ok {
		return nil
	}
	o, ok := v.(*expr.Object)
	if !ok {
		r.errorf(root, RuleType, "A state must be an object, not %s.", typeName(v))
		return nil
	}
	b := builder{report: r, strict: opts.Strict, language: "JSONPath", names: map[string]*State{}, ways: &ways{broken: true}}
	if !b.checkName(root, name) {
		return nil
	}
	b.states = 1
	m := &Machine{StartAt: name, States: map[string]*State{}, Order: []string{name}, names: b.names}
	s := b.state(m, name, fields{r, o, root})
	m.States[name] = s
	return s
}

// ReadValue reads a text that is not a document by the rules for documents: JSON
// where its first character is an opening brace, else YAML; bounded in size and
// depth. Where a problem is an error, the value is nil.
func ReadValue(text []byte, opts Options) (expr.Value, Problems) {
	r := &report{}
	v, ok := readWithin(text, opts.withDefaults(), r)
	if !ok || r.errors > 0 {
		return nil, r.problems
	}
	return v, r.problems
}

// NewMachine makes a machine of states that are at hand, the first of them its
// StartAt, for those who try a part of a document. It takes the states over: their
// Machine is the new one. Names are the caller's to keep apart.
func NewMachine(states ...*State) *Machine {
	m := &Machine{StartAt: states[0].Name, States: map[string]*State{}, names: map[string]*State{}}
	for _, s := range states {
		s.Machine = m
		m.States[s.Name] = s
		m.Order = append(m.Order, s.Name)
	}
	m.Walk(func(s *State) { m.names[s.Name] = s })
	return m
}
