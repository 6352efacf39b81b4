package decide_test

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/orrery-dev/orrery/shared/decide"
	"github.com/orrery-dev/orrery/shared/definition"
	"github.com/orrery-dev/orrery/shared/history"
)

// keeper keeps of a history what a load reads: the newest snapshot, and the turns after it.
type keeper struct {
	tb
	m        *definition.Machine
	s        *history.State
	snapshot []byte
	rows     []keptTurn
	events   int // in rows
	folded   int // the most that a load has folded
	largest  int // of the snapshots, in bytes
}

type keptTurn struct {
	history.Turn
	events []byte
}

func (k *keeper) keep(t history.Turn) {
	k.rows = append(k.rows, keptTurn{t, history.EncodeEvents(t.Events)})
	k.events += len(t.Events)
	k.folded = max(k.folded, k.events)
	if t.Seq > 1 && decide.SnapshotDue(k.s) {
		k.snapshot, k.rows, k.events = k.s.Snapshot(), k.rows[:0], 0
		k.largest = max(k.largest, len(k.snapshot))
	}
}

func (k *keeper) start(name, input string) {
	k.Helper()
	s, turn, err := decide.Start(k.m, 1, history.Start{Name: name, Input: []byte(input)}, begin)
	if err != nil {
		k.Fatalf("%v", err)
	}
	k.s = s
	k.keep(turn)
}

func (k *keeper) handle(cmd history.Command) {
	k.Helper()
	turn, err := decide.Handle(k.m, k.s, []history.Command{cmd}, begin)
	if err != nil {
		k.Fatalf("%v", err)
	}
	k.keep(turn)
}

// load makes the state anew, as the owner after a takeover does.
func (k *keeper) load() {
	k.Helper()
	s := history.New()
	if k.snapshot != nil {
		var err error
		if s, err = history.Restore(k.snapshot); err != nil {
			k.Fatalf("%v", err)
		}
	}
	for _, r := range k.rows {
		events, err := history.DecodeEvents(r.events)
		if err == nil {
			err = s.Apply(r.Seq, r.At, r.FirstEvent, events)
		}
		if err != nil {
			k.Fatalf("%v", err)
		}
	}
	k.s = s
}

// TestLongLoop takes a loop through 5,000 turns, each with a task and a counter, and loads it now and then. A load folds at most
// 500 events, and neither the state nor its snapshots grow with the history. With ORRERY_SOAK it takes 1,000,000 turns.
func TestLongLoop(t *testing.T) {
	turns := 5_000
	if os.Getenv("ORRERY_SOAK") != "" {
		turns = 1_000_000
	}
	k := &keeper{tb: t, m: parse(t, fmt.Sprintf(`{"StartAt": "Work", "States": {
		"Work": {"Type": "Task", "Resource": "task:work", "ResultPath": "$.did", "Next": "Count"},
		"Count": {"Type": "Pass", "Parameters": {"n.$": "States.MathAdd($.n, 1)"}, "Next": "Enough"},
		"Enough": {"Type": "Choice", "Choices": [{"Variable": "$.n", "NumericEquals": %d, "Next": "Done"}], "Default": "Work"},
		"Done": {"Type": "Succeed"}}}`, turns))}
	k.start("loop", `{"n": 0}`)
	var begin, mem runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&begin)
	for n := 1; !k.s.Status().Ended(); n++ {
		if n > turns {
			t.Fatalf("it goes on after %d turns", turns)
		}
		row, _ := k.s.Row(k.s.OpenUnits()[0].Key)
		k.handle(history.Command{Kind: history.KindComplete, Row: row, Output: []byte(`{"done":true}`)})
		if n%777 == 0 {
			k.load()
		}
	}
	runtime.GC()
	runtime.ReadMemStats(&mem)
	if end := k.s.End(); end.Status != history.Succeeded || string(end.Output) != fmt.Sprintf(`{"n":%d}`, turns) {
		t.Errorf("ended %v %s", end.Status, end.Output)
	}
	grown := int64(mem.HeapAlloc) - int64(begin.HeapAlloc)
	t.Logf("%d turns, %d events; a load folds up to %d; snapshots have up to %d bytes; the heap has grown by %d", turns, k.s.Events(), k.folded, k.largest, grown)
	if k.folded > 500 || k.largest > 2_000 || grown > 4<<20 {
		t.Error("that is too much")
	}
}

// TestFirstTurnsAreShort: the first turn of an execution is written without a snapshot, so it leaves what is long or wide to the
// next.
func TestFirstTurnsAreShort(t *testing.T) {
	branches := make([]string, 1000)
	for i := range branches {
		branches[i] = fmt.Sprintf(`{"StartAt": "B%d", "States": {"B%d": {"Type": "Task", "Resource": "task:t", "End": true}}}`, i, i)
	}
	for name, text := range map[string]string{
		"a loop":            `{"StartAt": "A", "States": {"A": {"Type": "Pass", "Next": "B"}, "B": {"Type": "Pass", "Next": "A"}}}`,
		"a wide Map":        `{"StartAt": "M", "States": {"M": {"Type": "Map", "End": true, "ItemsPath": "$.list", "ItemProcessor": {"StartAt": "P", "States": {"P": {"Type": "Task", "Resource": "task:t", "End": true}}}}}}`,
		"a wide Parallel":   `{"StartAt": "M", "States": {"M": {"Type": "Parallel", "End": true, "Branches": [` + strings.Join(branches, ",") + `]}}}`,
		"one that is ended": `{"StartAt": "M", "States": {"M": {"Type": "Parallel", "End": true, "Branches": [{"StartAt": "F", "States": {"F": {"Type": "Fail"}}},` + strings.Join(branches[:99], ",") + `]}}}`,
	} {
		k := &keeper{tb: t, m: parse(t, text)}
		k.start("x", `{"list": [`+strings.Repeat("1,", 999)+`1]}`)
		for n := 0; n < 20 && !k.s.Idle(); n++ {
			k.load()
			k.handle(history.Command{Kind: history.KindTimer})
		}
		if k.events > 500 || k.rows == nil && k.snapshot == nil {
			t.Errorf("%s: a load folds %d events", name, k.events)
		}
	}
}
