package expr

import (
	"fmt"
	"strings"
	"sync"
	"unicode/utf16"
	"unicode/utf8"
)

// MaxDepth is how deep values may nest: an array in an array is depth 2.
const MaxDepth = 512

// shareUpTo is the length of text up to which the strings of the value are
// parts of one copy of the text. It saves an allocation for each; the price is
// that one short string keeps the whole copy in memory.
const shareUpTo = 4096

// SyntaxError is text that is not JSON, or not JSON as we take it.
type SyntaxError struct {
	// Offset is the position in bytes, from 0; Line and Column are from 1, the
	// column counts bytes.
	Offset, Line, Column int
	// Message says what is wrong there.
	Message string
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("invalid JSON at line %d, column %d: %s", e.Line, e.Column, e.Message)
}

// Parse reads one JSON value. It takes exactly RFC 8259, in UTF-8, and refuses
// beyond that what cannot be stored or passed on: the character NUL, surrogates
// without their other half, nesting deeper than [MaxDepth]. Of two members with
// one name the last wins. The error is a [*SyntaxError].
func Parse(text []byte) (Value, error) {
	p := parsers.Get().(*parser)
	defer p.release()
	p.text, p.share = string(text), len(text) <= shareUpTo
	if i := invalidUTF8(p.text); i >= 0 {
		return nil, p.fail(i, "invalid UTF-8")
	}
	v, err := p.document()
	if err != nil {
		return nil, err
	}
	return v, nil
}

// parsers keeps the stacks of parsers that have done their work.
var parsers = sync.Pool{New: func() any { return new(parser) }}

// keepStack is the length up to which a stack is kept for the next parser.
const keepStack = 1024

// release makes the parser ready for another text and lets go of this one.
func (p *parser) release() {
	clear(p.values)
	clear(p.members)
	kept := parser{}
	if cap(p.values) <= keepStack && cap(p.members) <= keepStack {
		kept.values, kept.members = p.values[:0], p.members[:0]
	}
	*p = kept
	parsers.Put(p)
}

func invalidUTF8(s string) int {
	if utf8.ValidString(s) {
		return -1
	}
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return -1
}

// parser reads text from pos on. Lists and members are gathered on the two
// stacks and copied out at their final length.
type parser struct {
	text    string
	pos     int
	depth   int
	share   bool
	values  []Value
	members []Member
}

func (p *parser) fail(pos int, message string, args ...any) error {
	before := p.text[:pos]
	return &SyntaxError{
		Offset:  pos,
		Line:    1 + strings.Count(before, "\n"),
		Column:  pos - strings.LastIndexByte(before, '\n'),
		Message: fmt.Sprintf(message, args...),
	}
}

func (p *parser) document() (Value, error) {
	p.space()
	v, err := p.value()
	if err != nil {
		return nil, err
	}
	p.space()
	if p.pos < len(p.text) {
		return nil, p.fail(p.pos, "text after the value")
	}
	return v, nil
}

func (p *parser) space() {
	for p.pos < len(p.text) {
		switch p.text[p.pos] {
		case ' ', '\t', '\n', '\r':
			p.pos++
		default:
			return
		}
	}
}

// peek is the next byte, 0 at the end.
func (p *parser) peek() byte {
	if p.pos < len(p.text) {
		return p.text[p.pos]
	}
	return 0
}

func (p *parser) value() (Value, error) {
	switch c := p.peek(); {
	case c == '"':
		s, err := p.string()
		if err != nil {
			return nil, err
		}
		return s, nil
	case c == '{':
		return p.object()
	case c == '[':
		return p.list()
	case c == '-' || c >= '0' && c <= '9':
		return p.number()
	case c == 't':
		return true, p.word("true")
	case c == 'f':
		return false, p.word("false")
	case c == 'n':
		return nil, p.word("null")
	}
	return nil, p.unexpected("a value")
}

func (p *parser) unexpected(wanted string) error {
	if p.pos >= len(p.text) {
		return p.fail(p.pos, "the text ends where %s is expected", wanted)
	}
	r, _ := utf8.DecodeRuneInString(p.text[p.pos:])
	return p.fail(p.pos, "%q where %s is expected", r, wanted)
}

func (p *parser) word(word string) error {
	if !strings.HasPrefix(p.text[p.pos:], word) {
		return p.unexpected("a value")
	}
	p.pos += len(word)
	return nil
}

// open enters an array or object.
func (p *parser) open() error {
	if p.depth == MaxDepth {
		return p.fail(p.pos, "nested deeper than %d", MaxDepth)
	}
	p.depth++
	p.pos++
	p.space()
	return nil
}

func (p *parser) list() (Value, error) {
	if err := p.open(); err != nil {
		return nil, err
	}
	base := len(p.values)
	for p.peek() != ']' || len(p.values) > base {
		v, err := p.value()
		if err != nil {
			return nil, err
		}
		p.values = append(p.values, v)
		if more, err := p.next(']'); err != nil {
			return nil, err
		} else if !more {
			break
		}
	}
	p.pos++
	p.depth--
	list := append(make([]Value, 0, len(p.values)-base), p.values[base:]...)
	clear(p.values[base:])
	p.values = p.values[:base]
	return list, nil
}

// next goes past a comma, or stops at the closing bracket.
func (p *parser) next(closing byte) (more bool, err error) {
	p.space()
	switch p.peek() {
	case closing:
		return false, nil
	case ',':
		p.pos++
		p.space()
		return true, nil
	}
	return false, p.unexpected(fmt.Sprintf("',' or '%c'", closing))
}

func (p *parser) object() (Value, error) {
	if err := p.open(); err != nil {
		return nil, err
	}
	base := len(p.members)
	for p.peek() != '}' || len(p.members) > base {
		if err := p.member(); err != nil {
			return nil, err
		}
		if more, err := p.next('}'); err != nil {
			return nil, err
		} else if !more {
			break
		}
	}
	p.pos++
	p.depth--
	o := objectOf(p.members[base:])
	clear(p.members[base:])
	p.members = p.members[:base]
	return o, nil
}

func (p *parser) member() error {
	if p.peek() != '"' {
		return p.unexpected("a member name")
	}
	name, err := p.string()
	if err != nil {
		return err
	}
	p.space()
	if p.peek() != ':' {
		return p.unexpected("':'")
	}
	p.pos++
	p.space()
	v, err := p.value()
	if err != nil {
		return err
	}
	p.members = append(p.members, Member{name, v})
	return nil
}

// objectOf copies gathered members; repeated names are merged.
func objectOf(members []Member) *Object {
	if len(members) < indexFrom {
		for i := range members {
			for j := range i {
				if members[j].Name == members[i].Name {
					return NewObject(members...)
				}
			}
		}
		return &Object{members: append(make([]Member, 0, len(members)), members...)}
	}
	return NewObject(members...)
}

// number follows the grammar: -? int frac? exp?
func (p *parser) number() (Value, error) {
	start := p.pos
	if p.peek() == '-' {
		p.pos++
	}
	if p.peek() == '0' {
		p.pos++
	} else if err := p.digits(); err != nil {
		return nil, err
	}
	if p.peek() == '.' {
		p.pos++
		if err := p.digits(); err != nil {
			return nil, err
		}
	}
	if c := p.peek(); c == 'e' || c == 'E' {
		p.pos++
		if c := p.peek(); c == '+' || c == '-' {
			p.pos++
		}
		if err := p.digits(); err != nil {
			return nil, err
		}
	}
	text := p.text[start:p.pos]
	if len(text) == 1 {
		return digitNumbers[text[0]-'0'], nil
	}
	return Number(p.keep(text)), nil
}

// digits goes past one or more digits.
func (p *parser) digits() error {
	if c := p.peek(); c < '0' || c > '9' {
		return p.unexpected("a digit")
	}
	for c := p.peek(); c >= '0' && c <= '9'; c = p.peek() {
		p.pos++
	}
	return nil
}

// keep is a part of the text as part of a value.
func (p *parser) keep(s string) string {
	if p.share {
		return s
	}
	return strings.Clone(s)
}

// string reads from the opening to the closing quote.
func (p *parser) string() (string, error) {
	start := p.pos + 1
	i := start
	for i < len(p.text) && plainByte[p.text[i]] {
		i++
	}
	switch {
	case i == len(p.text):
		return "", p.fail(i, "a string is not closed")
	case p.text[i] == '"':
		p.pos = i + 1
		return p.keep(p.text[start:i]), nil
	case p.text[i] == '\\':
		return p.escaped(start, i)
	}
	return "", p.fail(i, "control character %#02x in a string", p.text[i])
}

// plainByte are the bytes that stand for themselves in a string.
var plainByte = func() (plain [256]bool) {
	for c := range plain {
		plain[c] = c >= ' ' && c != '"' && c != '\\'
	}
	return plain
}()

// escaped reads a string that starts at start and has its first backslash at i.
func (p *parser) escaped(start, i int) (string, error) {
	buf := append(make([]byte, 0, i-start+32), p.text[start:i]...)
	for i < len(p.text) {
		switch c := p.text[i]; {
		case c == '"':
			p.pos = i + 1
			return string(buf), nil
		case c < ' ':
			return "", p.fail(i, "control character %#02x in a string", c)
		case c != '\\':
			buf = append(buf, c)
			i++
		default:
			r, size, err := p.escape(i)
			if err != nil {
				return "", err
			}
			buf = utf8.AppendRune(buf, r)
			i += size
		}
	}
	return "", p.fail(len(p.text), "a string is not closed")
}

// escape reads the escape sequence at i: its character and its length.
func (p *parser) escape(i int) (r rune, size int, err error) {
	if i+1 >= len(p.text) {
		return 0, 0, p.fail(len(p.text), "a string is not closed")
	}
	switch c := p.text[i+1]; c {
	case '"', '\\', '/':
		return rune(c), 2, nil
	case 'n':
		return '\n', 2, nil
	case 'r':
		return '\r', 2, nil
	case 't':
		return '\t', 2, nil
	case 'b':
		return '\b', 2, nil
	case 'f':
		return '\f', 2, nil
	case 'u':
		return p.unicodeEscape(i)
	}
	return 0, 0, p.fail(i, "unknown escape sequence")
}

// unicodeEscape reads \uXXXX, or the two of them that make one character.
func (p *parser) unicodeEscape(i int) (r rune, size int, err error) {
	const one = len(`\u0000`)
	high, ok := p.hex(i)
	switch {
	case !ok:
		return 0, 0, p.fail(i, `\u without four hexadecimal digits`)
	case high == 0:
		return 0, 0, p.fail(i, "the character NUL")
	case !utf16.IsSurrogate(high):
		return high, one, nil
	}
	if low, ok := p.hex(i + one); ok {
		if r := utf16.DecodeRune(high, low); r != utf8.RuneError {
			return r, 2 * one, nil
		}
	}
	return 0, 0, p.fail(i, "a surrogate without its other half")
}

// hex reads the four digits of \uXXXX at i.
func (p *parser) hex(i int) (rune, bool) {
	if i+6 > len(p.text) || p.text[i] != '\\' || p.text[i+1] != 'u' {
		return 0, false
	}
	var r rune
	for _, c := range []byte(p.text[i+2 : i+6]) {
		switch {
		case c >= '0' && c <= '9':
			r = r<<4 | rune(c-'0')
		case c >= 'a' && c <= 'f':
			r = r<<4 | rune(c-'a'+10)
		case c >= 'A' && c <= 'F':
			r = r<<4 | rune(c-'A'+10)
		default:
			return 0, false
		}
	}
	return r, true
}
