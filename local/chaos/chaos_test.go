package main

import (
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/orrery-dev/orrery/shared/wire"
)

// seedVariable repeats a run of TestChaos: the number that the failed one has told.
const seedVariable = "ORRERY_CHAOS_SEED"

// TestChaos does harm for 20 s, and in the long form for 20 minutes.
func TestChaos(t *testing.T) {
	o := options{seconds: 20, rate: 20, root: "../..", seed: uint64(time.Now().UnixNano()), clean: true}
	if os.Getenv("ORRERY_SOAK") != "" {
		o.seconds, o.clean = 20*60, false
	}
	if text := os.Getenv(seedVariable); text != "" {
		var err error
		if o.seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%s=%d", seedVariable, o.seed)
	r, err := run(t.Context(), o, t.Output())
	if err != nil {
		t.Fatal(err)
	}
	r.print(t.Output())
	for _, b := range r.breaches[:min(len(r.breaches), maxShown)] {
		t.Error(b)
	}
	// A run that did nothing proves nothing.
	if r.starts < o.seconds*o.rate/4 || r.effects == 0 || r.signals == 0 || r.harm == "" {
		t.Errorf("too little was done: %d starts, %d effects, %d signals, harm: %s", r.starts, r.effects, r.signals, r.harm)
	}
}

// TestMalformed: each fault of a history's form is seen.
func TestMalformed(t *testing.T) {
	t.Parallel()
	whole := events("ExecutionStarted", "TaskScheduled", "ExecutionSucceeded")
	if fault := malformed(whole, true); fault != "" {
		t.Errorf("a whole history: %s", fault)
	}
	gap, turns := events("ExecutionStarted", "TaskScheduled"), events("ExecutionStarted", "TaskScheduled")
	gap[1].ID, turns[1].Turn = 3, 3
	for name, fault := range map[string]string{
		"no events":       malformed(nil, false),
		"a gap":           malformed(gap, false),
		"a lost turn":     malformed(turns, false),
		"two starts":      malformed(events("ExecutionStarted", "ExecutionStarted"), false),
		"two ends":        malformed(events("ExecutionStarted", "ExecutionFailed", "ExecutionSucceeded"), true),
		"no end":          malformed(events("ExecutionStarted", "TaskScheduled"), true),
		"an end too soon": malformed(whole, false),
	} {
		if fault == "" {
			t.Errorf("%s is not seen", name)
		}
	}
}

// events numbers events of the types, one in each turn.
func events(types ...string) []wire.Event {
	var out []wire.Event
	for i, kind := range types {
		out = append(out, wire.Event{ID: int64(i) + 1, Turn: int64(i) + 1, Type: kind})
	}
	return out
}
