package definition

import (
	"strconv"
	"strings"
)

// place is where in a document something stands. It is a list towards the root
// and becomes text only where a problem is reported: a document with long names
// and deep nesting would otherwise cost the product of the two.
type place struct {
	up   *place // nil at the root
	name string
}

// root is the whole document.
var root = &place{}

// member is the place of a member of an object.
func (p *place) member(name string) *place { return &place{up: p, name: name} }

// index is the place of an element of an array.
func (p *place) index(i int) *place { return p.member(strconv.Itoa(i)) }

var escapePointer = strings.NewReplacer("~", "~0", "/", "~1")

// String is the RFC 6901 pointer: empty for the root.
func (p *place) String() string {
	var names []string
	for ; p.up != nil; p = p.up {
		names = append(names, p.name)
	}
	var text strings.Builder
	for i := len(names) - 1; i >= 0; i-- {
		text.WriteByte('/')
		text.WriteString(escapePointer.Replace(names[i]))
	}
	return text.String()
}
