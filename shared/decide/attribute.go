package decide

import (
	"errors"
	"fmt"

	"github.com/orrery-dev/orrery/shared/definition"
	"github.com/orrery-dev/orrery/shared/expr"
	"github.com/orrery-dev/orrery/shared/history"
)

// AttributesError is why the attributes of an execution cannot be made.
type AttributesError struct {
	Name string // of the execution
	// Err is a [*definition.AttributeError], or the [*expr.Error] of the document's template.
	Err error
}

func (e *AttributesError) Error() string { return fmt.Sprintf("start execution %s: %v", e.Name, e.Err) }
func (e *AttributesError) Unwrap() error { return e.Err }

// attributes are what the execution is found by. Those that a start gives stand before those of the document, and these
// before those that a child has from its parent.
func attributes(m *definition.Machine, start *history.Start, input expr.Value) ([]history.Attribute, error) {
	own, err := madeAttributes(m, input)
	if err != nil {
		return nil, &AttributesError{start.Name, err}
	}
	first, second := start.Attributes, own
	if start.Parent != nil {
		first, second = own, start.Attributes
	}
	all := overlay(first, second)
	if n := len(all); n > definition.MaxAttributes {
		return nil, &AttributesError{start.Name, &definition.AttributeError{
			Rule: fmt.Sprintf("max=%d", definition.MaxAttributes), Message: fmt.Sprintf("there would be %d, with those of the document", n),
		}}
	}
	return all, nil
}

// madeAttributes are those that the document makes.
func madeAttributes(m *definition.Machine, input expr.Value) ([]history.Attribute, error) {
	if m.Attributes == nil {
		return nil, nil
	}
	v, err := m.Attributes.Eval(&expr.Scope{Input: input})
	if err != nil {
		return nil, err
	}
	return definition.ReadAttributes(v)
}

// overlay is first, and what second has besides.
func overlay(first, second []history.Attribute) []history.Attribute {
	if len(first) == 0 {
		return second
	}
	all := append([]history.Attribute(nil), first...)
	taken := map[string]bool{}
	for _, a := range first {
		taken[a.Name] = true
	}
	for _, a := range second {
		if !taken[a.Name] {
			all = append(all, a)
		}
	}
	return all
}

// unfit says why a child cannot be started whose input or attributes are not as its document wants them.
func unfit(err error) (failure, bool) {
	var input *InputError
	var found *AttributesError
	switch {
	case errors.As(err, &input):
		return failure{code: OrreryInvalidInput, cause: "The input " + input.Faults.Error() + "."}, true
	case errors.As(err, &found):
		return failure{code: OrreryInvalidInput, cause: "The attributes of the execution cannot be made: " + found.Err.Error() + "."}, true
	}
	return failure{}, false
}
