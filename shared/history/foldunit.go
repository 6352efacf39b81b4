package history

import "time"

// keptReports is how many applied reports a state remembers, to tell a repeated one from one that came too late.
const keptReports = 16

func millis(ms int64) time.Duration { return time.Duration(ms) * time.Millisecond }

// foldUnit covers the events of units, and the end of a visit; false for others.
func (s *State) foldUnit(ev *Event, v *Visit) bool {
	switch ev.Type {
	case EventExited:
		s.applyExited(ev, v)
	case EventScheduled:
		s.applyScheduled(ev, v)
	case EventReading:
		s.applyReading(ev, v)
	case EventUnread:
		s.applyUnread(ev, v)
	case EventWriting:
		s.applyWriting(ev, v)
	case EventUnwritten:
		s.applyUnwritten(ev, v)
	case EventDispatched:
		s.applyDispatched(ev, v)
	case EventSubmitted:
		s.applySubmitted(ev, v)
	case EventCompleted:
		s.applyCompleted(ev, v)
	case EventTaken:
		s.applyTaken(v)
	case EventFailed, EventTimedOut:
		s.applyFailed(ev, v)
	case EventLost:
		s.applyLost(ev, v)
	case EventRuled:
		if v.HasRow() && v.unit.status == UnitUncertain && ev.Name == ResolveRetry {
			v.unit.offerAgain(s.at)
		}
	case EventUndoable:
		s.applyUndoable(ev, v)
	case EventCaught:
		s.applyCaught(ev, v)
	case EventProgressed:
		s.applyProgressed(ev, v)
	default:
		return false
	}
	return true
}

func (s *State) applyScheduled(ev *Event, v *Visit) {
	text, ok := s.sources(ev).resolve(ev.Text)
	if !ok || !v.hasUnits() || (v.phase != PhaseEntered && v.phase != PhaseRetrying) {
		return
	}
	key := v.unit.key
	if ev.Key != "" {
		key = ev.Key
	}
	v.unit = unit{
		kind: ev.Unit, status: UnitQueued, key: key, offer: 1, scheduledAt: s.at, offeredAt: s.at, since: s.seq,
		timeout: ev.Timeout, heartbeat: ev.Heartbeat, queue: ev.Queue,
	}
	v.work, v.phase, v.until = text, PhaseOpen, 0
	v.attempt++
	v.scope.last = s.events
	s.units[v.key] = v
	s.unmarkReady(v)
	switch {
	case ev.Unit == SignalUnit:
		v.unit.status, v.unit.offer, v.unit.signal = UnitWaiting, 0, ev.Name
		s.waiters = append(s.waiters, v)
	case ev.Unit == TokenUnit:
		s.units[SubmitKey(v.key)] = v
	case v.unit.startsChild():
		v.unit.status, v.unit.offer, v.unit.claimedAt = UnitWaiting, 0, s.at
		v.unit.child, v.unit.workflow, v.unit.version = ev.Name, ev.Workflow, ev.Version
	}
}

func (s *State) applyDispatched(ev *Event, v *Visit) {
	if v.phase == PhaseOpen && v.unit.startsChild() {
		v.scope.last = s.events
		return
	}
	if !v.HasRow() || v.unit.status != UnitQueued {
		return
	}
	v.unit.status, v.unit.worker, v.unit.session = UnitDispatched, ev.Worker, ev.Session
	v.unit.claimedAt = s.at
	if ev.At != 0 {
		v.unit.claimedAt = ev.At
	}
	if v.kind != MapState {
		v.scope.last = s.events
	}
}

func (s *State) applyCompleted(ev *Event, v *Visit) {
	text, ok := s.sources(ev).resolve(ev.Text)
	if !ok || v.phase != PhaseOpen || v.unit.kind == SignalUnit {
		return
	}
	if v.reads() {
		s.applyRead(ev, v, text, failure{})
		return
	}
	if v.Writes() {
		s.applyWritten(ev, v, text, failure{})
		return
	}
	if !ev.Last {
		s.noteReport(ev, v)
	}
	s.resolve(v, text)
}

// applyProgressed keeps what a worker told; whoever holds the token shows by it that it is alive.
func (s *State) applyProgressed(ev *Event, v *Visit) {
	text, ok := s.sources(ev).resolve(ev.Text)
	if !ok || v.phase != PhaseOpen || !v.unit.delivers() && !v.unit.waitsToken() {
		return
	}
	v.unit.progress = text
	if !v.unit.delivers() {
		v.unit.claimedAt = s.at
	}
}

// hasUnits tells whether the visit is of a kind that schedules units.
func (v *Visit) hasUnits() bool { return v.kind == TaskState || v.kind == UndoState }

// resolve gives an open unit its result.
func (s *State) resolve(v *Visit, result []byte) {
	v.unit.over = true
	s.close(v, PhaseDone)
	v.value = result
	v.scope.last = s.events
	s.markReady(v)
}

func (s *State) applyTaken(v *Visit) {
	if v.phase != PhaseOpen || v.unit.kind != SignalUnit {
		return
	}
	for i, g := range s.signals {
		if g.name == v.unit.signal {
			s.signals = append(s.signals[:i], s.signals[i+1:]...)
			s.held -= len(g.text)
			s.resolve(v, g.text)
			return
		}
	}
}

func (s *State) applyFailed(ev *Event, v *Visit) {
	if v.phase != PhaseOpen {
		return
	}
	if ev.Type == EventFailed {
		v.unit.over = true
		if !ev.Last {
			s.noteReport(ev, v)
		}
	}
	s.failure = failure{code: ev.Error, cause: ev.Cause}
	v.scope.last = s.events
	if ev.Retrier > 0 {
		s.pause(ev, v)
		return
	}
	s.close(v, PhaseFailed)
}

// pause lets the visit rest before another try.
func (s *State) pause(ev *Event, v *Visit) {
	s.close(v, PhaseRetrying)
	for len(v.retries) < ev.Retrier {
		v.retries = append(v.retries, 0)
	}
	v.retries[ev.Retrier-1]++
	v.until = ev.At
	v.unit = unit{key: v.unit.key}
	s.units[v.key] = v
}

func (s *State) applyLost(ev *Event, v *Visit) {
	if !v.HasRow() || v.unit.status == UnitUncertain {
		return
	}
	v.unit.redelivery++
	if !ev.Last {
		v.unit.offerAgain(s.at)
		return
	}
	v.unit.status, v.unit.worker, v.unit.session, v.unit.claimedAt, v.unit.heard = UnitUncertain, "", "", 0, 0
}

func (u *unit) offerAgain(now Time) {
	u.offer++
	u.status, u.worker, u.session, u.claimedAt, u.heard, u.offeredAt = UnitQueued, "", "", 0, 0, now
}

func (s *State) noteReport(ev *Event, v *Visit) {
	row := v.Row()
	byToken := ev.Type == EventCompleted || ev.Unit == TokenUnit
	if token, ok := v.TokenRow(); ok && byToken {
		row = token
	} else if v.unit.startsChild() {
		return
	}
	if ev.Offer != 0 {
		row.Offer = ev.Offer
	}
	if len(s.reports) == keptReports {
		copy(s.reports, s.reports[1:])
		s.reports = s.reports[:keptReports-1]
	}
	s.reports = append(s.reports, row)
}
