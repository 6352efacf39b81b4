package expr

// evaluation is one run of an expression: what it sees and what it may still
// use up.
type evaluation struct {
	sc     *Scope
	limits Limits
	steps  int // left
	field  string
	call   string // the intrinsic call under way, as written
}

func newEvaluation(sc *Scope) *evaluation {
	limits := sc.Limits.withDefaults()
	return &evaluation{sc: sc, limits: limits, steps: limits.Steps}
}

// spend uses up steps; the error is the end of the evaluation.
func (ev *evaluation) spend(n int) error {
	if ev.steps -= n; ev.steps < 0 {
		return runtimeError(tooManySteps+" %d steps.", ev.limits.Steps)
	}
	return nil
}

// missText words the error of a definite path that leads nowhere.
type missText func(ev *evaluation, p *Path, m *miss, root Value) *Error

// path evaluates a path from its root.
func (ev *evaluation) path(p *Path, text missText) (Value, error) {
	root, err := ev.root(p)
	if err != nil {
		return nil, err
	}
	v, m, err := p.find(ev, root)
	if err != nil {
		return nil, err
	}
	if m != nil {
		return nil, text(ev, p, m, root)
	}
	return v, nil
}

// root gives the value that a path starts from.
func (ev *evaluation) root(p *Path) (Value, error) {
	switch p.root {
	case ContextRoot:
		return ev.sc.contextObject(), nil
	case VariableRoot:
		if ev.sc.Variables != nil {
			if v, ok := ev.sc.Variables(p.variable); ok {
				return v, nil
			}
		}
		return nil, runtimeError("The variable '%s' of the JSONPath '%s' has no value.", p.variable, p)
	}
	return ev.sc.Input, nil
}

// invalidPath is how InputPath, OutputPath and single fields word a miss.
func invalidPath(_ *evaluation, p *Path, m *miss, _ Value) *Error {
	return runtimeError("Invalid path '%s' : %s", p, m.reason())
}

// templateMiss is how a field of a template words a miss.
func templateMiss(ev *evaluation, p *Path, _ *miss, root Value) *Error {
	if root == nil {
		return runtimeError("Unable to apply Path transformation to null or empty input.")
	}
	return runtimeError("The JSONPath '%s' specified for the field '%s' could not be found in the input '%s'", p, ev.field, excerpt(root))
}

// argumentMiss is how an argument of an intrinsic function words a miss.
func argumentMiss(ev *evaluation, p *Path, _ *miss, root Value) *Error {
	return runtimeError("The function '%s' had the following error: The JsonPath argument for the field '%s' could not be found in the input '%s'",
		ev.call, p, excerpt(root))
}
