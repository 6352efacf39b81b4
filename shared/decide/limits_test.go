package decide_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/orrery-dev/orrery/shared/decide"
	"github.com/orrery-dev/orrery/shared/definition"
	"github.com/orrery-dev/orrery/shared/history"
)

// TestStrictWall has the reference service's limit of events, where its rules alone hold.
func TestStrictWall(t *testing.T) {
	const loop = `{"StartAt":"A","States":{"A":{"Type":"Pass","Next":"B"},"B":{"Type":"Pass","Next":"A"}}}`
	doc, problems := definition.Parse([]byte(loop), definition.Options{Strict: true})
	if doc == nil {
		t.Fatal(problems.Err())
	}
	s, turn, err := decide.Start(doc.Machine, 1, history.Start{Name: "loop", Input: []byte(`{}`)}, begin)
	for err == nil && turn.End == nil && s.Events() < 30_000 {
		turn, err = decide.Handle(doc.Machine, s, []history.Command{{Kind: history.KindTimer}}, begin)
	}
	want := history.End{
		Status: history.Failed, Error: "States.Runtime", Cause: "The execution reached the maximum number of history events (25000).",
	}
	if err != nil || turn.End == nil || fmt.Sprint(*turn.End) != fmt.Sprint(want) || s.Events() > 25_000 || s.Events() < 24_990 {
		t.Errorf("%d events, end %+v, %v", s.Events(), turn.End, err)
	}
}

// TestKeptCompensationsAreBounded: a Task that has to be undone is not begun when there is no room for that.
func TestKeptCompensationsAreBounded(t *testing.T) {
	m := parse(t, `{"StartAt":"A","States":{"A":{"Type":"Task","Resource":"task:a","ResultPath":null,"Next":"A",
		"Compensate":{"Resource":"task:b","Parameters":{}}}}}`)
	s, turn, err := decide.Start(m, 1, history.Start{Name: "saga", Input: []byte(`{}`)}, begin)
	n := 0
	for ; err == nil && len(turn.Offers) == 1 && turn.Offers[0].Contract.Task == "a"; n++ {
		cmd := history.Command{Kind: history.KindComplete, Row: turn.Offers[0].RowRef, Output: []byte("1")}
		turn, err = decide.Handle(m, s, []history.Command{cmd}, begin)
	}
	if err != nil || n != 10_000 || s.Ending() == nil || s.Ending().Error != decide.OrreryLimitExceeded {
		t.Errorf("after %d tasks: %+v, %v", n, s.Ending(), err)
	}
}

func TestStartRefusesAnInput(t *testing.T) {
	m := parse(t, `{"StartAt":"A","Input":{"type":"object","required":["n"]},"States":{"A":{"Type":"Succeed"}}}`)
	_, _, err := decide.Start(m, 1, history.Start{Name: "x", Input: []byte(`{}`)}, begin)
	var unfit *decide.InputError
	if !errors.As(err, &unfit) || len(unfit.Faults) != 1 || unfit.Faults[0].Keyword != "required" {
		t.Errorf("%v", err)
	}
	if _, turn, err := decide.Start(m, 1, history.Start{Name: "x", Input: []byte(`{"n":null}`)}, begin); err != nil || turn.End == nil {
		t.Errorf("%v", err)
	}
}

// TestSucceededTwiceIsUndoneOnce: the last Task succeeds, what it makes of the output does not fit, and it is tried again. It
// is the same effect under the same key, so there is one compensation, with the newest result.
func TestSucceededTwiceIsUndoneOnce(t *testing.T) {
	w := newWorld(t, parse(t, `{"Output": {"type": "array"}, "StartAt": "Pay", "States": {"Pay": {"Type": "Task", "Resource": "task:pay",
		"Retry": [{"ErrorEquals": ["Orrery.InvalidOutput"], "MaxAttempts": 1}], "Compensate": {"Resource": "task:refund"}, "End": true}}}`))
	w.start(history.Start{Name: "x", Input: []byte("{}")})
	for _, output := range []string{"1", "2"} {
		w.now = max(w.now, w.s.WakeAt())
		w.handle(history.Command{Kind: history.KindTimer})
		w.handle(w.claim(w.row("Pay"), "w"))
		w.handle(w.report(history.Command{Kind: history.KindComplete, Row: w.row("Pay"), Output: []byte(output)}))
	}
	v := w.s.Unit("Pay/Compensate")
	if v == nil || string(v.Work()) != `{"Input":{},"Result":2}` {
		t.Fatalf("open are %v", w.s.OpenUnits())
	}
	w.handle(w.claim(w.row("Pay/Compensate"), "w"))
	turn := w.handle(w.report(history.Command{Kind: history.KindComplete, Row: w.row("Pay/Compensate"), Output: []byte("1")}))
	if turn.End == nil || turn.End.Error != "Orrery.InvalidOutput" {
		t.Errorf("ended %+v, open are %v", turn.End, w.s.OpenUnits())
	}
}

// TestTryThatCannotBegin: a try that fails before anything has begun uses up its retrier like any other, and pauses.
func TestTryThatCannotBegin(t *testing.T) {
	const retry = `"Retry": [{"ErrorEquals": ["States.ALL"], "IntervalSeconds": 1, "MaxAttempts": 2}], "End": true`
	branch := `{"StartAt": "%s", "States": {"%s": {"Type": "Succeed"}}}`
	for name, text := range map[string]string{
		"too wide":     `{"Limits": {"FanOut": 1}, "StartAt": "P", "States": {"P": {"Type": "Parallel", ` + retry + `, "Branches": [` + strings.ReplaceAll(branch, "%s", "A") + `,` + strings.ReplaceAll(branch, "%s", "B") + `]}}}`,
		"a wrong text": `{"StartAt": "T", "States": {"T": {"Type": "Task", "Resource": "task:t", ` + retry + `, "Parameters": {"x.$": "States.StringToJson('{')"}}}}`,
	} {
		w := newWorld(t, parse(t, text))
		w.start(history.Start{Name: "x", Input: []byte("{}")})
		for range 3 {
			w.now = max(w.now, w.s.WakeAt())
			w.handle(history.Command{Kind: history.KindTimer})
		}
		if !w.s.Status().Ended() || w.s.Events() > 8 || w.now != begin.Add(3*time.Second) {
			t.Errorf("%s: %v after %d events, %v later", name, w.s.Status(), w.s.Events(), w.now.Sub(begin))
		}
	}
}

// TestVariablesAreBounded: an execution has so many bytes of variables and no more, in whatever scopes they are; those of an
// iteration that is over count no more.
func TestVariablesAreBounded(t *testing.T) {
	text := strings.Repeat("x", 250_000) // 41 of them fit
	var b strings.Builder
	b.WriteString(`{"StartAt":"M","States":{"M":{"Type":"Map","ItemsPath":"$.items","ResultPath":null,"Next":"S1","ItemProcessor":{"StartAt":"I","States":{
		"I":{"Type":"Pass","Parameters":{"t.$":"$$.Execution.Input.text"},"Assign":{"i.$":"$.t"},"Next":"J"},"J":{"Type":"Pass","Result":1,"End":true}}}}`)
	for i := 1; i <= 41; i++ {
		fmt.Fprintf(&b, `,"S%d":{"Type":"Pass","Assign":{"v%d.$":"$.text"},"Next":"S%d"}`, i, i, i+1)
	}
	b.WriteString(`,"S42":{"Type":"Pass","Assign":{"v1.$":"$.text"},"Next":"S43"},"S43":{"Type":"Pass","Assign":{"more.$":"$.text"},"End":true}}}`)
	w := newWorld(t, parse(t, b.String()))
	items := strings.TrimSuffix(strings.Repeat("1,", 50), ",")
	turn := w.start(history.Start{Name: "x", Input: []byte(`{"text":"` + text + `","items":[` + items + `]}`)})
	for n := 0; turn.End == nil && n < 500; n++ {
		turn = w.handle(history.Command{Kind: history.KindTimer})
	}
	want := history.End{Status: history.Failed, Error: "States.DataLimitExceeded", Cause: "The variables of the execution are larger than 10485760 bytes."}
	if turn.End == nil || fmt.Sprint(*turn.End) != fmt.Sprint(want) || w.s.VariableBytes() != 41*len(`"`+text+`"`) {
		t.Errorf("%d bytes, end %+v", w.s.VariableBytes(), turn.End)
	}
}
