package definition

// ways are the ways between the states of one machine, as far as they have been
// read.
type ways struct {
	links []link
	// broken tells that a way out of some state could not be read, so that
	// nothing can be said about what is reachable.
	broken bool
}

// link is a place that names a state of the machine that it stands in.
type link struct {
	at   *place
	name string
}

// link reads a field that names a state; empty where there is none.
func (b *builder) link(f fields, field string) string {
	if !f.has(field) {
		return ""
	}
	name, ok := f.text(field)
	switch {
	case !ok:
		b.ways.broken = true
	case name == "":
		b.errorf(f.at.member(field), RuleEmpty, "%s must name a state.", field)
		b.ways.broken = true
	default:
		b.ways.links = append(b.ways.links, link{f.at.member(field), name})
	}
	return name
}

// connect checks that the links of a machine lead to states of the same States,
// and that every state can be reached.
func (b *builder) connect(m *Machine, states fields) {
	for _, l := range b.ways.links {
		if !states.has(l.name) {
			b.ways.broken = true
			b.badTarget(m, l)
		}
	}
	if b.ways.broken {
		return
	}
	reached := m.reachable()
	report := b.warnf
	if b.strict {
		report = b.errorf
	}
	for _, name := range m.Order {
		if !reached[name] {
			report(states.at.member(name), RuleUnreachable, "No path leads from StartAt to the state %q.", name)
		}
	}
}

// badTarget reports a link that leads nowhere.
func (b *builder) badTarget(m *Machine, l link) {
	if other, ok := b.names[l.name]; ok {
		b.errorf(l.at, RuleTarget, "The state %q is at %s: a target must stand in the same States.", l.name, other.Pointer)
		return
	}
	b.errorf(l.at, RuleTarget, "There is no state %q in the same States.%s", l.name, b.hint(l.name, m.Order))
}

// reachable gives the names of the states that a path from StartAt leads to.
func (m *Machine) reachable() map[string]bool {
	reached := map[string]bool{}
	open := []string{m.StartAt}
	for len(open) > 0 {
		name := open[len(open)-1]
		open = open[:len(open)-1]
		if s := m.States[name]; s != nil && !reached[name] {
			reached[name] = true
			open = append(open, s.leadsTo()...)
		}
	}
	return reached
}

// leadsTo lists the states that s can be left to, empty names among them: Next,
// Default, and the targets of its rules and catchers.
func (s *State) leadsTo() []string {
	names := []string{s.Next, s.Default}
	for _, rule := range s.Choices {
		names = append(names, rule.Next)
	}
	for _, catcher := range s.Catch {
		names = append(names, catcher.Next)
	}
	return names
}
