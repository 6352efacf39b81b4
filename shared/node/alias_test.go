package node_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/orrery-dev/orrery/shared/history"
	"github.com/orrery-dev/orrery/shared/wire"
)

// TestAliases: starts and children by an alias get the version that their names have; one node hears of what another has
// changed.
func TestAliases(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	a, b := s.run("a"), s.run("b")
	for i := 1; i <= 3; i++ {
		s.publish(a, "ships", fmt.Sprintf(`{"StartAt":"Say","States":{"Say":{"Type":"Pass","Result":%d,"End":true}}}`, i))
	}
	s.publish(a, "families", `{"StartAt":"Ship","States":{"Ship":{"Type":"Task","Resource":"workflow:ships:live","End":true}}}`)
	set := func(versions ...wire.AliasVersion) {
		t.Helper()
		if _, _, err := a.SetAlias(t.Context(), caller, "ships", "live", wire.AliasRequest{Versions: versions}); err != nil {
			t.Fatal(err)
		}
	}
	begin := func(p *process, q wire.StartRequest) wire.Execution {
		t.Helper()
		e, _, err := p.Start(context.Background(), caller, q)
		if err != nil {
			t.Fatal(err)
		}
		return e.Execution
	}
	set(wire.AliasVersion{Version: 1, Weight: 50}, wire.AliasVersion{Version: 2, Weight: 50})
	routes := history.Routes{{Version: 1, Weight: 50}, {Version: 2, Weight: 50}}
	for i := range 10 {
		name := fmt.Sprint("e", i)
		if e := begin(b, wire.StartRequest{Workflow: "ships", Alias: "live", Name: name, Input: json.RawMessage("{}")}); e.Version != routes.Version(name) {
			t.Errorf("%s is version %d, want %d", name, e.Version, routes.Version(name))
		}
		begin(b, wire.StartRequest{Workflow: "families", Name: fmt.Sprint("f", i), Input: json.RawMessage("{}")})
	}
	for i := range 10 {
		if r := s.result(b, fmt.Sprint("f", i)); string(r.Output) != "1" && string(r.Output) != "2" {
			t.Errorf("f%d: %s %s", i, r.Status, r.Output)
		}
	}
	rows, err := s.db.Query(t.Context(), `select e.name, d.version from orrery.execution e join orrery.definition d on d.id = e.definition where d.name = 'ships'`)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for rows.Next() {
		var name string
		var version int
		if err := rows.Scan(&name, &version); err != nil {
			t.Fatal(err)
		}
		if n++; version != routes.Version(name) {
			t.Errorf("%s is version %d, want %d", name, version, routes.Version(name))
		}
	}
	if rows.Err() != nil || n != 20 {
		t.Errorf("%d executions of ships, want 20 (%v)", n, rows.Err())
	}
	set(wire.AliasVersion{Version: 3, Weight: 100})
	if e := begin(a, wire.StartRequest{Workflow: "ships", Alias: "live", Input: json.RawMessage("{}")}); e.Version != 3 {
		t.Errorf("the node that has changed the alias starts version %d", e.Version)
	}
	s.await("the other node to hear of the change", func() bool {
		return begin(b, wire.StartRequest{Workflow: "ships", Alias: "live", Input: json.RawMessage("{}")}).Version == 3
	})
}
