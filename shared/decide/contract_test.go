package decide_test

import (
	"strings"
	"testing"

	"github.com/orrery-dev/orrery/shared/definition"
	"github.com/orrery-dev/orrery/shared/expr"
	"github.com/orrery-dev/orrery/shared/history"
)

func schema(t tb, text string) *definition.Schema {
	t.Helper()
	v, err := expr.Parse([]byte(text))
	if err != nil {
		t.Fatalf("%v", err)
	}
	s, err := definition.NewSchema(v)
	if err != nil {
		t.Fatalf("%v", err)
	}
	return s
}

// agreed is a document with a contract at each place that can have one.
const agreed = `
StartAt: Pay
States:
  Pay:
    Type: Task
    Resource: task:pay@2
    Parameters: {amount.$: $.amount}
    Retry: [{ErrorEquals: [Orrery.InvalidOutput], MaxAttempts: 1}]
    Catch: [{ErrorEquals: [Orrery.InvalidInput, Orrery.InvalidOutput], Next: Caught}]
    Compensate: {Resource: task:refund, Parameters: {amount.$: $.Result.paid}}
    Next: Confirm
  Confirm: {Type: Task, Resource: 'task:mail.waitForTaskToken', Parameters: {token.$: $$.Task.Token}, Next: Other}
  Other: {Type: Task, Resource: 'task:pay@1', Next: Broken}
  Broken: {Type: Fail, Error: Broken}
  Caught: {Type: Succeed}
`

// agreement is a world in which the contracts of agreed have schemas, but for pay@1.
func agreement(t tb) *world {
	w := newWorld(t, parse(t, agreed))
	paid := schema(t, `{"type":"object","required":["paid"],"properties":{"paid":{"type":"integer"}}}`)
	w.contracts = map[history.Contract]definition.Contract{
		{Task: "pay", Version: 2}:    {Input: schema(t, `{"properties":{"amount":{"type":"integer","minimum":1}}}`), Output: paid},
		{Task: "mail", Version: 1}:   {Output: schema(t, `{"const":"yes"}`)},
		{Task: "refund", Version: 1}: {Input: schema(t, `{"properties":{"amount":{"maximum":100}}}`)},
	}
	return w
}

func (w *world) begin(input string) history.Turn {
	return w.start(history.Start{Name: "x", Input: []byte(input)})
}

// complete has a worker do the unit, or somebody who has its token, and gives what the failure says then; empty where none was
// recorded.
func (w *world) complete(unit history.UnitKey, output string) string {
	w.Helper()
	row, ok := w.reported(unit)
	if !ok {
		w.Fatalf("unit %s is not open: %v", unit, w.s.OpenUnits())
	}
	t := w.handle(w.report(history.Command{Kind: history.KindComplete, Row: row, Output: []byte(output)}))
	for _, ev := range t.Events {
		if ev.Type == history.EventFailed {
			return ev.Error + ": " + ev.Cause
		}
	}
	return ""
}

// TestContractInput: what a contract does not take is offered to nobody, in a first turn as well.
func TestContractInput(t *testing.T) {
	w := agreement(t)
	turn := w.begin(`{"amount":0}`)
	if len(turn.Offers) != 0 || turn.End == nil || turn.End.Status != history.Succeeded {
		t.Errorf("%+v", turn)
	}
	if out := string(w.s.End().Output); out != `{"Error":"Orrery.InvalidInput","Cause":"The input of the task does not fit the schema at /amount (minimum)."}` {
		t.Errorf("caught %s", out)
	}
	w = agreement(t)
	if turn := w.begin(`{"amount":7}`); len(turn.Offers) != 1 {
		t.Errorf("%+v", turn)
	}
}

// TestContractOutput: what a contract does not give fails the attempt, which Retry and Catch see; another version has other
// schemas, or none; of a Task that ends by its token it is what the token brings.
func TestContractOutput(t *testing.T) {
	const fault = "Orrery.InvalidOutput: The output of the task does not fit the schema at / (required)."
	w := agreement(t)
	w.begin(`{"amount":7}`)
	if got := w.complete("Pay", `{}`); got != fault {
		t.Errorf("the first attempt: %q", got)
	}
	w.now = w.now.Add(1e9)
	w.handle(history.Command{Kind: history.KindTimer})
	if row := w.row("Pay"); row.Attempt != 2 {
		t.Errorf("row %v", row)
	}
	if got := w.complete("Pay", `{"paid":7}`); got != "" {
		t.Errorf("the second attempt: %q", got)
	}
	if got := w.complete("Confirm/Submit", `"sent"`); got != "" {
		t.Errorf("the worker's word: %q", got)
	}
	if got := w.complete("Confirm", `"no"`); !strings.Contains(got, "at / (const)") {
		t.Errorf("by the token: %q", got)
	}
	if row := w.row("Pay/Compensate"); row.Attempt != 1 {
		t.Errorf("row %v", row)
	}
}

// TestContractOfCompensation: an undo input that its contract does not take is recorded as a failed compensation.
func TestContractOfCompensation(t *testing.T) {
	w := agreement(t)
	w.begin(`{"amount":7}`)
	w.complete("Pay", `{"paid":1000}`)
	w.complete("Confirm/Submit", `1`)
	w.complete("Confirm", `"yes"`)
	row := w.row("Other")
	turn := w.handle(w.report(history.Command{Kind: history.KindComplete, Row: row, Output: []byte(`"anything"`)}))
	undone := history.Event{}
	for _, ev := range turn.Events {
		if ev.Type == history.EventUndone {
			undone = ev
		}
	}
	if undone.Status != history.Failed || undone.Error != "Orrery.InvalidInput" || turn.End == nil || turn.End.Error != "Broken" || len(turn.Offers) != 0 {
		t.Errorf("undone %+v, end %+v", undone, turn.End)
	}
}

// TestContractsOfAnOperatorsWord: an output that an operator gives for an uncertain unit is held to the schema as well.
func TestContractsOfAnOperatorsWord(t *testing.T) {
	w := agreement(t)
	w.begin(`{"amount":7}`)
	for w.s.OpenUnits()[0].Status != history.UnitUncertain {
		row := w.row("Pay")
		w.handle(w.claim(row, "w"))
		w.handle(history.Command{Kind: history.KindUncertain, Row: row})
	}
	turn := w.handle(history.Command{Kind: history.KindResolve, Row: history.RowRef{Unit: "Pay"}, Resolution: history.ResolveCompleted, Output: []byte(`{"paid":"7"}`)})
	failed := false
	for _, ev := range turn.Events {
		failed = failed || ev.Type == history.EventFailed && ev.Error == "Orrery.InvalidOutput" && strings.Contains(ev.Cause, "/paid (type)")
	}
	if !failed {
		t.Errorf("%+v", turn.Events)
	}
}
