package decide_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/orrery-dev/orrery/shared/decide"
	"github.com/orrery-dev/orrery/shared/history"
)

// TestProperties runs random documents under random commands. The world checks after every turn that deciding it twice
// gives the same, that the fold of the rows equals the state (I3), and that the rows of the queue are what the open units
// need; here it is checked that an execution never stands still without a reason, and that a snapshot with what follows
// equals the whole fold.
//
// What the documents and commands cover is counted as well: it goes on until everything that can happen has happened.
func TestProperties(t *testing.T) {
	seen := coverage{}
	for round := 0; round == 0 || len(seen.missing()) > 0; round++ {
		if round == 50 {
			t.Fatalf("after %d rounds there was no %v", round, seen.missing())
		}
		checkProperties(t, seen)
	}
}

func checkProperties(t *testing.T, seen coverage) {
	rapid.Check(t, func(t *rapid.T) {
		g := &generator{t: t}
		text := g.document()
		w := newWorld(t, parse(t, text))
		publish(w.workflows, "sub@1", parse(t, sequence(2)))
		publish(w.workflows, "sub@2", parse(t, sequence(1)))
		publish(w.workflows, "sub@1", parse(t, sequence(2)))
		w.start(history.Start{Namespace: "ns", Name: "run", Workflow: "wf", Input: g.value(2), Seed: g.seed()})
		saved, at := w.s.Snapshot(), len(w.rows)
		for range rapid.IntRange(1, 40).Draw(t, "turns") {
			checkWaits(t, w, text)
			if w.s.Status().Ended() {
				if w.s.Status() == history.Succeeded || w.s.Rewound() || rapid.Bool().Draw(t, "over") {
					break
				}
				w.handle(history.Command{Kind: history.KindRedrive, Seed: g.seed()})
				continue
			}
			if rapid.IntRange(0, 9).Draw(t, "save") == 0 {
				saved, at = w.s.Snapshot(), len(w.rows)
			}
			var cmds []history.Command
			for range rapid.IntRange(1, 3).Draw(t, "commands") {
				cmd := g.command(w)
				cmd.Seed = g.seed()
				cmds = append(cmds, cmd)
			}
			reportsFirst(cmds)
			w.handle(cmds...)
		}
		w.handle(history.Command{Kind: history.KindCancel, Seed: g.seed()})
		g.drain(w, text)
		checkSnapshot(t, w, saved, at)
		for _, turn := range w.turns {
			seen.note(turn)
		}
	})
}

// drain takes a cancelled execution to its end: compensations and Cleanup have to be done, everything else is stopped.
func (g *generator) drain(w *world, text string) {
	for n := 0; !w.s.Status().Ended(); n++ {
		checkWaits(g.t, w, text)
		if n > 500 {
			g.t.Fatalf("still %s long after a cancel: %v\n%s", w.s.Status(), w.s.OpenUnits(), text)
		}
		if wake := w.s.WakeAt(); wake != 0 {
			w.now = max(w.now, wake)
		}
		cmds := []history.Command{{Kind: history.KindTimer}}
		for _, u := range w.s.OpenUnits() {
			row, ok := w.s.Row(u.Key)
			switch {
			case ok && u.Status == history.UnitUncertain:
				cmds = append(cmds, history.Command{Kind: history.KindResolve, Row: row, Resolution: history.ResolveCompleted, Output: []byte("1")})
			case ok:
				cmds = append([]history.Command{w.report(history.Command{Kind: history.KindComplete, Row: row, Output: []byte("1")})}, cmds...)
			case u.Signal != "":
				cmds = append(cmds, history.Command{Kind: history.KindSignal, Signal: u.Signal})
			}
		}
		for _, v := range w.s.OpenVisits() {
			if row, ok := v.TokenRow(); ok && w.queue[row] != "done" {
				cmds = append([]history.Command{w.report(history.Command{Kind: history.KindComplete, Row: row, Output: []byte("1")})}, cmds...)
			}
		}
		for _, name := range w.waited() {
			cmds = append([]history.Command{w.ended(name, history.Command{Status: history.Cancelled, Failure: &history.Failure{}})}, cmds...)
		}
		for i := range cmds {
			cmds[i].Seed = g.seed()
		}
		w.handle(cmds...)
	}
}

// reportsFirst does what the node does when a commit is refused: what the rows of the queue tell already, a claim or a
// report, comes before whatever could take the unit away.
func reportsFirst(cmds []history.Command) {
	durable := func(c history.Command) int {
		switch c.Kind {
		case history.KindDispatched:
			return 0
		case history.KindComplete, history.KindFail, history.KindChildEnded:
			return 1
		}
		return 2
	}
	slices.SortStableFunc(cmds, func(a, b history.Command) int { return cmp.Compare(durable(a), durable(b)) })
}

// checkWaits checks that a running execution waits for something that has a name, or for a time.
func checkWaits(t *rapid.T, w *world, text string) {
	switch {
	case w.s.Status().Ended():
		if w.s.WakeAt() != 0 || len(w.s.OpenUnits()) != 0 || len(w.queue) != countCancelled(w) {
			t.Fatalf("ended, but wakes at %d with %v and rows %v", w.s.WakeAt(), w.s.OpenUnits(), w.queue)
		}
	case !w.s.Idle():
		if w.s.WakeAt() > w.now {
			t.Fatalf("has work left, but wakes later")
		}
	case len(w.s.OpenUnits()) == 0:
		t.Fatalf("waits for nothing: %s\n%s", text, w.s.Snapshot())
	}
}

func countCancelled(w *world) (n int) {
	for _, st := range w.queue {
		if st == "cancelled" {
			n++
		}
	}
	return n
}

// checkSnapshot loads the execution from a snapshot taken on the way and the rows after it.
func checkSnapshot(t *rapid.T, w *world, saved []byte, at int) {
	s, err := history.Restore(saved)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, turn := range w.turns {
		if len(turn.Events) == 0 {
			continue
		}
		if n++; n <= at {
			continue
		}
		events, err := history.DecodeEvents(w.rows[n-1])
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Apply(turn.Seq, turn.At, turn.FirstEvent, events); err != nil {
			t.Fatal(err)
		}
	}
	if a, b := w.s.Snapshot(), s.Snapshot(); !bytes.Equal(a, b) {
		t.Fatalf("a snapshot and what follows differ from the whole:\n%s\n%s", a, b)
	}
}

// TestLoopStaysSmall takes a loop through many turns: what is kept does not grow.
func TestLoopStaysSmall(t *testing.T) {
	m := parse(t, `{"StartAt":"A","States":{
		"A":{"Type":"Task","Resource":"task:a","ResultPath":"$.a","Next":"B"},
		"B":{"Type":"Pass","Assign":{"seen.$":"$.a"},"Next":"A"}}}`)
	s, _, err := decide.Start(m, 1, history.Start{Name: "loop", Input: []byte(`{}`)}, begin)
	if err != nil {
		t.Fatal(err)
	}
	var sizes []int
	for i := range 3000 {
		row := s.OpenUnits()[0]
		ref, _ := s.Row(row.Key)
		if _, err := decide.Handle(m, s, []history.Command{{Kind: history.KindComplete, Row: ref, Output: []byte(`1`)}}, begin); err != nil {
			t.Fatal(err)
		}
		if i%1000 == 999 {
			sizes = append(sizes, len(s.Snapshot()))
		}
	}
	if grown := sizes[2] - sizes[0]; grown > 40 {
		t.Errorf("snapshots have %v bytes", sizes)
	}
}

// TestEndlessLoopIsCut runs a document that never waits: each turn ends, and the next is due at once.
func TestEndlessLoopIsCut(t *testing.T) {
	w := newWorld(t, parse(t, `{"StartAt":"A","States":{"A":{"Type":"Pass","Next":"B"},"B":{"Type":"Pass","Next":"A"}}}`))
	turn := w.start(history.Start{Name: "loop", Input: []byte(`{}`)})
	for least := 200; turn.Seq < 5; least = 1000 {
		if n := len(turn.Events); n < least || n > least+10 {
			t.Fatalf("a turn of %d events", n)
		}
		if turn.WakeAt != w.now || w.s.Idle() {
			t.Fatalf("wakes at %d, idle %v", turn.WakeAt, w.s.Idle())
		}
		turn = w.handle(history.Command{Kind: history.KindTimer})
	}
	w.handle(history.Command{Kind: history.KindCancel})
}

// TestLargePayloadsCutTheTurn has states that each write a large text.
func TestLargePayloadsCutTheTurn(t *testing.T) {
	big := bytes.Repeat([]byte("x"), 100_000)
	w := newWorld(t, parse(t, fmt.Sprintf(`{"StartAt":"A","States":{
		"A":{"Type":"Pass","Parameters":{"big":%q,"n.$":"States.UUID()"},"Next":"B"},
		"B":{"Type":"Pass","Parameters":{"n":1},"Next":"A"}}}`, big)))
	turn := w.start(history.Start{Name: "loop", Input: []byte(`{}`)})
	if n := len(turn.Events); n > 100 {
		t.Errorf("a turn of %d events, %d bytes", n, len(history.EncodeEvents(turn.Events)))
	}
	w.handle(history.Command{Kind: history.KindCancel})
}

// TestWideMap fans out over more items than a turn has events for.
func TestWideMap(t *testing.T) {
	w := newWorld(t, parse(t, `{"StartAt":"M","States":{"M":{"Type":"Map","End":true,
		"ItemProcessor":{"StartAt":"T","States":{"T":{"Type":"Task","Resource":"task:t","End":true}}}}}}`))
	input, _ := json.Marshal(make([]int, 800))
	w.start(history.Start{Name: "wide", Input: input})
	for !w.s.Idle() {
		w.handle(history.Command{Kind: history.KindTimer})
	}
	if n := len(w.s.OpenUnits()); n != 800 {
		t.Fatalf("%d units are open", n)
	}
	if n := len(w.turns); n != 4 {
		t.Errorf("it took %d turns", n)
	}
	w.handle(history.Command{Kind: history.KindCancel})
}

// TestReadingLargeTextsCutsTheTurn has states that write little and read much.
func TestReadingLargeTextsCutsTheTurn(t *testing.T) {
	w := newWorld(t, parse(t, `{"StartAt":"A","States":{"A":{"Type":"Pass","Next":"B"},
		"B":{"Type":"Pass","Parameters":{"n.$":"$$.Execution.Input.n"},"ResultPath":"$.n","Next":"A"}}}`))
	input, _ := json.Marshal(object{"n": 1, "big": string(bytes.Repeat([]byte("x"), 200_000))})
	turn := w.start(history.Start{Name: "loop", Input: input})
	if n := len(turn.Events); n > 400 {
		t.Errorf("a turn of %d events", n)
	}
	if n := len(history.EncodeEvents(turn.Events)); n > 250_000 {
		t.Errorf("a row of %d bytes", n)
	}
	w.handle(history.Command{Kind: history.KindCancel})
}
