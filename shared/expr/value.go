package expr

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Value is a JSON value: nil, bool, [Number], string, []Value or [*Object], and
// nothing else. Values are immutable: whoever made one and handed it out does
// not change it again, so parts of it may stand in many values at once.
type Value = any

// Equal compares deeply. Numbers are equal by value, so 1 equals 1.0; the order
// of an object's members does not count.
func Equal(a, b Value) bool {
	switch a := a.(type) {
	case nil:
		return b == nil
	case bool:
		b, ok := b.(bool)
		return ok && a == b
	case string:
		b, ok := b.(string)
		return ok && a == b
	case Number:
		b, ok := b.(Number)
		return ok && a.Compare(b) == 0
	case []Value:
		b, ok := b.([]Value)
		return ok && equalLists(a, b)
	case *Object:
		b, ok := b.(*Object)
		return ok && equalObjects(a, b)
	}
	panic(notValue(a))
}

func equalLists(a, b []Value) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !Equal(a[i], b[i]) {
			return false
		}
	}
	return true
}

func equalObjects(a, b *Object) bool {
	if a.Len() != b.Len() {
		return false
	}
	for name, av := range a.All() {
		bv, ok := b.Get(name)
		if !ok || !Equal(av, bv) {
			return false
		}
	}
	return true
}

// Clone copies deeply, texts included: the copy keeps nothing of the original
// in memory.
func Clone(v Value) Value {
	switch v := v.(type) {
	case nil, bool:
		return v
	case string:
		return strings.Clone(v)
	case Number:
		return Number(strings.Clone(string(v)))
	case []Value:
		list := make([]Value, len(v))
		for i, e := range v {
			list[i] = Clone(e)
		}
		return list
	case *Object:
		members := make([]Member, 0, v.Len())
		for name, e := range v.All() {
			members = append(members, Member{strings.Clone(name), Clone(e)})
		}
		return newObject(members)
	}
	panic(notValue(v))
}

// Size counts the bytes that Append would write, and stops counting once there
// are more than max: within says whether there are at most max.
func Size(v Value, max int) (n int, within bool) {
	m := meter{left: max, depth: maxInt}
	m.value(v, 0)
	return max - m.left, m.left >= 0
}

const maxInt = int(^uint(0) >> 1)

// meter measures a value against a number of bytes and a depth. It stops at the
// first excess, so its work is bounded even where shared parts make a value
// much larger than the memory it takes.
type meter struct {
	left  int // bytes still allowed; negative when there were too many
	depth int // nesting allowed
	deep  bool
}

func (m *meter) value(v Value, depth int) {
	switch v := v.(type) {
	case nil:
		m.left -= len("null")
	case bool:
		if v {
			m.left -= len("true")
		} else {
			m.left -= len("false")
		}
	case Number:
		m.left -= len(v)
	case string:
		m.left -= quotedSize(v)
	case []Value:
		m.list(v, depth+1)
	case *Object:
		m.object(v, depth+1)
	default:
		panic(notValue(v))
	}
}

func (m *meter) list(list []Value, depth int) {
	if depth > m.depth {
		m.deep = true
		return
	}
	m.left -= len("[]") + max(0, len(list)-1)
	for _, e := range list {
		if m.over() {
			return
		}
		m.value(e, depth)
	}
}

func (m *meter) object(o *Object, depth int) {
	if depth > m.depth {
		m.deep = true
		return
	}
	m.left -= len("{}") + max(0, o.Len()-1)
	for name, e := range o.All() {
		if m.over() {
			return
		}
		m.left -= quotedSize(name) + len(":")
		m.value(e, depth)
	}
}

func (m *meter) over() bool { return m.left < 0 || m.deep }

// quotedSize is the length of s as a JSON string.
func quotedSize(s string) int {
	n := len(s) + len(`""`)
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c >= ' ' && c != '"' && c != '\\' && c < utf8.RuneSelf:
		case c >= utf8.RuneSelf:
			r, size := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && size == 1 {
				n += len("\uFFFD") - 1
			}
			i += size - 1
		case shortEscape(c) != 0:
			n++
		default:
			n += len(`\u0000`) - 1
		}
	}
	return n
}

// typeName is how messages call the type of a value.
func typeName(v Value) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case Number:
		return "number"
	case string:
		return "string"
	case []Value:
		return "array"
	case *Object:
		return "object"
	default:
		panic(notValue(v))
	}
}

func notValue(v any) string { return fmt.Sprintf("expr: a %T is not a Value", v) }
