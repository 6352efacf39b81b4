package expr

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Bounds on the text of a path, so that parsing and evaluating it need little.
const (
	maxPathBytes  = 4096
	maxPathSteps  = 128
	maxFilterDeep = 16 // parentheses and filters in filters
)

// VariablesReserved is the name that no variable can have.
const VariablesReserved = "states"

// MaxVariableName is how many characters the name of a variable may have.
const MaxVariableName = 80

// pathError says where and why a text is not a path.
type pathError struct {
	text   string
	pos    int
	reason string
}

func (e *pathError) Error() string {
	return fmt.Sprintf("%q is not a path: %s at position %d", clip(e.text), e.reason, e.pos+1)
}

// clip shortens text for a message.
func clip(s string) string {
	const most = 200
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "..."
}

// ParsePath reads a path: `$...`, `$$...` or `$name...`. Names may be written
// with a dot or in brackets and quotes; with a dot they may hold a hyphen, and
// a backslash takes the next character as it is. A dot may stand before a
// bracket.
func ParsePath(text string) (*Path, error) {
	if len(text) > maxPathBytes {
		return nil, &pathError{text, 0, fmt.Sprintf("longer than %d bytes", maxPathBytes)}
	}
	s := pathScanner{text: text}
	p := &Path{text: text}
	switch {
	case !utf8.ValidString(text):
		return nil, s.fail("it is not UTF-8")
	case !s.skip('$'):
		return nil, s.fail("it does not begin with $")
	}
	switch c, _ := utf8.DecodeRuneInString(s.rest()); {
	case s.skip('$'):
		p.root = ContextRoot
	case isNameStart(c):
		name, err := s.variable()
		if err != nil {
			return nil, err
		}
		p.root, p.variable = VariableRoot, name
	}
	var err error
	if p.steps, err = s.steps(); err != nil {
		return nil, err
	}
	if s.pos < len(text) {
		return nil, s.fail("unexpected text")
	}
	p.definite = true
	for i := range p.steps {
		p.definite = p.definite && p.steps[i].single()
	}
	return p, nil
}

func isNameStart(r rune) bool { return r == '_' || unicode.IsLetter(r) }

func isNamePart(r rune) bool {
	return isNameStart(r) || unicode.IsDigit(r) || unicode.In(r, unicode.Mn, unicode.Mc, unicode.Pc)
}

// checkVariableName says why no variable can have the name; empty if it can.
func checkVariableName(name string) string {
	for i, r := range name {
		if i == 0 && !isNameStart(r) || !isNamePart(r) {
			return fmt.Sprintf("the name of a variable cannot have %q there", r)
		}
	}
	switch {
	case name == "":
		return "the name of a variable cannot be empty"
	case name == VariablesReserved:
		return fmt.Sprintf("the name %q is reserved", VariablesReserved)
	case utf8.RuneCountInString(name) > MaxVariableName:
		return fmt.Sprintf("the name of a variable has at most %d characters", MaxVariableName)
	}
	return ""
}

// pathScanner reads a path from pos on.
type pathScanner struct {
	text   string
	pos    int
	filter int // how many filters and parentheses are open
}

func (s *pathScanner) fail(reason string) error { return &pathError{s.text, s.pos, reason} }

func (s *pathScanner) rest() string { return s.text[s.pos:] }

// peek is the next byte, 0 at the end.
func (s *pathScanner) peek() byte {
	if s.pos < len(s.text) {
		return s.text[s.pos]
	}
	return 0
}

func (s *pathScanner) skip(c byte) bool {
	if s.peek() == c && s.pos < len(s.text) {
		s.pos++
		return true
	}
	return false
}

func (s *pathScanner) space() {
	for c := s.peek(); c == ' ' || c == '\t' || c == '\n' || c == '\r'; c = s.peek() {
		s.pos++
	}
}

func (s *pathScanner) variable() (string, error) {
	name := s.rest()
	if end := strings.IndexFunc(name, func(r rune) bool { return !isNamePart(r) }); end >= 0 {
		name = name[:end]
	}
	if reason := checkVariableName(name); reason != "" {
		return "", s.fail(reason)
	}
	s.pos += len(name)
	return name, nil
}

// steps reads steps while there are any.
func (s *pathScanner) steps() ([]step, error) {
	var steps []step
	for {
		var st step
		var err error
		switch c := s.peek(); {
		case c == '[':
			st, err = s.bracket()
		case c == '.':
			st, err = s.dotted()
		default:
			return steps, nil
		}
		if err != nil {
			return nil, err
		}
		if len(steps) == maxPathSteps {
			return nil, s.fail(fmt.Sprintf("more than %d steps", maxPathSteps))
		}
		steps = append(steps, st)
	}
}

// dotted reads what a dot begins: .name .* ..name ..* ..[ .[
func (s *pathScanner) dotted() (step, error) {
	s.pos++
	deep := s.skip('.')
	var st step
	var err error
	switch s.peek() {
	case '[':
		st, err = s.bracket()
	case '*':
		s.pos++
		st = step{kind: byAny}
	default:
		st, err = s.dottedName()
	}
	st.deep = deep
	return st, err
}

func (s *pathScanner) dottedName() (step, error) {
	var name []byte
	for s.pos < len(s.text) && !s.endsName(s.peek()) {
		if s.skip('\\') && s.pos == len(s.text) {
			return step{}, s.fail("a backslash with nothing after it")
		}
		_, size := utf8.DecodeRuneInString(s.rest())
		name = append(name, s.text[s.pos:s.pos+size]...)
		s.pos += size
	}
	switch c := s.peek(); {
	case len(name) == 0:
		return step{}, s.fail("a name is expected")
	case c == '(':
		return step{}, s.fail("functions do not exist in paths")
	case c == '*':
		return step{}, s.fail("a name cannot have *")
	}
	return step{kind: byName, names: []string{string(name)}}, nil
}

// endsName says whether a character ends a name after a dot. In a filter the
// characters of operators do too.
func (s *pathScanner) endsName(c byte) bool {
	if strings.IndexByte(".[]()'\",* \t\n\r", c) >= 0 {
		return true
	}
	return s.filter > 0 && strings.IndexByte("=!<>&|~", c) >= 0
}

// bracket reads [...], with spaces anywhere in it.
func (s *pathScanner) bracket() (step, error) {
	s.pos++
	s.space()
	var st step
	var err error
	switch c := s.peek(); {
	case c == '\'' || c == '"':
		st, err = s.quotedNames()
	case c == '*':
		s.pos++
		st = step{kind: byAny}
	case c == '?':
		s.pos++
		st, err = s.filtered()
	default:
		st, err = s.indexes()
	}
	if err != nil {
		return step{}, err
	}
	s.space()
	if !s.skip(']') {
		return step{}, s.fail("']' is expected")
	}
	return st, nil
}

func (s *pathScanner) quotedNames() (step, error) {
	st := step{kind: byName}
	for {
		name, err := s.quoted()
		if err != nil {
			return step{}, err
		}
		st.names = append(st.names, name)
		if s.space(); !s.skip(',') {
			return st, nil
		}
		s.space()
	}
}

// quoted reads a text in single or double quotes.
func (s *pathScanner) quoted() (string, error) {
	quote := s.peek()
	if quote != '\'' && quote != '"' {
		return "", s.fail("a name in quotes is expected")
	}
	s.pos++
	var text []byte
	for s.pos < len(s.text) {
		c := s.text[s.pos]
		s.pos++
		switch {
		case c == quote:
			return string(text), nil
		case c == '\\' && s.pos < len(s.text):
			c = s.text[s.pos]
			s.pos++
		}
		text = append(text, c)
	}
	return "", s.fail("a quote is not closed")
}

// indexes reads an index, several with commas, or a slice.
func (s *pathScanner) indexes() (step, error) {
	st := step{kind: byIndex}
	if s.peek() == ':' {
		return s.slice(0, true)
	}
	for {
		n, err := s.integer()
		if err != nil {
			return step{}, err
		}
		s.space()
		if len(st.indexes) == 0 && s.peek() == ':' {
			return s.slice(n, false)
		}
		st.indexes = append(st.indexes, n)
		if !s.skip(',') {
			return st, nil
		}
		s.space()
	}
}

// slice reads what follows the first end of a slice.
func (s *pathScanner) slice(from int, open bool) (step, error) {
	s.pos++
	st := step{kind: bySlice, indexes: []int{from, 0}, open: [2]bool{open, true}}
	s.space()
	if c := s.peek(); c == '-' || c >= '0' && c <= '9' {
		to, err := s.integer()
		if err != nil {
			return step{}, err
		}
		st.indexes[1], st.open[1] = to, false
	}
	if st.open[0] && st.open[1] {
		return step{}, s.fail("a slice needs one end at least")
	}
	return st, nil
}

func (s *pathScanner) integer() (int, error) {
	start := s.pos
	s.skip('-')
	for c := s.peek(); c >= '0' && c <= '9'; c = s.peek() {
		s.pos++
	}
	n, err := strconv.ParseInt(s.text[start:s.pos], 10, 32)
	if err != nil {
		s.pos = start
		return 0, s.fail("an index is expected")
	}
	return int(n), nil
}
