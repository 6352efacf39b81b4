package expr

import "slices"

// References says what an expression reads, as far as its text tells.
type References struct {
	// Input and Context say whether it reads `$` and `$$`.
	Input, Context bool
	// Variables are the names of the variables that it reads, each once, in the
	// order of the text.
	Variables []string
	// Chance says whether it draws: UUID, MathRandom.
	Chance bool
	// Paths are all paths that it reads, in the order of the text.
	Paths []*Path
	// Members are the members of the context object that it reads, and fails without.
	Members []MemberRead
	// Tests says whether it asks if a path leads anywhere, so that others may read what is there at times only.
	Tests bool
	// Assigned are the names of the variables that it gives values.
	Assigned []string
}

// MemberRead is the way to a member of the context object, as far as it has names, in an expression of this text.
type MemberRead struct {
	Text  string
	Names []string
}

// addPath adds what a path reads.
func (r *References) addPath(p *Path) {
	if p == nil {
		return
	}
	r.Paths = append(r.Paths, p)
	switch p.root {
	case InputRoot:
		r.Input = true
	case ContextRoot:
		r.Context = true
		if p.definite {
			r.Members = append(r.Members, MemberRead{p.text, p.Prefix()})
		}
	case VariableRoot:
		if !slices.Contains(r.Variables, p.variable) {
			r.Variables = append(r.Variables, p.variable)
		}
	}
}

// assigns adds what an Assign reads, and the names that it gives values.
func (r *References) assigns(t *Template) {
	if t == nil {
		return
	}
	r.add(t.References())
	for _, m := range t.members() {
		r.Assigned = append(r.Assigned, m.Name)
	}
}

// add adds what another expression reads.
func (r *References) add(other References) {
	for _, p := range other.Paths {
		r.addPath(p)
	}
	r.Chance = r.Chance || other.Chance
	r.Tests = r.Tests || other.Tests
}
