package expr

import (
	"errors"
	"time"
)

// Kind is the Type of a state.
type Kind string

// The kinds of states.
const (
	Pass     Kind = "Pass"
	Task     Kind = "Task"
	Choice   Kind = "Choice"
	Wait     Kind = "Wait"
	Parallel Kind = "Parallel"
	Map      Kind = "Map"
	Succeed  Kind = "Succeed"
	Fail     Kind = "Fail"
)

// These are not kinds of states: they ask Owns about the elements of Catch, about a Compensate, and about what a distributed
// Map has.
const (
	Catch        Kind = "Catch"
	Compensate   Kind = "Compensate"
	ItemBatcher  Kind = "ItemBatcher"
	ItemReader   Kind = "ItemReader"
	ReaderConfig Kind = "ReaderConfig"
	ResultWriter Kind = "ResultWriter"
)

// ErrNotBuilt is a query language that the specification has and this version
// does not.
var ErrNotBuilt = errors.New("expr: query language is not built yet")

// ErrUnknownLanguage is a query language that does not exist.
var ErrUnknownLanguage = errors.New("expr: unknown query language")

// Language makes evaluators from the text of a document. Each method takes the
// object that owns the fields, reads those that belong to the language and
// leaves the others alone. Pointers of problems are relative to that object.
// Where there are problems, the evaluator is nil.
type Language interface {
	// Name is the QueryLanguage of documents.
	Name() string

	// Owns says whether states of this kind may have the field because of this
	// language. Fields that are the same in every language (Type, Next,
	// Resource, Retry and so on) belong to none.
	Owns(kind Kind, field string) bool

	// Flow makes the data flow of a state.
	Flow(kind Kind, state *Object) (Flow, []Problem)
	// Rule makes one element of a Choice's Choices. The Choice itself is needed
	// for what the rule does not have of its own.
	Rule(choice, rule *Object) (Rule, []Problem)
	// Catcher makes one element of a state's Catch.
	Catcher(catcher *Object) (Catcher, []Problem)

	// Integer makes a field such as Seconds, in any of the forms that the
	// language has for it (Seconds and SecondsPath in JSONPath). It is nil, with
	// no problem, where owner has none of them. The same holds for Decimal,
	// Text, Instant and Template.
	Integer(owner *Object, name string) (Field[int64], []Problem)
	// Decimal makes a field such as ToleratedFailurePercentage.
	Decimal(owner *Object, name string) (Field[float64], []Problem)
	// Text makes a field such as Error, Cause or IdempotencyKey.
	Text(owner *Object, name string) (Field[string], []Problem)
	// Instant makes a field such as Timestamp.
	Instant(owner *Object, name string) (Field[time.Time], []Problem)
	// Items makes what a Map iterates over: by default, its input.
	Items(state *Object) (Field[[]Value], []Problem)
	// Template makes a tree with expressions in it, such as the Parameters of an
	// ItemReader or of a Compensate, a BatchInput or Credentials, from the
	// member of owner with that name. A language that has another name for
	// Parameters knows it.
	Template(owner *Object, name string) (Expression, []Problem)
}

// Flow is how data passes through one state.
type Flow interface {
	// Enter makes what the state works on from its raw input, sc.Input.
	Enter(sc *Scope) (Entry, error)
	// Item makes the input of one iteration of a Map; sc.Input is the
	// Entry.Input of the Map. Other kinds of states give the item itself.
	Item(sc *Scope, index int, item Value) (Value, error)
	// Leave makes the state's output. sc.Input is the raw input again; result is
	// what the work gave, and Entry.Effective for states that do no work.
	Leave(sc *Scope, result Value) (Exit, error)
	// References says what the flow reads and assigns.
	References() References
	// Given lists the members of what the state works on, where the text makes an object of them, with the place of that;
	// known is false where it is something else, such as the state's input.
	Given() (at string, members []Given, known bool)
}

// Given is a member of what a state works on, as far as the text tells.
type Given struct {
	Name string
	// Pointer is its place, relative to the state.
	Pointer string
	// Value is there where Constant is true.
	Value    Value
	Constant bool
}

// Entry is the state of affairs when a state begins.
type Entry struct {
	// Input is what the state's Fields and Conditions see as Scope.Input.
	Input Value
	// Effective is what the state works on: the input of the task, of each
	// branch; of a Pass, its result.
	Effective Value
}

// Exit is how a state ends.
type Exit struct {
	// Output is the input of the next state.
	Output Value
	// Assigned are the variables that take new values for the next state; nil
	// where the state assigns none.
	Assigned *Object
}

// Condition is a test that a Choice makes.
type Condition interface {
	// Holds tells the outcome. sc.Input is Entry.Input. The error is an [*Error].
	Holds(sc *Scope) (bool, error)
	// References says what the test reads.
	References() References
}

// Rule is one rule of a Choice: where its condition holds, the state is left by
// it.
type Rule interface {
	Condition
	// Leave makes the output of the Choice. sc.Input is its raw input, entered
	// what Enter gave.
	Leave(sc *Scope, entered Value) (Exit, error)
}

// Catcher makes the output of a state whose failure was caught.
type Catcher interface {
	// Leave takes the raw input as sc.Input, and the name and cause of the
	// failure, empty where there is none.
	Leave(sc *Scope, name, cause string) (Exit, error)
	// References says what the catcher reads.
	References() References
}

// LanguageOf gives the language of a QueryLanguage field; "" is the default,
// JSONPath. The error is ErrNotBuilt or ErrUnknownLanguage.
func LanguageOf(name string) (Language, error) {
	switch name {
	case "", "JSONPath":
		return jsonPath{}, nil
	case "JSONata":
		return nil, ErrNotBuilt
	}
	return nil, ErrUnknownLanguage
}
