package expr

import "time"

// Root is what a path starts from.
type Root int

// The roots of paths.
const (
	InputRoot    Root = iota // $
	ContextRoot              // $$
	VariableRoot             // $name
)

// Path is a JSONPath.
type Path struct{}

// ParsePath reads a path: `$...`, `$$...` or `$name...`.
func ParsePath(text string) (*Path, error) { panic("not filled yet") }

// String is the path as written.
func (p *Path) String() string { panic("not filled yet") }

// Root says what the path starts from.
func (p *Path) Root() Root { panic("not filled yet") }

// Variable is the name of the variable that the path starts from.
func (p *Path) Variable() string { panic("not filled yet") }

// Definite says whether the path gives one value; else it gives a list.
func (p *Path) Definite() bool { panic("not filled yet") }

// Eval gives what the path finds.
func (p *Path) Eval(sc *Scope) (Value, error) { panic("not filled yet") }

// ReferencePath is a path that can be written to.
type ReferencePath struct{}

// ParseReferencePath reads `$` followed by .name, ['name'] and [index].
func ParseReferencePath(text string) (*ReferencePath, error) { panic("not filled yet") }

// String is the path as written.
func (p *ReferencePath) String() string { panic("not filled yet") }

// Get gives what is at the path in root.
func (p *ReferencePath) Get(root Value) (Value, bool) { panic("not filled yet") }

// Set gives a copy of root with v at the path; objects that are missing on the
// way are made.
func (p *ReferencePath) Set(root, v Value) (Value, error) { panic("not filled yet") }

// Template is a value with expressions in it: members whose names end in ".$".
type Template struct{}

// ParseTemplate reads a payload template.
func ParseTemplate(v Value) (*Template, []Problem) { panic("not filled yet") }

// Eval fills the template in.
func (t *Template) Eval(sc *Scope) (Value, error) { panic("not filled yet") }

// Constant gives the value of a template without expressions.
func (t *Template) Constant() (Value, bool) { panic("not filled yet") }

// References says what the template reads.
func (t *Template) References() References { panic("not filled yet") }

// ParseCondition reads a comparison of a Choice rule, with And, Or and Not.
func ParseCondition(v Value) (Condition, []Problem) { panic("not filled yet") }

type jsonPath struct{}

func (jsonPath) Name() string { return "JSONPath" }

func (jsonPath) Owns(kind Kind, field string) bool { panic("not filled yet") }

func (jsonPath) Flow(kind Kind, state *Object) (Flow, []Problem) { panic("not filled yet") }

func (jsonPath) Rule(choice, rule *Object) (Rule, []Problem) { panic("not filled yet") }

func (jsonPath) Catcher(catcher *Object) (Catcher, []Problem) { panic("not filled yet") }

func (jsonPath) Integer(owner *Object, name string) (Field[int64], []Problem) {
	panic("not filled yet")
}

func (jsonPath) Decimal(owner *Object, name string) (Field[float64], []Problem) {
	panic("not filled yet")
}

func (jsonPath) Text(owner *Object, name string) (Field[string], []Problem) {
	panic("not filled yet")
}

func (jsonPath) Instant(owner *Object, name string) (Field[time.Time], []Problem) {
	panic("not filled yet")
}

func (jsonPath) Items(state *Object) (Field[[]Value], []Problem) { panic("not filled yet") }

func (jsonPath) Template(owner *Object, name string) (Expression, []Problem) {
	panic("not filled yet")
}
