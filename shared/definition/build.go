package definition

import (
	"slices"
	"unicode/utf8"

	"github.com/orrery-dev/orrery/shared/expr"
)

// builder makes machines of the objects of a document and reports what is wrong
// with them. Where something is wrong, what it makes is not for use.
type builder struct {
	*report
	strict bool
	off    map[ResourceKind]string
	rules  *rules
	// states counts all states; names has them by name, and becomes the index of
	// the machines.
	states int
	names  map[string]*State
	// language is the query language of the document.
	language string
	// ways are those of the machine that is being made.
	ways *ways
	// signals are the places that wait for a signal, with its name.
	signals []link
	// cleaning tells that Cleanup is being made.
	cleaning bool
}

// document makes the document's own machine.
func (b *builder) document(o *expr.Object) *Machine {
	f := fields{b.report, o, root}
	f.only("The document", documentFields, processorFields)
	b.uses(f, "document")
	b.language = f.word("QueryLanguage", "JSONPath", "JSONPath", "JSONata")
	if b.language == "JSONata" {
		b.refuse(root.member("QueryLanguage"), "JSONata")
	}
	m := b.machine(f, nil, 0)
	m.Version = f.word("Version", "", "1.0")
	m.TimeoutSeconds = f.integer("TimeoutSeconds", 1, MaxSeconds, 0)
	b.limits(f)
	m.Input, m.Output = b.schema(f, "Input"), b.schema(f, "Output")
	b.attributes(m, f)
	b.onSignal(m, f)
	b.cleanup(m, f)
	for _, s := range b.signals {
		if m.OnSignal[s.name] != nil {
			b.errorf(s.at, RuleExclusive, "OnSignal takes every signal %q: a Task cannot wait for one.", s.name)
		}
	}
	if b.errors == 0 {
		b.foreseeAll(m)
	}
	return m
}

// onSignal reads the machines that signals begin.
func (b *builder) onSignal(m *Machine, f fields) {
	signals, ok := f.object("OnSignal")
	if !ok {
		return
	}
	m.OnSignal = map[string]*Machine{}
	for name, v := range signals.o.All() {
		at := signals.at.member(name)
		if err := CheckName(name); err != nil {
			b.errorf(at, RuleName, "No signal has this name: %v.", err)
			continue
		}
		if c, ok := signals.asObject("A machine of OnSignal", at, v); ok {
			c.only("A machine of OnSignal", machineFields, documentFields)
			m.OnSignal[name] = b.machine(c, nil, 0)
			m.Signals = append(m.Signals, name)
		}
	}
}

// cleanup reads Cleanup.
func (b *builder) cleanup(m *Machine, f fields) {
	c, ok := f.object("Cleanup")
	if !ok {
		return
	}
	c.only("Cleanup", machineFields, documentFields)
	b.cleaning = true
	m.Cleanup = b.machine(c, nil, 0)
	b.cleaning = false
}

// uses reports the fields of an object that are additions, in strict mode, or
// not built.
func (b *builder) uses(f fields, what string) {
	for name := range f.o.All() {
		if b.strict && slices.Contains(additions[what], name) {
			b.errorf(f.at.member(name), RuleAddition, "%s is an addition to Amazon States Language, which strict mode refuses.", name)
			continue
		}
		if feature, ok := fieldFeatures[what][name]; ok {
			b.refuse(f.at.member(name), feature)
		}
	}
}

// refuse reports a feature that is not built; it does nothing where it is.
func (b *builder) refuse(at *place, f feature) {
	if what, ok := notBuilt[f]; ok {
		b.errorf(at, RuleNotBuilt, "This version does not run %s: it is not built yet.", what)
	}
}

// machine makes a machine of an object with StartAt and States.
func (b *builder) machine(f fields, parent *State, branch int) *Machine {
	around := b.ways
	b.ways = &ways{broken: !f.has("StartAt")}
	m := &Machine{Parent: parent, Branch: branch, States: map[string]*State{}, names: b.names, rules: b.rules}
	f.require("States", "StartAt")
	m.Comment, _ = f.text("Comment")
	m.StartAt = b.link(f, "StartAt")
	if states, ok := f.object("States"); ok {
		b.statesOf(m, states)
		b.connect(m, states)
	}
	b.ways = around
	return m
}

// statesOf makes the states of a machine.
func (b *builder) statesOf(m *Machine, states fields) {
	if states.o.Len() == 0 {
		b.errorf(states.at, RuleEmpty, "States must not be empty.")
	}
	for name, v := range states.o.All() {
		if b.states++; b.states > MaxStates {
			if b.states == MaxStates+1 {
				b.errorf(states.at, RuleTooLarge, "The document has more than %d states.", MaxStates)
			}
			return
		}
		f, ok := states.asObject("A state", states.at.member(name), v)
		if !ok || !b.checkName(f.at, name) {
			b.ways.broken = true
			continue
		}
		s := b.state(m, name, f)
		m.States[name] = s
		m.Order = append(m.Order, name)
	}
}

// checkName reports a state name that is taken, or too long; a state with the
// latter is not looked at, so that the pointers of states stay short.
func (b *builder) checkName(at *place, name string) bool {
	if n := utf8.RuneCountInString(name); n == 0 || n > MaxStateName {
		b.errorf(at, RuleName, "A state name has 1 to %d characters, this one has %d.", MaxStateName, n)
		return false
	}
	if other, ok := b.names[name]; ok {
		b.errorf(at, RuleNameTaken, "The name %q is taken by the state at %s; names are unique across the whole document.", name, other.Pointer)
	}
	return true
}

// state makes one state.
func (b *builder) state(m *Machine, name string, f fields) *State {
	s := &State{Name: name, Pointer: f.at.String(), Machine: m}
	if _, taken := b.names[name]; !taken {
		b.names[name] = s
	}
	s.Comment, _ = f.text("Comment")
	if !b.stateType(s, f) {
		b.ways.broken = true
		return s
	}
	b.uses(f, "state")
	b.transition(s, f)
	lang := b.languageOf(f)
	b.checkFields(s.Type, f, lang)
	b.fill(s, f, lang)
	return s
}

// stateType reads the Type of a state.
func (b *builder) stateType(s *State, f fields) bool {
	f.require("Type")
	text, ok := f.text("Type")
	if !ok {
		return false
	}
	s.Type = StateType(text)
	if slices.Contains(allTypes, s.Type) {
		return true
	}
	known := make([]string, len(allTypes))
	for i, t := range allTypes {
		known[i] = string(t)
	}
	b.errorf(f.at.member("Type"), RuleValue, "There is no state type %q.%s", text, b.hint(text, known))
	return false
}

// languageOf gives the query language of a state, and reports one that cannot
// be evaluated.
func (b *builder) languageOf(f fields) expr.Language {
	name := f.word("QueryLanguage", b.language, "JSONPath", "JSONata")
	at := f.at.member("QueryLanguage")
	if b.language == "JSONata" && name == "JSONPath" {
		b.errorf(at, RuleLanguage, "'QueryLanguage' can not be 'JSONPath' if set to 'JSONata' for whole state machine")
	}
	lang, err := expr.LanguageOf(name)
	if err == nil {
		return lang
	}
	if f.has("QueryLanguage") {
		b.refuse(at, feature(name))
	}
	return unbuilt{name}
}

// checkFields reports the fields that a state of a type cannot have.
func (b *builder) checkFields(t StateType, f fields, lang expr.Language) {
	for name := range f.o.All() {
		owners, known := stateFields[name]
		switch {
		case slices.Contains(owners, t), lang.Owns(expr.Kind(t), name):
		case known, ownedByAny(lang, name):
			b.errorf(f.at.member(name), RuleMisplaced, "States of type %s do not have the field %q.", string(t), name)
		case slices.Contains(languageFields, name):
			b.errorf(f.at.member(name), RuleLanguage, "The field %q does not belong to the query language %s.", name, lang.Name())
		default:
			f.unknown(name, fieldsOf(t, lang))
		}
	}
}

// ownedByAny tells whether states of any type have a field of the language.
func ownedByAny(lang expr.Language, name string) bool {
	return slices.ContainsFunc(allTypes, func(t StateType) bool { return lang.Owns(expr.Kind(t), name) })
}

// ownedBy lists the fields that a kind has because of the language.
func ownedBy(lang expr.Language, kind expr.Kind) []string {
	var names []string
	for _, name := range languageFields {
		if lang.Owns(kind, name) {
			names = append(names, name)
		}
	}
	return names
}

// fieldsOf lists the fields that a state of a type can have, in a fixed order.
func fieldsOf(t StateType, lang expr.Language) []string {
	var names []string
	for name, owners := range stateFields {
		if slices.Contains(owners, t) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return append(names, ownedBy(lang, expr.Kind(t))...)
}

// transition reads Next and End of the states that have them.
func (b *builder) transition(s *State, f fields) {
	if !slices.Contains(onward, s.Type) {
		return
	}
	s.Next = b.link(f, "Next")
	s.End = f.flag("End")
	switch hasNext := f.has("Next"); {
	case hasNext && s.End:
		b.errorf(f.at, RuleExclusive, "Next and End exclude each other: a state goes on or ends the machine.")
	case !hasNext && !s.End:
		b.errorf(f.at, RuleRequired, "One of these fields is required: [Next, End]")
		b.ways.broken = true
	}
}
