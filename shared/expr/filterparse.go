package expr

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
)

// filtered reads a filter after its question mark:
//
//	or      = and ("||" and)*
//	and     = not ("&&" not)*
//	not     = "!" not | "(" or ")" | operand [operator operand]
//	operand = "@" steps | "$" steps | literal
//	literal = number | 'text' | "text" | /regex/ | [literal, ...] | word
//
// A word that is not true, false or null is a text without quotes.
func (s *pathScanner) filtered() (step, error) {
	p, err := s.or()
	if err != nil {
		return step{}, err
	}
	return step{kind: byTest, filter: p}, nil
}

// enter counts one more level of nesting.
func (s *pathScanner) enter() error {
	if s.filter == maxFilterDeep {
		return s.fail(fmt.Sprintf("a filter nested deeper than %d", maxFilterDeep))
	}
	s.filter++
	return nil
}

func (s *pathScanner) or() (predicate, error) {
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer func() { s.filter-- }()
	list, err := s.joined("||", s.and)
	if err != nil || len(list) == 1 {
		return first(list), err
	}
	return anyOf(list), nil
}

func (s *pathScanner) and() (predicate, error) {
	list, err := s.joined("&&", s.not)
	if err != nil || len(list) == 1 {
		return first(list), err
	}
	return allOf(list), nil
}

func first(list []predicate) predicate {
	if len(list) == 0 {
		return nil
	}
	return list[0]
}

// joined reads one or more parts with an operator between them.
func (s *pathScanner) joined(operator string, part func() (predicate, error)) ([]predicate, error) {
	var list []predicate
	for {
		p, err := part()
		if err != nil {
			return nil, err
		}
		list = append(list, p)
		if s.space(); !s.skipText(operator) {
			return list, nil
		}
	}
}

func (s *pathScanner) skipText(text string) bool {
	if strings.HasPrefix(s.rest(), text) {
		s.pos += len(text)
		return true
	}
	return false
}

func (s *pathScanner) not() (predicate, error) {
	s.space()
	switch {
	case s.skip('!'):
		if err := s.enter(); err != nil {
			return nil, err
		}
		p, err := s.not()
		s.filter--
		return notOf{p}, err
	case s.skip('('):
		p, err := s.or()
		if err != nil {
			return nil, err
		}
		if s.space(); !s.skip(')') {
			return nil, s.fail("')' is expected")
		}
		return p, nil
	}
	return s.comparison()
}

func (s *pathScanner) comparison() (predicate, error) {
	left, err := s.operand()
	if err != nil {
		return nil, err
	}
	s.space()
	if s.skipText("=~") {
		m, err := s.regex()
		if err != nil {
			return nil, err
		}
		m.left = left
		return m, nil
	}
	name := s.operatorName()
	if name == "" {
		if _, isBool := left.literal.(bool); left.path == nil && !isBool {
			return nil, s.fail("an operator is expected")
		}
		return exists{left}, nil
	}
	right, err := s.operand()
	if err != nil {
		return nil, err
	}
	return compares{operators[name], left, right}, nil
}

// operatorName reads an operator; empty where there is none.
func (s *pathScanner) operatorName() string {
	for _, symbol := range []string{"==", "!=", "<=", ">=", "<", ">"} {
		if s.skipText(symbol) {
			return symbol
		}
	}
	word := s.word()
	if _, ok := operators[strings.ToLower(word)]; ok {
		return strings.ToLower(word)
	}
	s.pos -= len(word)
	return ""
}

// word reads letters, digits and the characters that names often have.
func (s *pathScanner) word() string {
	start := s.pos
	for s.pos < len(s.text) && !s.endsName(s.peek()) && strings.IndexByte("@$/\\?:", s.peek()) < 0 {
		s.pos++
	}
	return s.text[start:s.pos]
}

func (s *pathScanner) operand() (operand, error) {
	s.space()
	switch c := s.peek(); {
	case c == '@' || c == '$':
		return s.operandPath()
	case c == '\'' || c == '"':
		text, err := s.quoted()
		return operand{literal: text}, err
	case c == '[':
		return s.listLiteral()
	case c == '-' || c >= '0' && c <= '9':
		return s.numberLiteral()
	}
	switch word := s.word(); word {
	case "":
		return operand{}, s.fail("a path or a literal is expected")
	case "true", "false":
		return operand{literal: word == "true"}, nil
	case "null":
		return operand{}, nil
	default:
		return operand{literal: word}, nil
	}
}

func (s *pathScanner) operandPath() (operand, error) {
	start := s.pos
	current := s.peek() == '@'
	s.pos++
	steps, err := s.steps()
	if err != nil {
		return operand{}, err
	}
	p := &Path{text: s.text[start:s.pos], steps: steps, definite: true}
	for i := range steps {
		p.definite = p.definite && steps[i].single()
	}
	return operand{path: p, current: current}, nil
}

func (s *pathScanner) numberLiteral() (operand, error) {
	p := parser{text: s.rest()}
	n, err := p.number()
	if err != nil {
		return operand{}, s.fail("a number is expected")
	}
	s.pos += p.pos
	return operand{literal: n}, nil
}

func (s *pathScanner) listLiteral() (operand, error) {
	s.pos++
	list := []Value{}
	for s.space(); !s.skip(']'); s.space() {
		if len(list) > 0 && !s.skip(',') {
			return operand{}, s.fail("',' or ']' is expected")
		}
		if s.space(); s.peek() == '[' {
			return operand{}, s.fail("a list in a list")
		}
		o, err := s.operand()
		if err != nil {
			return operand{}, err
		}
		if o.path != nil {
			return operand{}, s.fail("a path in a list")
		}
		list = append(list, o.literal)
	}
	return operand{literal: list}, nil
}

// maxPattern bounds the instructions of a regular expression: matching costs at
// most that many for each character.
const maxPattern = 1000

// regex reads /pattern/ and the flags i and s. The pattern has to match the
// whole text.
func (s *pathScanner) regex() (*matches, error) {
	if s.space(); !s.skip('/') {
		return nil, s.fail("/ is expected")
	}
	start := s.pos
	for s.peek() != '/' {
		if s.skip('\\'); s.pos >= len(s.text) {
			return nil, s.fail("/ is expected")
		}
		s.pos++
	}
	pattern := strings.ReplaceAll(s.text[start:s.pos], `\/`, "/")
	s.pos++
	flags := ""
	for c := s.peek(); c == 'i' || c == 's'; c = s.peek() {
		flags += string(c)
		s.pos++
	}
	if flags != "" {
		flags = "(?" + flags + ")"
	}
	re, size, err := compilePattern(flags + "^(?:" + pattern + ")$")
	if err != nil {
		return nil, s.fail("a pattern that is not a regular expression")
	}
	if size > maxPattern {
		return nil, s.fail("a pattern that is too large")
	}
	return &matches{pattern: re, size: size}, nil
}

// compilePattern compiles a regular expression and counts its instructions.
func compilePattern(pattern string) (*regexp.Regexp, int, error) {
	tree, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return nil, 0, err
	}
	prog, err := syntax.Compile(tree.Simplify())
	if err != nil {
		return nil, 0, err
	}
	re, err := regexp.Compile(pattern)
	return re, len(prog.Inst), err
}
