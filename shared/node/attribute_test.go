package node_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/orrery-dev/orrery/shared/wire"
)

// TestAttributesOfAFamily: in the database a child has the attributes of its parent, and so have the executions of the
// iterations of a Map, wherever they are. A node that is stopped on the way changes nothing in that.
func TestAttributesOfAFamily(t *testing.T) {
	s := newSystem(t)
	a, b := s.run("a"), s.run("b")
	s.publish(a, "ship", `{"StartAt":"Wait","Attributes":{"kind":"parcel"},"States":{"Wait":{"Type":"Task","Resource":"signal:go","End":true}}}`)
	s.publish(a, "order", `{"StartAt":"Go","Attributes":{"customer.$":"$.c","kind":"order"},"States":{
		"Go":{"Type":"Task","Resource":"signal:go","ResultPath":null,"Next":"Ship"},
		"Ship":{"Type":"Task","Resource":"workflow:ship","ResultPath":null,"Next":"Each"},
		"Each":{"Type":"Map","ItemsPath":"$.items","End":true,"ItemProcessor":{"ProcessorConfig":{"Mode":"DISTRIBUTED","ExecutionType":"STANDARD"},
			"StartAt":"Item","States":{"Item":{"Type":"Pass","End":true}}}}}}`)
	q := wire.StartRequest{Workflow: "order", Name: "o", Input: json.RawMessage(`{"c":"c-1","items":[1,2,3]}`)}
	if _, _, err := a.Start(t.Context(), caller, q); err != nil {
		t.Fatal(err)
	}
	if err := a.stop(); err != nil {
		t.Fatal(err)
	}
	find := func(attributes string) (names []string) {
		t.Helper()
		l, err := b.ListExecutions(t.Context(), caller, wire.ExecutionQuery{Attributes: attributes, Limit: 100})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range l.Executions {
			names = append(names, e.ID)
		}
		return names
	}
	signal := func(name string) {
		t.Helper()
		s.await("a signal to "+name, func() bool {
			x, err := b.Signal(t.Context(), caller, name, "go", wire.SignalRequest{Payload: json.RawMessage(`1`)})
			return err == nil && x.Confirmed
		})
	}
	signal("o")
	var children []string
	s.await("the child", func() bool {
		children = find(`{"customer":"c-1","kind":"parcel"}`)
		return len(children) == 1
	})
	signal(children[0])
	if status := s.end(b, "o"); status != wire.Succeeded {
		t.Errorf("the order is %s", status)
	}
	orders := find(`{"customer":"c-1","kind":"order"}`)
	slices.SortFunc(orders, func(a, b string) int { return len(a) - len(b) })
	if len(orders) != 4 || orders[0] != "o" || strings.Contains(strings.Join(orders, " "), children[0]) {
		t.Errorf("found %v", orders)
	}
}
