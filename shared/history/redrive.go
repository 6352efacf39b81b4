package history

// An execution that ended without success has its tree still, and goes on with it:
//
//	ended --EventRedriven--> what had succeeded stays; every other visit is in PhaseEntered again, or in PhaseFanned where
//	                         some of its branches or iterations had succeeded or can go on themselves
//
// Retries count anew, attempts do not: what an old attempt reports is late. What was undone cannot go on.

// Redrives is how often the execution has gone on after an end, and RedrivenAt when it last did; zero for never.
func (s *State) Redrives() (n int, at Time) { return s.redrives, s.redrivenAt }

// Rewound tells that something was undone that the execution would need in order to go on.
func (s *State) Rewound() bool { return s.rewound }

func (s *State) applyRedriven() {
	main := s.scopes[MainScope]
	if !s.status.Ended() || s.status == Succeeded || s.rewound || main == nil {
		return
	}
	s.status, s.end, s.ending, s.reason, s.cleaned, s.cancelled = Running, nil, nil, "", false, false
	s.stopping, s.catching = nil, nil // nobody waits for those any more
	s.redrives++
	s.redrivenAt = s.at
	s.setDeadline()
	s.revive(main)
	for _, r := range s.roots {
		if r.root == instanceRoot {
			s.revive(r)
		}
	}
}

// setDeadline counts the limit of the whole execution from its start, or from where it last went on.
func (s *State) setDeadline() {
	if s.start.Timeout > 0 && s.ending == nil {
		s.deadline = max(s.startedAt, s.redrivenAt).Add(millis(s.start.Timeout))
	}
}

// revive lets a scope go on that has not ended well.
func (s *State) revive(c *Scope) {
	v := c.visit
	if c.status == scopeDone || v == nil {
		return
	}
	c.status, c.last = scopeRuns, s.events
	v.retries, v.catcher, v.failure = nil, 0, failure{}
	switch {
	case v.phase == PhaseDone:
	case v.fan != nil && v.fan.begun():
		s.reviveFan(v)
		return
	case v.kind == WaitState && v.until > s.at:
		v.phase = PhaseEntered
		s.units[v.key] = v
		s.setTimer(v)
		return
	default:
		v.phase, v.until, v.fan, v.unit = PhaseEntered, 0, nil, unit{key: v.unit.key}
	}
	s.markReady(v)
}

// reviveFan lets branches and iterations go on that have not ended well. Those of a distributed Map begin again.
func (s *State) reviveFan(v *Visit) {
	f := v.fan
	v.phase, v.until = PhaseFanned, 0
	v.attempt++
	for _, i := range f.lost {
		f.results[i] = nil
		f.done--
	}
	if f.run != "" {
		f.earlier = append(f.earlier, f.run)
	}
	f.wrote, f.written, f.fault = false, nil, failure{}
	f.run, f.kids, f.lost, f.again, f.failed, f.active = "", nil, nil, nil, 0, 0
	for i, c := range f.branches {
		switch {
		case c != nil:
			f.active++
			s.revive(c)
		case f.results[i] == nil && i < f.next:
			f.again = append(f.again, i)
		}
	}
	if v.Unfanned() || v.Complete() {
		s.markReady(v)
	}
}

// begun tells whether a branch or an iteration has begun.
func (f *fan) begun() bool { return f.next > 0 || len(f.items) == 0 && len(f.branches) > 0 }

// upcoming is the iteration to begin next: one that begins again, before those that have never begun.
func (f *fan) upcoming() int {
	if len(f.again) > 0 {
		return f.again[0]
	}
	return f.next
}

// begin notes that the upcoming iteration begins.
func (f *fan) begin() {
	f.active++
	if len(f.again) > 0 {
		f.again = f.again[1:]
		return
	}
	f.next++
}
