package expr

import (
	"regexp"
	"slices"
	"strings"
)

// filterScope is what a filter sees: the value that it decides about as `@`,
// and the root of the path that it is part of as `$`.
type filterScope struct {
	ev      *evaluation
	current Value
	root    Value
}

// predicate decides whether a value passes a filter.
type predicate interface {
	test(fs *filterScope) (bool, error)
}

type anyOf []predicate

func (ps anyOf) test(fs *filterScope) (bool, error) {
	for _, p := range ps {
		if ok, err := p.test(fs); ok || err != nil {
			return ok, err
		}
	}
	return false, nil
}

type allOf []predicate

func (ps allOf) test(fs *filterScope) (bool, error) {
	for _, p := range ps {
		if ok, err := p.test(fs); !ok || err != nil {
			return false, err
		}
	}
	return true, nil
}

type notOf struct{ predicate }

func (p notOf) test(fs *filterScope) (bool, error) {
	ok, err := p.predicate.test(fs)
	return !ok, err
}

// exists passes where a path finds something, be it null or false. A literal is
// what it says.
type exists struct{ operand }

func (p exists) test(fs *filterScope) (bool, error) {
	v, found, err := p.value(fs)
	if p.path == nil {
		b, _ := v.(bool)
		return b, err
	}
	if list, ok := v.([]Value); ok && !p.path.definite {
		found = len(list) > 0
	}
	return found, err
}

// compares passes where the operator holds between the operands.
type compares struct {
	op          operator
	left, right operand
}

// operator compares two values; found says for each whether it is there.
type operator func(left, right Value, leftFound, rightFound bool) bool

func (p compares) test(fs *filterScope) (bool, error) {
	left, leftFound, err := p.left.value(fs)
	if err != nil {
		return false, err
	}
	right, rightFound, err := p.right.value(fs)
	if err != nil {
		return false, err
	}
	if err := fs.ev.spend(cost(left, right)); err != nil {
		return false, err
	}
	return p.op(left, right, leftFound, rightFound), nil
}

// cost is about how long it takes to compare two values, in steps: at worst each
// element of one list with each of the other.
func cost(left, right Value) int {
	lw, rw := weight(left), weight(right)
	if list, ok := left.([]Value); ok {
		return 1 + lw + rw*(1+len(list))
	}
	return 1 + lw + rw
}

// weight is about how many steps it takes to look at all of a value.
func weight(v Value) int {
	switch v := v.(type) {
	case string:
		return len(v) / 64
	case Number:
		return len(v) / 64
	case []Value, *Object:
		n, _ := Size(v, DefaultBytes)
		return n / 16
	}
	return 0
}

// matches passes where a text matches a regular expression as a whole.
type matches struct {
	left    operand
	pattern *regexp.Regexp
	size    int // instructions
}

func (p *matches) test(fs *filterScope) (bool, error) {
	v, _, err := p.left.value(fs)
	if err != nil {
		return false, err
	}
	text, ok := v.(string)
	if err := fs.ev.spend(1 + len(text)*(1+p.size/16)/8); err != nil {
		return false, err
	}
	return ok && p.pattern.MatchString(text), nil
}

// operand is a path from `@` or `$`, or a literal.
type operand struct {
	path    *Path
	current bool // the path starts from @
	literal Value
}

func (o operand) value(fs *filterScope) (v Value, found bool, err error) {
	if o.path == nil {
		return o.literal, true, nil
	}
	root := fs.root
	if o.current {
		root = fs.current
	}
	v, m, err := o.path.find(fs.ev, root)
	if err != nil || m != nil {
		return nil, false, err
	}
	return v, true, nil
}

// operators are those of filters. A number and a text that holds the same
// number are equal; other values of different types are not, and have no order.
var operators = map[string]operator{
	"==": looselyEqual,
	"!=": func(a, b Value, af, bf bool) bool { return !looselyEqual(a, b, af, bf) },
	"<":  func(a, b Value, af, bf bool) bool { c, ok := order(a, b); return ok && c < 0 },
	"<=": func(a, b Value, af, bf bool) bool { c, ok := order(a, b); return ok && c <= 0 },
	">":  func(a, b Value, af, bf bool) bool { c, ok := order(a, b); return ok && c > 0 },
	">=": func(a, b Value, af, bf bool) bool { c, ok := order(a, b); return ok && c >= 0 },
	"in": func(a, b Value, af, _ bool) bool { return af && within(a, b) },
	"nin": func(a, b Value, af, _ bool) bool {
		return af && !within(a, b)
	},
	"contains": func(a, b Value, _, bf bool) bool {
		if text, ok := a.(string); ok {
			part, ok := b.(string)
			return ok && strings.Contains(text, part)
		}
		return bf && within(b, a)
	},
	"size": func(a, b Value, _, _ bool) bool {
		n, ok := length(a)
		return ok && Equal(NumberOf(int64(n)), b)
	},
	"empty": func(a, b Value, _, _ bool) bool {
		n, ok := length(a)
		return ok && Equal(n == 0, b)
	},
	"subsetof": func(a, b Value, _, _ bool) bool { return eachOf(a, b, true) },
	"noneof":   func(a, b Value, _, _ bool) bool { return eachOf(a, b, false) },
	"anyof": func(a, b Value, _, _ bool) bool {
		_, isList := a.([]Value)
		return isList && !eachOf(a, b, false)
	},
}

func looselyEqual(a, b Value, aFound, bFound bool) bool {
	if !aFound || !bFound {
		return !aFound && !bFound
	}
	if n, ok := a.(Number); ok {
		if s, ok := b.(string); ok {
			return string(n) == s
		}
	}
	if n, ok := b.(Number); ok {
		if s, ok := a.(string); ok {
			return string(n) == s
		}
	}
	return Equal(a, b)
}

// order compares two numbers or two texts.
func order(a, b Value) (int, bool) {
	switch a := a.(type) {
	case Number:
		if b, ok := b.(Number); ok {
			return a.Compare(b), true
		}
	case string:
		if b, ok := b.(string); ok {
			return strings.Compare(a, b), true
		}
	}
	return 0, false
}

func within(v, list Value) bool {
	l, ok := list.([]Value)
	return ok && slices.ContainsFunc(l, func(e Value) bool { return looselyEqual(e, v, true, true) })
}

// eachOf says whether every element of a is in b, or every one is not.
func eachOf(a, b Value, in bool) bool {
	list, ok := a.([]Value)
	return ok && !slices.ContainsFunc(list, func(e Value) bool { return within(e, b) != in })
}

func length(v Value) (int, bool) {
	switch v := v.(type) {
	case string:
		return len(v), true
	case []Value:
		return len(v), true
	case *Object:
		return v.Len(), true
	}
	return 0, false
}
