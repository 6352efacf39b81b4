package definition

import (
	"errors"
	"slices"

	"github.com/orrery-dev/orrery/shared/expr"
)

// What surely fails once it is evaluated is a warning, never an error: a document that was published by an earlier version
// is read again for ever. Nothing is said of what may go well:
//
//	variables        a name that no state assigns on any way that leads to where it is read
//	context object   members that it never has there
//	known inputs     a state that one Pass alone leads to, whose output does not depend on anything: what it does with that
//	requests         of the server: fields that are missing, unknown or of the wrong type

const (
	// maxForeseen is how many variables, and how many states with known inputs, are looked at.
	maxForeseen = 1000
	// foreseenBytes is how large a known input may be, and foreseenSteps what one evaluation with it may take.
	foreseenBytes = 16 << 10
	foreseenSteps = 5_000
)

// foresee warns of something in a state; at is the place inside of it.
func (b *builder) foresee(s *State, at, rule, format string, args ...any) {
	if b.admits(SeverityWarning) {
		b.add(Problem{s.Pointer + at, rule, message(format, args), SeverityWarning})
	}
}

// foreseeAll looks at a document without errors.
func (b *builder) foreseeAll(m *Machine) {
	f := &foresight{builder: b, numbers: map[string]int{}, left: maxForeseen}
	m.Walk(f.number)
	f.machine(m, nil, len(f.numbers) <= maxForeseen)
	m.Walk(func(s *State) {
		f.context(s)
		if s.Type == Task && s.Resource != nil {
			b.request(s)
		}
	})
}

// foresight is one look.
type foresight struct {
	*builder
	numbers map[string]int // of the variables that are read
	left    int            // of the states with known inputs
}

// reads lists what a state reads. What is only tested for being there is left out.
func (s *State) reads() []expr.References {
	list := []expr.References{s.Flow.References()}
	add := func(f interface{ References() expr.References }, there bool) {
		if there {
			list = append(list, f.References())
		}
	}
	for _, f := range []expr.Field[int64]{s.TimeoutSeconds, s.HeartbeatSeconds, s.Seconds, s.MaxConcurrency, s.ToleratedFailureCount} {
		add(f, f != nil)
	}
	for _, f := range []expr.Field[string]{s.IdempotencyKey, s.Error, s.Cause} {
		add(f, f != nil)
	}
	add(s.Timestamp, s.Timestamp != nil)
	add(s.ToleratedFailurePercentage, s.ToleratedFailurePercentage != nil)
	add(s.Items, s.Items != nil && s.Reader == nil)
	for _, c := range s.Catch {
		add(c, true)
	}
	for _, r := range s.Choices {
		if refs := r.References(); !refs.Tests {
			list = append(list, refs)
		}
	}
	return list
}

// VariableReferences lists the variables that each state reads, sorted; states that read none are left out.
func (m *Machine) VariableReferences() map[string][]string {
	all := map[string][]string{}
	m.Walk(func(s *State) {
		var names []string
		for _, refs := range s.reads() {
			names = append(names, refs.Variables...)
		}
		for _, r := range s.Choices {
			names = append(names, r.References().Variables...)
		}
		if len(names) > 0 {
			slices.Sort(names)
			all[s.Name] = slices.Compact(names)
		}
	})
	return all
}

// assigns lists the variables that a state assigns, by whatever way it is left.
func (s *State) assigns() []string {
	names := s.Flow.References().Assigned
	for _, c := range s.Catch {
		names = append(names, c.References().Assigned...)
	}
	for _, r := range s.Choices {
		names = append(names, r.References().Assigned...)
	}
	return names
}

// number numbers the variables that a state reads.
func (f *foresight) number(s *State) {
	for _, refs := range s.reads() {
		for _, name := range refs.Variables {
			if _, ok := f.numbers[name]; !ok {
				f.numbers[name] = len(f.numbers)
			}
		}
	}
}

// names is a set of variables.
type names []uint64

func (n names) has(i int) bool { return i/64 < len(n) && n[i/64]&(1<<(i%64)) != 0 }

// with adds variables; it tells whether any of them is new.
func (n *names) with(other names) bool {
	changed := false
	for len(*n) < len(other) {
		*n = append(*n, 0)
	}
	for i, w := range other {
		changed = changed || (*n)[i]|w != (*n)[i]
		(*n)[i] |= w
	}
	return changed
}

func (f *foresight) set(list []string) names {
	var n names
	for _, name := range list {
		if i, ok := f.numbers[name]; ok {
			for len(n) <= i/64 {
				n = append(n, 0)
			}
			n[i/64] |= 1 << (i % 64)
		}
	}
	return n
}

// machine looks at a machine that begins with the given variables, and at those inside of it. Those of OnSignal and Cleanup have
// variables of their own, and so has the processor of a distributed Map.
func (f *foresight) machine(m *Machine, given names, variables bool) {
	before := f.flowing(m, given, variables)
	f.known(m)
	for _, name := range m.Order {
		s := m.States[name]
		entry := *before[name]
		if variables {
			f.unassigned(s, entry)
		}
		if s.Distributed {
			entry = nil
		}
		for _, inner := range s.Machines() {
			f.machine(inner, entry, variables)
		}
	}
	for _, name := range m.Signals {
		f.machine(m.OnSignal[name], nil, variables)
	}
	if m.Cleanup != nil {
		f.machine(m.Cleanup, nil, variables)
	}
}

// flowing gives the variables that may have a value when each state begins.
func (f *foresight) flowing(m *Machine, given names, variables bool) map[string]*names {
	before := make(map[string]*names, len(m.Order))
	for _, name := range m.Order {
		before[name] = &names{}
	}
	if !variables || len(f.numbers) == 0 {
		return before
	}
	before[m.StartAt].with(given)
	for open := append([]string(nil), m.Order...); len(open) > 0; {
		s := m.States[open[0]]
		open = open[1:]
		after := names{}
		after.with(*before[s.Name])
		after.with(f.set(s.assigns()))
		for _, next := range s.leadsTo() {
			if next != "" && before[next].with(after) {
				open = append(open, next)
			}
		}
	}
	return before
}

// unassigned warns of variables that have no value whichever way leads to the state.
func (f *foresight) unassigned(s *State, entry names) {
	told := map[string]bool{}
	for _, refs := range s.reads() {
		for _, name := range refs.Variables {
			if !entry.has(f.numbers[name]) && !told[name] {
				told[name] = true
				f.foresee(s, "", RuleUnresolvable, "The variable %q never has a value here: no state assigns it on the way.", "$"+name)
			}
		}
	}
}

// members are what the context object can have, by the names on the way to it; nil for anything inside.
var members = map[string]map[string]map[string]bool{
	"Execution":    {"Id": {}, "Input": nil, "Name": {}, "RoleArn": {}, "StartTime": {}, "RedriveCount": {}, "RedriveTime": {}},
	"StateMachine": {"Id": {}, "Name": {}}, "State": {"Name": {}, "EnteredTime": {}, "RetryCount": {}},
	"Schedule": {"Id": {}, "Instant": {}, "Trigger": {}, "Retry": {}, "FencingToken": {}},
	"Map":      {"Item": {"Index": true, "Value": true}}, "Task": {"Token": {}},
}

// context warns of paths into the context object that lead nowhere, wherever the execution is.
func (f *foresight) context(s *State) {
	told := map[string]bool{}
	for _, refs := range s.reads() {
		for _, m := range refs.Members {
			if !told[m.Text] && s.lacks(m.Names) {
				told[m.Text] = true
				f.foresee(s, "", RuleUnresolvable, "%q leads nowhere: the context object has nothing there.", m.Text)
			}
		}
	}
}

// lacks tells whether the context object has nothing at the names in this state.
func (s *State) lacks(path []string) bool {
	if len(path) == 0 {
		return false
	}
	inside, ok := members[path[0]]
	switch {
	case !ok:
		return true
	case path[0] == "Task" && (s.Type != Task || s.Resource == nil || !s.Resource.Token):
		return true
	case path[0] == "Map" && !s.iterated():
		return true
	case len(path) == 1:
		return false
	}
	deeper, ok := inside[path[1]]
	switch {
	case !ok:
		return true
	case path[0] == "State" && path[1] == "RetryCount" && s.Type != Task && s.Type != Parallel && s.Type != Map:
		return true
	case len(path) == 2 || deeper == nil:
		return false
	}
	return !deeper[path[2]]
}

// iterated tells whether the state is a Map or inside of one.
func (s *State) iterated() bool {
	for ; s != nil; s = s.Parent() {
		if s.Type == Map {
			return true
		}
	}
	return false
}

// known follows the outputs that do not depend on anything through the states that nothing else leads to.
func (f *foresight) known(m *Machine) {
	ways := map[string]int{m.StartAt: 1}
	for _, name := range m.Order {
		for _, next := range m.States[name].leadsTo() {
			ways[next]++
		}
	}
	for _, name := range m.Order {
		s := m.States[name]
		out, ok := s.constantOutput()
		for at := s; ok && at.Next != "" && ways[at.Next] == 1 && f.left > 0; {
			f.left--
			at = m.States[at.Next]
			if _, own := at.constantOutput(); own {
				break // its turn comes
			}
			out, ok = f.through(at, out)
		}
	}
}

// independent tells whether the flow of a state reads nothing that differs from execution to execution, but for its raw input.
func (s *State) independent() bool {
	r := s.Flow.References()
	return !r.Context && !r.Chance && len(r.Variables) == 0 && !r.Input
}

// constantOutput is the output of a Pass that is the same for every input.
func (s *State) constantOutput() (expr.Value, bool) {
	if s.Type != Pass || !s.independent() {
		return nil, false
	}
	var outputs [2]expr.Value
	for i, input := range []*expr.Object{expr.NewObject(), expr.NewObject(expr.Member{Name: "another", Value: "input"})} {
		x, err := s.pass(input)
		if err != nil {
			return nil, false
		}
		outputs[i] = x
	}
	_, small := expr.Size(outputs[0], foreseenBytes)
	return outputs[0], small && expr.Equal(outputs[0], outputs[1])
}

func foreseen(input expr.Value) *expr.Scope {
	return &expr.Scope{Input: input, Limits: expr.Limits{Steps: foreseenSteps, Bytes: 4 * foreseenBytes}}
}

// pass is what a state without work of its own makes of an input.
func (s *State) pass(input expr.Value) (expr.Value, error) {
	sc := foreseen(input)
	entry, err := s.Flow.Enter(sc)
	if err != nil {
		return nil, err
	}
	x, err := s.Flow.Leave(sc, entry.Effective)
	return x.Output, err
}

// through warns where a state fails with the only input that it can have, and gives its output where that is known as well.
func (f *foresight) through(s *State, input expr.Value) (expr.Value, bool) {
	refs := s.Flow.References()
	if refs.Context || refs.Chance || len(refs.Variables) > 0 {
		return nil, false
	}
	sc := foreseen(input)
	entry, err := s.Flow.Enter(sc)
	if err == nil {
		err = s.tries(sc.With(entry.Input))
	}
	var out expr.Value
	if err == nil && (s.Type == Pass || s.Type == Wait) {
		out, err = s.pass(input)
	}
	var e *expr.Error
	switch {
	case errors.As(err, &e) && e.Limit():
		return nil, false
	case e != nil:
		f.foresee(s, "", RuleUnresolvable, "The state fails with the only input that it can have. %s", e.Cause)
		return nil, false
	}
	_, small := expr.Size(out, foreseenBytes)
	return out, small && (s.Type == Pass || s.Type == Wait)
}

// tries evaluates what a Wait, a Choice and a Map are about, as far as it depends on the input alone.
func (s *State) tries(sc *expr.Scope) error {
	alone := func(r expr.References) bool { return !r.Context && !r.Chance && len(r.Variables) == 0 }
	if s.Seconds != nil && alone(s.Seconds.References()) {
		if _, err := s.Seconds.Eval(sc); err != nil {
			return err
		}
	}
	if s.Timestamp != nil && alone(s.Timestamp.References()) {
		if _, err := s.Timestamp.Eval(sc); err != nil {
			return err
		}
	}
	if s.Items != nil && s.Reader == nil && alone(s.Items.References()) {
		if _, err := s.Items.Eval(sc); err != nil {
			return err
		}
	}
	for _, r := range s.Choices {
		if !alone(r.References()) {
			return nil
		}
		if holds, err := r.Holds(sc); holds || err != nil {
			return err
		}
	}
	return nil
}
