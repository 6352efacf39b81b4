package history

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// The iterations of a distributed Map are executions of their own, a run. Inside of the Map's execution there is only
// which of them run, and what the others gave:
//
//	fan, run --> fanned --kid, kidok, kidko--> fanned --runok, join--> done
//	                                             +------runko, break--> failed
//
// Each is a unit of its own, "Map[3]", so that its end finds it. Children that run when the Map fails are stopped.

// Overrun tells that more iterations have failed than may.
func (v *Visit) Overrun() bool { return v.fan != nil && v.fan.failed > v.fan.tolerate }

// Tolerates tells whether one more iteration may fail.
func (v *Visit) Tolerates() bool { return v.fan != nil && v.fan.failed < v.fan.tolerate }

// Tolerated is how many iterations may fail.
func (v *Visit) Tolerated() int { return v.fan.tolerate }

// Run is the name of the run whose executions are the iterations, empty where they run inside.
func (v *Visit) Run() string {
	if v.fan == nil {
		return ""
	}
	return v.fan.run
}

// ChildKey is the unit key of an iteration that is an execution.
func (v *Visit) ChildKey(index int) UnitKey {
	return UnitKey(string(v.key) + "[" + strconv.Itoa(index) + "]")
}

// ChildName is the name of the execution of an iteration.
func (v *Visit) ChildName(index int) string {
	run := v.fan.run[strings.LastIndexByte(v.fan.run, ':')+1:]
	return run + "-" + strconv.Itoa(index)
}

// Kids lists the iterations whose execution runs, in order.
func (v *Visit) Kids() []int {
	if v.fan == nil {
		return nil
	}
	return slices.Sorted(maps.Keys(v.fan.kids))
}

// Kid finds the iteration that a unit key names, with the Map that it is of; false where its execution does not run.
func (s *State) Kid(unit UnitKey) (v *Visit, index int, ok bool) {
	at := strings.LastIndexByte(string(unit), '[')
	if at < 0 || !strings.HasSuffix(string(unit), "]") {
		return nil, 0, false
	}
	index, err := strconv.Atoi(string(unit[at+1 : len(unit)-1]))
	v = s.units[unit[:at]]
	if err != nil || v == nil || v.fan == nil {
		return nil, 0, false
	}
	_, ok = v.fan.kids[index]
	return v, index, ok
}

// foldRun covers the events of a Map whose iterations are executions.
func (s *State) foldRun(ev *Event, v *Visit) {
	f := v.fan
	if f == nil || v.phase != PhaseFanned || v.kind != MapState {
		return
	}
	switch ev.Type {
	case EventRunBegun:
		if f.run == "" && ev.Name != "" && f.active == 0 {
			f.run, f.tolerate, f.kids = ev.Name, ev.Tolerated, map[int]Seq{}
			f.tail, f.ended, v.scope.last = s.events, s.events, s.events
			s.units[v.key] = v
		}
	case EventChildBegun:
		if _, ok := s.sources(ev).resolve(ev.Text); ok && f.run != "" && f.kids != nil && ev.Index == f.upcoming() && ev.Index < len(f.items) {
			f.kids[ev.Index] = s.seq
			f.begin()
			if !v.Unfanned() {
				s.unmarkReady(v)
			}
		}
	case EventChildDone, EventChildFailed:
		s.applyChildEnded(ev, v)
	case EventRunDone, EventRunFailed:
		s.previous = v.scope.last
		if ev.Type == EventRunFailed {
			s.note(ev)
		}
		f.tail, f.ended, v.scope.last = s.events, s.events, s.events
	}
}

func (s *State) applyChildEnded(ev *Event, v *Visit) {
	f := v.fan
	if _, runs := f.kids[ev.Index]; !runs {
		return
	}
	text, failed := failureText(failure{ev.Error, ev.Cause}), ev.Limit
	if ev.Type == EventChildDone {
		var ok bool
		if text, ok = s.sources(ev).resolve(ev.Text); !ok {
			return
		}
		failed = 0
	}
	delete(f.kids, ev.Index)
	f.active--
	s.settleIteration(v, ev.Index, text, failed)
}

// leaveRun notes that the visit does not wait for the executions of its iterations any more. Those that were begun in this
// very turn were never started.
func (s *State) leaveRun(v *Visit) {
	for _, index := range v.Kids() {
		if v.fan.kids[index] != s.seq {
			s.stopping = append(s.stopping, RowRef{Unit: v.ChildKey(index), Attempt: v.attempt})
		}
	}
	v.fan.kids = nil
}
