package trial

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/orrery-dev/orrery/shared/decide"
	"github.com/orrery-dev/orrery/shared/definition"
	"github.com/orrery-dev/orrery/shared/history"
)

// recorded is one of the executions that package decide keeps for ever.
type recorded struct {
	definition []byte
	rows       []Row
	start      history.Start
}

func readRecorded(t *testing.T, name string) recorded {
	t.Helper()
	file, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(bytes.NewReader(file))
	lines.Buffer(nil, 1<<20)
	var r recorded
	first := history.EventID(1)
	for n := 0; lines.Scan(); n++ {
		var line struct {
			Definition json.RawMessage
			Namespace  string
			Name       string
			At         history.Time
			Timeout    int64
			Row        string
		}
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			t.Fatal(err)
		}
		if n == 0 {
			r.definition = line.Definition
			r.start = history.Start{Namespace: line.Namespace, Name: line.Name, Timeout: line.Timeout}
		}
		events, err := history.DecodeEvents([]byte(line.Row))
		if err != nil {
			t.Fatal(err)
		}
		if len(events) > 0 {
			r.rows = append(r.rows, Row{history.Seq(len(r.rows) + 1), line.At, first, []byte(line.Row)})
			first += history.EventID(len(events))
		}
	}
	return r
}

func machineOf(t testing.TB, text string) *definition.Machine {
	t.Helper()
	doc, problems := definition.Parse([]byte(text), definition.Options{})
	if doc == nil {
		t.Fatalf("%v\n%s", problems.Err(), text)
	}
	return doc.Machine
}

// draws matches documents whose events show what chance decides: pauses, names of executions, tokens.
var draws = regexp.MustCompile("FULL|workflow:|startExecution|waitForTaskToken|DISTRIBUTED")

// TestReplayOfTheSameDocument replays the recorded executions of package decide with the documents that they ran: nothing
// differs, neither with the events themselves nor with what the API shows of them.
func TestReplayOfTheSameDocument(t *testing.T) {
	files, err := filepath.Glob("../decide/testdata/replay/*.jsonl")
	if err != nil || len(files) == 0 {
		t.Fatalf("no recorded executions: %v", err)
	}
	for _, name := range files {
		if filepath.Base(name) == "onsignal-3.jsonl" { // a unit is offered and reported in one turn, which no queue can do
			continue
		}
		t.Run(strings.TrimSuffix(filepath.Base(name), ".jsonl"), func(t *testing.T) {
			r := readRecorded(t, name)
			m := machineOf(t, string(r.definition))
			rec, err := FromRows(r.rows, m)
			if err != nil {
				t.Fatal(err)
			}
			want := Same
			if slices.ContainsFunc(r.rows, refusesInput) { // up to a document that a replay does not have
				want = Unclear
			}
			if v, err := Replay(m, rec, nil); err != nil || v.Judgement != want {
				t.Errorf("rows: %+v %v", v, err)
			}
			for i := range rec.Turns {
				rec.Turns[i].Events = nil
			}
			shown, err := FromViews(rec.Turns, r.start, nil)
			if err != nil {
				t.Fatal(err)
			}
			v, err := Replay(m, shown, nil)
			if unclear := draws.Match(r.definition) && v.Judgement == Unclear; err != nil || v.Judgement != Same && !unclear {
				t.Errorf("views: %+v %v", v, err)
			}
		})
	}
}

func refusesInput(row Row) bool { return bytes.Contains(row.Events, []byte(`"Orrery.InvalidInput"`)) }

// recording plays a document and records it: with the events themselves, or with what the API shows.
func recordingOf(t *testing.T, document, script string, rows bool) *Recording {
	t.Helper()
	start := history.Start{Seed: 77, Input: []byte(`{"n":1}`)}
	r, err := play(t, document, script, Options{Start: start})
	if r == nil {
		t.Fatal(err)
	}
	if rows {
		var list []Row
		for _, turn := range r.Turns {
			list = append(list, Row{turn.Seq, turn.At, turn.Views[0].ID, history.EncodeEvents(turn.Events)})
		}
		rec, err := FromRows(list, machineOf(t, document))
		if err != nil {
			t.Fatal(err)
		}
		return rec
	}
	var turns []Recorded
	for _, turn := range r.Turns {
		turns = append(turns, Recorded{Seq: turn.Seq, At: turn.At, Views: turn.Views})
	}
	rec, err := FromViews(turns, history.Start{Namespace: "ns", Name: "run"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return rec
}

const (
	before1 = `{"StartAt":"A","States":{
		"A":{"Type":"Task","Resource":"task:a","TimeoutSeconds":60,"Parameters":{"n.$":"$.n"},"ResultPath":"$.a","Next":"W",
			"Retry":[{"ErrorEquals":["E"],"IntervalSeconds":4}],"Catch":[{"ErrorEquals":["F"],"Next":"B"}]},
		"W":{"Type":"Wait","Seconds":300,"Next":"M"},
		"M":{"Type":"Map","Items":0,"MaxConcurrency":2,"Next":"B"},
		"B":{"Type":"Pass","Result":"done","End":true}}}`
	script1 = `{"tasks":{"a":[{"error":"E","after":2},{"output":[1,2,3]}],"i":[{"output":1,"times":"always"}]}}`
)

// stay is the document of which the others are changed versions.
var stay = strings.Replace(before1, `"Items":0`, `"ItemsPath":"$.a","ItemProcessor":{"StartAt":"I","States":{"I":{"Type":"Task","Resource":"task:i","End":true}}}`, 1)

func TestReplayOfAnotherVersion(t *testing.T) {
	for _, c := range []struct {
		name, old, new string
		rows, views    string // what is said; empty for the same
	}{
		{"the same", "", "", "", ""},
		{"a comment", `"StartAt":"A"`, `"Comment":"c","StartAt":"A"`, "", ""},
		{"what never happened", `"ErrorEquals":["F"]`, `"ErrorEquals":["G"]`, "", ""},
		{"parameters", `"n.$":"$.n"`, `"m.$":"$.n"`,
			`differs 1/3 TaskScheduled of A: parameters was {"n":1}, this version gives {"m":1}`, ""},
		{"contract", `task:i`, `task:i@2`,
			`differs 7/18 TaskScheduled of M[0]/I: resource was "i", this version gives "i@2"`, ""},
		{"time-out", `"TimeoutSeconds":60`, `"TimeoutSeconds":61`,
			`differs 1/3 TaskScheduled of A: timeoutInSeconds was 60, this version gives 61`, ""},
		{"a shorter pause", `"IntervalSeconds":4`, `"IntervalSeconds":3`,
			`differs 3/5 TaskFailed of A: the time when it goes on was 2026-11-30T00:53:26.000Z, this version gives 2026-11-30T00:53:25.000Z`, "same"},
		{"a longer pause", `"IntervalSeconds":4`, `"IntervalSeconds":5`,
			`differs 3/5 TaskFailed of A: the time when it goes on was 2026-11-30T00:53:26.000Z, this version gives 2026-11-30T00:53:27.000Z`,
			`differs 4/6 recorded TaskScheduled of A, this version does nothing more then`},
		{"no more tries", `"Retry":[{"ErrorEquals":["E"]`, `"Retry":[{"ErrorEquals":["D"]`,
			`differs 3/5 TaskFailed of A: the number of the retrier was 1, this version gives nothing`,
			`differs 3/5 recorded nothing more then, this version goes on with ExecutionFailed`},
		{"a shorter wait", `"Seconds":300`, `"Seconds":30`,
			`differs 6/10 WaitStateEntered of W: the time when it goes on was 2026-11-30T00:58:26.000Z, this version gives 2026-11-30T00:53:56.000Z`,
			`unclear 7/11 the turn was recorded 4m30s after the time at which this version goes on by itself: it was late, or this version waits less`},
		{"iterations at once", `"MaxConcurrency":2`, `"MaxConcurrency":3`,
			`differs 7/13 MapStateStarted of M: the number of iterations at once was 2, this version gives 3`,
			`differs 7/18 recorded TaskScheduled of M[0]/I, this version gives MapIterationStarted of M`},
		{"another state", `"Next":"W"`, `"Next":"B"`, `differs 6/10 recorded WaitStateEntered of W, this version gives PassStateEntered of B`, ""},
		{"a state is gone", `"A":{"Type":"Task"`, `"A":{"Type":"Pass","Next":"Z"},"Z":{"Type":"Task"`,
			`differs 1/2 recorded TaskStateEntered of A, this version gives PassStateEntered of A`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			next := strings.Replace(stay, c.old, c.new, 1)
			if c.name == "a state is gone" {
				next = `{"StartAt":"A","States":{"A":{"Type":"Pass","End":true}}}`
			}
			views := c.views
			if views == "" {
				views = c.rows
			}
			for rows, want := range map[bool]string{true: c.rows, false: views} {
				if want == "" || want == "same" {
					want = "same 0/0 "
				}
				v, err := Replay(machineOf(t, next), recordingOf(t, stay, script1, rows), nil)
				got := fmt.Sprintf("%s %d/%d %s", v.Judgement, v.Turn, v.Event, v.Message)
				if err != nil || got != want {
					t.Errorf("rows %v: %v\ngot  %s\nwant %s", rows, err, got, want)
				}
			}
		})
	}
}

// TestReplayFollowsWhatWasDrawn: where the recording has the events, values that chance decides are taken from it, and what
// is not chance is still compared.
func TestReplayFollowsWhatWasDrawn(t *testing.T) {
	const document = `{"StartAt":"A","States":{
		"A":{"Type":"Pass","Parameters":{"id.$":"States.UUID()","text.$":"States.Format('x-{}', States.UUID())","k":1},"Next":"T"},
		"T":{"Type":"Task","Resource":"task:t","ResultPath":"$.r","Retry":[{"ErrorEquals":["E"],"IntervalSeconds":60,"JitterStrategy":"FULL"}],"Next":"C"},
		"C":{"Type":"Choice","Choices":[{"Variable":"$.id","StringMatches":"*-*","Next":"E"}]},
		"E":{"Type":"Pass","Parameters":{"id.$":"$.id"},"End":true}}}`
	const script = `{"tasks":{"t":[{"error":"E"},{"output":1}]}}`
	if v, err := Replay(machineOf(t, document), recordingOf(t, document, script, true), nil); err != nil || v.Judgement != Same {
		t.Errorf("%+v %v", v, err)
	}
	if v, err := Replay(machineOf(t, document), recordingOf(t, document, script, false), nil); err != nil || v.Judgement != Unclear || v.Event != 3 {
		t.Errorf("%+v %v", v, err)
	}
	changed := strings.Replace(document, `"k":1`, `"k":2`, 1)
	if v, err := Replay(machineOf(t, changed), recordingOf(t, document, script, true), nil); err != nil || v.Judgement != Differs || v.Event != 3 || v.Field != "output" {
		t.Errorf("%+v %v", v, err)
	}
	ends := strings.Replace(document, `{"id.$":"$.id"}`, `{"no.$":"$.id"}`, 1)
	if v, err := Replay(machineOf(t, ends), recordingOf(t, document, script, true), nil); err != nil || v.Judgement != Differs || v.Type != "PassStateExited" || v.Unit != "E" {
		t.Errorf("%+v %v", v, err)
	}
	// What chance decides may be which way the execution goes.
	const either = `{"StartAt":"A","States":{"A":{"Type":"Pass","Parameters":{"n.$":"States.MathRandom(0, 2)"},"Next":"C"},
		"C":{"Type":"Choice","Choices":[{"Variable":"$.n","NumericEquals":0,"Next":"Zero"}],"Default":"One"},
		"Zero":{"Type":"Pass","End":true},"One":{"Type":"Pass","End":true}}}`
	if v, err := Replay(machineOf(t, either), recordingOf(t, either, "{}", true), nil); err != nil || v.Judgement == Differs {
		t.Errorf("%+v %v", v, err)
	}
}

// TestReplayOfFailuresThatAreFinal: that a worker forbade another try is in no event.
func TestReplayOfFailuresThatAreFinal(t *testing.T) {
	const document = `{"StartAt":"T","States":{"T":{"Type":"Task","Resource":"task:t","Retry":[{"ErrorEquals":["E"]}],"End":true}}}`
	const never = `{"StartAt":"T","States":{"T":{"Type":"Task","Resource":"task:t","End":true}}}`
	const script = `{"tasks":{"t":[{"error":"E","final":true}]}}`
	for _, c := range []struct {
		name, ran, new string
		was            bool
		want           Judgement
	}{
		{"the same document, which is known", document, document, true, Same},
		{"the same document, which is not known", document, document, false, Unclear},
		{"a new Retry", never, document, true, Differs},
		{"a new Retry, or not", never, document, false, Unclear},
		{"a Retry less", document, never, true, Same},
	} {
		for _, rows := range []bool{true, false} {
			rec := recordingOf(t, c.ran, script, rows)
			rec.Was = nil
			if c.was {
				rec.Was = machineOf(t, c.ran)
			}
			if v, err := Replay(machineOf(t, c.new), rec, nil); err != nil || v.Judgement != c.want {
				t.Errorf("%s, rows %v: %+v %v", c.name, rows, v, err)
			}
		}
	}
}

func TestRecordingsThatAreIncomplete(t *testing.T) {
	rec := recordingOf(t, stay, script1, false)
	if _, err := FromViews(rec.Turns[1:], history.Start{}, nil); err == nil {
		t.Error("a history without its start was taken")
	}
	if _, err := FromViews(append(rec.Turns[:2:2], rec.Turns[3:]...), history.Start{}, nil); err == nil || err.Error() != "turn 3 is missing" {
		t.Errorf("%v", err)
	}
	if _, err := FromRows(nil, nil); err == nil {
		t.Error("no rows were taken")
	}
	if _, err := FromRows([]Row{{2, begin, 4, []byte(`[{"t":"disp"}]`)}}, nil); err == nil {
		t.Error("rows without the first were taken")
	}
	if _, err := FromRows([]Row{{1, begin, 1, []byte(`[{"t":"dance"}]`)}}, nil); err == nil || !strings.Contains(err.Error(), "unknown event") {
		t.Errorf("%v", err)
	}
}

func TestCheckEndsAReplay(t *testing.T) {
	enough := errors.New("enough")
	if _, err := Replay(machineOf(t, stay), recordingOf(t, stay, script1, true), func() error { return enough }); !errors.Is(err, enough) {
		t.Errorf("%v", err)
	}
}

// FuzzReplay looks for rows that a replay panics on.
func FuzzReplay(f *testing.F) {
	f.Add(`[{"t":"start","o":{"n":1},"start":{"v":1}},{"t":"enter","s":"A","k":"T"},{"t":"task","o":{"n":1},"tt":60000}]`, `[{"t":"disp"},{"t":"done","o":[1]}]`, `[{"t":"exit"},{"t":"enter","s":"W","k":"W","w":5}]`)
	f.Add(`[{"t":"start","o":{},"start":{"v":1}},{"t":"enter","s":"M","k":"M"},{"t":"fan","i":2,"o":[1,2]}]`, `[{"t":"iter","c":1},{"t":"abort"},{"t":"again","r":1}]`, `[{"t":"signal","n":"x","o":1}]`)
	m := machineOf(f, stay)
	f.Fuzz(func(t *testing.T, a, b, c string) {
		var rows []Row
		first := history.EventID(1)
		for i, text := range []string{a, b, c} {
			events, err := history.DecodeEvents([]byte(text))
			if err != nil {
				return
			}
			rows = append(rows, Row{history.Seq(i + 1), begin + history.Time(1000*i), first, []byte(text)})
			first += history.EventID(len(events))
		}
		rec, err := FromRows(rows, m)
		if err != nil {
			return
		}
		if v, err := Replay(m, rec, nil); err == nil && v.Judgement == "" {
			t.Fatal("no judgement")
		}
	})
}

// recorder decides turns and keeps their rows.
type recorder struct {
	t    *testing.T
	m    *definition.Machine
	s    *history.State
	rows []Row
}

func record(t *testing.T, document string) *recorder {
	t.Helper()
	r := &recorder{t: t, m: machineOf(t, document)}
	s, turn, err := decide.Start(r.m, 1, history.Start{Namespace: "ns", Name: "run", Input: []byte(`{"items":[1,2]}`)}, 1000)
	if err != nil {
		t.Fatal(err)
	}
	r.s = s
	r.keep(turn)
	return r
}

func (r *recorder) keep(t history.Turn) {
	r.rows = append(r.rows, Row{t.Seq, t.At, t.FirstEvent, history.EncodeEvents(t.Events)})
}

// turn decides one, and gives what it offers to a waiting poll where there is a claim.
func (r *recorder) turn(w decide.World, claim *history.Claim, cmds ...history.Command) {
	r.t.Helper()
	t, err := w.Handle(r.m, r.s, cmds, r.s.At()+1000)
	if err == nil && claim != nil {
		err = decide.HandOver(r.m, r.s, &t, 0, *claim)
	}
	if err != nil {
		r.t.Fatal(err)
	}
	r.keep(t)
}

func (r *recorder) replaysTheSame() {
	r.t.Helper()
	rec, err := FromRows(r.rows, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	if v, err := Replay(r.m, rec, nil); err != nil || v.Judgement != Same {
		r.t.Errorf("%+v %v", v, err)
	}
}

// TestReplayOfALossWithAHandOver: a task whose worker was lost goes to another one in the same turn.
func TestReplayOfALossWithAHandOver(t *testing.T) {
	r := record(t, `{"StartAt":"A","States":{"A":{"Type":"Task","Resource":"task:a","End":true}}}`)
	row := history.RowRef{Unit: "A", Attempt: 1, Offer: 1}
	r.turn(decide.World{}, nil, history.Command{Kind: history.KindDispatched, Row: row, Claim: history.Claim{Worker: "w1", Session: "s1", At: 1500}})
	r.turn(decide.World{}, &history.Claim{Worker: "w2", Session: "s2", At: 3000}, history.Command{Kind: history.KindLost, Row: row, Reason: "gone"})
	r.replaysTheSame()
}

// TestReplayOfANodeThatKnewNothing: a turn that stopped because its node could not say yet where a child of a distributed Map
// would go, and the one that went on.
func TestReplayOfANodeThatKnewNothing(t *testing.T) {
	r := record(t, `{"StartAt":"A","States":{"A":{"Type":"Task","Resource":"task:a","ResultPath":null,"Next":"Each"},
		"Each":{"Type":"Map","ItemsPath":"$.items","End":true,"ItemProcessor":{"ProcessorConfig":{"Mode":"DISTRIBUTED"},
			"StartAt":"I","States":{"I":{"Type":"Task","Resource":"task:i","End":true}}}}}}`)
	done := history.Command{Kind: history.KindComplete, Row: history.RowRef{Unit: "A", Attempt: 1, Offer: 1}, Output: []byte("1")}
	r.turn(decide.World{}, nil, done)
	r.turn(known(0), nil, history.Command{Kind: history.KindTimer})
	if last := string(r.rows[2].Events); !strings.Contains(last, `"kid"`) || strings.Contains(string(r.rows[1].Events), `"kid"`) {
		t.Fatalf("turn 2 has %s, turn 3 %s", r.rows[1].Events, last)
	}
	r.replaysTheSame()
}
