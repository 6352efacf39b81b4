package sim

import (
	"testing"
	"time"
)

// busy is a schedule in which node a has much to write.
func busy() Schedule {
	s := Schedule{Seed: 7, Shape: Shape{
		Nodes: 2, Functions: 1, Workers: 2, Partitions: 8, Workflows: []string{"two", "hears", "parent", "fans", "naps", "one"},
	}}
	for i, name := range []string{"e1", "e2", "e3", "e4", "e5", "e6"} {
		s.Steps = append(s.Steps, Step{At: time.Duration(600+150*i) * ms, Do: Start, On: name, Who: "a"})
	}
	s.Steps = append(s.Steps,
		Step{At: 2000 * ms, Do: Signal, On: "e2", Who: "f1", Key: 1},
		Step{At: 2100 * ms, Do: Signal, On: "e4", Who: "b", Key: 1},
		Step{At: 2500 * ms, Do: Cancel, On: "e5", Who: "f1"},
		Step{At: 3000 * ms, Do: Read, On: "e2", Who: "b"},
	)
	return s
}

// TestFrozenNodeWritesNothing freezes node a at each of its commits: before it is sent, between its check and its write, and
// before its answer, for three times the node timeout. The other node takes over, and a wakes and goes on where it was. The audit
// sees every turn that is written by who is not the owner.
func TestFrozenNodeWritesNothing(t *testing.T) {
	quiet := Run(t, busy(), Options{})
	if len(quiet.Failures) > 0 || len(quiet.Commits["a"]) < 10 {
		t.Fatalf("without a freeze: %d commits, %v", len(quiet.Commits["a"]), quiet.Failures)
	}
	frozen := 0
	for i := range quiet.Commits["a"] {
		at := time.Duration(0)
		if i > 0 {
			at = quiet.Commits["a"][i-1] + time.Microsecond
		}
		for _, how := range []Action{FreezeBefore, FreezeWithin, FreezeAfter} {
			s := busy()
			s.Steps = append(s.Steps, Step{At: at, Who: "a", On: "Commit", Do: how, For: 3 * nodeTimeout})
			out := Run(t, s, Options{})
			for _, f := range out.Failures {
				t.Errorf("commit %d %s: %s", i+1, how, f)
			}
			if out.Happened == 1 && out.Taken > quiet.Taken {
				frozen++
			}
		}
	}
	t.Logf("%d freezes with a takeover, at %d commits", frozen, len(quiet.Commits["a"]))
	if frozen < 2*len(quiet.Commits["a"]) {
		t.Error("too few freezes led to a takeover")
	}
}
