package definition

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/goccy/go-yaml/scanner"
	"github.com/goccy/go-yaml/token"

	"github.com/orrery-dev/orrery/shared/expr"
)

// YAML is read in two steps: the scanner of goccy/go-yaml makes tokens, and
// composer makes a value of them. The library's own parser is not used on text
// from outside: its time is quadratic in the members of a mapping and it has no
// limit on nesting. The composer is linear, and takes of YAML what is JSON in
// another spelling: mappings, sequences, scalars, anchors and aliases. Whatever
// else YAML has (tags, merge keys, several documents, keys that are not
// strings, numbers that JSON cannot write) is refused by name.

// composer reads tokens from next on.
type composer struct {
	tokens  []*token.Token
	next    int
	depth   int
	anchors map[string]expr.Value
	report  *report
}

// yamlError is text that cannot be read.
type yamlError struct {
	line, column int
	message      string
}

func (e *yamlError) Error() string {
	return fmt.Sprintf("line %d, column %d: %s", e.line, e.column, e.message)
}

func readYAML(text []byte, r *report) (expr.Value, bool) {
	c := composer{anchors: map[string]expr.Value{}, report: r}
	if err := c.scan(string(text)); err != nil {
		r.errorf(root, RuleSyntax, "The text is not YAML: %v.", err)
		return nil, false
	}
	v, err := c.document()
	if err != nil {
		r.errorf(root, RuleSyntax, "The YAML cannot be read: %v.", err)
		return nil, false
	}
	return v, true
}

// scan fills in the tokens, comments left out, up to the first that is invalid.
func (c *composer) scan(text string) error {
	var s scanner.Scanner
	s.Init(text)
	for {
		found, err := s.Scan()
		if errors.Is(err, io.EOF) {
			return nil
		}
		for _, t := range found {
			switch t.Type {
			case token.InvalidType:
				return failAt(t, "%s", t.Error)
			case token.CommentType:
			default:
				c.tokens = append(c.tokens, t)
			}
		}
		if err != nil {
			return err
		}
	}
}

func failAt(t *token.Token, format string, args ...any) error {
	return &yamlError{t.Position.Line, t.Position.Column, fmt.Sprintf(format, args...)}
}

// peek is the token that comes ahead tokens after the next; nil at the end.
func (c *composer) peek(ahead int) *token.Token {
	if i := c.next + ahead; i < len(c.tokens) {
		return c.tokens[i]
	}
	return nil
}

// is tells the type of the token that comes ahead tokens after the next.
func (c *composer) is(ahead int, t token.Type) bool {
	found := c.peek(ahead)
	return found != nil && found.Type == t
}

// ended tells whether the document has no further token.
func (c *composer) ended() bool {
	return c.peek(0) == nil || c.is(0, token.DocumentEndType) || c.is(0, token.DocumentHeaderType)
}

func (c *composer) document() (expr.Value, error) {
	if c.is(0, token.DocumentHeaderType) {
		c.next++
	}
	if c.ended() {
		return nil, errors.New("there is no document in it")
	}
	v, err := c.value(root, 0, false)
	if err != nil {
		return nil, err
	}
	if c.is(0, token.DocumentEndType) {
		c.next++
	}
	if t := c.peek(0); t != nil {
		return nil, failAt(t, "%q stands after the end of the document", cut(t.Value, maxQuoted))
	}
	return v, nil
}

// value reads what begins at the next token. Block collections in it stand
// right of the column outside. Where afterKey is set the value stands on the
// line of its key, and can be no block collection.
func (c *composer) value(at *place, outside int, afterKey bool) (expr.Value, error) {
	if c.depth > expr.MaxDepth {
		return nil, failAt(c.peek(0), "nested deeper than %d levels", expr.MaxDepth)
	}
	c.depth++
	defer func() { c.depth-- }()
	switch t := c.peek(0); t.Type {
	case token.AnchorType:
		return c.anchor(at, outside, afterKey)
	case token.AliasType:
		return c.alias()
	case token.SequenceStartType:
		return c.flowSequence(at)
	case token.MappingStartType:
		return c.flowMapping(at)
	case token.SequenceEntryType:
		if afterKey {
			return nil, failAt(t, "a sequence must begin on a line of its own")
		}
		return c.sequence(at, t.Position.Column)
	case token.LiteralType, token.FoldedType:
		return c.blockScalar()
	}
	t, err := c.scalar()
	if err != nil {
		return nil, err
	}
	if !c.isKeyOf(t) {
		return resolve(t)
	}
	if afterKey {
		return nil, failAt(t, "a mapping must begin on a line of its own")
	}
	c.next-- // the mapping begins with this key
	return c.mapping(at, t.Position.Column)
}

// isKeyOf tells whether t, which was just read, is the key of a mapping: the
// next token is a colon on the same line.
func (c *composer) isKeyOf(t *token.Token) bool {
	return c.is(0, token.MappingValueType) && c.peek(0).Position.Line == t.Position.Line
}

// scalar goes past a scalar that stands on its own: plain or quoted.
func (c *composer) scalar() (*token.Token, error) {
	t := c.peek(0)
	c.next++
	switch t.Type {
	case token.TagType:
		return nil, failAt(t, "tags such as %q are not supported", cut(t.Value, maxQuoted))
	case token.MergeKeyType:
		return nil, failAt(t, "merge keys (<<) are not supported")
	case token.MappingKeyType:
		return nil, failAt(t, "keys that begin with '?' are not supported")
	case token.DirectiveType:
		return nil, failAt(t, "directives (%%) are not supported")
	}
	if !isScalar(t) {
		return nil, failAt(t, "%q where a value is expected", cut(t.Value, maxQuoted))
	}
	return t, nil
}

func isScalar(t *token.Token) bool {
	return isQuoted(t) || isPlain(t)
}

func isQuoted(t *token.Token) bool {
	return t.Type == token.SingleQuoteType || t.Type == token.DoubleQuoteType
}

func isPlain(t *token.Token) bool {
	switch t.Type {
	case token.StringType, token.NullType, token.BoolType, token.InfinityType, token.NanType,
		token.IntegerType, token.BinaryIntegerType, token.OctetIntegerType, token.HexIntegerType, token.FloatType:
		return true
	}
	return false
}

// jsonNumber is the grammar of JSON's numbers.
var jsonNumber = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)

// resolve gives the value of a scalar, by the core schema of YAML 1.2. A plain
// scalar that YAML takes for a number and JSON does not have (hexadecimal,
// leading zeros or plus, infinity) is refused: what is meant is not certain.
func resolve(t *token.Token) (expr.Value, error) {
	if isQuoted(t) {
		return stringOf(t)
	}
	switch t.Type {
	case token.NullType:
		return nil, nil
	case token.BoolType:
		return strings.EqualFold(t.Value, "true"), nil
	}
	if jsonNumber.MatchString(t.Value) {
		return expr.Number(t.Value), nil
	}
	if strings.Contains(t.Value, ": ") {
		// The scanner takes {a: 1 b: 2} for one member.
		return nil, failAt(t, "%q holds a colon: a comma or a line break is missing before its key, or quotes", cut(t.Value, maxQuoted))
	}
	if t.Type != token.StringType {
		return nil, failAt(t, "%s is no number of JSON: write it in another way, or quote it as a string", cut(t.Value, maxQuoted))
	}
	return stringOf(t)
}

// stringOf gives the text of a scalar.
func stringOf(t *token.Token) (expr.Value, error) {
	if strings.ContainsRune(t.Value, 0) {
		return nil, failAt(t, "the character NUL in a string")
	}
	return strings.ToValidUTF8(t.Value, "\uFFFD"), nil
}

// blockScalar reads a literal or folded text: its header, then its content,
// which the scanner leaves out where there is none.
func (c *composer) blockScalar() (expr.Value, error) {
	header := c.peek(0)
	c.next++
	if !c.is(0, token.StringType) || c.is(1, token.MappingValueType) {
		return "", nil
	}
	if content := c.peek(0); content.Position.Line > header.Position.Line {
		c.next++
		return stringOf(content)
	}
	return "", nil
}

// name reads the name after & or *.
func (c *composer) name() (string, error) {
	mark := c.peek(0)
	c.next++
	t := c.peek(0)
	if t == nil || !isPlain(t) || t.Position.Line != mark.Position.Line {
		return "", failAt(mark, "%q without a name", mark.Value)
	}
	c.next++
	return t.Value, nil
}

func (c *composer) anchor(at *place, outside int, afterKey bool) (expr.Value, error) {
	mark := c.peek(0)
	name, err := c.name()
	if err != nil {
		return nil, err
	}
	t := c.peek(0)
	sameLine := t != nil && t.Position.Line == mark.Position.Line
	if !sameLine && afterKey && c.is(0, token.SequenceEntryType) {
		outside-- // a sequence may stand in the column of its key
	}
	var v expr.Value
	switch {
	case c.ended(), !sameLine && t.Position.Column <= outside, sameLine && !startsValue(t):
		// The anchor of an absent value: null.
	case sameLine && isScalar(t) && c.is(1, token.MappingValueType):
		return nil, failAt(mark, "an anchor on a key is not supported")
	case t.Type == token.AnchorType, t.Type == token.AliasType:
		return nil, failAt(t, "an anchor stands before a value, not before another anchor or an alias")
	default:
		if v, err = c.value(at, outside, afterKey && sameLine); err != nil {
			return nil, err
		}
	}
	c.anchors[name] = v
	return v, nil
}

// startsValue tells whether a value can begin with t.
func startsValue(t *token.Token) bool {
	switch t.Type {
	case token.CollectEntryType, token.SequenceEndType, token.MappingEndType, token.MappingValueType:
		return false
	}
	return true
}

// alias gives the value of an anchor that is complete, so none contains itself.
func (c *composer) alias() (expr.Value, error) {
	mark := c.peek(0)
	name, err := c.name()
	if err != nil {
		return nil, err
	}
	v, ok := c.anchors[name]
	if !ok {
		return nil, failAt(mark, "there is no anchor &%s before this alias", cut(name, maxQuoted))
	}
	return v, nil
}
