package history

// A distributed Map may have what its executions gave written to elsewhere, before it is over. That is a unit of its own, with a
// row under WriteKey, of a visit that goes on where it was:
//
//	fanned --write--> open --done, writeko--> fanned --runok, join--> done
//	                                            +------runko, break--> failed
//
// A run that has failed is written, too: the failure waits in the fan. Its executions are told to stop with EventWriting.

// WriteKey names the row by which the results of a Map are written.
func WriteKey(unit UnitKey) UnitKey { return unit + "/Write" }

// Writes tells whether the unit of the visit is that of a Map that writes its results.
func (v *Visit) Writes() bool { return v.kind == MapState && v.fan != nil && v.phase == PhaseOpen }

// Wrote tells whether the results of the run were written, or could not be.
func (v *Visit) Wrote() bool { return v.fan != nil && v.fan.wrote }

// Fault is why the run has failed, by itself or because its results could not be written; empty where it has not.
func (v *Visit) Fault() (code, cause string) { return v.fan.fault.code, v.fan.fault.cause }

// Runs are the names of the run and of those before it that the Map goes on from, newest first.
func (v *Visit) Runs() []string {
	runs := []string{v.fan.run}
	for i := len(v.fan.earlier) - 1; i >= 0; i-- {
		runs = append(runs, v.fan.earlier[i])
	}
	return runs
}

// Items is how many iterations the Map has.
func (v *Visit) Items() int { return len(v.fan.items) }

// Unstarted lists the iterations that no execution of the run was started for, in order: those that have not begun, and those
// that this very turn has begun.
func (v *Visit) Unstarted(turn Seq) []int {
	f := v.fan
	var list []int
	again := map[int]bool{}
	for _, i := range f.again {
		again[i] = true
	}
	for i := range f.items {
		seq, runs := f.kids[i]
		if i >= f.next || again[i] || runs && seq == turn {
			list = append(list, i)
		}
	}
	return list
}

func (s *State) applyWriting(ev *Event, v *Visit) {
	text, ok := s.sources(ev).resolve(ev.Text)
	f := v.fan
	if !ok || f == nil || f.run == "" || f.wrote || v.kind != MapState || v.phase != PhaseFanned {
		return
	}
	f.fault = failure{ev.Error, ev.Cause}
	s.leaveRun(v)
	v.unit = unit{status: UnitQueued, key: v.unit.key, offer: 1, scheduledAt: s.at, offeredAt: s.at, since: s.seq, work: text}
	v.phase = PhaseOpen
	s.units[v.key], s.units[WriteKey(v.key)] = v, v
	s.unmarkReady(v)
}

// applyWritten ends the writing of a Map with what the Map gives, or with a failure.
func (s *State) applyWritten(ev *Event, v *Visit, result []byte, fault failure) {
	if !ev.Last {
		s.noteReport(ev, v)
	}
	f := v.fan
	f.wrote, f.written = true, result
	if f.fault.code == "" {
		f.fault = fault
	}
	s.close(v, PhaseFanned)
	v.unit = unit{key: v.unit.key}
	s.units[v.key] = v
	s.markReady(v)
}

func (s *State) applyUnwritten(ev *Event, v *Visit) {
	if v.Writes() {
		s.applyWritten(ev, v, nil, failure{ev.Error, ev.Cause})
	}
}
