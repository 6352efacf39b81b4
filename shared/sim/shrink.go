package sim

import "testing"

// Shrink makes a failing schedule shorter: it leaves out steps, many at once at first, then fewer, as long as what is left
// still fails. What runs in the same instant has no fixed order, so a shorter schedule gets a few tries before it counts as one
// that holds. How is how s fails. The result is the shortest that was found within the given number of runs, with how that fails.
func Shrink(t *testing.T, s Schedule, how Outcome, o Options, runs int) (Schedule, Outcome) {
	best := s
	for size := max(len(s.Steps)/2, 1); ; size = (size + 1) / 2 {
		for at := 0; at < len(best.Steps) && runs > 0; {
			shorter := best.without(at, size)
			got, failed := fails(t, shorter, o, &runs)
			if !failed {
				at += size
				continue
			}
			best, how = shorter, got
		}
		if size == 1 || runs <= 0 {
			return best, how
		}
	}
}

// tries is how often a schedule is run before it counts as one that holds.
const tries = 2

func fails(t *testing.T, s Schedule, o Options, runs *int) (out Outcome, failed bool) {
	for range tries {
		*runs--
		if out = Run(t, s, o); len(out.Failures) > 0 {
			return out, true
		}
	}
	return out, false
}

// without leaves out some steps.
func (s Schedule) without(at, n int) Schedule {
	end := min(at+n, len(s.Steps))
	s.Steps = append(s.Steps[:at:at], s.Steps[end:]...)
	return s
}
