package expr

// findAll applies an indefinite path. Each step turns the list of values found
// so far into the next one, so the result has the order of the document.
//
// A parent that is missing makes the result empty. A slice or a union of
// indexes that is applied to something other than an array is a miss, as long
// as the steps before it lead to one place: `$[1:5]` of an object.
func (p *Path) findAll(ev *evaluation, root Value) (Value, *miss, error) {
	found, single := []Value{root}, true
	for i := range p.steps {
		s := &p.steps[i]
		if single && len(found) == 1 && !s.deep && (s.kind == bySlice || s.kind == byIndex && len(s.indexes) > 1) {
			if _, isList := found[0].([]Value); !isList {
				return nil, &miss{path: p, at: i, in: found[0]}, nil
			}
		}
		m := match{ev: ev, step: s, root: root}
		for _, v := range found {
			m.from(v, s.deep)
			if m.err != nil {
				return nil, nil, m.err
			}
		}
		found, single = m.found, single && s.single()
	}
	if found == nil {
		found = []Value{}
	}
	return found, nil, nil
}

// match gathers what one step finds.
type match struct {
	ev    *evaluation
	step  *step
	root  Value // of the whole path, for filters that say $
	found []Value
	err   error
}

// from takes the step from v and, if deep, from all that is in it: from a value
// before its parts.
func (m *match) from(v Value, deep bool) {
	m.take(v)
	if !deep {
		return
	}
	switch v := v.(type) {
	case []Value:
		for _, e := range v {
			if m.err == nil {
				m.from(e, true)
			}
		}
	case *Object:
		for _, e := range v.All() {
			if m.err == nil {
				m.from(e, true)
			}
		}
	}
}

func (m *match) take(v Value) {
	if m.err = m.ev.spend(1); m.err != nil {
		return
	}
	switch m.step.kind {
	case byName:
		if o, ok := v.(*Object); ok {
			for _, name := range m.step.names {
				if e, ok := o.Get(name); ok {
					m.add(e)
				}
			}
		}
	case byIndex:
		m.indexed(v)
	case bySlice:
		m.sliced(v)
	case byAny:
		m.all(v)
	case byTest:
		m.tested(v)
	}
}

func (m *match) add(v Value) {
	if m.err == nil {
		m.err = m.ev.spend(1)
		m.found = append(m.found, v)
	}
}

func (m *match) indexed(v Value) {
	list, _ := v.([]Value)
	for _, i := range m.step.indexes {
		if i < 0 {
			i += len(list)
		}
		if i >= 0 && i < len(list) {
			m.add(list[i])
		}
	}
}

func (m *match) sliced(v Value) {
	list, _ := v.([]Value)
	ends := [2]int{0, len(list)}
	for i := range ends {
		if m.step.open[i] {
			continue
		}
		if ends[i] = m.step.indexes[i]; ends[i] < 0 {
			ends[i] += len(list)
		}
		ends[i] = max(0, min(ends[i], len(list)))
	}
	for i := ends[0]; i < ends[1]; i++ {
		m.add(list[i])
	}
}

func (m *match) all(v Value) {
	switch v := v.(type) {
	case []Value:
		for _, e := range v {
			m.add(e)
		}
	case *Object:
		for _, e := range v.All() {
			m.add(e)
		}
	}
}

// tested applies a filter: to each element of an array, and to an object as a
// whole. After "..", which visits every value in turn, it is applied to all
// that is in the value, so that each is tested once.
func (m *match) tested(v Value) {
	switch v := v.(type) {
	case []Value:
		for _, e := range v {
			m.test(e)
		}
	case *Object:
		if !m.step.deep {
			m.test(v)
			return
		}
		for _, e := range v.All() {
			m.test(e)
		}
	}
}

func (m *match) test(v Value) {
	if m.err != nil {
		return
	}
	ok, err := m.step.filter.test(&filterScope{ev: m.ev, current: v, root: m.root})
	switch {
	case err != nil:
		m.err = err
	case ok:
		m.add(v)
	}
}
