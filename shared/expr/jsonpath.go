package expr

import "slices"

// jsonPath is the query language JSONPath.
type jsonPath struct{}

func (jsonPath) Name() string { return "JSONPath" }

// jsonPathFields are the fields that states have because of JSONPath, and the
// kinds that have them.
var jsonPathFields = map[string][]Kind{
	"InputPath":                      {Pass, Task, Choice, Wait, Parallel, Map, Succeed},
	"OutputPath":                     {Pass, Task, Choice, Wait, Parallel, Map, Succeed},
	"Parameters":                     {Pass, Task, Parallel, Map, Compensate, ItemReader, ResultWriter},
	"Result":                         {Pass},
	"ResultSelector":                 {Task, Parallel, Map},
	"ResultPath":                     {Pass, Task, Parallel, Map, Catch},
	"Assign":                         {Pass, Task, Choice, Wait, Parallel, Map, Catch},
	"ItemsPath":                      {Map},
	"ItemSelector":                   {Map},
	"MaxConcurrencyPath":             {Map},
	"ToleratedFailureCountPath":      {Map},
	"ToleratedFailurePercentagePath": {Map},
	"MaxItemsPerBatchPath":           {ItemBatcher},
	"MaxInputBytesPerBatchPath":      {ItemBatcher},
	"MaxItemsPath":                   {ReaderConfig},
	"SecondsPath":                    {Wait},
	"TimestampPath":                  {Wait},
	"TimeoutSecondsPath":             {Task, Compensate},
	"HeartbeatSecondsPath":           {Task, Compensate},
	"ErrorPath":                      {Fail},
	"CausePath":                      {Fail},
}

func (jsonPath) Owns(kind Kind, field string) bool {
	return slices.Contains(jsonPathFields[field], kind)
}

func (l jsonPath) Flow(kind Kind, state *Object) (Flow, []Problem) {
	r := fieldReader{owner: state}
	f := &jsonPathFlow{kind: kind}
	if l.Owns(kind, "InputPath") {
		f.inputPath = r.pathOrNull("InputPath")
		f.outputPath = r.pathOrNull("OutputPath")
	}
	if l.Owns(kind, "Assign") {
		f.assign = r.template("Assign", parseAssign)
	}
	switch kind {
	case Pass:
		f.result.value, f.result.there = state.Get("Result")
	case Map:
		f.itemSelector = r.template("ItemSelector", ParseTemplate)
		if old := r.template("Parameters", ParseTemplate); f.itemSelector == nil {
			f.itemSelector = old
		}
	}
	if kind == Pass || kind == Task || kind == Parallel {
		f.parameters = r.template("Parameters", ParseTemplate)
	}
	if kind == Task || kind == Parallel || kind == Map {
		f.resultSelector = r.template("ResultSelector", ParseTemplate)
	}
	if l.Owns(kind, "ResultPath") {
		f.resultPath = r.resultPath()
	}
	r.exclusive("ItemSelector", "Parameters")
	return done[Flow](f, r.problems)
}

func (jsonPath) Rule(choice, rule *Object) (Rule, []Problem) {
	r := fieldReader{owner: rule}
	c, problems := parseCondition(rule, map[string]bool{"Next": true, "Assign": true})
	rl := &jsonPathRule{
		Condition: c,
		assign:    r.template("Assign", parseAssign),
	}
	// Problems of the Choice's own fields are those of its Flow.
	ofChoice := fieldReader{owner: choice}
	rl.outputPath = ofChoice.pathOrNull("OutputPath")
	return done[Rule](rl, append(problems, r.problems...))
}

func (jsonPath) Catcher(catcher *Object) (Catcher, []Problem) {
	r := fieldReader{owner: catcher}
	c := &jsonPathCatcher{resultPath: r.resultPath(), assign: r.template("Assign", parseAssign)}
	return done[Catcher](c, r.problems)
}

func (jsonPath) Template(owner *Object, name string) (Expression, []Problem) {
	r := fieldReader{owner: owner}
	t := r.template(name, ParseTemplate)
	if t == nil {
		return nil, r.problems
	}
	return t, nil
}

// done gives an evaluator, or the problems that prevent it.
func done[T any](v T, problems []Problem) (T, []Problem) {
	if len(problems) > 0 {
		var none T
		return none, problems
	}
	return v, nil
}

// fieldReader reads the members of an object and gathers what is wrong with
// them.
type fieldReader struct {
	owner    *Object
	problems []Problem
}

func (r *fieldReader) problem(name, rule, message string) {
	r.problems = append(r.problems, Problem{"/" + name, rule, message})
}

// exclusive takes note of two members of which only one may be there.
func (r *fieldReader) exclusive(a, b string) {
	if r.owner.find(a) >= 0 && r.owner.find(b) >= 0 {
		r.problem(b, RuleExclusive, "only one of "+a+" and "+b+" may be there")
	}
}

// path reads a path; nil where the member is absent or wrong.
func (r *fieldReader) path(name string) *Path {
	v, ok := r.owner.Get(name)
	if !ok {
		return nil
	}
	text, ok := v.(string)
	if !ok {
		r.problems = append(r.problems, needs("/"+name, "a path", v))
		return nil
	}
	p, err := ParsePath(text)
	if err != nil {
		r.problem(name, RulePath, err.Error())
	}
	return p
}

func (r *fieldReader) pathOrNull(name string) pathField {
	if v, ok := r.owner.Get(name); ok && v == nil {
		return pathField{null: true}
	}
	return pathField{path: r.path(name)}
}

func (r *fieldReader) resultPath() resultField {
	const name = "ResultPath"
	switch v, ok := r.owner.Get(name); {
	case !ok:
		return resultField{}
	case v == nil:
		return resultField{null: true}
	}
	p := r.path(name)
	if p == nil {
		return resultField{}
	}
	ref, err := ParseReferencePath(p.text)
	if err != nil {
		r.problem(name, RuleReference, err.Error())
	}
	return resultField{path: ref}
}

// template reads a template, which has to be an object.
func (r *fieldReader) template(name string, parse func(Value) (*Template, []Problem)) *Template {
	v, ok := r.owner.Get(name)
	if !ok {
		return nil
	}
	if _, ok := v.(*Object); !ok {
		r.problems = append(r.problems, needs("/"+name, "an object", v))
		return nil
	}
	t, problems := parse(v)
	for _, p := range problems {
		p.Pointer = "/" + name + p.Pointer
		r.problems = append(r.problems, p)
	}
	return t
}
