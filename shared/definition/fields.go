package definition

import (
	"slices"
	"strings"

	"github.com/orrery-dev/orrery/shared/expr"
)

// fields reads the members of one object of a document. What is wrong with one
// is reported, and the reader's result is that of an absent field.
type fields struct {
	*report
	o  *expr.Object
	at *place
}

func (f fields) has(name string) bool {
	_, ok := f.o.Get(name)
	return ok
}

// wrongType reports a field that is not of the type wanted.
func (f fields) wrongType(name, wanted string, v expr.Value) {
	f.errorf(f.at.member(name), RuleType, "%s must be %s, not %s.", name, wanted, typeName(v))
}

// text reads a string.
func (f fields) text(name string) (string, bool) {
	v, ok := f.o.Get(name)
	if !ok {
		return "", false
	}
	text, ok := v.(string)
	if !ok {
		f.wrongType(name, "a string", v)
	}
	return text, ok
}

// word reads a string that is one of some words; absent where there is none.
func (f fields) word(name, absent string, words ...string) string {
	text, ok := f.text(name)
	if !ok {
		return absent
	}
	if !slices.Contains(words, text) {
		f.errorf(f.at.member(name), RuleValue, "%s must be %s, not %q.", name, strings.Join(words, " or "), text)
		return absent
	}
	return text
}

// flag reads a boolean; false where there is none.
func (f fields) flag(name string) bool {
	v, ok := f.o.Get(name)
	if !ok {
		return false
	}
	flag, ok := v.(bool)
	if !ok {
		f.wrongType(name, "true or false", v)
	}
	return flag
}

// integer reads a whole number from low to high; absent where there is none.
func (f fields) integer(name string, low, high int64, absent int) int {
	v, ok := f.o.Get(name)
	if !ok {
		return absent
	}
	number, ok := v.(expr.Number)
	if !ok {
		f.wrongType(name, "a whole number", v)
		return absent
	}
	n, ok := number.Int64()
	if !ok {
		f.errorf(f.at.member(name), RuleType, "%s must be a whole number, not %s.", name, string(number))
		return absent
	}
	if !f.inRange(name, n, low, high) {
		return absent
	}
	return int(n)
}

// inRange reports a number that is not from low to high.
func (f fields) inRange(name string, n, low, high int64) bool {
	if n < low || n > high {
		f.errorf(f.at.member(name), RuleRange, "%s must be from %d to %d, not %d.", name, low, high, n)
		return false
	}
	return true
}

// list reads an array that may be empty.
func (f fields) list(name string) ([]expr.Value, bool) {
	v, ok := f.o.Get(name)
	if !ok {
		return nil, false
	}
	list, ok := v.([]expr.Value)
	if !ok {
		f.wrongType(name, "an array", v)
	}
	return list, ok
}

// filled reads an array that must be there and hold something.
func (f fields) filled(name string) []expr.Value {
	f.require(name)
	list, ok := f.list(name)
	if ok && len(list) == 0 {
		f.errorf(f.at.member(name), RuleEmpty, "%s must not be empty.", name)
	}
	return list
}

// object reads an object.
func (f fields) object(name string) (fields, bool) {
	v, ok := f.o.Get(name)
	if !ok {
		return fields{}, false
	}
	return f.asObject(name, f.at.member(name), v)
}

// asObject takes a value, a field or an element of one, as an object.
func (f fields) asObject(name string, at *place, v expr.Value) (fields, bool) {
	o, ok := v.(*expr.Object)
	if !ok {
		f.errorf(at, RuleType, "%s must be an object, not %s.", name, typeName(v))
		return fields{}, false
	}
	return fields{f.report, o, at}, true
}

// elements are those elements of an array of objects that are objects.
func (f fields) elements(name string, list []expr.Value) []fields {
	var found []fields
	for i, v := range list {
		if o, ok := f.asObject("Each element of "+name, f.at.member(name).index(i), v); ok {
			found = append(found, o)
		}
	}
	return found
}

// require reports those of the fields that are missing, in one problem.
func (f fields) require(names ...string) {
	var missing []string
	for _, name := range names {
		if !f.has(name) {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		f.errorf(f.at, RuleRequired, "These fields are required: [%s]", strings.Join(missing, ", "))
	}
}

// exclusive reports a field that stands beside one that excludes it.
func (f fields) exclusive(name, other string) {
	if f.has(name) && f.has(other) {
		f.errorf(f.at.member(other), RuleExclusive, "%s and %s exclude each other.", name, other)
	}
}

// only reports the fields that are not among the known ones. Those among
// elsewhere exist in the language and are misplaced.
func (f fields) only(what string, known, elsewhere []string) {
	for name := range f.o.All() {
		switch {
		case slices.Contains(known, name):
		case slices.Contains(elsewhere, name):
			f.errorf(f.at.member(name), RuleMisplaced, "%s cannot have the field %q.", what, name)
		default:
			f.unknown(name, known)
		}
	}
}

// unknown reports a field that the language does not have.
func (f fields) unknown(name string, known []string) {
	f.errorf(f.at.member(name), RuleUnknown, "There is no field %q here.%s", name, f.hint(name, known))
}

// typeName is how messages call the type of a value.
func typeName(v expr.Value) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "a boolean"
	case expr.Number:
		return "a number"
	case string:
		return "a string"
	case []expr.Value:
		return "an array"
	}
	return "an object"
}
