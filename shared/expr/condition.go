package expr

// maxConditionDepth bounds And, Or and Not in each other.
const maxConditionDepth = 32

// ParseCondition reads the test of a Choice rule: a comparison (Variable and
// one operator), or And, Or or Not of others.
func ParseCondition(v Value) (Condition, []Problem) {
	return parseCondition(v, nil)
}

// parseCondition reads a test whose object may also have the members of extra.
func parseCondition(v Value, extra map[string]bool) (Condition, []Problem) {
	p := conditionParser{}
	c := p.condition(v, "", extra)
	if len(p.problems) > 0 {
		return nil, p.problems
	}
	return condition{c}, nil
}

// condition is a whole test; one evaluation serves all of it.
type condition struct{ test test }

func (c condition) Holds(sc *Scope) (bool, error) { return c.test.holds(newEvaluation(sc)) }

func (c condition) References() References {
	var r References
	c.test.refs(&r)
	return r
}

// test is a part of a condition.
type test interface {
	holds(ev *evaluation) (bool, error)
	refs(r *References)
}

// allTests is And, anyTest is Or: both stop at the first that decides, so an
// IsPresent can guard what follows it.
type allTests []test

func (ts allTests) holds(ev *evaluation) (bool, error) {
	for _, t := range ts {
		if ok, err := t.holds(ev); !ok || err != nil {
			return false, err
		}
	}
	return true, nil
}

func (ts allTests) refs(r *References) {
	for _, t := range ts {
		t.refs(r)
	}
}

type anyTest []test

func (ts anyTest) holds(ev *evaluation) (bool, error) {
	for _, t := range ts {
		if ok, err := t.holds(ev); ok || err != nil {
			return ok && err == nil, err
		}
	}
	return false, nil
}

func (ts anyTest) refs(r *References) { allTests(ts).refs(r) }

type notTest struct{ test }

func (t notTest) holds(ev *evaluation) (bool, error) {
	ok, err := t.test.holds(ev)
	return !ok && err == nil, err
}

// comparison compares what a path finds with a constant or with what another
// path finds. Values of the wrong type compare as false. A path that finds
// nothing is an error.
type comparison struct {
	variable *Path
	operator *comparisonOperator
	constant Value
	path     *Path // instead of the constant
}

func (c *comparison) holds(ev *evaluation) (bool, error) {
	if c.operator == isPresent {
		present, err := c.present(ev)
		return present == c.constant && err == nil, err
	}
	v, err := ev.path(c.variable, choiceMiss)
	if err != nil {
		return false, err
	}
	other := c.constant
	if c.path != nil {
		if other, err = ev.path(c.path, choiceMiss); err != nil {
			return false, err
		}
		if !c.operator.accepts(other) {
			return false, nil
		}
	}
	return c.operator.holds(v, other), ev.spend(1 + weight(v) + weight(other))
}

// present says whether the variable leads anywhere; a null that is there is
// present, a variable without a value is not.
func (c *comparison) present(ev *evaluation) (bool, error) {
	root, err := ev.root(c.variable)
	if err != nil {
		return false, nil
	}
	_, m, err := c.variable.find(ev, root)
	return m == nil, err
}

func (c *comparison) refs(r *References) {
	r.Tests = r.Tests || c.operator == isPresent
	r.addPath(c.variable)
	r.addPath(c.path)
}

// choiceMiss is how a Choice words a path that leads nowhere.
func choiceMiss(_ *evaluation, p *Path, _ *miss, _ Value) *Error {
	return runtimeError("Invalid path '%s': The choice state's condition path references an invalid value.", p)
}
