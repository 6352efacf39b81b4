package history

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
)

// MaxBranches is the largest number of branches or iterations of one state.
const MaxBranches = 1 << 20

// foldFan covers the events of a Parallel or a Map and of what runs inside.
func (s *State) foldFan(ev *Event, v *Visit) {
	switch ev.Type {
	case EventFanned:
		s.applyFanned(ev, v)
	case EventIterBegun:
		s.applyIterBegun(ev, v)
	case EventIterDone:
		if v.fan != nil {
			s.previous, v.fan.ended = v.fan.tail, s.events
		}
	case EventIterFailed:
		s.stopIteration(ev, v, scopeFailed)
		if ev.Last {
			s.tolerateIteration(ev, v)
		}
	case EventIterCut:
		s.stopIteration(ev, v, scopeCut)
	case EventJoined:
		s.applyJoined(v)
	case EventBroken, EventAgain:
		s.applyBroken(ev, v)
	default:
		s.foldRun(ev, v)
	}
}

func (s *State) applyFanned(ev *Event, v *Visit) {
	text, ok := s.sources(ev).resolve(ev.Text)
	read := v.phase == PhaseRead
	if !ok || (v.phase != PhaseEntered && v.phase != PhaseRetrying && !read) || ev.Index < 0 || ev.Index > MaxBranches {
		return
	}
	f := &fan{limit: ev.Limit, tolerate: ev.Tolerated, tail: s.events, ended: s.events}
	n := ev.Index
	switch v.kind {
	case MapState:
		if f.items, ok = splitArray(text); !ok {
			return
		}
		n = len(f.items)
	case ParallelState:
	default:
		return
	}
	f.branches, f.results = make([]*Scope, n), make([][]byte, n)
	s.close(v, PhaseFanned)
	s.dropFan(v)
	s.timers.set(v, 0)
	v.work, v.fan, v.until = text, f, 0
	v.scope.last, v.failure = s.events, failure{}
	if !read {
		v.attempt++ // the reading has counted it
	}
	if v.attempt > 1 {
		v.key = v.scope.unitKey(v.state)
	}
	if v.kind == ParallelState {
		for i := range n {
			s.newBranch(v, i, 0, text)
		}
		f.active = n
		return
	}
	s.markReady(v)
}

func (s *State) applyIterBegun(ev *Event, v *Visit) {
	f := v.fan
	if v.phase != PhaseFanned || f == nil || ev.Index != f.upcoming() || ev.Index >= len(f.items) {
		return
	}
	text, ok := s.sources(ev).resolve(ev.Text)
	if !ok {
		return
	}
	if f.limit > 0 && f.next >= f.limit {
		s.previous = f.tail
	}
	round := 0
	if len(f.again) > 0 {
		round = s.redrives
	}
	f.begin()
	s.newBranch(v, ev.Index, round, text)
	if !v.Unfanned() {
		s.unmarkReady(v)
	}
}

func (s *State) stopIteration(ev *Event, v *Visit, status scopeStatus) {
	if v.fan == nil || ev.Index < 0 || ev.Index >= len(v.fan.branches) {
		return
	}
	c := v.fan.branches[ev.Index]
	if c == nil {
		return
	}
	if status == scopeFailed {
		v.fan.tail = c.last
	}
	s.previous = v.fan.tail
	s.stopScope(c, status)
}

// tolerateIteration takes a failed iteration out; what it gives is its failure.
func (s *State) tolerateIteration(ev *Event, v *Visit) {
	f := v.fan
	if f == nil || ev.Index < 0 || ev.Index >= len(f.branches) || f.branches[ev.Index] == nil {
		return
	}
	c := f.branches[ev.Index]
	f.ended = s.events
	if c.visit != nil {
		s.dropFan(c.visit)
	}
	s.forget(c)
	f.branches[ev.Index] = nil
	f.active--
	s.settleIteration(v, ev.Index, failureText(s.failure), 1)
}

// settleIteration notes what an iteration gave; failed is how many items failed with it.
func (s *State) settleIteration(v *Visit, index int, result []byte, failed int) {
	f := v.fan
	f.results[index] = result
	f.done++
	if failed > 0 {
		f.failed += failed
		f.lost = append(f.lost, index)
	}
	if v.Unfanned() || v.Complete() || v.Overrun() {
		s.markReady(v)
	}
}

// failureText is what a failed iteration gives.
func failureText(f failure) []byte {
	b := appendString([]byte(`{"Status":"FAILED","Error":`), f.code)
	b = appendString(append(b, `,"Cause":`...), f.cause)
	return append(b, '}')
}

func (s *State) applyAborted(c *Scope) {
	if c.parent == nil {
		return
	}
	if f := c.parent.fan; f.tail > c.last {
		s.previous = f.tail
	}
	if c.status == scopeRuns {
		s.stopScope(c, scopeCut)
	}
}

func (s *State) applyJoined(v *Visit) {
	if v.phase != PhaseFanned || !v.Complete() {
		return
	}
	s.previous = v.fan.ended
	v.scope.last = v.fan.ended
	written := v.fan.written
	n := 2
	for _, r := range v.fan.results {
		n += len(r) + 1
	}
	list := append(make([]byte, 0, n), '[')
	list = append(list, bytes.Join(v.fan.results, []byte{','})...)
	s.dropFan(v)
	s.close(v, PhaseDone)
	v.value = append(list, ']')
	if written != nil {
		v.value = written
	}
	s.markReady(v)
}

// applyBroken ends a visit that failed without a unit's event, for good or until another try: one that pauses when that
// cannot even begin.
func (s *State) applyBroken(ev *Event, v *Visit) {
	if v.phase == PhaseOpen {
		return
	}
	if !ev.Last {
		s.failure = failure{code: ev.Error, cause: ev.Cause}
	}
	if f := v.fan; f != nil {
		if v.kind == ParallelState && ev.Index >= 0 && ev.Index < len(f.branches) && f.branches[ev.Index] != nil {
			f.tail = f.branches[ev.Index].last
		}
		v.scope.last, s.previous = f.tail, f.tail
	}
	if ev.Type == EventAgain && ev.Retrier > 0 {
		s.pause(ev, v)
		s.setTimer(v)
		return
	}
	s.close(v, PhaseFailed)
	v.scope.last = s.events
}

// unitKey names the next visit of a state. The characters that a key gives meaning to are written as %XX in names.
func (c *Scope) unitKey(state string) UnitKey {
	if c.visits == nil {
		c.visits = map[string]int{}
	}
	c.visits[state]++
	n := c.visits[state]
	if strings.ContainsAny(state, "%/[]#") {
		state = keyEscapes.Replace(state)
	}
	key := c.prefix + state
	if n > 1 {
		key += "#" + strconv.Itoa(n)
	}
	return UnitKey(key)
}

var keyEscapes = strings.NewReplacer("%", "%25", "/", "%2F", "[", "%5B", "]", "%5D", "#", "%23")

// splitArray gives the elements of a JSON array, as parts of its text; false where the text is not an array.
func splitArray(text []byte) ([][]byte, bool) {
	text = bytes.TrimSpace(text)
	if len(text) < 2 || text[0] != '[' || text[len(text)-1] != ']' {
		return nil, false
	}
	body := text[1 : len(text)-1]
	if len(bytes.TrimSpace(body)) == 0 {
		return [][]byte{}, true
	}
	list := make([][]byte, 0, 8)
	depth, from := 0, 0
	for i := 0; i < len(body); i++ {
		switch body[i] {
		case '"':
			i = endOfString(body, i)
		case '[', '{':
			depth++
		case ']', '}':
			depth--
		case ',':
			if depth == 0 {
				list = append(list, bytes.TrimSpace(body[from:i]))
				from = i + 1
			}
		}
	}
	return slices.Clip(append(list, bytes.TrimSpace(body[from:]))), true
}

// endOfString gives the index of the quote that ends the string which begins at i.
func endOfString(b []byte, i int) int {
	for i++; i < len(b) && b[i] != '"'; i++ {
		if b[i] == '\\' {
			i++
		}
	}
	return i
}
