package expr

import (
	"fmt"
	"strconv"
	"strings"
)

// Template is a value with expressions in it: a member whose name ends in ".$"
// has a path or a call of an intrinsic function as its text, and the result
// takes its place under the name without the ending. Everything else is taken
// as it is.
type Template struct{ root node }

// node is a part of an expression. It is immutable and serves any number of
// evaluations at once.
type node interface {
	eval(ev *evaluation) (Value, error)
	refs(r *References)
}

// ParseTemplate reads a template. Arrays are searched for expressions too.
func ParseTemplate(v Value) (*Template, []Problem) {
	p := templateParser{}
	return p.template(v)
}

// parseAssign reads the template of an Assign: what is in its arrays is taken
// as it is, `.$` and all.
func parseAssign(v Value) (*Template, []Problem) {
	p := templateParser{plainLists: true}
	o, ok := v.(*Object)
	if !ok {
		return nil, []Problem{needs("", "an object", v)}
	}
	for name := range o.All() {
		if reason := checkVariableName(strings.TrimSuffix(name, ".$")); reason != "" {
			p.problem("/"+escapePointer(name), RuleVariable, reason)
		}
	}
	return p.template(v)
}

// Eval fills the template in. The error is an [*Error].
func (t *Template) Eval(sc *Scope) (Value, error) {
	if c, ok := t.root.(constant); ok {
		return c.value, nil
	}
	ev := newEvaluation(sc)
	v, err := t.root.eval(ev)
	if err != nil {
		return nil, err
	}
	return v, ev.limits.check(v)
}

// Constant gives the value of a template without expressions.
func (t *Template) Constant() (Value, bool) {
	c, ok := t.root.(constant)
	return c.value, ok
}

// References says what the template reads.
func (t *Template) References() References {
	var r References
	t.root.refs(&r)
	return r
}

// members lists the members of a template that is an object.
func (t *Template) members() []Given {
	var list []Given
	switch root := t.root.(type) {
	case constant:
		if o, ok := root.value.(*Object); ok {
			for name, v := range o.All() {
				list = append(list, Given{name, "/" + escapePointer(name), v, true})
			}
		}
	case objectNode:
		for _, m := range root {
			g := Given{Name: m.name, Pointer: "/" + escapePointer(m.name)}
			switch n := m.node.(type) {
			case constant:
				g.Value, g.Constant = n.value, true
			case pathNode, callNode:
				g.Pointer += ".$"
			}
			list = append(list, g)
		}
	}
	return list
}

// constant is a value without expressions in it.
type constant struct{ value Value }

func (c constant) eval(*evaluation) (Value, error) { return c.value, nil }
func (c constant) refs(*References)                {}

// listNode makes an array.
type listNode []node

func (n listNode) eval(ev *evaluation) (Value, error) {
	list := make([]Value, len(n))
	for i, e := range n {
		v, err := e.eval(ev)
		if err != nil {
			return nil, err
		}
		list[i] = v
	}
	return list, ev.spend(1 + len(n))
}

func (n listNode) refs(r *References) {
	for _, e := range n {
		e.refs(r)
	}
}

// objectNode makes an object; the names differ from each other.
type objectNode []memberNode

type memberNode struct {
	name string
	node node
}

func (n objectNode) eval(ev *evaluation) (Value, error) {
	members := make([]Member, len(n))
	for i, m := range n {
		v, err := m.node.eval(ev)
		if err != nil {
			return nil, err
		}
		members[i] = Member{m.name, v}
	}
	return newObject(members), ev.spend(1 + len(n))
}

func (n objectNode) refs(r *References) {
	for _, m := range n {
		m.node.refs(r)
	}
}

// pathNode is a path; field is the member that it stands in, for messages.
type pathNode struct {
	path  *Path
	field string
}

func (n pathNode) eval(ev *evaluation) (Value, error) {
	ev.field = n.field
	return ev.path(n.path, templateMiss)
}

func (n pathNode) refs(r *References) { r.addPath(n.path) }

// parseExpression reads the text of a member whose name ends in ".$".
func parseExpression(text, field string) (node, *Problem) {
	switch {
	case strings.HasPrefix(text, "$"):
		p, err := ParsePath(text)
		if err != nil {
			return nil, &Problem{Rule: RulePath, Message: err.Error()}
		}
		return pathNode{p, field}, nil
	case strings.HasPrefix(text, functionPrefix):
		c, err := parseCall(text)
		if err != nil {
			return nil, &Problem{Rule: RuleIntrinsic, Message: err.Error()}
		}
		return callNode{c, text}, nil
	}
	return nil, &Problem{Rule: RulePath, Message: fmt.Sprintf(
		"%q is neither a path, which begins with $, nor the call of an intrinsic function, which begins with %s", clip(text), functionPrefix)}
}

// templateParser reads templates and gathers what is wrong with them.
type templateParser struct {
	plainLists bool
	problems   []Problem
}

func (p *templateParser) problem(pointer, rule, message string) {
	p.problems = append(p.problems, Problem{pointer, rule, message})
}

func (p *templateParser) template(v Value) (*Template, []Problem) {
	root := p.node(v, "")
	if len(p.problems) > 0 {
		return nil, p.problems
	}
	return &Template{root}, nil
}

func (p *templateParser) node(v Value, pointer string) node {
	switch v := v.(type) {
	case *Object:
		return p.object(v, pointer)
	case []Value:
		if !p.plainLists {
			return p.list(v, pointer)
		}
	}
	return constant{v}
}

func (p *templateParser) list(list []Value, pointer string) node {
	nodes := make(listNode, len(list))
	plain := true
	for i, e := range list {
		nodes[i] = p.node(e, pointer+"/"+strconv.Itoa(i))
		plain = plain && isConstant(nodes[i])
	}
	if plain {
		return constant{list}
	}
	return nodes
}

func isConstant(n node) bool {
	_, ok := n.(constant)
	return ok
}

func (p *templateParser) object(o *Object, pointer string) node {
	nodes := make(objectNode, 0, o.Len())
	plain := true
	for name, v := range o.All() {
		at := pointer + "/" + escapePointer(name)
		short, isExpression := strings.CutSuffix(name, ".$")
		m := memberNode{name: short}
		if !isExpression {
			m.node = p.node(v, at)
		} else if m.node = p.expression(v, name, at); o.find(short) >= 0 {
			p.problem(at, RuleExclusive, fmt.Sprintf("%q and %q give the same member", name, short))
		}
		plain = plain && isConstant(m.node)
		nodes = append(nodes, m)
	}
	if plain {
		return constant{o}
	}
	return nodes
}

func (p *templateParser) expression(v Value, field, pointer string) node {
	text, ok := v.(string)
	if !ok {
		p.problems = append(p.problems, needs(pointer, "a path or the call of an intrinsic function", v))
		return nil
	}
	n, problem := parseExpression(text, field)
	if problem != nil {
		p.problem(pointer, problem.Rule, problem.Message)
	}
	return n
}

// needs is the problem of a value of the wrong type.
func needs(pointer, wanted string, got Value) Problem {
	return Problem{pointer, RuleType, fmt.Sprintf("%s is needed here, not a value of type %s", wanted, typeName(got))}
}

// escapePointer writes a member name as RFC 6901 does.
func escapePointer(name string) string {
	return strings.ReplaceAll(strings.ReplaceAll(name, "~", "~0"), "/", "~1")
}
