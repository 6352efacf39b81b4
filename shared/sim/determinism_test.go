package sim

import "testing"

// TestSeedsRepeat counts how many of the first seeds give the same turns at the same times twice. Goroutines that are ready in
// the same instant have no fixed order, so it cannot be all of them; with less than most, a failure could not be shown again.
func TestSeedsRepeat(t *testing.T) {
	plainOnly(t)
	const seeds = 20
	same := 0
	for seed := uint64(1); seed <= seeds; seed++ {
		s := Generate(seed)
		once, again := Run(t, s, Options{}), Run(t, s, Options{})
		if once.Trace == again.Trace {
			same++
		}
	}
	t.Logf("%d of %d seeds went alike twice", same, seeds)
	if same < seeds/10 { // a machine with much else to do shuffles what is ready
		t.Error("too few to show a failure again")
	}
}
