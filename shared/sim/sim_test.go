package sim

import (
	"os"
	"strconv"
	"strings"
	"testing"
)

// number reads a number from the environment.
func number(t *testing.T, name string, otherwise int) int {
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}

// plainOnly leaves a test to the run without the race detector: it runs many seeds, and what it shows does not depend on that.
func plainOnly(t *testing.T) {
	if raceDetector {
		t.Skip("it runs without the race detector")
	}
}

// shrinkRuns bounds the search for a shorter schedule.
const shrinkRuns = 300

// TestSeeds runs one schedule after the other: ORRERY_SIM_RUNS of them from the seed ORRERY_SIM_SEED on. One that fails is
// made shorter and shown.
func TestSeeds(t *testing.T) {
	runs := 100
	if raceDetector {
		runs = 20
	}
	if os.Getenv("ORRERY_SOAK") != "" {
		runs = 10_000
	}
	first := number(t, "ORRERY_SIM_SEED", 1)
	runs = number(t, "ORRERY_SIM_RUNS", runs)
	var sum Outcome
	for seed := first; seed < first+runs; seed++ {
		out := Run(t, Generate(uint64(seed)), Options{Verbose: testing.Verbose() && runs == 1})
		for _, n := range out.Notes {
			t.Log(n)
		}
		if len(out.Failures) > 0 {
			show(t, Generate(uint64(seed)), out)
		}
		sum.Turns, sum.Ended, sum.Happened, sum.Effects = sum.Turns+out.Turns, sum.Ended+out.Ended, sum.Happened+out.Happened, sum.Effects+out.Effects
	}
	t.Logf("%d runs: %d turns, %d ends of executions, %d effects of workers, %d calls gone wrong", runs, sum.Turns, sum.Ended, sum.Effects, sum.Happened)
	if sum.Ended < 2*runs || sum.Happened < runs {
		t.Error("the schedules do too little")
	}
}

// show shows how a schedule fails, and ends the test.
func show(t *testing.T, s Schedule, out Outcome) {
	t.Helper()
	for _, f := range out.Failures {
		t.Errorf("seed %d: %s", s.Seed, f)
	}
	short, how := Shrink(t, s, out, Options{}, shrinkRuns)
	t.Logf("the shortest schedule that was found fails so:\n    %s", strings.Join(how.Failures, "\n    "))
	t.Fatal(short.String())
}
