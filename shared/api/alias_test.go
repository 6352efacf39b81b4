package api_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/orrery-dev/orrery/shared/wire"
)

// versions publishes n versions of a workflow that say which they are.
func (s *surface) versions(name string, n int) {
	s.t.Helper()
	for i := range n {
		s.publish(name, fmt.Sprintf(`{"StartAt":"A","States":{"A":{"Type":"Pass","Result":%d,"End":true}}}`, i+1))
	}
}

func (s *surface) alias(path, body string, status int) wire.Alias {
	s.t.Helper()
	var a wire.Alias
	s.call("PUT", path, body, status, &a)
	return a
}

// startAs starts an execution by an alias.
func (s *surface) startAs(workflow, alias, name string, status int) wire.Execution {
	s.t.Helper()
	var e wire.Execution
	s.call("POST", "/v1/executions", wire.StartRequest{Workflow: workflow, Alias: alias, Name: name, Input: json.RawMessage(`{}`)}, status, &e)
	return e
}

// TestAliasesSplitStarts: each execution has its side for ever, also when it is started again under other weights.
func TestAliasesSplitStarts(t *testing.T) {
	s := newSurface(t)
	s.versions("ship", 2)
	const live = "/v1/workflows/ship/aliases/live"
	a := s.alias(live, `{"versions":[{"version":1,"weight":50},{"version":2,"weight":50}]}`, 201)
	if a.Workflow != "ship" || a.Alias != "live" || len(a.Versions) != 2 || a.CreatedAt.IsZero() || a.CreatedAt != a.UpdatedAt {
		t.Errorf("made %+v", a)
	}
	sides := map[int]int{}
	first := map[string]int{}
	for i := range 20 {
		name := fmt.Sprint("e", i)
		first[name] = s.startAs("ship", "live", name, 201).Version
		sides[first[name]]++
	}
	if sides[1] == 0 || sides[2] == 0 || sides[1]+sides[2] != 20 {
		t.Errorf("sides %v", sides)
	}
	changed := s.alias(live, `{"versions":[{"version":2,"weight":100}]}`, 200)
	if changed.CreatedAt != a.CreatedAt || !changed.UpdatedAt.After(a.UpdatedAt) {
		t.Errorf("changed %+v, was %+v", changed, a)
	}
	for name, version := range first {
		if again := s.startAs("ship", "live", name, 200); again.Version != version {
			t.Errorf("%s is version %d when it is started again, was %d", name, again.Version, version)
		}
	}
	for i := range 5 {
		if e := s.startAs("ship", "live", fmt.Sprint("later", i), 201); e.Version != 2 {
			t.Errorf("%+v, want version 2", e)
		}
	}
	var r wire.Result
	s.call("GET", "/v1/executions/later1/result", nil, 200, &r)
	if string(r.Output) != "2" {
		t.Errorf("result %+v", r)
	}
}

// TestAliasRoutes: what is listed, read and taken away, and what is said of what is not there.
func TestAliasRoutes(t *testing.T) {
	s := newSurface(t)
	s.versions("ship", 1)
	for _, alias := range []string{"live", "canary"} {
		s.alias("/v1/workflows/ship/aliases/"+alias, `{"versions":[{"version":1,"weight":100}]}`, 201)
	}
	var l wire.AliasList
	s.call("GET", "/v1/workflows/ship/aliases", nil, 200, &l)
	if len(l.Aliases) != 2 || l.Aliases[0].Alias != "canary" || l.Aliases[1].Alias != "live" {
		t.Errorf("listed %+v", l)
	}
	var a wire.Alias
	s.call("GET", "/v1/workflows/ship/aliases/live", nil, 200, &a)
	if a.Versions[0] != (wire.AliasVersion{Version: 1, Weight: 100}) {
		t.Errorf("read %+v", a)
	}
	s.call("DELETE", "/v1/workflows/ship/aliases/live", nil, 200, &a)
	s.refused("DELETE", "/v1/workflows/ship/aliases/live", nil, wire.AliasNotFound)
	s.refused("GET", "/v1/workflows/ship/aliases/live", nil, wire.AliasNotFound)
	s.refused("GET", "/v1/workflows/other/aliases", nil, wire.WorkflowNotFound)
	s.refused("POST", "/v1/executions", `{"workflow":"ship","alias":"live"}`, wire.AliasNotFound)
	s.refused("POST", "/v1/executions", `{"workflow":"other","alias":"canary"}`, wire.AliasNotFound)
	s.refused("PUT", "/v1/workflows/other/aliases/live", `{"versions":[{"version":1,"weight":100}]}`, wire.WorkflowNotFound)
	s.refused("GET", "/v1/workflows/ship/aliases/canary", nil, wire.NamespaceNotFound, wire.HeaderNamespace, "elsewhere")
}

// TestAliasRefused: every fault is named, and nothing is made or changed.
func TestAliasRefused(t *testing.T) {
	s := newSurface(t)
	s.versions("ship", 2)
	const live = "/v1/workflows/ship/aliases/live"
	s.alias(live, `{"versions":[{"version":1,"weight":100}]}`, 201)
	for _, test := range []struct{ path, body, field, rule string }{
		{live, `{"versions":[{"version":1,"weight":50},{"version":2,"weight":49}]}`, "versions", "sum=100"},
		{live, `{"versions":[{"version":1,"weight":50},{"version":1,"weight":50}]}`, "versions[1].version", "unique"},
		{live, `{"versions":[{"version":1,"weight":50},{"version":3,"weight":50}]}`, "versions[1].version", "published"},
		{live, `{"versions":[]}`, "versions", "min=1"},
		{live, `{"versions":[{"version":1,"weight":101}]}`, "versions[0].weight", "max=100"},
		{live, `{"versions":[{"version":1}]}`, "versions[0].weight", "required"},
		{"/v1/workflows/ship/aliases/7", `{"versions":[{"version":1,"weight":100}]}`, "path alias", "alias"},
		{"/v1/workflows/ship/aliases/a%2Fb", `{"versions":[{"version":1,"weight":100}]}`, "path alias", "alias"},
	} {
		b := bench{surface: s}
		b.fault(request{"PUT", test.path, test.body}, test.body, test.field, test.rule)
	}
	b := bench{surface: s}
	b.fault(request{"POST", "/v1/executions", ""}, `{"workflow":"ship","alias":"live","version":1}`, "version", "alone")
	var l wire.AliasList
	s.call("GET", "/v1/workflows/ship/aliases", nil, 200, &l)
	if len(l.Aliases) != 1 || l.Aliases[0].Versions[0].Version != 1 || l.Aliases[0].CreatedAt != l.Aliases[0].UpdatedAt {
		t.Errorf("left %+v", l)
	}
}

// TestAliasesAreBounded: a workflow has a hundred, and each of them can still be changed.
func TestAliasesAreBounded(t *testing.T) {
	s := newSurface(t)
	s.versions("ship", 1)
	const body = `{"versions":[{"version":1,"weight":100}]}`
	for i := range 100 {
		s.alias(fmt.Sprintf("/v1/workflows/ship/aliases/a%d", i), body, 201)
	}
	b := bench{surface: s}
	b.fault(request{"PUT", "/v1/workflows/ship/aliases/more", ""}, body, "path alias", "max=100")
	s.alias("/v1/workflows/ship/aliases/a7", body, 200)
}
