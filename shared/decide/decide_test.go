package decide_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/orrery-dev/orrery/shared/decide"
	"github.com/orrery-dev/orrery/shared/history"
)

func TestStartRefusesInputThatIsNoJSON(t *testing.T) {
	m := parse(t, sequence(1))
	for _, input := range []string{"", "{", `{"a":1}x`, "nul"} {
		if _, _, err := decide.Start(m, 1, history.Start{Name: "x", Input: []byte(input)}, begin); err == nil {
			t.Errorf("%q was taken", input)
		}
	}
}

func TestHandleRefuses(t *testing.T) {
	m := parse(t, sequence(2))
	start := func() *history.State {
		s, _, err := decide.Start(m, 1, history.Start{Name: "x", Input: []byte("{}")}, begin)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	s := start()
	if _, err := decide.Handle(m, s, []history.Command{{Kind: "dance"}}, begin); err == nil {
		t.Error("a command that nobody knows was taken")
	}
	// The definition is another one than the execution was started with.
	s = start()
	done := history.Command{Kind: history.KindComplete, Row: history.RowRef{Unit: "S1", Attempt: 1, Offer: 1}, Output: []byte("1")}
	other := parse(t, `{"StartAt":"X","States":{"X":{"Type":"Succeed"}}}`)
	if _, err := decide.Handle(other, s, []history.Command{done}, begin); err == nil || !strings.Contains(err.Error(), `"S1"`) {
		t.Errorf("got %v", err)
	}
}

func TestTimeNeverGoesBack(t *testing.T) {
	w := newWorld(t, parse(t, `{"StartAt":"W","States":{"W":{"Type":"Wait","Seconds":10,"End":true}}}`))
	w.start(history.Start{Name: "x", Input: []byte("{}")})
	w.now -= 5000
	if turn := w.handle(history.Command{Kind: history.KindSignal, Signal: "s"}); turn.At != begin {
		t.Errorf("a turn at %d after one at %d", turn.At, begin)
	}
}

func TestRepliesGoToWhomTheyBelong(t *testing.T) {
	w := newWorld(t, parse(t, sequence(1)))
	w.start(history.Start{Name: "x", Input: []byte("{}")})
	turn := w.handle(
		history.Command{Kind: history.KindSignal, Signal: "a", Inbox: 11, Awaited: true},
		history.Command{Kind: history.KindSignal, Signal: "b", Inbox: 12},
		history.Command{Kind: history.KindSignal, Signal: "c", Ref: 77},
		history.Command{Kind: history.KindTimer},
	)
	if got := fmt.Sprintf("%d %d", len(turn.Consumed), len(turn.Replies)); got != "2 1" {
		t.Fatalf("consumed and replies: %s", got)
	}
	a, b, c := turn.Consumed[0], turn.Consumed[1], turn.Replies[0]
	if a.ID != 11 || a.Reply == nil || a.Reply.Outcome != history.Applied || a.Reply.Event != turn.FirstEvent {
		t.Errorf("awaited entry: %+v", a)
	}
	if b.ID != 12 || b.Reply != nil {
		t.Errorf("entry that nobody awaits: %+v", b)
	}
	if c.Ref != 77 || c.Event != turn.FirstEvent+2 {
		t.Errorf("direct command: %+v", c)
	}
}

func TestSignalsAreBounded(t *testing.T) {
	w := newWorld(t, parse(t, sequence(1)))
	w.start(history.Start{Name: "x", Input: []byte("{}")})
	var cmds []history.Command
	for range 1001 {
		cmds = append(cmds, history.Command{Kind: history.KindSignal, Signal: "s", Ref: 1})
	}
	turn := w.handle(cmds...)
	if n := len(turn.Events); n != 1000 {
		t.Errorf("%d signals are kept", n)
	}
	if last := turn.Replies[1000]; last.Outcome != history.Refused {
		t.Errorf("got %+v", last)
	}
}

func TestResultsAreBounded(t *testing.T) {
	big, _ := json.Marshal(strings.Repeat("x", 262_144))
	w := newWorld(t, parse(t, `{"StartAt":"A","States":{
		"A":{"Type":"Task","Resource":"task:a","Next":"Z","Catch":[{"ErrorEquals":["States.DataLimitExceeded"],"Next":"B"}]},
		"B":{"Type":"Pass","Parameters":{"x.$":"States.Format('{}{}', $$.Execution.Input, $$.Execution.Input)"},"Next":"Z"},
		"Z":{"Type":"Succeed"}}}`))
	input, _ := json.Marshal(strings.Repeat("x", 200_000))
	w.start(history.Start{Name: "x", Input: input})
	w.handle(w.claim(w.row("A"), "w"))
	w.handle(w.report(history.Command{Kind: history.KindComplete, Row: w.row("A"), Output: big}))
	end := w.s.End()
	if end == nil || end.Status != history.Failed || end.Error != "States.DataLimitExceeded" || !strings.Contains(end.Cause, "'B'") {
		t.Errorf("ended with %+v", end)
	}
}

func TestSnapshotIsDueInTime(t *testing.T) {
	m := parse(t, `{"StartAt":"A","States":{"A":{"Type":"Task","Resource":"task:a","Next":"A"}}}`)
	s, _, err := decide.Start(m, 1, history.Start{Name: "x", Input: []byte("{}")}, begin)
	if err != nil {
		t.Fatal(err)
	}
	most := 0
	for range 500 {
		complete(t, m, s, []byte("1"))
		most = max(most, s.SinceSnapshot())
		if decide.SnapshotDue(s) {
			s.Snapshot()
		}
	}
	if most < 300 || most > 310 {
		t.Errorf("a load would fold %d events", most)
	}
	restored, err := history.Restore(s.Snapshot())
	if err != nil || restored.SinceSnapshot() != 0 {
		t.Errorf("%d events after a load, %v", restored.SinceSnapshot(), err)
	}
}

func TestTheSameSeedDrawsTheSame(t *testing.T) {
	m := parse(t, `{"StartAt":"A","States":{"A":{"Type":"Pass","Parameters":{"id.$":"States.UUID()","n.$":"States.MathRandom(1, 1000000)"},"End":true}}}`)
	output := func(seed uint64) string {
		s, _, err := decide.Start(m, 1, history.Start{Name: "x", Input: []byte("{}"), Seed: seed}, begin)
		if err != nil || s.End() == nil {
			t.Fatal(err, s.End())
		}
		return string(s.End().Output)
	}
	if a, b, c := output(1), output(1), output(2); a != b || a == c {
		t.Errorf("drew %s, %s and %s", a, b, c)
	}
	var v struct{ ID string }
	if err := json.Unmarshal([]byte(output(3)), &v); err != nil || len(v.ID) != 36 || v.ID[14] != '4' || !strings.Contains("89ab", v.ID[19:20]) {
		t.Errorf("%q is no UUID of version 4", v.ID)
	}
}

func TestKeysKeepNamesApart(t *testing.T) {
	w := newWorld(t, parse(t, `{"StartAt":"P","States":{"P":{"Type":"Parallel","End":true,"Branches":[
		{"StartAt":"a/b#2","States":{"a/b#2":{"Type":"Task","Resource":"task:t","End":true}}},
		{"StartAt":"50%[x]","States":{"50%[x]":{"Type":"Task","Resource":"task:t","End":true}}}]}}}`))
	w.start(history.Start{Name: "x", Input: []byte("{}")})
	var keys []string
	for _, u := range w.s.OpenUnits() {
		keys = append(keys, string(u.Key))
	}
	if got := strings.Join(keys, " "); got != "P[0]/a%2Fb%232 P[1]/50%25%5Bx%5D" {
		t.Errorf("keys are %s", got)
	}
}

func TestWhatIsToldIsBounded(t *testing.T) {
	w := newWorld(t, parse(t, sequence(1)))
	w.start(history.Start{Name: "x", Input: []byte("{}")})
	big, _ := json.Marshal(strings.Repeat("x", 262_144))
	w.handle(w.claim(w.row("S1"), "w"))
	turn := w.handle(
		history.Command{Kind: history.KindSignal, Ref: 1, Signal: "s", Output: big},
		history.Command{Kind: history.KindHeartbeat, Ref: 2, Row: w.row("S1"), Output: big},
	)
	if len(turn.Events) != 0 || turn.Replies[0].Outcome != history.Refused || turn.Replies[1].Outcome != history.Refused {
		t.Errorf("got %+v", turn.Replies)
	}
	turn = w.handle(w.report(history.Command{Kind: history.KindFail, Row: w.row("S1"), Failure: &history.Failure{
		Code: strings.Repeat("é", 300), Message: "a\xff" + strings.Repeat("m", 40_000), Details: big,
	}}))
	end := w.s.End()
	if end == nil || end.Error != strings.Repeat("é", 256) || utf8.RuneCountInString(end.Cause) != 32_768 || !strings.HasPrefix(end.Cause, "a\uFFFDmm") {
		t.Fatalf("ended with %d and %d characters", utf8.RuneCountInString(end.Error), utf8.RuneCountInString(end.Cause))
	}
	if turn.Events[0].Text.Literal != nil {
		t.Error("the details were kept")
	}
}

// TestMapReadsItsInputOnce begins the iterations of a Map with a large input. Its turns are ended by their number of events,
// and not by the texts that they read, as they would be if each iteration read the input anew.
func TestMapReadsItsInputOnce(t *testing.T) {
	m := parse(t, `{"StartAt": "M", "States": {"M": {"Type": "Map", "End": true,
		"ItemProcessor": {"StartAt": "P", "States": {"P": {"Type": "Pass", "End": true}}}}}}`)
	for _, item := range []string{"7", `{"a": 7}`, `"seven"`} {
		input := "[" + strings.Repeat(item+",", 19_999) + item + "]"
		s, turn, err := decide.Start(m, 1, history.Start{Namespace: "ns", Name: "run", Workflow: "wf", Input: []byte(input)}, begin)
		for least := 200; turn.Seq < 6; least = 1000 {
			if err != nil || len(turn.Events) < least {
				t.Fatalf("items %s: turn %d has %d events, %v, want %d at least", item, turn.Seq, len(turn.Events), err, least)
			}
			turn, err = decide.Handle(m, s, []history.Command{{Kind: history.KindTimer}}, begin)
		}
	}
}
