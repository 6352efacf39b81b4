package history

import (
	"bytes"
	"unicode/utf8"
)

// Source names a text that the state holds while an event is folded.
type Source byte

const (
	FromInput  Source = 'i' // the state's input
	FromValue  Source = 'v' // the state's value: its input, then the result of its work
	FromWork   Source = 'w' // what the unit, the branches or the iterations were given
	FromItem   Source = 'm' // the item of the iteration
	FromOutput Source = 'o' // the output that the same event gives the state
	FromData   Source = 'd' // the data of the scope: the output of its last state
)

// Text is a JSON text as an event carries it. The zero Text is the usual text of its place, such as the state's input
// for the input of its task. Otherwise it is written out in Literal, or put together from Parts.
type Text struct {
	Literal []byte
	Parts   []Part
}

// Part is a piece of a text: a stretch of a text that the state holds, or Literal where From is zero.
type Part struct {
	From     Source
	Off, Len int // in bytes
	Literal  string
}

// size is about how many bytes it takes in the history.
func (t Text) size() int {
	n := len(t.Literal)
	for _, p := range t.Parts {
		n += partCost + len(p.Literal)
	}
	return n
}

// sources are the texts that one place of one event may refer to; the first is its usual text.
type sources []source

type source struct {
	from Source
	text []byte
}

// sources gives the texts that the payload of ev may refer to.
func (s *State) sources(ev *Event) sources {
	c := s.scopes[ev.Scope]
	if c == nil {
		return nil
	}
	list := s.scratch[:0]
	v := c.visit
	switch {
	case ev.Type == EventEnded:
		return append(list, source{FromData, c.data})
	case v == nil:
		return nil
	}
	switch ev.Type {
	case EventWriting:
	case EventScheduled, EventReading, EventFanned:
		if v.phase == PhaseRead {
			list = append(list, source{FromValue, v.value})
		}
		if v.attempt > 0 {
			list = append(list, source{FromWork, v.work})
		}
		list = append(list, source{FromInput, v.input})
	case EventCompleted:
		list = append(list, source{FromWork, v.work}, source{FromInput, v.input})
	case EventChildDone:
		if v.fan != nil && ev.Index >= 0 && ev.Index < len(v.fan.items) {
			list = append(list, source{FromItem, v.fan.items[ev.Index]})
		}
	case EventIterBegun, EventChildBegun:
		if v.fan == nil || ev.Index < 0 || ev.Index >= len(v.fan.items) {
			return nil
		}
		list = append(list, source{FromItem, v.fan.items[ev.Index]}, source{FromInput, v.input})
	case EventExited, EventUndoable:
		list = append(list, source{FromValue, v.value}, source{FromInput, v.input}, source{FromWork, v.work})
	}
	return list
}

// variableSources gives the texts that a variable which ev assigns may refer to.
func (s *State) variableSources(ev *Event, output []byte) sources {
	return append(s.sources(ev), source{FromOutput, output})
}

func (ss sources) find(from Source) []byte {
	for _, s := range ss {
		if s.from == from {
			return s.text
		}
	}
	return nil
}

// partCost is about what a part costs in an encoded event, and minMatch the shortest stretch worth one.
const (
	partCost = 14
	minMatch = 2 * partCost
)

// shorten finds a short way to write text.
func (ss sources) shorten(text []byte) Text {
	for i, s := range ss {
		if !bytes.Equal(s.text, text) || s.text == nil {
			continue
		}
		if i == 0 {
			return Text{}
		}
		if len(text) < minMatch {
			break
		}
		return Text{Parts: []Part{{From: s.from, Len: len(text)}}}
	}
	if len(text) >= minMatch {
		if t := (Text{Parts: ss.split(text)}); t.Parts != nil && t.size() < len(text) {
			return t
		}
	}
	return Text{Literal: text}
}

// split writes text as the beginning and the end of one source with something between; what is between may hold a whole
// source. This covers what the data flow of a state does: a part of the input is taken, or a result is put into it. It is
// nil where no source helps.
func (ss sources) split(text []byte) []Part {
	for _, s := range ss {
		if off := bytes.Index(s.text, text); off >= 0 {
			return []Part{{From: s.from, Off: off, Len: len(text)}}
		}
	}
	base, head, tail := ss.closest(text)
	var parts []Part
	if head > 0 {
		parts = append(parts, Part{From: base.from, Len: head})
	}
	parts = append(parts, ss.within(text[head:len(text)-tail])...)
	if tail > 0 {
		parts = append(parts, Part{From: base.from, Off: len(base.text) - tail, Len: tail})
	}
	if len(parts) == 1 && parts[0].From == 0 {
		return nil
	}
	return parts
}

// closest finds the source that shares most with text at both ends, and how many bytes; a stretch too short to be worth
// a part counts as none.
func (ss sources) closest(text []byte) (best source, head, tail int) {
	for _, s := range ss {
		h := commonPrefix(s.text, text)
		t := commonSuffix(s.text[h:], text[h:])
		if h < minMatch {
			h = 0
		}
		if t < minMatch {
			t = 0
		}
		if h+t > head+tail {
			best, head, tail = s, h, t
		}
	}
	return best, head, tail
}

// within writes the middle of a text, with the largest source that is a part of it referred to.
func (ss sources) within(middle []byte) []Part {
	var found source
	at := -1
	for _, s := range ss {
		if len(s.text) < minMatch || len(s.text) <= len(found.text) {
			continue
		}
		if off := bytes.Index(middle, s.text); off >= 0 {
			found, at = s, off
		}
	}
	if at < 0 {
		return literal(middle)
	}
	parts := append(literal(middle[:at]), Part{From: found.from, Len: len(found.text)})
	return append(parts, literal(middle[at+len(found.text):])...)
}

func literal(b []byte) []Part {
	if len(b) == 0 {
		return nil
	}
	return []Part{{Literal: string(b)}}
}

// commonPrefix counts the bytes that a and b begin with, up to the last whole character.
func commonPrefix(a, b []byte) int {
	n := min(len(a), len(b))
	i := 0
	for i < n && a[i] == b[i] {
		i++
	}
	for i > 0 && i < len(b) && !utf8.RuneStart(b[i]) {
		i--
	}
	return i
}

// commonSuffix counts the bytes that a and b end with, from the first whole character.
func commonSuffix(a, b []byte) int {
	n := min(len(a), len(b))
	i := 0
	for i < n && a[len(a)-1-i] == b[len(b)-1-i] {
		i++
	}
	for i > 0 && !utf8.RuneStart(b[len(b)-i]) {
		i--
	}
	return i
}

// resolve gives the whole text; false where it refers to what is not there.
func (ss sources) resolve(t Text) ([]byte, bool) {
	switch {
	case t.Literal != nil:
		return t.Literal, true
	case t.Parts == nil:
		if len(ss) == 0 || ss[0].text == nil {
			return nil, false
		}
		return ss[0].text, true
	}
	n := 0
	for _, p := range t.Parts {
		n += p.Len + len(p.Literal)
		if text := ss.find(p.From); p.From != 0 && (p.Off < 0 || p.Len < 0 || p.Off > len(text)-p.Len) {
			return nil, false
		}
	}
	if p := t.Parts[0]; len(t.Parts) == 1 && p.From != 0 {
		return ss.find(p.From)[p.Off : p.Off+p.Len], true
	}
	out := make([]byte, 0, n)
	for _, p := range t.Parts {
		if p.From == 0 {
			out = append(out, p.Literal...)
			continue
		}
		out = append(out, ss.find(p.From)[p.Off:p.Off+p.Len]...)
	}
	return out, true
}
