package history

import "slices"

// A task that ends by its token has two rows in the queue: one under the unit's own key, which nobody claims and which
// the token names, and until the token is passed on one under SubmitKey, which a worker claims like any task.
//
//	EventScheduled --> queued --EventDispatched--> dispatched --EventSubmitted--> waiting --token--> done
//
// A child execution is started with the turn that schedules its unit. One that is not wanted any more is told to stop,
// and until it has ended whoever undoes something around it waits: a child undoes what it did by itself.

// SubmitKey names the row by which a worker gets the task of the unit, whose token it passes on.
func SubmitKey(unit UnitKey) UnitKey { return unit + "/Submit" }

func (v *Visit) rowUnit() UnitKey {
	if v.unit.kind == TokenUnit {
		return SubmitKey(v.key)
	}
	if v.Writes() {
		return WriteKey(v.key)
	}
	return v.key
}

// delivers tells whether workers claim the unit.
func (u *unit) delivers() bool {
	return u.kind == WorkerUnit || u.kind == TokenUnit && !u.submitted
}

// startsChild tells whether the unit starts an execution.
func (u *unit) startsChild() bool {
	return u.kind == ChildUnit || u.kind == DetachedUnit || u.kind == TokenChildUnit
}

func (u *unit) waitsToken() bool { return u.kind == TokenUnit || u.kind == TokenChildUnit }

// TokenRow names the row of the unit's token; false where it has none that is open.
func (v *Visit) TokenRow() (RowRef, bool) {
	if v.phase != PhaseOpen || !v.unit.waitsToken() {
		return RowRef{}, false
	}
	return RowRef{Unit: v.key, Attempt: v.attempt, Offer: 1}, true
}

// Child gives the name of the execution whose end the unit waits for, with its workflow; false where it waits for none.
func (v *Visit) Child() (name string, of WorkflowRef, ok bool) {
	if v.phase != PhaseOpen || v.unit.kind != ChildUnit {
		return "", WorkflowRef{}, false
	}
	return v.unit.child, WorkflowRef{Name: v.unit.workflow, Version: v.unit.version}, true
}

// ScheduledAt is when the attempt began.
func (v *Visit) ScheduledAt() Time { return v.unit.scheduledAt }

// Stopping tells whether the child of the attempt was told to stop and has not ended.
func (s *State) Stopping(unit UnitKey, attempt int) bool {
	return slices.Contains(s.stopping, RowRef{Unit: unit, Attempt: attempt})
}

// stoppingIn tells whether a child inside the scope was told to stop and has not ended.
func (s *State) stoppingIn(c *Scope) bool {
	return slices.ContainsFunc(s.stopping, func(r RowRef) bool { return c.covers(r.Unit) })
}

// leaveChild notes that the visit does not wait for its child any more. One that was scheduled in this very turn was never
// started.
func (s *State) leaveChild(v *Visit) {
	if v.phase == PhaseOpen && v.unit.kind == ChildUnit && !v.unit.over && v.unit.since != s.seq {
		s.stopping = append(s.stopping, RowRef{Unit: v.key, Attempt: v.attempt})
	}
}

func (s *State) applyStopped(ev *Event) {
	row := RowRef{Unit: UnitKey(ev.Key), Attempt: ev.Index}
	s.stopping = slices.DeleteFunc(s.stopping, func(r RowRef) bool { return r == row })
	for _, v := range s.catching {
		s.wakeCaught(v)
	}
}

func (s *State) applySubmitted(ev *Event, v *Visit) {
	if v.phase != PhaseOpen || v.unit.submitted {
		return
	}
	switch v.unit.kind {
	case TokenUnit:
		s.noteReport(ev, v)
		delete(s.units, SubmitKey(v.key))
		u := &v.unit
		u.worker, u.session, u.progress = "", "", nil
		u.submitted, u.status, u.claimedAt = true, UnitWaiting, s.at
	case ChildUnit, TokenChildUnit:
		v.unit.submitted = true
	default:
		return
	}
	v.scope.last = s.events
}
