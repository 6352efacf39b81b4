package expr

import (
	"fmt"
	"strconv"
	"strings"
)

// conditionParser reads tests and gathers what is wrong with them.
type conditionParser struct {
	depth    int
	problems []Problem
}

func (p *conditionParser) problem(pointer, rule, message string, args ...any) test {
	p.problems = append(p.problems, Problem{pointer, rule, fmt.Sprintf(message, args...)})
	return nil
}

// condition reads one object, which has exactly one of And, Or, Not and an
// operator.
func (p *conditionParser) condition(v Value, at string, extra map[string]bool) test {
	o, ok := v.(*Object)
	if !ok {
		p.problems = append(p.problems, needs(at, "an object", v))
		return nil
	}
	if p.depth++; p.depth > maxConditionDepth {
		return p.problem(at, RuleTooLarge, "conditions nest at most %d deep", maxConditionDepth)
	}
	defer func() { p.depth-- }()
	var what []string
	for name := range o.All() {
		switch {
		case name == "And" || name == "Or" || name == "Not" || isOperator(name):
			what = append(what, name)
		case name != "Variable" && name != "Comment" && !extra[name]:
			p.problem(at+"/"+escapePointer(name), RuleCondition, "there is no operator %q", name)
		}
	}
	switch {
	case len(what) == 0:
		return p.problem(at, RuleCondition, "a condition needs And, Or, Not or an operator")
	case len(what) > 1:
		return p.problem(at+"/"+what[1], RuleExclusive, "a condition has only one of %s", strings.Join(what, ", "))
	}
	return p.one(o, what[0], at)
}

func (p *conditionParser) one(o *Object, name, at string) test {
	v, _ := o.Get(name)
	at += "/" + name
	switch name {
	case "And":
		return allTests(p.list(v, at))
	case "Or":
		return anyTest(p.list(v, at))
	case "Not":
		return notTest{p.condition(v, at, nil)}
	}
	return p.comparison(o, name, v, at)
}

func (p *conditionParser) list(v Value, at string) []test {
	list, ok := v.([]Value)
	if !ok || len(list) == 0 {
		p.problem(at, RuleType, "an array of at least one condition is needed here")
		return nil
	}
	tests := make([]test, len(list))
	for i, e := range list {
		tests[i] = p.condition(e, at+"/"+strconv.Itoa(i), nil)
	}
	return tests
}

func (p *conditionParser) comparison(o *Object, name string, v Value, at string) test {
	owner := strings.TrimSuffix(at, "/"+name)
	variable, ok := o.Get("Variable")
	if !ok {
		return p.problem(owner, RuleRequired, "the operator %s needs a Variable", name)
	}
	c := &comparison{variable: p.path(variable, owner+"/Variable"), constant: v}
	if c.operator = comparisonOperators[name]; c.operator == nil {
		c.operator = comparisonOperators[strings.TrimSuffix(name, "Path")]
		c.path = p.path(v, at)
	} else if !c.operator.accepts(v) {
		return p.problem(at, RuleType, "%s needs %s, not %s", name, c.operator.wanted, clip(excerpt(v)))
	}
	return c
}

func (p *conditionParser) path(v Value, at string) *Path {
	text, ok := v.(string)
	if !ok {
		p.problems = append(p.problems, needs(at, "a path", v))
		return nil
	}
	path, err := ParsePath(text)
	if err != nil {
		p.problem(at, RulePath, "%s", err)
	}
	return path
}

// isOperator knows the operators and those among them that also have a form
// that takes a path.
func isOperator(name string) bool {
	if comparisonOperators[name] != nil {
		return true
	}
	short, ok := strings.CutSuffix(name, "Path")
	return ok && comparisonOperators[short] != nil && comparisonOperators[short].hasPath
}
