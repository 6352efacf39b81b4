package history

import (
	"slices"
	"strings"
)

// A unit that can be undone leaves an entry when it succeeds. Entries are taken from the newest on: by a catcher that
// compensates, those of its scope; when the execution ends without success, all of them. Each taken entry becomes a scope
// of its own, whose only visit is the compensation:
//
//	done --EventUndoable--> entry --EventUndoing--> scope --EventUndone--> (gone)
//
//	a catcher:      EventCaught --> visit in PhaseUndoing, ready whenever the next entry may be taken --> exit
//	the execution:  EventUnwinding --> entries, one after the other --> EventCleaning --> EventCleaned --> EventEnded
//
// Compensations and Cleanup belong to no state that can be stopped: they end by themselves.

// undo is the entry of a unit that can be undone.
type undo struct {
	unit  UnitKey
	state string
	input []byte // of the compensation
}

// rootKind tells what a scope without a parent is.
type rootKind byte

const (
	mainRoot     rootKind = 0
	instanceRoot rootKind = 's'
	cleanupRoot  rootKind = 'c'
	undoRoot     rootKind = 'u'
)

// Role is what a scope is to its execution.
type Role byte

const (
	InnerRole    Role = 'i' // a branch or an iteration
	MainRole     Role = 'm' // the document's own machine
	InstanceRole Role = 's' // a machine that a signal has begun
	CleanupRole  Role = 'c'
	UndoRole     Role = 'u' // a compensation
)

// Role tells what the scope is.
func (c *Scope) Role() Role {
	switch {
	case c.parent != nil:
		return InnerRole
	case c.root == mainRoot:
		return MainRole
	}
	return Role(c.root)
}

// Unwinding tells that the execution will end without success: what it was doing has been stopped.
func (s *State) Unwinding() bool { return s.ending != nil && !s.status.Ended() }

// MustUnwind tells that the execution as a whole waits for the decider's next step: the next compensation, Cleanup, or the
// end.
func (s *State) MustUnwind() bool {
	return s.Unwinding() && len(s.stopping) == 0 && !s.unwindingRuns()
}

// unwindingRuns tells whether a compensation or Cleanup runs.
func (s *State) unwindingRuns() bool {
	return slices.ContainsFunc(s.roots, func(r *Scope) bool { return r.root == undoRoot || r.root == cleanupRoot })
}

// Instances is the number of machines that signals have begun and that have not ended.
func (s *State) Instances() int {
	n := 0
	for _, r := range s.roots {
		if r.root == instanceRoot {
			n++
		}
	}
	return n
}

// Newest is the scope that was made last, nil where it is gone.
func (s *State) Newest() *Scope { return s.scopes[s.lastScope] }

// Ending is how the execution will end, nil before it is unwound.
func (s *State) Ending() *End { return s.ending }

// Reason says why the execution is unwound, where its status does not.
func (s *State) Reason() string { return s.reason }

// Cleaned tells that Cleanup is over.
func (s *State) Cleaned() bool { return s.cleaned }

// MayUndo tells whether the scope has something that is to be undone, or is being undone, or undoes itself.
func (s *State) MayUndo(c *Scope) bool {
	_, found := s.Undo(c)
	return found || s.undoing(c) || s.stoppingIn(c)
}

// Undo gives the unit of the scope that is to be undone next: the one that succeeded last.
func (s *State) Undo(c *Scope) (UnitKey, bool) {
	for i := len(s.undos) - 1; i >= 0; i-- {
		if unit := s.undos[i].unit; c.covers(unit) {
			return unit, true
		}
	}
	return "", false
}

// LastUndo is Undo for the execution as a whole.
func (s *State) LastUndo() (UnitKey, bool) {
	if n := len(s.undos); n > 0 {
		return s.undos[n-1].unit, true
	}
	return "", false
}

// Undos is how many units can be undone.
func (s *State) Undos() int { return len(s.undos) }

// MayUndoAny is MayUndo for the execution as a whole.
func (s *State) MayUndoAny() bool {
	return len(s.undos) > 0 || len(s.stopping) > 0 || slices.ContainsFunc(s.roots, func(r *Scope) bool { return r.root == undoRoot })
}

// undoing tells whether something of the scope is being undone.
func (s *State) undoing(c *Scope) bool {
	return slices.ContainsFunc(s.roots, func(r *Scope) bool { return r.root == undoRoot && c.covers(r.undoes) })
}

// covers tells whether the unit is inside the scope. What runs beside the main scope has keys that begin with a slash.
func (c *Scope) covers(unit UnitKey) bool {
	if c.prefix == "" {
		return !strings.HasPrefix(string(unit), "/")
	}
	return strings.HasPrefix(string(unit), c.prefix)
}

// Caught gives the catcher that has caught the failure of a visit in PhaseUndoing, from 1, and the failure.
func (v *Visit) Caught() (catcher int, code, cause string) {
	return v.catcher, v.failure.code, v.failure.cause
}

// foldUnwinding covers the events by which an execution is undone and cleaned up; false for others.
func (s *State) foldUnwinding(ev *Event, c *Scope) bool {
	switch ev.Type {
	case EventUnwinding:
		s.applyUnwinding(ev, c)
	case EventUndoing:
		s.applyUndoing(ev, c)
	case EventUndone:
		s.applyUndone(ev, c)
	case EventCleaning:
		s.applyCleaning(ev, c)
	case EventCleaned:
		s.applyCleaned(ev, c)
	default:
		return false
	}
	return true
}

// applyUndoable keeps how to undo a unit, once: one that succeeds again, because the output of the execution that it made did not
// fit, has the idempotency key that it had.
func (s *State) applyUndoable(ev *Event, v *Visit) {
	text, ok := s.sources(ev).resolve(ev.Text)
	if ok && v.phase == PhaseDone && v.kind == TaskState {
		s.undos = slices.DeleteFunc(s.undos, func(u undo) bool { return u.unit == v.key })
		s.undos = append(s.undos, undo{unit: v.key, state: v.state, input: text})
	}
}

// applyCaught lets the visit wait until its scope is undone.
func (s *State) applyCaught(ev *Event, v *Visit) {
	if ev.Index < 1 || v.phase == PhaseUndoing {
		return
	}
	s.note(ev)
	s.close(v, PhaseUndoing)
	s.catching = append(s.catching, v)
	v.catcher, v.failure = ev.Index, s.failure
	v.scope.last = s.events
	s.wakeCaught(v)
}

// wakeCaught makes a visit ready that waits for compensations of its scope, when none of them runs.
func (s *State) wakeCaught(v *Visit) {
	if v.phase == PhaseUndoing && v.scope.status == scopeRuns && !s.undoing(v.scope) && !s.stoppingIn(v.scope) {
		s.markReady(v)
	}
}

// note keeps the failure that an event tells.
func (s *State) note(ev *Event) {
	if !ev.Last {
		s.failure = failure{code: ev.Error, cause: ev.Cause}
	}
}

// applyUnwinding stops everything but the compensations that run already. The tree stays as it was.
func (s *State) applyUnwinding(ev *Event, c *Scope) {
	if s.ending != nil || !ev.Status.Ended() || ev.Status == Succeeded {
		return
	}
	s.note(ev)
	s.ending = &End{Status: ev.Status, Error: s.failure.code, Cause: s.failure.cause}
	s.reason, s.deadline = ev.Name, 0
	s.stopRoot(c)
	for _, r := range s.roots {
		if r.root == instanceRoot {
			s.stopRoot(r)
		}
	}
	c.last = s.events
}

func (s *State) stopRoot(c *Scope) {
	if c.status == scopeRuns {
		s.stopScope(c, scopeCut)
	}
}

// applyInstance begins a machine for the oldest signal of its name.
func (s *State) applyInstance(ev *Event) {
	at := slices.IndexFunc(s.signals, func(g signal) bool { return g.name == ev.Name })
	if at < 0 || s.ending != nil {
		return
	}
	g := s.signals[at]
	s.signals = slices.Delete(s.signals, at, at+1)
	s.held -= len(g.text)
	if s.instances == nil {
		s.instances = map[string]int{}
	}
	c := s.addScope(&Scope{root: instanceRoot, name: ev.Name, index: s.instances[ev.Name], data: g.text, last: s.events})
	c.prefix = c.prefixOf()
	s.instances[ev.Name]++
	s.roots = append(s.roots, c)
}

func (s *State) applyUndoing(ev *Event, owner *Scope) {
	at := slices.IndexFunc(s.undos, func(u undo) bool { return string(u.unit) == ev.Key })
	if at < 0 {
		return
	}
	s.rewound = s.rewound || s.ending != nil
	u := s.undos[at]
	s.undos = slices.Delete(s.undos, at, at+1)
	c := s.addScope(&Scope{root: undoRoot, owner: owner.id, undoes: u.unit, data: u.input, last: s.events})
	c.prefix = c.prefixOf()
	v := &Visit{
		scope: c, id: s.events, state: u.state, kind: UndoState, key: UnitKey(c.prefix + "Compensate"), enteredAt: s.at,
		input: u.input, value: u.input, phase: PhaseEntered,
	}
	c.visit = v
	s.roots = append(s.roots, c)
	owner.last = s.events
	if owner.visit != nil {
		s.unmarkReady(owner.visit)
	}
	s.markReady(v)
}

func (s *State) applyUndone(ev *Event, c *Scope) {
	if c.root != undoRoot {
		return
	}
	if ev.Status == Failed {
		s.note(ev)
	}
	s.dropRoot(c)
	if owner := s.scopes[c.owner]; owner != nil {
		owner.last = s.events
	}
	for _, v := range s.catching {
		s.wakeCaught(v)
	}
}

func (s *State) applyCleaning(ev *Event, main *Scope) {
	if s.ending == nil || s.cleaned || s.unwindingRuns() || ev.Text.Literal == nil {
		return
	}
	c := s.addScope(&Scope{root: cleanupRoot, round: s.redrives, data: ev.Text.Literal, last: s.events})
	c.prefix = c.prefixOf()
	s.roots = append(s.roots, c)
	main.last = s.events
}

func (s *State) applyCleaned(ev *Event, c *Scope) {
	if c.root != cleanupRoot {
		return
	}
	if ev.Status == Failed {
		s.note(ev)
	}
	s.cleaned = true
	s.dropRoot(c)
	if main := s.scopes[MainScope]; main != nil {
		main.last = s.events
	}
}

// dropRoot takes a scope out that ran beside the main scope.
func (s *State) dropRoot(c *Scope) {
	if v := c.visit; v != nil {
		s.close(v, PhaseFailed)
		s.dropFan(v)
	}
	s.forget(c)
	if at := slices.Index(s.roots, c); at >= 0 {
		s.roots = slices.Delete(s.roots, at, at+1)
	}
}
