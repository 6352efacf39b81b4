package expr

// Scope is what an expression can see. A Scope serves one goroutine.
type Scope struct {
	// Input is what `$` means. For a Flow it is the raw input of the state; for
	// Fields and Conditions the Entry.Input that the Flow gave.
	Input Value
	// Context gives what `$$` means; it is called at most once for a Scope and
	// all that With makes of it. Nil means the empty object.
	Context func() *Object
	// Variables looks up the variable `$name`. Nil means that there are none.
	Variables func(name string) (Value, bool)
	// Draw gives what chance decides. Nil makes functions that need it fail.
	Draw Drawer
	// Limits bound the evaluation. A field that is zero means its default.
	Limits Limits
	// Trace, if set, is told the value after each step of a Flow: the names are
	// afterInputPath, afterParameters, afterItemsPath, afterItemSelector,
	// result, afterResultSelector and afterResultPath. A step that the state
	// does not take is not told.
	Trace func(step string, v Value)

	context *contextMemo // shared with what With makes
}

// contextMemo holds what Context gave, once it was asked.
type contextMemo struct{ object *Object }

// Drawer is the source of chance. What it gives goes into results, which the
// caller records.
type Drawer interface {
	// UUID gives a random UUID of version 4 in its 36 character form.
	UUID() string
	// Float64 gives a number in [0, 1).
	Float64() float64
}

// With is the same scope with another meaning of `$`.
func (sc *Scope) With(input Value) *Scope {
	sc.memo()
	c := *sc
	c.Input = input
	return &c
}

// WithItem is the same scope seen from one item of a Map: `$$.Map.Item` has the
// item's index and value.
func (sc *Scope) WithItem(index int, value Value) *Scope {
	item := NewObject(Member{"Index", NumberOf(int64(index))}, Member{"Value", value})
	object := sc.contextObject().Clone()
	object.Set("Map", NewObject(Member{"Item", item}))
	c := *sc
	c.context = &contextMemo{object}
	return &c
}

// contextObject is what `$$` means.
func (sc *Scope) contextObject() *Object {
	m := sc.memo()
	if m.object == nil && sc.Context != nil {
		m.object = sc.Context()
	}
	if m.object == nil {
		m.object = NewObject()
	}
	return m.object
}

func (sc *Scope) memo() *contextMemo {
	if sc.context == nil {
		sc.context = new(contextMemo)
	}
	return sc.context
}

func (sc *Scope) trace(step string, v Value) {
	if sc.Trace != nil {
		sc.Trace(step, v)
	}
}

// Field is something that a document gives as a constant or as an expression.
type Field[T any] interface {
	// Eval gives the value. The error is an [*Error].
	Eval(sc *Scope) (T, error)
	// Constant gives the value without a scope, where the document has it.
	Constant() (T, bool)
	// References says what Eval reads.
	References() References
}

// Expression is a Field that can be any value.
type Expression = Field[Value]
