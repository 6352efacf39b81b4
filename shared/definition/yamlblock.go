package definition

import (
	"github.com/goccy/go-yaml/token"

	"github.com/orrery-dev/orrery/shared/expr"
)

// sequence reads the block sequence whose dashes stand in a column.
func (c *composer) sequence(at *place, column int) (expr.Value, error) {
	list := []expr.Value{}
	for c.is(0, token.SequenceEntryType) && c.peek(0).Position.Column == column {
		dash := c.peek(0)
		c.next++
		v, err := c.entry(at.index(len(list)), dash, column)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	return list, c.dedented(column)
}

// mapping reads the block mapping whose keys stand in a column.
func (c *composer) mapping(at *place, column int) (expr.Value, error) {
	o := expr.NewObject()
	for !c.ended() && c.peek(0).Position.Column == column && !c.is(0, token.SequenceEntryType) {
		name, colon, err := c.key()
		if err != nil {
			return nil, err
		}
		member := at.member(name)
		v, err := c.entry(member, colon, column)
		if err != nil {
			return nil, err
		}
		c.set(o, member, name, v)
	}
	return o, c.dedented(column)
}

// set adds a member; a name that is there keeps its first value and is
// reported.
func (c *composer) set(o *expr.Object, member *place, name string, v expr.Value) {
	if _, ok := o.Get(name); ok {
		c.report.errorf(member, RuleDuplicate, "The member %q stands twice in this object.", name)
		return
	}
	o.Set(name, v)
}

// key reads a key and its colon, which stand on one line.
func (c *composer) key() (name string, colon *token.Token, err error) {
	t, err := c.scalar()
	if err != nil {
		return "", nil, err
	}
	if !c.isKeyOf(t) {
		return "", nil, failAt(t, "%q where a key and a colon are expected", cut(t.Value, maxQuoted))
	}
	v, err := resolve(t)
	if err != nil {
		return "", nil, err
	}
	name, ok := v.(string)
	if !ok {
		return "", nil, failAt(t, "the key %s is not a string: quote it", cut(t.Value, maxQuoted))
	}
	colon = c.peek(0)
	c.next++
	return name, colon, nil
}

// entry reads the value after a dash or a colon in a block collection. It
// stands on the same line, or on a later one right of the column; a sequence
// may stand in the column of its key. Otherwise it is null.
func (c *composer) entry(at *place, mark *token.Token, column int) (expr.Value, error) {
	if c.ended() {
		return nil, nil
	}
	t := c.peek(0)
	isValue := mark.Type == token.MappingValueType
	switch {
	case t.Position.Line == mark.Position.Line:
		return c.value(at, column, isValue)
	case t.Position.Column > column:
		return c.value(at, column, false)
	case t.Position.Column == column && isValue && t.Type == token.SequenceEntryType:
		return c.value(at, column-1, false)
	}
	return nil, nil
}

// dedented checks that what follows a block collection stands left of it, or in
// its column where a sequence in a mapping has the same one.
func (c *composer) dedented(column int) error {
	if c.ended() {
		return nil
	}
	if t := c.peek(0); t.Position.Column > column {
		return failAt(t, "%q fits no line above it: its indentation is wrong", cut(t.Value, maxQuoted))
	}
	return nil
}

// flowSequence reads [a, b].
func (c *composer) flowSequence(at *place) (expr.Value, error) {
	open := c.peek(0)
	c.next++
	list := []expr.Value{}
	for !c.is(0, token.SequenceEndType) {
		if c.ended() {
			return nil, failAt(open, "'[' is not closed")
		}
		v, err := c.value(at.index(len(list)), 0, true)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
		if err := c.separator(open, token.SequenceEndType); err != nil {
			return nil, err
		}
	}
	c.next++
	return list, nil
}

// flowMapping reads {a: b, c: d}.
func (c *composer) flowMapping(at *place) (expr.Value, error) {
	open := c.peek(0)
	c.next++
	o := expr.NewObject()
	for !c.is(0, token.MappingEndType) {
		if c.ended() {
			return nil, failAt(open, "'{' is not closed")
		}
		name, _, err := c.key()
		if err != nil {
			return nil, err
		}
		member := at.member(name)
		var v expr.Value
		if t := c.peek(0); t != nil && startsValue(t) {
			if v, err = c.value(member, 0, true); err != nil {
				return nil, err
			}
		}
		c.set(o, member, name, v)
		if err := c.separator(open, token.MappingEndType); err != nil {
			return nil, err
		}
	}
	c.next++
	return o, nil
}

// separator goes past a comma, or stops at the closing bracket.
func (c *composer) separator(open *token.Token, closing token.Type) error {
	switch {
	case c.ended():
		return failAt(open, "%q is not closed", open.Value)
	case c.is(0, token.CollectEntryType):
		c.next++
		return nil
	case c.is(0, closing):
		return nil
	}
	return failAt(c.peek(0), "%q where ',' or a closing bracket is expected", cut(c.peek(0).Value, maxQuoted))
}
