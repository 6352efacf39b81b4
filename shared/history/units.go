package history

import (
	"cmp"
	"slices"
)

// UnitStatus is how an open unit stands.
type UnitStatus string

const (
	UnitQueued     UnitStatus = "queued"     // offered to the workers
	UnitDispatched UnitStatus = "dispatched" // a worker has it
	UnitWaiting    UnitStatus = "waiting"    // for a signal or a time
	UnitRetrying   UnitStatus = "retrying"   // pauses before the next attempt
	UnitUncertain  UnitStatus = "uncertain"  // waits for an operator's word
	UnitStopping   UnitStatus = "stopping"   // a child that was told to stop and has not ended
)

// UnitView shows an open unit.
type UnitView struct {
	Key        UnitKey
	State      string
	Kind       string // "task", "compensation", "child", "map", "results", "signal", "wait", or "retry" for a Parallel or Map that pauses before another try
	Status     UnitStatus
	Attempt    int
	Offer      int
	Redelivery int
	// Signal is the name of the signal that it waits for, Child that of the execution.
	Signal string
	Child  string
	// Running is how many executions of a distributed Map run, Failed how many of its items have failed.
	Running int
	Failed  int
	// Worker and Session are who holds the current offer.
	Worker  string
	Session string
	// Progress is what the worker told last, as JSON.
	Progress []byte
	// ScheduledAt is when the attempt began, DispatchedAt when the current offer was claimed.
	ScheduledAt  Time
	DispatchedAt Time
	// Deadline is the next time at which something happens to the unit by itself: a time-out, the end of a wait or of a
	// pause; zero for none.
	Deadline Time
}

// View shows the unit of the visit; false where it has none that is open.
func (v *Visit) View() (UnitView, bool) {
	u := UnitView{
		Key: v.key, State: v.state, Kind: "task", Status: v.unit.status, Attempt: v.attempt,
		Offer: v.unit.offer, Redelivery: v.unit.redelivery, Deadline: v.due,
	}
	if v.kind == UndoState {
		u.Kind = "compensation"
	}
	switch {
	case v.phase == PhaseRetrying:
		u.Status = UnitRetrying
		if !v.hasUnits() {
			u.Kind = "retry"
		}
	case v.phase == PhaseEntered && v.kind == WaitState:
		u.Kind, u.Status, u.ScheduledAt = "wait", UnitWaiting, v.enteredAt
	case v.phase == PhaseOpen && v.unit.kind == SignalUnit:
		u.Kind, u.Signal, u.ScheduledAt = "signal", v.unit.signal, v.unit.scheduledAt
	case v.phase == PhaseFanned:
		u.Kind, u.Status, u.Running, u.Failed = "map", UnitWaiting, len(v.fan.kids), v.fan.failed
	case v.phase == PhaseOpen && v.unit.kind == ChildUnit:
		u.Kind, u.Child, u.ScheduledAt = "child", v.unit.child, v.unit.scheduledAt
	case v.phase == PhaseOpen:
		if v.Writes() {
			u.Kind = "results"
		}
		u.Worker, u.Session, u.Progress = v.unit.worker, v.unit.session, v.unit.progress
		u.ScheduledAt, u.DispatchedAt = v.unit.scheduledAt, v.unit.claimedAt
	default:
		return UnitView{}, false
	}
	return u, true
}

// OpenUnits shows what the execution waits for, by scope, and the children that it has told to stop.
func (s *State) OpenUnits() []UnitView {
	var list []UnitView
	for _, v := range s.OpenVisits() {
		if u, ok := v.View(); ok {
			list = append(list, u)
		}
	}
	if s.status.Ended() {
		return list
	}
	for _, r := range s.stopping {
		list = append(list, UnitView{Key: r.Unit, Kind: "child", Status: UnitStopping, Attempt: r.Attempt})
	}
	return list
}

// OpenVisits gives the visits with an open unit, by scope; none once the execution has ended.
func (s *State) OpenVisits() []*Visit {
	list := make([]*Visit, 0, len(s.units))
	for key, v := range s.units {
		if key == v.key {
			list = append(list, v)
		}
	}
	slices.SortFunc(list, func(a, b *Visit) int { return cmp.Compare(a.scope.id, b.scope.id) })
	return list
}

// Dispatched tells whether a worker has one of the units.
func (s *State) Dispatched() bool {
	for _, v := range s.units {
		if v.HasRow() && v.unit.status == UnitDispatched {
			return true
		}
	}
	return false
}

// Row names the current offer of an open unit of a worker; false where there is none.
func (s *State) Row(key UnitKey) (RowRef, bool) {
	v := s.units[key]
	if v == nil || !v.HasRow() {
		return RowRef{}, false
	}
	return v.Row(), true
}

// HasRow tells whether the unit of the visit has a row in the task queue that a report can resolve.
func (v *Visit) HasRow() bool { return v.phase == PhaseOpen && v.unit.delivers() }

// Silent gives the units whose heartbeat time-out is due at now. Whoever sends the timer command looks up when their
// sessions last listed them, for Command.Heard.
func (s *State) Silent(now Time) []UnitView {
	var list []UnitView
	s.timers.upTo(now, func(v *Visit) {
		if v.HasRow() && v.unit.status == UnitDispatched && v.unit.heartbeatDue() != 0 && v.unit.heartbeatDue() <= now {
			u, _ := v.View()
			list = append(list, u)
		}
	})
	slices.SortFunc(list, func(a, b UnitView) int { return cmp.Compare(a.Key, b.Key) })
	return list
}

// Heard notes that the worker which holds the unit listed its token at the given time, so that its heartbeat time-out
// moves. This is not in the history and not in a snapshot: it is a copy of what the session's row says, and whoever loads
// the execution again looks there again.
func (s *State) Heard(key UnitKey, at Time) {
	v := s.units[key]
	if v == nil || !v.HasRow() || v.unit.status != UnitDispatched || at <= v.unit.heard {
		return
	}
	v.unit.heard = at
	s.setTimer(v)
}

// Overdue tells which time of the unit has run out at now; false where none has.
func (v *Visit) Overdue(now Time) (Expiry, bool) {
	u := &v.unit
	switch {
	case v.phase != PhaseOpen:
		return 0, false
	case due(u.deadline(), now):
		return DeadlineExpiry, true
	case due(u.heartbeatDue(), now):
		return HeartbeatExpiry, true
	case due(u.queueDue(), now):
		return QueueExpiry, true
	}
	return 0, false
}

func due(t, now Time) bool { return t != 0 && t <= now }

// Unit gives the kind and the status of the open unit.
func (v *Visit) Unit() (UnitKind, UnitStatus) { return v.unit.kind, v.unit.status }

// Redelivery counts the unknown outcomes of the attempt.
func (v *Visit) Redelivery() int { return v.unit.redelivery }

// Work is what the unit was given, as JSON.
func (v *Visit) Work() []byte {
	if v.Writes() {
		return v.unit.work
	}
	return v.work
}

// IdempotencyKey is the key that the document gives the unit; empty for the usual one.
func (v *Visit) IdempotencyKey() string { return v.unit.key }

// Timeouts gives the time limits of an attempt in milliseconds, zero for none.
func (v *Visit) Timeouts() (timeout, heartbeat int64) { return v.unit.timeout, v.unit.heartbeat }

// deadline is when the attempt is over time: its limit counts from the claim for a worker, from the beginning for
// everything else.
func (u *unit) deadline() Time {
	switch {
	case u.timeout == 0:
		return 0
	case u.kind != WorkerUnit:
		return u.scheduledAt.Add(millis(u.timeout))
	case u.status == UnitDispatched:
		return u.claimedAt.Add(millis(u.timeout))
	}
	return 0
}

func (u *unit) heartbeatDue() Time {
	waits := u.waitsToken() && u.status == UnitWaiting
	if u.heartbeat == 0 || !waits && (u.kind != WorkerUnit || u.status != UnitDispatched) {
		return 0
	}
	return max(u.claimedAt, u.heard).Add(millis(u.heartbeat))
}

func (u *unit) queueDue() Time {
	if u.queue == 0 || u.status != UnitQueued {
		return 0
	}
	return u.offeredAt.Add(millis(u.queue))
}
