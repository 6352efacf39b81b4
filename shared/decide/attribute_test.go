package decide_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/orrery-dev/orrery/shared/decide"
	"github.com/orrery-dev/orrery/shared/definition"
	"github.com/orrery-dev/orrery/shared/history"
)

const found = `{"StartAt":"A","Attributes":{"customer.$":"$.c","kind":"order","n.$":"$.n"},"States":{
	"A":{"Type":"Task","Resource":"workflow:ship","ResultPath":"$.a","Next":"B"},
	"B":{"Type":"Map","ItemsPath":"$.items","End":true,"ItemProcessor":{"ProcessorConfig":{"Mode":"DISTRIBUTED","ExecutionType":"STANDARD"},"StartAt":"C",
		"States":{"C":{"Type":"Task","Resource":"task:work","End":true}}}}}}`

func attributesOf(list []history.Attribute) string {
	var parts []string
	for _, a := range list {
		parts = append(parts, a.Name+"="+a.Value)
	}
	return strings.Join(parts, " ")
}

// TestAttributesAreInherited: the document makes them, a start gives others, children have them unless their document says
// otherwise, and so have the executions of iterations, also after a snapshot.
func TestAttributesAreInherited(t *testing.T) {
	w := newWorld(t, parse(t, found))
	w.workflows[history.WorkflowRef{Name: "ship"}] = &decide.Workflow{Name: "ship", Version: 1, Machine: parse(t,
		`{"StartAt":"D","Attributes":{"kind":"parcel","to.$":"$.c"},"States":{"D":{"Type":"Task","Resource":"task:work","End":true}}}`)}
	turn := w.start(history.Start{Name: "x", Input: []byte(`{"c":"c-1","n":3.0,"items":[1,2]}`), Attributes: []history.Attribute{{Name: "n", Value: "4"}, {Name: "vip", Value: "true"}}})
	if got := attributesOf(turn.Events[0].Start.Attributes); got != `n=4 vip=true customer="c-1" kind="order"` {
		t.Errorf("the execution has %s", got)
	}
	w.handle(history.Command{Kind: history.KindTimer})
	w.s = w.copy()
	ship := w.children[w.childOf("A")]
	if got := attributesOf(ship.Start.Attributes); got != `kind="parcel" to="c-1" n=4 vip=true customer="c-1"` || got != attributesOf(ship.First.Events[0].Start.Attributes) {
		t.Errorf("the child has %s", got)
	}
	w.handle(w.ended(ship.Start.Name, history.Command{Status: history.Succeeded, Output: []byte(`1`)}))
	for len(w.waited()) < 2 {
		w.handle(history.Command{Kind: history.KindTimer})
	}
	for _, name := range w.waited() {
		if got := attributesOf(w.children[name].Start.Attributes); got != `n=4 vip=true customer="c-1" kind="order"` {
			t.Errorf("iteration %s has %s", name, got)
		}
	}
}

// TestAttributesThatCannotBe: the start is refused, and the Task that starts a child fails.
func TestAttributesThatCannotBe(t *testing.T) {
	many := make([]string, 15)
	for i := range many {
		many[i] = fmt.Sprintf(`"a%d":1`, i)
	}
	for _, test := range []struct{ input, name, rule string }{
		{`{"c":[],"n":1}`, "customer", "type=string number boolean"},
		{`{"c":"` + strings.Repeat("x", 257) + `","n":1}`, "customer", "max=256"},
		{`{"c":"x","n":1e999}`, "n", "number"},
	} {
		_, _, err := decide.Start(parse(t, found), 1, history.Start{Name: "x", Input: []byte(test.input)}, begin)
		var e *definition.AttributeError
		if !errors.As(err, &e) || e.Name != test.name || e.Rule != test.rule {
			t.Errorf("%.40s: %v", test.input, err)
		}
	}
	_, _, err := decide.Start(parse(t, found), 1, history.Start{Name: "x", Input: []byte(`{}`)}, begin)
	var unfound *decide.AttributesError
	if !errors.As(err, &unfound) || !strings.Contains(err.Error(), "$.c") {
		t.Errorf("without the member: %v", err)
	}
	w := newWorld(t, parse(t, `{"StartAt":"A","States":{"A":{"Type":"Task","Resource":"workflow:ship","End":true}}}`))
	w.workflows[history.WorkflowRef{Name: "ship"}] = &decide.Workflow{Name: "ship", Version: 1, Machine: parse(t,
		`{"StartAt":"D","Attributes":{`+strings.Join(many, ",")+`},"States":{"D":{"Type":"Succeed"}}}`)}
	w.start(history.Start{Name: "x", Input: []byte(`{}`), Attributes: []history.Attribute{{Name: "p", Value: "1"}, {Name: "q", Value: "1"}}})
	turn := w.handle(history.Command{Kind: history.KindTimer})
	if turn.End == nil || turn.End.Error != "Orrery.InvalidInput" || !strings.Contains(turn.End.Cause, "there would be 17") || len(turn.Children) != 0 {
		t.Errorf("end %+v", turn.End)
	}
}
