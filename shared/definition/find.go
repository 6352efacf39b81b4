package definition

// Find gives the state of a name in this machine or in one inside it, at any
// depth; nil where there is none. It takes constant time for the document's own
// machine, and as many steps as the state is deep for others.
func (m *Machine) Find(name string) *State {
	s := m.names[name]
	if m.Parent == nil {
		return s
	}
	for around := s; around != nil; around = around.Parent() {
		if around.Machine == m {
			return s
		}
	}
	return nil
}

// ByPath gives the state at a path of names, each inside the one before: a
// state of this machine, then one in its branches or its processor, and so on.
// It is nil where there is none.
func (m *Machine) ByPath(names ...string) *State {
	var found *State
	for _, name := range names {
		parent := found
		found = m.Find(name)
		if found == nil || parent == nil && found.Machine != m || parent != nil && found.Machine.Parent != parent {
			return nil
		}
	}
	return found
}

// Walk visits every state of this machine and of those inside it, in the order
// written, each state before those inside it; those of OnSignal and Cleanup last.
func (m *Machine) Walk(visit func(*State)) {
	for _, name := range m.Order {
		s := m.States[name]
		visit(s)
		for _, inner := range s.Machines() {
			inner.Walk(visit)
		}
	}
	for _, name := range m.Signals {
		m.OnSignal[name].Walk(visit)
	}
	if m.Cleanup != nil {
		m.Cleanup.Walk(visit)
	}
}

// Machines are the machines inside a state: the branches of a Parallel, the
// processor of a Map.
func (s *State) Machines() []*Machine {
	if s.Processor != nil {
		return []*Machine{s.Processor}
	}
	return s.Branches
}

// Parent is the Parallel or Map that the state is inside of; nil at the top.
func (s *State) Parent() *State { return s.Machine.Parent }

// Path is the names of the states around s, from the top, and its own.
func (s *State) Path() []string {
	if s.Parent() == nil {
		return []string{s.Name}
	}
	return append(s.Parent().Path(), s.Name)
}

// Run is the machine that an execution runs: the document's own, or where the execution is an iteration of a distributed Map,
// what that Map does with an item. Nil where the document has no such Map.
func (m *Machine) Run(processor string) *Machine {
	if processor == "" {
		return m
	}
	if st := m.Find(processor); st != nil {
		return st.Processor
	}
	return nil
}
