package expr

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// functionPrefix begins the name of every intrinsic function.
const functionPrefix = "States."

// Bounds on the text of a call.
const (
	maxCallBytes = 16 << 10
	maxCallDepth = 10 // calls in calls
)

// call is the call of an intrinsic function.
type call struct {
	name   string
	fn     *function
	args   []node
	format []string // of Format: the texts around the {} of a literal template
}

// callNode is a call with the whole text that it was written in, which messages
// quote.
type callNode struct {
	call *call
	text string
}

func (n callNode) eval(ev *evaluation) (Value, error) {
	ev.call = n.text
	return n.call.eval(ev)
}

func (n callNode) refs(r *References) { n.call.refs(r) }

func (c *call) eval(ev *evaluation) (Value, error) {
	args := make([]Value, len(c.args))
	for i, a := range c.args {
		v, err := a.eval(ev)
		if err != nil {
			return nil, err
		}
		args[i] = v
	}
	if err := ev.spend(1 + len(args)); err != nil {
		return nil, err
	}
	v, err := c.fn.apply(&invocation{ev: ev, call: c, args: args})
	if err == nil {
		return v, nil
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return nil, e
	}
	return nil, &Error{Name: StatesIntrinsicFailure, Cause: fmt.Sprintf("The function '%s' had the following error: %v", ev.call, err)}
}

func (c *call) refs(r *References) {
	r.Chance = r.Chance || c.fn.chance
	for _, a := range c.args {
		a.refs(r)
	}
}

// argumentPath is a path among the arguments of a call.
type argumentPath struct{ path *Path }

func (n argumentPath) eval(ev *evaluation) (Value, error) { return ev.path(n.path, argumentMiss) }
func (n argumentPath) refs(r *References)                 { r.addPath(n.path) }

// quotedText is a text in quotes among the arguments: as written, and as meant.
type quotedText struct {
	raw  string
	text Value
}

func (n quotedText) eval(*evaluation) (Value, error) { return n.text, nil }
func (n quotedText) refs(*References)                {}

// parseCall reads the call of an intrinsic function:
//
//	call     = "States." name "(" [argument ("," argument)*] ")"
//	argument = call | path | number | true | false | null | 'text'
//
// In a text, a backslash stands before a quote, a brace or a backslash that is
// part of it.
func parseCall(text string) (*call, error) {
	s := callScanner{text: text}
	switch {
	case len(text) > maxCallBytes:
		return nil, s.fail(fmt.Sprintf("longer than %d bytes", maxCallBytes))
	case !utf8.ValidString(text):
		return nil, s.fail("it is not UTF-8")
	}
	c, err := s.call()
	if err != nil {
		return nil, err
	}
	if s.space(); s.pos < len(text) {
		return nil, s.fail("text after the call")
	}
	return c, nil
}

// callScanner reads a call from pos on.
type callScanner struct {
	text  string
	pos   int
	depth int
}

func (s *callScanner) fail(reason string) error {
	return fmt.Errorf("%q is not the call of an intrinsic function: %s at position %d", clip(s.text), reason, s.pos+1)
}

func (s *callScanner) rest() string { return s.text[s.pos:] }

func (s *callScanner) space() {
	s.pos += len(s.rest()) - len(strings.TrimLeft(s.rest(), " \t\r\n"))
}

func (s *callScanner) skip(text string) bool {
	s.space()
	if strings.HasPrefix(s.rest(), text) {
		s.pos += len(text)
		return true
	}
	return false
}

func (s *callScanner) call() (*call, error) {
	if s.depth++; s.depth > maxCallDepth {
		return nil, s.fail(fmt.Sprintf("calls nested deeper than %d", maxCallDepth))
	}
	end := strings.IndexByte(s.rest(), '(')
	if end < 0 {
		return nil, s.fail("'(' is expected")
	}
	c := &call{name: strings.TrimRight(s.rest()[:end], " ")}
	if c.fn = functions[strings.TrimPrefix(c.name, functionPrefix)]; c.fn == nil || !strings.HasPrefix(c.name, functionPrefix) {
		return nil, s.fail(fmt.Sprintf("there is no function %q", clip(c.name)))
	}
	s.pos += end + 1
	if err := s.arguments(c); err != nil {
		return nil, err
	}
	s.depth--
	return c, s.check(c)
}

func (s *callScanner) arguments(c *call) error {
	if s.skip(")") {
		return nil
	}
	for {
		s.space()
		a, err := s.argument()
		if err != nil {
			return err
		}
		c.args = append(c.args, a)
		switch {
		case s.skip(")"):
			return nil
		case !s.skip(","):
			return s.fail("',' or ')' is expected")
		}
	}
}

// check looks at what can be known of a call without its arguments' values.
func (s *callScanner) check(c *call) error {
	switch n := len(c.args); {
	case n < c.fn.min:
		return s.fail(fmt.Sprintf("%s takes at least %d arguments, not %d,", c.name, c.fn.min, n))
	case c.fn.max >= 0 && n > c.fn.max:
		return s.fail(fmt.Sprintf("%s takes at most %d arguments, not %d,", c.name, c.fn.max, n))
	}
	if c.name != functionPrefix+"Format" {
		return nil
	}
	literal, ok := c.args[0].(quotedText)
	if !ok {
		return nil
	}
	var err error
	if c.format, err = splitFormat(literal.raw); err == nil {
		err = checkFormat(c.format, len(c.args)-1)
	}
	if err != nil {
		return s.fail(err.Error())
	}
	return nil
}

func (s *callScanner) argument() (node, error) {
	switch rest := s.rest(); {
	case strings.HasPrefix(rest, functionPrefix):
		c, err := s.call()
		if err != nil {
			return nil, err
		}
		return c, nil
	case strings.HasPrefix(rest, "$"):
		return s.path()
	case strings.HasPrefix(rest, "'"):
		return s.quoted()
	default:
		return s.literal()
	}
}

// path reads up to the comma or parenthesis that ends the argument, which
// brackets, parentheses and quotes may hold too.
func (s *callScanner) path() (node, error) {
	start, open, quote := s.pos, 0, byte(0)
scan:
	for ; s.pos < len(s.text); s.pos++ {
		switch c := s.text[s.pos]; {
		case c == '\\':
			s.pos++
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case open > 0 && (c == '\'' || c == '"'):
			quote = c
		case c == '[' || c == '(':
			open++
		case open > 0 && (c == ']' || c == ')'):
			open--
		case open == 0 && (c == ',' || c == ')'):
			break scan
		}
	}
	s.pos = min(s.pos, len(s.text))
	p, err := ParsePath(strings.TrimRight(s.text[start:s.pos], " \t\r\n"))
	if err != nil {
		return nil, err
	}
	return argumentPath{p}, nil
}

func (s *callScanner) quoted() (node, error) {
	start := s.pos + 1
	for i := start; i < len(s.text); i++ {
		switch s.text[i] {
		case '\\':
			i++
		case '\'':
			raw := s.text[start:i]
			s.pos = i + 1
			return quotedText{raw, unescape(raw)}, nil
		}
	}
	return nil, s.fail("a quote is not closed")
}

// unescape takes away the backslashes of quotes, braces and backslashes; others
// stay.
func unescape(raw string) string {
	if !strings.Contains(raw, `\`) {
		return raw
	}
	var b strings.Builder
	for i := 0; i < len(raw); i++ {
		if isEscape(raw[i:]) {
			i++
		}
		b.WriteByte(raw[i])
	}
	return b.String()
}

func isEscape(s string) bool {
	return len(s) > 1 && s[0] == '\\' && strings.IndexByte(`'{}\`, s[1]) >= 0
}

var literalWords = []struct {
	name  string
	value Value
}{{"true", true}, {"false", false}, {"null", nil}}

func (s *callScanner) literal() (node, error) {
	for _, word := range literalWords {
		if strings.HasPrefix(s.rest(), word.name) {
			s.pos += len(word.name)
			return constant{word.value}, nil
		}
	}
	p := parser{text: s.rest()}
	n, err := p.number()
	if err != nil {
		return nil, s.fail("an argument is expected")
	}
	s.pos += p.pos
	return constant{n}, nil
}
