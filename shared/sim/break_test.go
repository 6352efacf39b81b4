package sim

import (
	"os"
	"testing"

	"github.com/orrery-dev/orrery/shared/sim/memory"
)

// breaks are rules that are not kept, each with a seed near one that shows it. The short form of the test begins there.
var breaks = []struct {
	rule Break
	near uint64
}{
	{memory.NoFence, 226}, {memory.NoEpoch, 1}, {memory.NoCompare, 37}, {memory.KeepEntry, 1}, {memory.NoArbiter, 118},
	{memory.NoInheritance, 100}, {memory.NoNotice, 78}, {memory.NoLeftovers, 60}, {memory.DoubleClaim, 1}, {memory.NoName, 1},
	{memory.NoRaise, 118}, {memory.NewestDocument, 42}, {AnswerFirst, 1}, {Whim, 1},
}

// TestBreaksAreFound shows that the simulation notices when a rule is not kept: one of the first 400 seeds shows it, and in the
// short form one that is near.
func TestBreaksAreFound(t *testing.T) {
	plainOnly(t)
	for _, b := range breaks {
		t.Run(string(b.rule), func(t *testing.T) {
			first, most := b.near, uint64(400)
			if os.Getenv("ORRERY_SOAK") != "" {
				first = 1
			}
			for seed := first; seed < first+most; seed++ {
				if out := Run(t, Generate(seed), Options{Break: b.rule}); len(out.Failures) > 0 {
					t.Logf("seed %d shows it: %s", seed, out.Failures[0])
					return
				}
			}
			t.Errorf("none of %d seeds shows it", most)
		})
	}
}

// TestTakerThatDoesNotWait shows that a frozen commit would be noticed, if who takes partitions did not wait for its end.
func TestTakerThatDoesNotWait(t *testing.T) {
	for at := 700 * ms; at < 4000*ms; at += 100 * ms {
		s := busy()
		s.Steps = append(s.Steps, Step{At: at, Who: "a", On: "Commit", Do: FreezeWithin, For: 3 * nodeTimeout})
		if out := Run(t, s, Options{Break: memory.NoWait}); len(out.Failures) > 0 {
			t.Logf("a commit after %v shows it: %s", at, out.Failures[0])
			return
		}
	}
	t.Fatal("no commit shows it")
}
