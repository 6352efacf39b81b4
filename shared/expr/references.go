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
	case VariableRoot:
		if !slices.Contains(r.Variables, p.variable) {
			r.Variables = append(r.Variables, p.variable)
		}
	}
}

// add adds what another expression reads.
func (r *References) add(other References) {
	for _, p := range other.Paths {
		r.addPath(p)
	}
	r.Chance = r.Chance || other.Chance
}
