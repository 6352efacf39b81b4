package definition

import (
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"github.com/orrery-dev/orrery/shared/expr"
	"github.com/orrery-dev/orrery/shared/history"
)

const (
	// MaxAttributes is how many an execution has at most.
	MaxAttributes = 16
	// maxAttribute is how long a text may be as the value of one, in characters.
	maxAttribute = 256
)

// AttributeError is what is wrong with attributes.
type AttributeError struct {
	// Name is that of the attribute; empty for all of them together.
	Name string
	// Rule is the rule that is broken.
	Rule    string
	Message string
}

func (e *AttributeError) Error() string {
	if e.Name == "" {
		return "the attributes: " + e.Message
	}
	return "the attribute " + e.Name + ": " + e.Message
}

// ReadAttributes reads an object whose members are attributes. Equal numbers have one form: what is found by 1.0 is found by 1. The
// error is an [*AttributeError].
func ReadAttributes(v expr.Value) ([]history.Attribute, error) {
	o, ok := v.(*expr.Object)
	if !ok {
		return nil, &AttributeError{"", "type=object", "must be an object"}
	}
	if o.Len() > MaxAttributes {
		return nil, &AttributeError{"", fmt.Sprintf("max=%d", MaxAttributes), "has too many members"}
	}
	var out []history.Attribute
	for name, v := range o.All() {
		if err := CheckName(name); err != nil {
			return nil, &AttributeError{"", "name", err.Error()}
		}
		text, err := attribute(name, v)
		if err != nil {
			return nil, err
		}
		out = append(out, history.Attribute{Name: name, Value: text})
	}
	return out, nil
}

// attribute is the one form of a value.
func attribute(name string, v expr.Value) (string, error) {
	switch v := v.(type) {
	case bool:
	case expr.Number:
		text, ok := plainNumber(v)
		if !ok {
			return "", &AttributeError{name, "number", "must be a number that a double can hold"}
		}
		return text, nil
	case string:
		if utf8.RuneCountInString(v) > maxAttribute {
			return "", &AttributeError{name, fmt.Sprintf("max=%d", maxAttribute), "is too long"}
		}
	default:
		return "", &AttributeError{name, "type=string number boolean", "must be a text, a number or a boolean"}
	}
	return string(expr.Marshal(v)), nil
}

// plainNumber is the one form of a number.
func plainNumber(n expr.Number) (string, bool) {
	if i, ok := n.Int64(); ok {
		return fmt.Sprint(i), true
	}
	var f float64
	if err := json.Unmarshal([]byte(n), &f); err != nil {
		return "", false
	}
	b, err := json.Marshal(f)
	return string(b), err == nil
}

// attributes reads Attributes: a template that reads nothing but the execution's input.
func (b *builder) attributes(m *Machine, f fields) {
	if !f.has("Attributes") {
		return
	}
	lang, err := expr.LanguageOf(b.language)
	if err != nil {
		return // the language is refused
	}
	at := f.at.member("Attributes")
	template, problems := lang.Template(f.o, "Attributes")
	b.fromExpr(f.at, problems)
	if template == nil {
		return
	}
	if r := template.References(); r.Context || r.Chance || len(r.Variables) > 0 {
		b.errorf(at, RuleReference, "Attributes are made of the execution's input alone.")
	}
	if v, ok := template.Constant(); ok {
		if _, err := ReadAttributes(v); err != nil {
			b.errorf(at, RuleValue, "Attributes cannot be used: %s.", err.Error())
		}
	}
	m.Attributes = template
}
