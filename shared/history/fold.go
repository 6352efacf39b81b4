package history

import (
	"errors"
	"fmt"
	"slices"
)

// ErrOutOfOrder is a turn that does not follow the last one that was applied.
var ErrOutOfOrder = errors.New("history: turn out of order")

// Apply folds the events of one turn into the state; first is the number of the first of them. A turn may be applied in
// pieces, as the decider does while it makes one. The error is ErrOutOfOrder or ErrUnknownEvent, and then nothing has
// changed. The state keeps the texts of the events: nobody may change them afterwards.
func (s *State) Apply(seq Seq, at Time, first EventID, events []Event) error {
	if first != s.events+1 || (seq != s.seq && seq != s.seq+1) {
		return fmt.Errorf("%w: turn %d from event %d, after turn %d and event %d", ErrOutOfOrder, seq, first, s.seq, s.events)
	}
	for i := range events {
		if !known[events[i].Type] {
			return fmt.Errorf("%w: type %q", ErrUnknownEvent, events[i].Type)
		}
		if st := events[i].Start; st != nil && st.Behaviour > BehaviourLevel {
			return fmt.Errorf("%w: behaviour level %d", ErrUnknownEvent, st.Behaviour)
		}
	}
	s.seq, s.at = seq, at
	for i := range events {
		s.events++
		s.previous = 0
		if events[i].Type == EventStarted {
			s.applyStarted(&events[i])
			continue
		}
		c := s.scopes[events[i].Scope]
		if c == nil {
			continue
		}
		s.previous = c.last
		switch {
		case events[i].Type == EventRedriven:
			s.applyRedriven()
		case s.status == Running:
			s.fold(&events[i], c)
		}
	}
	return nil
}

// fold changes the state by one event of a running execution. Each case leaves the state alone where the event does not
// fit it.
func (s *State) fold(ev *Event, c *Scope) {
	if s.foldExecution(ev, c) {
		return
	}
	if ev.Type == EventAborted {
		s.applyAborted(c)
		return
	}
	if c.status != scopeRuns {
		return
	}
	if ev.Type == EventEntered {
		s.applyEntered(ev, c)
		return
	}
	v := c.visit
	if v == nil {
		return
	}
	if s.foldUnit(ev, v) {
		s.setTimer(v)
		return
	}
	s.foldFan(ev, v)
}

// foldExecution covers the events that concern the execution as a whole; false for others.
func (s *State) foldExecution(ev *Event, c *Scope) bool {
	switch ev.Type {
	case EventSignalled:
		text, ok := s.sources(ev).resolve(ev.Text)
		if ok {
			s.signals = append(s.signals, signal{name: ev.Name, text: text, id: s.events})
			s.held += len(text)
		}
	case EventCancelling:
		s.cancelled = true
		s.failure = failure{cause: ev.Cause}
	case EventEnded:
		s.applyEnded(ev, c)
	case EventInstance:
		s.applyInstance(ev)
	case EventStopped:
		s.applyStopped(ev)
	default:
		return s.foldUnwinding(ev, c)
	}
	return true
}

func (s *State) applyStarted(ev *Event) {
	text, ok := sources(nil).resolve(ev.Text)
	if s.status != 0 || ev.Start == nil || !ok {
		return
	}
	s.start = *ev.Start
	s.start.Input = text
	s.startedAt, s.status = s.at, Running
	s.setDeadline()
	s.addScope(&Scope{data: text})
}

func (s *State) applyEnded(ev *Event, c *Scope) {
	end := &End{Status: ev.Status, Error: ev.Error, Cause: ev.Cause}
	switch {
	case ev.Last && s.ending != nil:
		end.Error, end.Cause = s.ending.Error, s.ending.Cause
	case ev.Last:
		end.Error, end.Cause = s.failure.code, s.failure.cause
	}
	if ev.Status == Succeeded {
		text, ok := s.sources(ev).resolve(ev.Text)
		if !ok {
			return
		}
		end.Output = text
	}
	s.status, s.end = ev.Status, end
	c.last = s.events
	for len(s.timers) > 0 {
		s.timers.remove(s.timers[len(s.timers)-1])
	}
	for _, v := range s.ready {
		if v != nil {
			v.isReady = false
		}
	}
	clear(s.units)
	s.ready, s.waiters = nil, nil
}

// newBranch begins a branch or an iteration.
func (s *State) newBranch(parent *Visit, index, round int, input []byte) {
	c := s.addScope(&Scope{parent: parent, index: index, round: round, data: input, last: s.events})
	c.prefix = c.prefixOf()
	parent.fan.branches[index] = c
}

func (s *State) addScope(c *Scope) *Scope {
	s.lastScope++
	c.id = s.lastScope
	s.scopes[c.id] = c
	return c
}

// prefixOf is what the keys of the units inside begin with.
func (c *Scope) prefixOf() string {
	round := "/"
	if c.round > 0 {
		round = fmt.Sprintf("#%d/", c.round+1)
	}
	switch {
	case c.parent != nil:
		return fmt.Sprintf("%s[%d]%s", c.parent.key, c.index, round)
	case c.root == instanceRoot:
		return fmt.Sprintf("/OnSignal/%s[%d]/", keyEscapes.Replace(c.name), c.index)
	case c.root == cleanupRoot:
		return "/Cleanup" + round
	case c.root == undoRoot:
		return string(c.undoes) + "/"
	}
	return ""
}

func (s *State) applyEntered(ev *Event, c *Scope) {
	if c.visit != nil {
		return
	}
	v := &Visit{
		scope: c, id: s.events, state: ev.State, kind: ev.Kind, enteredAt: s.at,
		input: c.data, value: c.data, phase: PhaseEntered, until: ev.At,
	}
	v.key = c.unitKey(ev.State)
	c.visit, c.last = v, s.events
	if v.kind == WaitState && v.until > s.at {
		s.units[v.key] = v
		s.setTimer(v)
		return
	}
	s.markReady(v)
}

func (s *State) applyExited(ev *Event, v *Visit) {
	output, ok := s.sources(ev).resolve(ev.Text)
	if !ok {
		return
	}
	c := v.scope
	for _, a := range ev.Assigned {
		if text, ok := s.variableSources(ev, output).resolve(a.Text); ok {
			if c.vars == nil {
				c.vars = map[string][]byte{}
			}
			s.variables += len(text) - len(c.vars[a.Name])
			c.vars[a.Name] = text
		}
	}
	s.close(v, PhaseDone)
	s.dropFan(v)
	c.visit, c.data, c.last = nil, output, s.events
	if ev.Last {
		s.finishScope(c)
	}
}

// forget drops a scope, with its variables.
func (s *State) forget(c *Scope) {
	if s.scopes[c.id] != c {
		return
	}
	for _, text := range c.vars {
		s.variables -= len(text)
	}
	delete(s.scopes, c.id)
}

// finishScope takes a scope that ended well out of its parent.
func (s *State) finishScope(c *Scope) {
	c.status = scopeDone
	p := c.parent
	if p == nil {
		if c.root == instanceRoot {
			s.dropRoot(c)
		}
		return
	}
	f := p.fan
	f.branches[c.index] = nil
	f.active--
	f.tail, f.ended = c.last, c.last
	s.forget(c)
	s.settleIteration(p, c.index, c.data, 0)
}

// close ends what the visit waits for, and everything inside it.
func (s *State) close(v *Visit, phase Phase) {
	s.leaveChild(v)
	if v.phase == PhaseUndoing {
		s.catching = slices.DeleteFunc(s.catching, func(c *Visit) bool { return c == v })
		s.rewound = s.rewound || phase == PhaseFailed
	}
	v.phase = phase
	s.unmarkReady(v)
	s.timers.set(v, 0)
	if s.units[v.key] == v {
		delete(s.units, v.key)
		delete(s.units, SubmitKey(v.key))
		delete(s.units, WriteKey(v.key))
	}
	if v.unit.kind == SignalUnit {
		s.dropWaiter(v)
	}
	if v.fan == nil {
		return
	}
	s.leaveRun(v)
	for _, c := range v.fan.branches {
		if c != nil && c.status == scopeRuns {
			s.stopScope(c, scopeCut)
		}
	}
}

// stopScope ends a scope that did not end well; it stays in the tree until its parent goes on.
func (s *State) stopScope(c *Scope, status scopeStatus) {
	c.status = status
	if c.visit != nil && c.visit.phase != PhaseFailed {
		s.close(c.visit, PhaseFailed)
	}
}

// dropFan forgets the branches or iterations of a visit.
func (s *State) dropFan(v *Visit) {
	if v.fan == nil {
		return
	}
	for _, c := range v.fan.branches {
		if c == nil {
			continue
		}
		if c.visit != nil {
			s.dropFan(c.visit)
		}
		s.forget(c)
	}
	v.fan = nil
}

func (s *State) markReady(v *Visit) {
	if v.isReady {
		return
	}
	v.isReady = true
	v.place = s.passed + len(s.ready)
	s.ready = append(s.ready, v)
}

func (s *State) unmarkReady(v *Visit) {
	if !v.isReady {
		return
	}
	v.isReady = false
	s.ready[v.place-s.passed] = nil
	for len(s.ready) > 0 && s.ready[0] == nil {
		s.ready = s.ready[1:]
		s.passed++
	}
}

func (s *State) dropWaiter(v *Visit) {
	for i, w := range s.waiters {
		if w == v {
			s.waiters = append(s.waiters[:i], s.waiters[i+1:]...)
			return
		}
	}
}
