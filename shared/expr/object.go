package expr

import "iter"

// indexFrom is the number of members from which an object has an index; below
// it, looking at each name is faster and takes no memory.
const indexFrom = 16

// Member is a name and a value of an object.
type Member struct {
	Name  string
	Value Value
}

// Object is a JSON object whose members keep the order in which their names
// were first set. Reading a nil *Object finds nothing. Set and Delete are for
// whoever is making an object: one that was handed out is not changed.
type Object struct {
	members []Member
	index   map[string]int // position by name; nil below indexFrom members
}

// NewObject makes an object of the members; of two with one name the last wins.
func NewObject(members ...Member) *Object {
	o := &Object{members: make([]Member, 0, len(members))}
	for _, m := range members {
		o.Set(m.Name, m.Value)
	}
	return o
}

// newObject takes members whose names are known to differ.
func newObject(members []Member) *Object {
	o := &Object{members: members}
	if len(members) >= indexFrom {
		o.buildIndex()
	}
	return o
}

func (o *Object) buildIndex() {
	o.index = make(map[string]int, 2*len(o.members))
	for i, m := range o.members {
		o.index[m.Name] = i
	}
}

// Len is the number of members.
func (o *Object) Len() int {
	if o == nil {
		return 0
	}
	return len(o.members)
}

// Get gives the value of a member.
func (o *Object) Get(name string) (Value, bool) {
	if i := o.find(name); i >= 0 {
		return o.members[i].Value, true
	}
	return nil, false
}

// find is the position of a member, -1 where there is none.
func (o *Object) find(name string) int {
	if o == nil {
		return -1
	}
	if o.index != nil {
		if i, ok := o.index[name]; ok {
			return i
		}
		return -1
	}
	for i := range o.members {
		if o.members[i].Name == name {
			return i
		}
	}
	return -1
}

// All yields the members in order.
func (o *Object) All() iter.Seq2[string, Value] {
	return func(yield func(string, Value) bool) {
		if o == nil {
			return
		}
		for i := range o.members {
			if !yield(o.members[i].Name, o.members[i].Value) {
				return
			}
		}
	}
}

// Set changes a member, or adds it at the end.
func (o *Object) Set(name string, v Value) {
	if i := o.find(name); i >= 0 {
		o.members[i].Value = v
		return
	}
	o.members = append(o.members, Member{name, v})
	switch {
	case o.index != nil:
		o.index[name] = len(o.members) - 1
	case len(o.members) >= indexFrom:
		o.buildIndex()
	}
}

// Delete takes a member out, if it is there.
func (o *Object) Delete(name string) {
	i := o.find(name)
	if i < 0 {
		return
	}
	o.members = append(o.members[:i], o.members[i+1:]...)
	o.index = nil
	if len(o.members) >= indexFrom {
		o.buildIndex()
	}
}

// Clone is a copy that can be changed; the values in it are shared.
func (o *Object) Clone() *Object {
	if o == nil {
		return NewObject()
	}
	return newObject(append(make([]Member, 0, len(o.members)+1), o.members...))
}
