package history

import (
	"encoding/json"
	"fmt"
	"strconv"
)

// DecodeEvents reads what EncodeEvents wrote. The events share the memory of text. The error is ErrUnknownEvent where a
// newer version wrote it: an event of a type, or with a member, that this version does not know.
func DecodeEvents(text []byte) ([]Event, error) {
	r := rowReader{b: text}
	var events []Event
	scope := MainScope
	r.list(func() {
		var ev Event
		r.object(func(key string) { r.member(&ev, key) })
		if !known[ev.Type] {
			r.fail(fmt.Errorf("%w: type %q", ErrUnknownEvent, ev.Type))
		}
		if ev.Scope == 0 {
			ev.Scope = scope
		}
		scope = ev.Scope
		events = append(events, ev)
	})
	if r.space(); r.err == nil && r.i < len(r.b) {
		r.unexpected("the end")
	}
	if r.err != nil {
		return nil, fmt.Errorf("decode events: %w", r.err)
	}
	return events, nil
}

// member reads one member of an event.
func (r *rowReader) member(ev *Event, key string) {
	switch key {
	case "t":
		ev.Type = EventType(r.text())
	case "c":
		ev.Scope = ScopeID(r.number(32))
	case "s":
		ev.State = r.text()
	case "k":
		ev.Kind = StateKind(r.letter())
	case "u":
		ev.Unit = UnitKind(r.letter())
	case "n":
		ev.Name = r.text()
	case "i":
		ev.Index = int(r.number(64))
	case "l":
		ev.Limit = int(r.number(64))
	case "tf":
		ev.Tolerated = int(r.number(64))
	case "o", "p":
		r.payload(&ev.Text, key)
	case "a":
		r.list(func() {
			var a Assignment
			r.object(func(key string) { r.assignment(&a, key) })
			ev.Assigned = append(ev.Assigned, a)
		})
	case "e":
		ev.Error = r.text()
	case "m":
		ev.Cause = r.text()
	case "y":
		ev.Key = r.text()
	case "r":
		ev.Retrier = int(r.number(64))
	case "w":
		ev.At = Time(r.number(64))
	case "f":
		ev.Offer = int(r.number(64))
	case "z":
		ev.Last = string(r.value()) == "true"
	case "x":
		ev.Expiry = Expiry(r.letter())
	case "tt":
		ev.Timeout = r.number(64)
	case "hb":
		ev.Heartbeat = r.number(64)
	case "qt":
		ev.Queue = r.number(64)
	case "st":
		ev.Status = Status(r.number(16))
	case "wk":
		ev.Worker = r.text()
	case "ss":
		ev.Session = r.text()
	case "id":
		ev.RequestID = r.text()
	case "wf":
		ev.Workflow = r.text()
	case "wv":
		ev.Version = int(r.number(64))
	case "start":
		var row rowStart
		if err := json.Unmarshal(r.value(), &row); err != nil {
			r.fail(err)
		}
		ev.Start = row.start()
	default:
		r.unknown(key)
	}
}

func (r *rowReader) assignment(a *Assignment, key string) {
	switch key {
	case "n":
		a.Name = r.text()
	case "o", "p":
		r.payload(&a.Text, key)
	default:
		r.unknown(key)
	}
}

func (r *rowReader) unknown(key string) { r.fail(fmt.Errorf("%w: member %q", ErrUnknownEvent, key)) }

func (r *rowReader) payload(t *Text, key string) {
	if key == "o" {
		t.Literal = r.value()
		return
	}
	t.Parts = []Part{}
	r.list(func() {
		var p Part
		if r.peek() == '"' {
			p.Literal = r.text()
		} else {
			n := 0
			r.list(func() {
				switch n++; n {
				case 1:
					p.From = Source(r.letter())
				case 2:
					p.Off = int(r.number(64))
				case 3:
					p.Len = int(r.number(64))
				default:
					r.unexpected("three members")
				}
			})
			if p.From == 0 {
				r.unexpected("a source")
			}
		}
		t.Parts = append(t.Parts, p)
	})
}

// rowReader reads JSON in one pass. After the first fault, in err, it stands still and gives zeros.
type rowReader struct {
	b   []byte
	i   int
	err error
}

func (r *rowReader) fail(err error) {
	if r.err == nil {
		r.err, r.i = err, len(r.b)
	}
}

func (r *rowReader) unexpected(wanted string) {
	r.fail(fmt.Errorf("byte %d: %s is expected", r.i, wanted))
}

func (r *rowReader) space() {
	for r.i < len(r.b) && (r.b[r.i] == ' ' || r.b[r.i] == '\n' || r.b[r.i] == '\r' || r.b[r.i] == '\t') {
		r.i++
	}
}

// peek gives the next byte that is no space, zero at the end.
func (r *rowReader) peek() byte {
	if r.space(); r.i < len(r.b) {
		return r.b[r.i]
	}
	return 0
}

func (r *rowReader) take(c byte) {
	if r.peek() != c {
		r.unexpected(string(rune(c)))
		return
	}
	r.i++
}

// list calls element for each element of an array.
func (r *rowReader) list(element func()) { r.sequence('[', ']', element) }

// object calls member for each member of an object, with its name.
func (r *rowReader) object(member func(key string)) {
	r.sequence('{', '}', func() {
		key := r.text()
		r.take(':')
		member(key)
	})
}

func (r *rowReader) sequence(opening, closing byte, each func()) {
	r.take(opening)
	if r.err == nil && r.peek() == closing {
		r.i++
		return
	}
	for r.err == nil {
		each()
		if r.peek() == closing {
			r.i++
			return
		}
		r.take(',')
	}
}

// value gives the text of any value.
func (r *rowReader) value() []byte {
	r.peek()
	from, depth := r.i, 0
	for r.i < len(r.b) {
		switch r.b[r.i] {
		case '"':
			r.i = endOfString(r.b, r.i)
		case '[', '{':
			depth++
		case ']', '}', ',':
			if depth == 0 {
				return r.ended(from)
			}
			if r.b[r.i] != ',' {
				depth--
			}
		}
		r.i++
	}
	return r.ended(from)
}

// ended gives what was read since from, without the space at its end.
func (r *rowReader) ended(from int) []byte {
	r.i = min(r.i, len(r.b))
	text := r.b[from:r.i:r.i]
	for len(text) > 0 && (text[len(text)-1] == ' ' || text[len(text)-1] == '\n') {
		text = text[:len(text)-1]
	}
	if len(text) == 0 {
		r.unexpected("a value")
	}
	return text
}

func (r *rowReader) text() string {
	if r.peek() != '"' {
		r.unexpected("a string")
		return ""
	}
	from := r.i
	plain := true
	for r.i++; r.i < len(r.b) && r.b[r.i] != '"'; r.i++ {
		if r.b[r.i] == '\\' {
			plain = false
			r.i++
		}
	}
	if r.i >= len(r.b) {
		r.unexpected("the end of a string")
		return ""
	}
	r.i++
	if plain {
		return string(r.b[from+1 : r.i-1])
	}
	var s string
	if err := json.Unmarshal(r.b[from:r.i], &s); err != nil {
		r.fail(err)
	}
	return s
}

func (r *rowReader) letter() byte {
	s := r.text()
	if len(s) != 1 {
		r.unexpected("one letter")
		return 0
	}
	return s[0]
}

func (r *rowReader) number(bits int) int64 {
	text := r.value()
	n, err := strconv.ParseInt(string(text), 10, bits)
	if err != nil {
		r.fail(err)
	}
	return n
}
