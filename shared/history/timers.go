package history

// timers is a heap of visits by due time, then by scope, so that what is due comes out in one order everywhere.
type timers []*Visit

func (h timers) before(i, j int) bool {
	if h[i].due != h[j].due {
		return h[i].due < h[j].due
	}
	return h[i].scope.id < h[j].scope.id
}

func (h timers) swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].slot, h[j].slot = i, j
}

func (h timers) up(i int) {
	for i > 0 && h.before(i, (i-1)/2) {
		h.swap(i, (i-1)/2)
		i = (i - 1) / 2
	}
}

func (h timers) down(i int) {
	for {
		least := i
		for c := 2*i + 1; c <= 2*i+2 && c < len(h); c++ {
			if h.before(c, least) {
				least = c
			}
		}
		if least == i {
			return
		}
		h.swap(i, least)
		i = least
	}
}

// set moves v to where due puts it; zero takes it out.
func (h *timers) set(v *Visit, due Time) {
	switch {
	case v.due == due:
		return
	case v.due == 0:
		v.due, v.slot = due, len(*h)
		*h = append(*h, v)
		h.up(v.slot)
	case due == 0:
		h.remove(v)
	default:
		v.due = due
		h.up(v.slot)
		h.down(v.slot)
	}
}

func (h *timers) remove(v *Visit) {
	last := len(*h) - 1
	i := v.slot
	h.swap(i, last)
	(*h)[last] = nil
	*h = (*h)[:last]
	v.due = 0
	if i < last {
		moved := (*h)[i]
		h.up(moved.slot)
		h.down(moved.slot)
	}
}

// upTo visits what is due at now, in no order.
func (h timers) upTo(now Time, f func(*Visit)) { h.walk(0, now, f) }

func (h timers) walk(i int, now Time, f func(*Visit)) {
	if i >= len(h) || h[i].due > now {
		return
	}
	f(h[i])
	h.walk(2*i+1, now, f)
	h.walk(2*i+2, now, f)
}

// setTimer puts the visit's next time into the heap.
func (s *State) setTimer(v *Visit) {
	var next Time
	earliest := func(t Time) {
		if t != 0 && (next == 0 || t < next) {
			next = t
		}
	}
	switch v.phase {
	case PhaseEntered, PhaseRetrying:
		earliest(v.until)
	case PhaseOpen:
		earliest(v.unit.deadline())
		earliest(v.unit.heartbeatDue())
		earliest(v.unit.queueDue())
	}
	s.timers.set(v, next)
}
