package history_test

import (
	"bytes"
	"errors"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/orrery-dev/orrery/shared/history"
)

// allTypes has one event of every type, with every field that some type has.
var allTypes = []history.Event{
	{Type: history.EventStarted, Text: lit(`{"a": 1}`), Start: &history.Start{
		Namespace: "ns", Name: "run", Workflow: "wf", Version: 3, Hash: "abc", Behaviour: 1, Timeout: 5, RequestID: "r",
		Trace: "00-1", ContextID: "c", MachineID: "m", Processor: "P",
		Parent: &history.Parent{Execution: 7, Name: "up", Root: "top", Unit: "A[0]/B", Attempt: 2, Depth: 3, Waits: true},
	}},
	{Type: history.EventEntered, State: "A \"quoted\"\n", Kind: history.WaitState, At: 77},
	{Type: history.EventExited, Last: true, Text: history.Text{Parts: []history.Part{
		{From: history.FromInput, Off: 1, Len: 20}, {Literal: "é\\"}, {From: history.FromValue, Len: 3},
	}}, Assigned: []history.Assignment{{Name: "x", Text: lit(`"v"`)}, {Name: "y"}, {Name: "z", Text: history.Text{Parts: []history.Part{{From: history.FromOutput, Len: 9}}}}}},
	{Type: history.EventScheduled, Unit: history.SignalUnit, Name: "go", Key: "k", Timeout: 1, Heartbeat: 2, Queue: 3},
	{Type: history.EventDispatched, Scope: 7, Worker: "w", Session: "s", At: 9},
	{Type: history.EventCompleted, Scope: 7, Text: lit(`[1,{"a":"]"}]`), Offer: 2, Last: true},
	{Type: history.EventFailed, Scope: 7, Error: "E", Cause: "c", Text: lit(`null`), Retrier: 1, At: 10},
	{Type: history.EventTimedOut, Scope: 7, Error: "States.Timeout", Expiry: history.HeartbeatExpiry},
	{Type: history.EventLost, Cause: "gone", Last: true},
	{Type: history.EventProgressed, Text: lit(`7`)},
	{Type: history.EventRuled, Name: "retry", RequestID: "r"},
	{Type: history.EventTaken},
	{Type: history.EventFanned, Index: 3, Limit: 2},
	{Type: history.EventReading, Text: history.Text{Literal: []byte(`{"Resource":"r"}`)}},
	{Type: history.EventUnread, Error: "States.ItemReaderFailed", Cause: "no such key", Offer: 2},
	{Type: history.EventWriting, Text: history.Text{Literal: []byte(`{"Bucket":"b"}`)}, Error: "E", Cause: "c"},
	{Type: history.EventUnwritten, Error: "States.ResultWriterFailed", Cause: "no such bucket", Offer: 2, Last: true},
	{Type: history.EventIterBegun, Index: 2, Text: lit(`"x"`)},
	{Type: history.EventIterDone, Index: 1},
	{Type: history.EventIterFailed},
	{Type: history.EventIterCut},
	{Type: history.EventAborted, Scope: 9},
	{Type: history.EventJoined},
	{Type: history.EventBroken, Error: "E", Cause: "c", Index: 1},
	{Type: history.EventAgain, Last: true, Retrier: 2, At: 5},
	{Type: history.EventSignalled, Name: "go", Text: lit(`{}`), RequestID: "r"},
	{Type: history.EventCancelling, Cause: "why"},
	{Type: history.EventEnded, Status: history.Failed, Error: "E", Cause: "c"},
	{Type: history.EventScheduled, Unit: history.ChildUnit, Name: "child", Workflow: "w", Version: 2},
	{Type: history.EventScheduled, Unit: history.TokenUnit, Heartbeat: 5},
	{Type: history.EventSubmitted, Text: lit(`1`), Offer: 2},
	{Type: history.EventStopped, Key: "A", Index: 1},
	{Type: history.EventRunBegun, Name: "ns/wf/L:1", Tolerated: 1},
	{Type: history.EventChildBegun, Index: 1},
	{Type: history.EventChildDone, Index: 1, Text: lit(`7`)},
	{Type: history.EventChildFailed, Index: 1, Error: "E", Cause: "c", Limit: 2},
	{Type: history.EventRunDone},
	{Type: history.EventRunFailed, Error: "E", Last: true},
	{Type: history.EventInstance, Name: "go"},
	{Type: history.EventUndoable, Text: lit(`{"Input":1}`)},
	{Type: history.EventCaught, Index: 2, Last: true},
	{Type: history.EventUnwinding, Status: history.Failed, Name: "limit", Error: "E", Cause: "c"},
	{Type: history.EventUndoing, Key: "A"},
	{Type: history.EventUndone, Scope: 2, Status: history.Failed, Last: true},
	{Type: history.EventCleaning, Text: lit(`{"Reason":"failed"}`)},
	{Type: history.EventCleaned, Scope: 2, Status: history.Succeeded},
	{Type: history.EventRedriven, Scope: history.MainScope, Cause: "why", RequestID: "r-1"},
}

// TestAllTypesHasEveryType reads the constants from their file.
func TestAllTypesHasEveryType(t *testing.T) {
	text, err := os.ReadFile("event.go")
	if err != nil {
		t.Fatal(err)
	}
	declared := regexp.MustCompile(`EventType = "(.+)"`).FindAllStringSubmatch(string(text), -1)
	if len(declared) == 0 {
		t.Fatal("no types found")
	}
	for _, d := range declared {
		if !slices.ContainsFunc(allTypes, func(ev history.Event) bool { return string(ev.Type) == d[1] }) {
			t.Errorf("allTypes lacks %q", d[1])
		}
	}
}

func lit(text string) history.Text { return history.Text{Literal: []byte(text)} }

// events gives a copy of allTypes with the scopes filled in.
func events() []history.Event {
	list := make([]history.Event, len(allTypes))
	for i, ev := range allTypes {
		if ev.Scope == 0 {
			ev.Scope = history.MainScope
		}
		list[i] = ev
	}
	return list
}

func TestEventsSurviveTheirRow(t *testing.T) {
	want := events()
	row := history.EncodeEvents(want)
	got, err := history.DecodeEvents(row)
	if err != nil {
		t.Fatalf("%v\n%s", err, row)
	}
	for i := range want {
		if !reflect.DeepEqual(got[i], want[i]) {
			t.Errorf("%s:\ngot  %+v\nwant %+v", want[i].Type, got[i], want[i])
		}
	}
	if again := history.EncodeEvents(got); !bytes.Equal(row, again) {
		t.Errorf("got\n%s\nwant\n%s", again, row)
	}
}

// A row is part of the format of the database: it must not change.
func TestRowsStayAsTheyAre(t *testing.T) {
	for _, c := range []struct {
		events []history.Event
		row    string
	}{
		{nil, `[]`},
		{[]history.Event{
			{Type: history.EventCompleted, Scope: 1, Text: lit(`{"a":1}`)},
			{Type: history.EventExited, Scope: 1},
			{Type: history.EventEntered, Scope: 1, State: "B", Kind: history.TaskState},
			{Type: history.EventScheduled, Scope: 1},
			{Type: history.EventDispatched, Scope: 1, Worker: "w", Session: "s"},
		}, `[{"t":"done","o":{"a":1}},{"t":"exit"},{"t":"enter","s":"B","k":"T"},{"t":"task"},{"t":"disp","wk":"w","ss":"s"}]`},
		{[]history.Event{
			{Type: history.EventAborted, Scope: 4},
			{Type: history.EventAborted, Scope: 4},
			{Type: history.EventBroken, Scope: 1, Last: true},
		}, `[{"t":"abort","c":4},{"t":"abort"},{"t":"break","c":1,"z":true}]`},
		{[]history.Event{{Type: history.EventExited, Scope: 1, Text: history.Text{Parts: []history.Part{
			{From: history.FromInput, Off: 3, Len: 40}, {Literal: `,"b":`}, {From: history.FromValue, Len: 30}, {Literal: "}"},
		}}}}, `[{"t":"exit","p":[["i",3,40],",\"b\":",["v",0,30],"}"]}]`},
	} {
		if row := history.EncodeEvents(c.events); string(row) != c.row {
			t.Errorf("got  %s\nwant %s", row, c.row)
		}
	}
}

func TestWhatDoesNotDecode(t *testing.T) {
	for row, unknown := range map[string]bool{
		`[{"t":"teleport"}]`:               true,
		`[{"t":"exit","new":1}]`:           true,
		`[{"t":"exit","a":[{"q":1}]}]`:     true,
		`[{}]`:                             true,
		``:                                 false,
		`{}`:                               false,
		`[`:                                false,
		`[{"t":"exit"}`:                    false,
		`[{"t":"exit"}]x`:                  false,
		`[{"t":"exit","c":"1"}]`:           false,
		`[{"t":"exit","c":99999999999}]`:   false,
		`[{"t":"exit","k":"TT"}]`:          false,
		`[{"t":"exit","p":[[]]}]`:          false,
		`[{"t":"exit","p":[["i",1,2,3]]}]`: false,
		`[{"t":"exit","o":}]`:              false,
		`[{"t":"ex`:                        false,
		`[{"t":"exit","start":3}]`:         false,
	} {
		_, err := history.DecodeEvents([]byte(row))
		if err == nil || errors.Is(err, history.ErrUnknownEvent) != unknown {
			t.Errorf("%s: got %v", row, err)
		}
	}
}

func TestWrongUTF8IsWrittenAsItIsRead(t *testing.T) {
	row := history.EncodeEvents([]history.Event{{Type: history.EventLost, Scope: 1, Cause: "a\xffb\x01"}})
	got, err := history.DecodeEvents(row)
	if err != nil || got[0].Cause != "a\uFFFDb\x01" {
		t.Errorf("got %q, %v from %s", got[0].Cause, err, row)
	}
}

// FuzzDecodeEvents: no row makes decoding or folding panic, and what decodes is written again as it can be read.
func FuzzDecodeEvents(f *testing.F) {
	f.Add(history.EncodeEvents(events()))
	f.Add([]byte(`[{"t":"start","start":{"v":1},"o":[1,[2]]},{"t":"enter","s":"M","k":"M"},{"t":"fan","i":2},{"t":"iter"},{"t":"enter","c":2,"s":"T","k":"T"},{"t":"task"},{"t":"done","o":1},{"t":"exit","z":true}]`))
	f.Add([]byte(`[{"t":"exit","p":[["i",-1,9]]}]`))
	f.Fuzz(func(t *testing.T, row []byte) {
		list, err := history.DecodeEvents(row)
		if err != nil {
			return
		}
		again, err := history.DecodeEvents(history.EncodeEvents(list))
		if err != nil {
			t.Fatalf("%s is written as %s: %v", row, history.EncodeEvents(list), err)
		}
		if a, b := history.EncodeEvents(list), history.EncodeEvents(again); !bytes.Equal(a, b) {
			t.Fatalf("%s then %s", a, b)
		}
		s := history.New()
		if _, err := history.Describe(s, 1, 5, 1, list, nil); err != nil {
			t.Fatal(err)
		}
		if _, err := history.Restore(s.Snapshot()); err != nil {
			t.Fatalf("%v: %s", err, s.Snapshot())
		}
	})
}

// TestApplyIsTotal folds events of all types in any order into a state: none of them panics or is refused, and the state
// can still be written and read.
func TestApplyIsTotal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := history.New()
		start := []history.Event{events()[0], {Type: history.EventEntered, Scope: 1, State: "A", Kind: history.MapState}}
		if err := s.Apply(1, 1, 1, start); err != nil {
			t.Fatal(err)
		}
		for seq := history.Seq(2); seq < 30; seq++ {
			ev := rapid.SampledFrom(allTypes).Draw(t, "event")
			ev.Scope = history.ScopeID(rapid.IntRange(1, 4).Draw(t, "scope"))
			ev.Index = rapid.IntRange(-1, 3).Draw(t, "index")
			if rapid.Bool().Draw(t, "usual") {
				ev.Text = history.Text{}
			}
			if ev.Type == history.EventEntered {
				ev.Kind = rapid.SampledFrom([]history.StateKind{history.TaskState, history.MapState, history.ParallelState, history.WaitState}).Draw(t, "kind")
			}
			if ev.Type == history.EventUndoing {
				ev.Key = rapid.SampledFrom([]string{"A", "A[0]/A", "x"}).Draw(t, "key")
			}
			if ev.Type == history.EventEnded && seq < 25 {
				continue
			}
			if err := s.Apply(s.LastSeq()+1, history.Time(seq), s.Events()+1, []history.Event{ev}); err != nil {
				t.Fatal(err)
			}
			data := s.Snapshot()
			twin, err := history.Restore(data)
			if err != nil {
				t.Fatalf("%v: %s", err, data)
			}
			if again := twin.Snapshot(); !bytes.Equal(data, again) {
				t.Fatalf("got\n%s\nwant\n%s", again, data)
			}
			if len(twin.OpenUnits()) != len(s.OpenUnits()) || twin.WakeAt() != s.WakeAt() {
				t.Fatalf("%v and %v, %d and %d", s.OpenUnits(), twin.OpenUnits(), s.WakeAt(), twin.WakeAt())
			}
		}
	})
}

func TestApplyRefusesWhatDoesNotFollow(t *testing.T) {
	s := history.New()
	if err := s.Apply(1, 1, 1, events()[:1]); err != nil {
		t.Fatal(err)
	}
	before := s.Snapshot()
	one := []history.Event{{Type: history.EventCancelling, Scope: 1}}
	for _, c := range []struct {
		seq   history.Seq
		first history.EventID
		ev    []history.Event
		want  error
	}{
		{3, 2, one, history.ErrOutOfOrder},
		{0, 2, one, history.ErrOutOfOrder},
		{2, 1, one, history.ErrOutOfOrder},
		{2, 3, one, history.ErrOutOfOrder},
		{2, 2, append(one, history.Event{Type: "new"}), history.ErrUnknownEvent},
		{2, 2, []history.Event{{Type: history.EventStarted, Start: &history.Start{Behaviour: history.BehaviourLevel + 1}}}, history.ErrUnknownEvent},
	} {
		if err := s.Apply(c.seq, 2, c.first, c.ev); !errors.Is(err, c.want) {
			t.Errorf("turn %d, event %d: got %v", c.seq, c.first, err)
		}
		if !bytes.Equal(before, s.Snapshot()) {
			t.Fatalf("turn %d, event %d changed the state", c.seq, c.first)
		}
	}
}

func TestRestoreRefuses(t *testing.T) {
	s := history.New()
	if err := s.Apply(1, 1, 1, events()[:1]); err != nil {
		t.Fatal(err)
	}
	good := string(s.Snapshot())
	for data, unknown := range map[string]bool{
		``:  false,
		`x`: false,
		strings.Replace(good, `"format":2`, `"format":4`, 1): true,
		strings.Replace(good, `"v":1`, `"v":2`, 1):           true,
		good[:len(good)-1]: false,
		strings.Replace(good, `"data":1`, `"data":9`, 1):               false,
		strings.Replace(good, `"last":1,`, `"last":1,"ready":[5],`, 1): false,
	} {
		_, err := history.Restore([]byte(data))
		if err == nil || errors.Is(err, history.ErrUnknownFormat) != unknown {
			t.Errorf("%q: got %v", data, err)
		}
	}
}

func FuzzRestore(f *testing.F) {
	s := history.New()
	rows := `[{"t":"start","start":{"v":1},"o":[1,[2]]},{"t":"enter","s":"M","k":"M"},{"t":"fan","i":2},{"t":"iter"},{"t":"enter","c":2,"s":"T","k":"T"},{"t":"task"}]`
	list, err := history.DecodeEvents([]byte(rows))
	if err != nil {
		f.Fatal(err)
	}
	if err := s.Apply(1, 1, 1, list); err != nil {
		f.Fatal(err)
	}
	f.Add(s.Snapshot())
	f.Fuzz(func(t *testing.T, data []byte) {
		if s, err := history.Restore(data); err == nil {
			s.Snapshot()
			s.OpenUnits()
		}
	})
}
