package history

// A Map may read its items before it begins. That is a unit like that of a Task, of a visit to a Map:
//
//	entered --read--> open --done--> read --fan--> fanned
//	                    +---readko----^
//
// A Map whose items could not be read begins all the same, with none, and fails then.

// reads tells whether the unit of the visit is that of a Map that reads its items.
func (v *Visit) reads() bool { return v.kind == MapState && v.fan == nil }

func (s *State) applyReading(ev *Event, v *Visit) {
	text, ok := s.sources(ev).resolve(ev.Text)
	if !ok || v.kind != MapState || v.phase != PhaseEntered && v.phase != PhaseRetrying {
		return
	}
	v.unit = unit{status: UnitQueued, key: v.unit.key, offer: 1, scheduledAt: s.at, offeredAt: s.at, since: s.seq}
	s.dropFan(v)
	v.work, v.phase, v.until, v.failure = text, PhaseOpen, 0, failure{}
	v.attempt++
	s.units[v.key] = v
	s.unmarkReady(v)
}

// applyRead ends the reading of a Map with the items, or with a failure and none.
func (s *State) applyRead(ev *Event, v *Visit, items []byte, f failure) {
	if !ev.Last {
		s.noteReport(ev, v)
	}
	s.close(v, PhaseRead)
	v.value, v.failure = items, f
	s.markReady(v)
}

func (s *State) applyUnread(ev *Event, v *Visit) {
	if v.phase == PhaseOpen && v.reads() {
		s.applyRead(ev, v, []byte("[]"), failure{ev.Error, ev.Cause})
	}
}
