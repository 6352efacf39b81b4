package expr

import (
	"strconv"
	"strings"
)

// Root is what a path starts from.
type Root int

// The roots of paths.
const (
	InputRoot    Root = iota // $
	ContextRoot              // $$
	VariableRoot             // $name
)

// Path is a JSONPath. A definite one names a single place and gives what is
// there, or finds nothing, which is an error. An indefinite one (wildcard,
// slice, union, filter, "..") gives the list of all that it finds, empty where
// it finds nothing, even where a parent is missing.
type Path struct {
	text     string
	root     Root
	variable string
	steps    []step
	definite bool
}

// step is one move from a value to values inside it.
type step struct {
	kind    stepKind
	deep    bool // from every descendant, not from the value alone
	names   []string
	indexes []int // of a slice: from and to
	open    [2]bool
	filter  predicate
}

type stepKind int

const (
	byName  stepKind = iota // .name, ['name'], ['name','name']
	byIndex                 // [0], [0,1]
	bySlice                 // [1:3]; open tells which ends are left out
	byAny                   // .*, [*]
	byTest                  // [?(...)]
)

// single says whether the step leads to one place at most.
func (s *step) single() bool {
	return !s.deep && (s.kind == byName && len(s.names) == 1 || s.kind == byIndex && len(s.indexes) == 1)
}

// String is the path as written.
func (p *Path) String() string { return p.text }

// Root says what the path starts from.
func (p *Path) Root() Root { return p.root }

// Variable is the name of the variable that the path starts from, empty for
// other roots.
func (p *Path) Variable() string { return p.variable }

// Definite says whether the path gives one value; else it gives a list.
func (p *Path) Definite() bool { return p.definite }

// Reference says whether the path is a reference path: it is definite, and
// counts no index from the end.
func (p *Path) Reference() bool {
	if !p.definite {
		return false
	}
	for i := range p.steps {
		if s := &p.steps[i]; s.kind == byIndex && s.indexes[0] < 0 {
			return false
		}
	}
	return true
}

// Prefix gives the member names that the path begins with, up to the first
// step of another kind.
func (p *Path) Prefix() []string {
	var names []string
	for i := range p.steps {
		if s := &p.steps[i]; !s.single() || s.kind != byName {
			break
		}
		names = append(names, p.steps[i].names[0])
	}
	return names
}

// Eval gives what the path finds. Where a definite path finds nothing, the
// error's cause begins "Invalid path".
func (p *Path) Eval(sc *Scope) (Value, error) {
	return newEvaluation(sc).path(p, invalidPath)
}

// find applies the path to its root value. A nil miss means that v is what was
// found. The error is an [*Error] for an evaluation that ran out of steps.
func (p *Path) find(ev *evaluation, root Value) (v Value, m *miss, err error) {
	if !p.definite {
		return p.findAll(ev, root)
	}
	v = root
	for i := range p.steps {
		s := &p.steps[i]
		next, ok := s.follow(v)
		if !ok {
			return nil, &miss{path: p, at: i, in: v}, nil
		}
		v = next
	}
	return v, nil, ev.spend(len(p.steps) + 1)
}

// follow takes a single step.
func (s *step) follow(v Value) (Value, bool) {
	if s.kind == byName {
		o, ok := v.(*Object)
		if !ok {
			return nil, false
		}
		return o.Get(s.names[0])
	}
	list, ok := v.([]Value)
	if !ok {
		return nil, false
	}
	i := s.indexes[0]
	if i < 0 {
		i += len(list)
	}
	if i < 0 || i >= len(list) {
		return nil, false
	}
	return list[i], true
}

// miss is a path that leads nowhere: its step number at could not be taken from
// the value in.
type miss struct {
	path *Path
	at   int
	in   Value
}

// reason says why the path leads nowhere.
func (m *miss) reason() string {
	s := &m.path.steps[m.at]
	switch _, isList := m.in.([]Value); {
	case s.kind != byName && !isList:
		return "Filter: " + s.canonical() + " can only be applied to arrays. Current context is: " + excerpt(m.in)
	case s.kind == byName && typeName(m.in) != "object":
		return "Expected to find an object with property " + s.canonical() + " in path " +
			canonical(m.path.steps[:m.at]) + " but found '" + typeName(m.in) + "'."
	case m.at < len(m.path.steps)-1:
		return "Missing property in path " + canonical(m.path.steps[:m.at+1])
	}
	return "No results for path: " + canonical(m.path.steps)
}

// canonical writes steps in brackets: $['a'][0].
func canonical(steps []step) string {
	var b strings.Builder
	b.WriteByte('$')
	for i := range steps {
		if steps[i].deep {
			b.WriteString("..")
		}
		b.WriteString(steps[i].canonical())
	}
	return b.String()
}

func (s *step) canonical() string {
	switch s.kind {
	case byName:
		return "['" + strings.Join(s.names, "','") + "']"
	case byIndex:
		var b strings.Builder
		for i, n := range s.indexes {
			b.WriteByte("[,"[min(i, 1)])
			b.WriteString(strconv.Itoa(n))
		}
		return b.String() + "]"
	case bySlice:
		var ends [2]string
		for i := range ends {
			if !s.open[i] {
				ends[i] = strconv.Itoa(s.indexes[i])
			}
		}
		return "[" + ends[0] + ":" + ends[1] + "]"
	case byAny:
		return "[*]"
	}
	return "[?]"
}

// excerptBytes bounds what a message quotes of a value.
const excerptBytes = 16 << 10

// excerpt is a value in a message: its compact text, cut where it is long.
func excerpt(v Value) string {
	if _, within := Size(v, excerptBytes); within {
		return string(Marshal(v))
	}
	return "(" + typeName(v) + " of more than " + strconv.Itoa(excerptBytes) + " bytes)"
}
