package trial

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/orrery-dev/orrery/shared/definition"
	"github.com/orrery-dev/orrery/shared/expr"
)

// reader reads the objects of a script and gathers what is wrong with them. What a faulty field gives is that of an absent
// one.
type reader struct {
	problems definition.Problems
	bytes    int // of what is reported
}

// table is an object of a script with its place.
type table struct {
	o  *expr.Object
	at string
}

const (
	// maxProblems and maxProblemBytes bound what is reported: places and messages repeat names of the script.
	maxProblems     = 100
	maxProblemBytes = 1 << 20
	// maxTimes is how often an answer may be given.
	maxTimes = 1_000_000
	// maxAfter is the longest time that a script can name.
	maxAfter = 100 * 365 * 24 * time.Hour
)

func (r *reader) problem(at, rule, format string, args ...any) {
	if len(r.problems) < maxProblems && r.bytes < maxProblemBytes {
		p := definition.Problem{Pointer: at, Rule: rule, Message: fmt.Sprintf(format, args...), Severity: definition.SeverityError}
		r.problems = append(r.problems, p)
		r.bytes += len(p.Pointer) + len(p.Message)
	}
}

var pointerEscapes = strings.NewReplacer("~", "~0", "/", "~1")

func escape(name string) string { return pointerEscapes.Replace(name) }

func (r *reader) object(v expr.Value, at string) (table, bool) {
	o, ok := v.(*expr.Object)
	if !ok {
		r.problem(at, definition.RuleType, "An object must stand here.")
	}
	return table{o, at}, ok
}

func (r *reader) list(v expr.Value, at string) ([]expr.Value, bool) {
	list, ok := v.([]expr.Value)
	if !ok {
		r.problem(at, definition.RuleType, "An array must stand here.")
	}
	return list, ok
}

// member is a field that is an object.
func (r *reader) member(t table, field string) (table, bool) {
	v, ok := t.o.Get(field)
	if !ok {
		return table{}, false
	}
	return r.object(v, t.at+"/"+field)
}

// tables is a field that is an array of objects.
func (r *reader) tables(t table, field string) []table {
	v, ok := t.o.Get(field)
	if !ok {
		return nil
	}
	at := t.at + "/" + field
	list, _ := r.list(v, at)
	var found []table
	for i, e := range list {
		if o, ok := r.object(e, fmt.Sprintf("%s/%d", at, i)); ok {
			found = append(found, o)
		}
	}
	return found
}

// only reports fields that do not exist.
func (r *reader) only(t table, fields ...string) {
	for name := range t.o.All() {
		if !slices.Contains(fields, name) {
			r.problem(t.at+"/"+escape(name), definition.RuleUnknown, "There is no field %q here; there are %s.", name, strings.Join(fields, ", "))
		}
	}
}

func (r *reader) require(t table, fields ...string) {
	for _, name := range fields {
		if _, ok := t.o.Get(name); !ok {
			r.problem(t.at, definition.RuleRequired, "The field %s is required.", name)
		}
	}
}

// oneOf gives the one field of several that is there; empty, and a problem, for none or more than one.
func (r *reader) oneOf(t table, fields ...string) string {
	found := ""
	for _, name := range fields {
		if _, ok := t.o.Get(name); !ok {
			continue
		}
		if found != "" {
			r.problem(t.at+"/"+name, definition.RuleExclusive, "%s and %s exclude each other.", found, name)
			return ""
		}
		found = name
	}
	if found == "" {
		r.problem(t.at, definition.RuleRequired, "One of these fields is required: %s.", strings.Join(fields, ", "))
	}
	return found
}

// text is a field that is a string; empty where there is none.
func (r *reader) text(t table, field string) string {
	v, ok := t.o.Get(field)
	if !ok {
		return ""
	}
	text, ok := v.(string)
	if !ok {
		r.problem(t.at+"/"+field, definition.RuleType, "%s must be a string.", field)
	}
	return text
}

// flag is a field that is true or false; false where there is none.
func (r *reader) flag(t table, field string) bool {
	v, ok := t.o.Get(field)
	if !ok {
		return false
	}
	flag, ok := v.(bool)
	if !ok {
		r.problem(t.at+"/"+field, definition.RuleType, "%s must be true or false.", field)
	}
	return flag
}

// must reports a field that is there to be true and is not.
func (r *reader) must(t table, field string) {
	if v, _ := t.o.Get(field); v != true {
		r.problem(t.at+"/"+field, definition.RuleValue, "%s can only be true.", field)
	}
}

// duration is a field with a time span: a text such as 1h30m, or a number of seconds.
func (r *reader) duration(t table, field string) time.Duration {
	v, ok := t.o.Get(field)
	if !ok {
		return 0
	}
	var d time.Duration
	var err error
	switch v := v.(type) {
	case string:
		d, err = time.ParseDuration(v)
	case expr.Number:
		d = maxAfter + 1
		if seconds := v.Float64(); seconds <= maxAfter.Seconds() {
			d = time.Duration(seconds * float64(time.Second))
		}
	default:
		err = fmt.Errorf("no text")
	}
	switch {
	case err != nil:
		r.problem(t.at+"/"+field, definition.RuleType, "%s must be a time span such as 1h30m, or a number of seconds.", field)
	case d < 0 || d > maxAfter:
		r.problem(t.at+"/"+field, definition.RuleRange, "%s must be from 0 to 100 years.", field)
	default:
		return d
	}
	return 0
}

// times reads how often an answer is given: -1 for always.
func (r *reader) times(t table) int {
	v, ok := t.o.Get("times")
	if !ok {
		return 1
	}
	if v == "always" {
		return -1
	}
	number, _ := v.(expr.Number)
	n, whole := number.Int64()
	if !whole || n < 1 || n > maxTimes {
		r.problem(t.at+"/times", definition.RuleRange, "times must be from 1 to %d, or always.", maxTimes)
		return 1
	}
	return int(n)
}
