package expr

import (
	"errors"
	"fmt"
)

// ReferencePath is a path from `$` that can be written to: names and indexes
// only.
type ReferencePath struct{ path *Path }

// ErrNotReference is a path that names more than one place, or a place that
// cannot be written to.
var ErrNotReference = errors.New("not a reference path")

// ParseReferencePath reads `$` followed by .name, ['name'] and [index].
func ParseReferencePath(text string) (*ReferencePath, error) {
	p, err := ParsePath(text)
	if err != nil {
		return nil, err
	}
	if p.root != InputRoot || !p.Reference() {
		return nil, fmt.Errorf("%q is %w", clip(text), ErrNotReference)
	}
	return &ReferencePath{p}, nil
}

// String is the path as written.
func (r *ReferencePath) String() string { return r.path.text }

// Root says whether the path is `$` alone.
func (r *ReferencePath) Root() bool { return len(r.path.steps) == 0 }

// Get gives what is at the path in root.
func (r *ReferencePath) Get(root Value) (Value, bool) {
	v := root
	for i := range r.path.steps {
		next, ok := r.path.steps[i].follow(v)
		if !ok {
			return nil, false
		}
		v = next
	}
	return v, true
}

// Set gives a copy of root with v at the path. Objects that are missing on the
// way are made; an element of an array has to be there. The error is an
// [*Error].
func (r *ReferencePath) Set(root, v Value) (Value, error) {
	out, ok := set(root, true, r.path.steps, v)
	if !ok {
		return nil, runtimeError("Unable to apply ReferencePath %s to input %s", r, excerpt(root))
	}
	return out, nil
}

// set puts v where the steps lead to from old, which may be missing.
func set(old Value, there bool, steps []step, v Value) (Value, bool) {
	if len(steps) == 0 {
		return v, true
	}
	s, rest := &steps[0], steps[1:]
	if s.kind == byIndex {
		list, _ := old.([]Value)
		i := s.indexes[0]
		if i >= len(list) {
			return nil, false
		}
		e, ok := set(list[i], true, rest, v)
		if !ok {
			return nil, false
		}
		list = append([]Value(nil), list...)
		list[i] = e
		return list, true
	}
	o, ok := old.(*Object)
	if there && !ok {
		return nil, false
	}
	next, there := o.Get(s.names[0])
	e, ok := set(next, there, rest, v)
	if !ok {
		return nil, false
	}
	o = o.Clone()
	o.Set(s.names[0], e)
	return o, true
}
