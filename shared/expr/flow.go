package expr

// jsonPathFlow is the data flow of a state in JSONPath.
type jsonPathFlow struct {
	kind           Kind
	inputPath      pathField
	parameters     *Template
	itemSelector   *Template
	result         constantField // of a Pass
	resultSelector *Template
	resultPath     resultField
	outputPath     pathField
	assign         *Template
}

// pathField is InputPath or OutputPath: a path, null for the empty object, or
// absent for everything.
type pathField struct {
	path *Path
	null bool
}

func (f pathField) eval(sc *Scope) (Value, error) {
	switch {
	case f.null:
		return NewObject(), nil
	case f.path == nil:
		return sc.Input, nil
	}
	return f.path.Eval(sc)
}

// constantField is a value that may be absent.
type constantField struct {
	value Value
	there bool
}

// resultField is ResultPath: a reference path, null for discarding the result,
// or absent for the result alone.
type resultField struct {
	path *ReferencePath
	null bool
}

// apply puts the result into the raw input.
func (f resultField) apply(sc *Scope, result Value) (Value, error) {
	switch {
	case f.null:
		return sc.Input, nil
	case f.path == nil || f.path.Root():
		return result, nil
	}
	v, err := f.path.Set(sc.Input, result)
	if err != nil {
		return nil, err
	}
	return v, sc.Limits.withDefaults().check(v)
}

func (f *jsonPathFlow) Enter(sc *Scope) (Entry, error) {
	if f.result.there { // the result of a Pass is all that it works on
		sc.trace("result", f.result.value)
		return Entry{sc.Input, f.result.value}, nil
	}
	input, err := f.inputPath.eval(sc)
	if err != nil {
		return Entry{}, err
	}
	sc.trace("afterInputPath", input)
	effective, err := fill(f.parameters, sc, input)
	if err != nil {
		return Entry{}, err
	}
	if f.kind == Pass || f.kind == Task || f.kind == Parallel {
		sc.trace("afterParameters", effective)
	}
	return Entry{input, effective}, nil
}

// fill evaluates a template with input as `$`; without a template the input
// stays as it is.
func fill(t *Template, sc *Scope, input Value) (Value, error) {
	if t == nil {
		return input, nil
	}
	return t.Eval(sc.With(input))
}

func (f *jsonPathFlow) Item(sc *Scope, index int, item Value) (Value, error) {
	if f.itemSelector == nil {
		return item, nil
	}
	v, err := f.itemSelector.Eval(sc.WithItem(index, item))
	if err == nil {
		sc.trace("afterItemSelector", v)
	}
	return v, err
}

func (f *jsonPathFlow) Leave(sc *Scope, result Value) (Exit, error) {
	assigned, err := assign(f.assign, sc, result)
	if err != nil {
		return Exit{}, err
	}
	selected, err := fill(f.resultSelector, sc, result)
	if err != nil {
		return Exit{}, err
	}
	merged, err := f.resultPath.apply(sc, selected)
	if err != nil {
		return Exit{}, err
	}
	if f.kind == Pass || f.kind == Task || f.kind == Parallel || f.kind == Map {
		sc.trace("afterResultSelector", selected)
		sc.trace("afterResultPath", merged)
	}
	output, err := f.outputPath.eval(sc.With(merged))
	if err != nil {
		return Exit{}, err
	}
	return Exit{output, assigned}, nil
}

// assign evaluates an Assign with the result as `$`.
func assign(t *Template, sc *Scope, result Value) (*Object, error) {
	if t == nil {
		return nil, nil
	}
	v, err := t.Eval(sc.With(result))
	if err != nil {
		return nil, err
	}
	limit := sc.Limits.withDefaults().VariableBytes
	if _, within := Size(v, limit); !within {
		return nil, tooLarge("The variables that the state assigns are", limit)
	}
	return v.(*Object), nil
}

func (f *jsonPathFlow) References() References {
	var r References
	r.addPath(f.inputPath.path)
	r.addPath(f.outputPath.path)
	for _, t := range []*Template{f.parameters, f.itemSelector, f.resultSelector} {
		if t != nil {
			r.add(t.References())
		}
	}
	r.assigns(f.assign)
	return r
}

func (f *jsonPathFlow) Given() (string, []Given, bool) {
	const name = "/Parameters"
	if f.parameters == nil || f.result.there {
		return "", nil, false
	}
	members := f.parameters.members()
	for i := range members {
		members[i].Pointer = name + members[i].Pointer
	}
	return name, members, true
}

// jsonPathRule is a rule of a Choice in JSONPath.
type jsonPathRule struct {
	Condition
	outputPath pathField // of the Choice
	assign     *Template // of the rule
}

func (r *jsonPathRule) Leave(sc *Scope, entered Value) (Exit, error) {
	assigned, err := assign(r.assign, sc, entered)
	if err != nil {
		return Exit{}, err
	}
	output, err := r.outputPath.eval(sc.With(entered))
	return Exit{output, assigned}, err
}

func (r *jsonPathRule) References() References {
	refs := r.Condition.References()
	refs.addPath(r.outputPath.path)
	refs.assigns(r.assign)
	return refs
}

// jsonPathCatcher is a catcher in JSONPath: neither ResultSelector nor
// OutputPath of the state apply.
type jsonPathCatcher struct {
	resultPath resultField
	assign     *Template
}

func (c *jsonPathCatcher) Leave(sc *Scope, name, cause string) (Exit, error) {
	failure := ErrorOutput(name, cause)
	assigned, err := assign(c.assign, sc, failure)
	if err != nil {
		return Exit{}, err
	}
	output, err := c.resultPath.apply(sc, failure)
	return Exit{output, assigned}, err
}

func (c *jsonPathCatcher) References() References {
	var r References
	r.assigns(c.assign)
	return r
}
