package trial

import (
	"strings"
	"testing"
	"time"

	"github.com/orrery-dev/orrery/shared/definition"
	"github.com/orrery-dev/orrery/shared/history"
)

func offerOf(t *testing.T, resource, unit string) Offer {
	t.Helper()
	r, err := definition.ParseResource(resource)
	if err != nil {
		t.Fatal(err)
	}
	return Offer{RowRef: history.RowRef{Unit: history.UnitKey(unit), Attempt: 1}, State: &definition.State{Name: unit, Resource: r}}
}

func TestScriptAnswers(t *testing.T) {
	s, problems := ParseScript([]byte(`
tasks:
  pay@2: [{error: E, cause: c, details: {a: 1}, final: true, after: 1.5}, {output: [1, null], times: 2}]
  pay: [{absent: true}]
  arn:aws:lambda:us-east-1:123456789012:function:f: [{output: f, times: always}]
  http: [{silent: true}]
units:
  U[0]/X: [{lost: gone}, {uncertain: hm}]
`))
	if s == nil {
		t.Fatal(problems)
	}
	ask := func(resource, unit string) Answer {
		t.Helper()
		a, err := s.Answer(offerOf(t, resource, unit))
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	a := ask("task:pay@2", "P")
	if a.Kind != Fails || a.Failure.Code != "E" || a.Failure.Message != "c" || !a.Failure.NonRetryable || string(a.Failure.Details) != `{"a":1}` || a.After != 1500*time.Millisecond {
		t.Errorf("%+v", a)
	}
	for range 2 {
		if a := ask("arn:aws:states:eu-west-1:123456789012:activity:pay@2", "P"); a.Kind != Completes || string(a.Output) != "[1,null]" {
			t.Errorf("%+v", a)
		}
	}
	if _, err := s.Answer(offerOf(t, "task:pay@2", "P")); err == nil || !strings.Contains(err.Error(), `the 3 under tasks: "pay@2" are used up`) {
		t.Errorf("%v", err)
	}
	if a := ask("task:pay?language=go", "P"); a.Kind != Absent {
		t.Errorf("%+v", a)
	}
	for range 3 {
		if a := ask("arn:aws:lambda:us-east-1:123456789012:function:f", "L"); string(a.Output) != `"f"` {
			t.Errorf("%+v", a)
		}
	}
	if a := ask("http", "H"); a.Kind != Silent {
		t.Errorf("%+v", a)
	}
	if a := ask("task:pay@2", "U[0]/X"); a.Kind != Lost || a.Reason != "gone" {
		t.Errorf("a unit goes before its task: %+v", a)
	}
	if got := s.Unused(); len(got) != 1 || got[0] != `answers under units: "U[0]/X" that were not asked for: 1` {
		t.Errorf("%q", got)
	}
}

func TestScriptComings(t *testing.T) {
	s, problems := ParseScript([]byte(`{"signals":[{"name":"a"},{"name":"b","after":"1m","payload":{"x":1}}],
		"resolve":[{"unit":"U","as":"failed","error":"E","cause":"c"},{"unit":"V","as":"completed","output":null,"after":2}],
		"cancel":{"after":"1h","reason":"r"}}`))
	if s == nil {
		t.Fatal(problems)
	}
	if len(s.Comings) != 5 {
		t.Fatalf("%+v", s.Comings)
	}
	c := s.Comings
	if c[0].Command.Signal != "a" || c[0].Command.Output != nil || c[0].After != 0 {
		t.Errorf("%+v", c[0])
	}
	if c[1].Command.Kind != history.KindSignal || string(c[1].Command.Output) != `{"x":1}` || c[1].After != time.Minute {
		t.Errorf("%+v", c[1])
	}
	if c[2].Command.Kind != history.KindResolve || c[2].Command.Row.Unit != "U" || c[2].Command.Resolution != "failed" || c[2].Command.Failure.Code != "E" {
		t.Errorf("%+v", c[2])
	}
	if string(c[3].Command.Output) != "null" || c[3].Command.Failure != nil || c[3].After != 2*time.Second {
		t.Errorf("%+v", c[3])
	}
	if c[4].Command.Kind != history.KindCancel || c[4].Command.Reason != "r" || c[4].After != time.Hour {
		t.Errorf("%+v", c[4])
	}
}

func TestScriptProblems(t *testing.T) {
	for text, want := range map[string]string{
		`[]`:                            ` type`,
		`{`:                             ` syntax`,
		`{"tasks":[]}`:                  `/tasks type`,
		`{"task":{}}`:                   `/task unknown-field`,
		`{"tasks":{"a":[1]}}`:           `/tasks/a/0 type`,
		`{"tasks":{"x y":[]}}`:          `/tasks/x y resource`,
		`{"tasks":{"a":[],"a@1":[]}}`:   `/tasks/a@1 duplicate`,
		`{"tasks":{"a":[{"times":1}]}}`: `/tasks/a/0 required`,
		`{"tasks":{"a":[{"output":1,"lost":1}]}}`:        `/tasks/a/0/lost exclusive`,
		`{"tasks":{"a":[{"error":1}]}}`:                  `/tasks/a/0/error type`,
		`{"tasks":{"a":[{"lost":"x","times":-1}]}}`:      `/tasks/a/0/times range`,
		`{"tasks":{"a":[{"lost":"x","times":"often"}]}}`: `/tasks/a/0/times range`,
		`{"tasks":{"a":[{"error":"x","final":1}]}}`:      `/tasks/a/0/final type`,
		`{"tasks":{"a":[{"absent":1}]}}`:                 `/tasks/a/0/absent value`,
		`{"units":{"a/b":[{"output":1,"after":"-1s"}]}}`: `/units/a~1b/0/after range`,
		`{"units":{"a":[{"output":1,"after":1e30}]}}`:    `/units/a/0/after range`,
		`{"units":{"a":[{"output":1,"after":[]}]}}`:      `/units/a/0/after type`,
		`{"signals":{}}`:   `/signals type`,
		`{"signals":[{}]}`: `/signals/0 required`,
		`{"resolve":[{"unit":"a","as":"completed"}]}`: `/resolve/0 required`,
		`{"resolve":[{"unit":"a","as":"x"}]}`:         `/resolve/0/as value`,
	} {
		s, problems := ParseScript([]byte(text))
		if s != nil || len(problems) != 1 || problems[0].Pointer+" "+problems[0].Rule != want {
			t.Errorf("%s: %v", text, problems)
		}
	}
	many := "signals: [" + strings.Repeat("1,", 500) + "1]"
	if _, problems := ParseScript([]byte(many)); len(problems) != maxProblems {
		t.Errorf("%d problems are listed", len(problems))
	}
}

// FuzzScript looks for texts that a script cannot be read from without a panic, and for runs that do not end.
func FuzzScript(f *testing.F) {
	f.Add(`{"tasks":{"t":[{"output":1,"after":"1s","times":2},{"error":"E"}]},"signals":[{"name":"s"}],"cancel":{"after":5}}`)
	f.Add("units:\n  T: [{lost: x, times: always}]\nresolve: [{unit: T, as: retry, after: 1h}]\n")
	m := machineOf(f, oneTask)
	f.Fuzz(func(t *testing.T, text string) {
		s, problems := ParseScript([]byte(text))
		if s == nil {
			if problems.Err() == nil {
				t.Fatal("refused without a problem")
			}
			return
		}
		o := Options{Start: history.Start{Name: "x", Input: []byte("{}")}, At: begin, Comings: s.Comings, Limits: Limits{Turns: 100}}
		r, err := Execute(m, s, o)
		if err == nil && !r.State.Status().Ended() {
			t.Fatal("neither an end nor an error")
		}
	})
}
