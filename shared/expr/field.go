package expr

// fieldType says what the value of a field has to be.
type fieldType[T any] struct {
	// constant takes the value that a document gives. Where it cannot, it names
	// the rule and says why.
	constant func(v Value) (value T, rule, message string)
	// convert takes what the path or call that is written as text gave.
	convert func(text string, v Value) (T, error)
	// calls says whether the call of an intrinsic function may stand for the
	// path.
	calls bool
}

// readField reads a field that is either a constant under its name, or found by
// a path under its name with the suffix "Path". It is nil where neither is
// there.
func readField[T any](r *fieldReader, name string, t fieldType[T]) (Field[T], []Problem) {
	r.exclusive(name, name+"Path")
	if len(r.problems) > 0 {
		return nil, r.problems
	}
	if v, ok := r.owner.Get(name); ok {
		value, rule, message := t.constant(v)
		if rule != "" {
			r.problem(name, rule, message)
		}
		return done[Field[T]](constantValue[T]{value}, r.problems)
	}
	if v, ok := r.owner.Get(name + "Path"); ok {
		f := readExpression(r, name+"Path", v, t)
		return done(f, r.problems)
	}
	return nil, nil
}

// readExpression reads the path, or the call, that gives a field.
func readExpression[T any](r *fieldReader, name string, v Value, t fieldType[T]) Field[T] {
	text, ok := v.(string)
	if !ok {
		r.problems = append(r.problems, needs("/"+name, "a path", v))
		return nil
	}
	n, problem := parseExpression(text, name)
	if problem != nil {
		r.problem(name, problem.Rule, problem.Message)
		return nil
	}
	switch n := n.(type) {
	case pathNode:
		return pathValue[T]{n.path, missOf(name), t.convert}
	case callNode:
		if t.calls && n.call.fn.text {
			return callValue[T]{n, t.convert}
		}
	}
	r.problem(name, RuleIntrinsic, "the call of this function cannot stand here")
	return nil
}

// constantValue is a field with a constant.
type constantValue[T any] struct{ value T }

func (f constantValue[T]) Eval(*Scope) (T, error) { return f.value, nil }
func (f constantValue[T]) Constant() (T, bool)    { return f.value, true }
func (f constantValue[T]) References() References { return References{} }

// pathValue is a field with a path.
type pathValue[T any] struct {
	path    *Path
	miss    missText
	convert func(text string, v Value) (T, error)
}

func (f pathValue[T]) Eval(sc *Scope) (T, error) {
	v, err := newEvaluation(sc).path(f.path, f.miss)
	if err != nil {
		var none T
		return none, err
	}
	return f.convert(f.path.text, v)
}

func (f pathValue[T]) Constant() (T, bool) {
	var none T
	return none, false
}

func (f pathValue[T]) References() References {
	var r References
	r.addPath(f.path)
	return r
}

// callValue is a field with the call of an intrinsic function.
type callValue[T any] struct {
	call    callNode
	convert func(text string, v Value) (T, error)
}

func (f callValue[T]) Eval(sc *Scope) (T, error) {
	v, err := f.call.eval(newEvaluation(sc))
	if err != nil {
		var none T
		return none, err
	}
	return f.convert(f.call.text, v)
}

func (f callValue[T]) Constant() (T, bool) {
	var none T
	return none, false
}

func (f callValue[T]) References() References {
	var r References
	f.call.refs(&r)
	return r
}

// missOf gives the wording of a path that leads nowhere in a field.
func missOf(name string) missText {
	if name != "SecondsPath" && name != "TimestampPath" {
		return invalidPath
	}
	return func(_ *evaluation, p *Path, _ *miss, _ Value) *Error {
		return runtimeError("The %s parameter does not reference an input value: %s", name, p)
	}
}
