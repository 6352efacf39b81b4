package api_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/orrery-dev/orrery/shared/wire"
)

const charge2 = "/v1/contracts/payments.charge/2"

func (s *surface) contract(path, body string, status int) wire.ContractSchemas {
	s.t.Helper()
	var x wire.ContractSchemas
	s.call("PUT", path, body, status, &x)
	return x
}

// TestContracts: a version is registered once, is read, listed and taken away.
func TestContracts(t *testing.T) {
	s := newSurface(t)
	const schemas = `{"input":{"type":"object","required":["amount"]},"output":{"type":"object"}}`
	x := s.contract(charge2, schemas, 201)
	if x.Task != "payments.charge" || x.Version != 2 || len(x.Hash) != 64 || x.RegisteredAt.IsZero() || string(x.Output) != `{"type":"object"}` {
		t.Errorf("registered %+v", x)
	}
	same := s.contract(charge2, `{"output": {"type": "object"}, "input": {"required": ["amount"], "type": "object"}}`, 200)
	if same.Hash != x.Hash || !same.RegisteredAt.Equal(x.RegisteredAt) {
		t.Errorf("again %+v, was %+v", same, x)
	}
	s.refused("PUT", charge2, `{"output":{"type":"object"}}`, wire.VersionExists)
	s.contract("/v1/contracts/payments.charge/1", `{"output":true}`, 201)
	var l wire.ContractList
	s.call("GET", "/v1/contracts", nil, 200, &l)
	if len(l.Contracts) != 2 || l.Contracts[0].Version != 1 || l.Contracts[1].Hash != x.Hash || l.Contracts[1].Input != nil {
		t.Errorf("listed %+v", l)
	}
	var read wire.ContractSchemas
	s.call("GET", charge2, nil, 200, &read)
	if string(read.Input) != `{"type":"object","required":["amount"]}` {
		t.Errorf("read %+v", read)
	}
	s.call("DELETE", charge2, nil, 200, &read)
	s.refused("DELETE", charge2, nil, wire.ContractNotFound)
	s.refused("GET", charge2, nil, wire.ContractNotFound)
	s.contract(charge2, `{"output":{"type":"string"}}`, 201)
}

// TestContractRefused: every fault is named, and nothing is registered.
func TestContractRefused(t *testing.T) {
	s := newSurface(t)
	before := s.rows()
	large := `{"description":"` + strings.Repeat("x", 16<<10) + `"}`
	for _, test := range []struct{ path, body, field, rule string }{
		{charge2, `{}`, "input", "required"},
		{charge2, `{"input":{"type":"objekt"}}`, "input", "schema"},
		{charge2, `{"input":{"$ref":"http://example.com/s.json"}}`, "input", "schema"},
		{charge2, `{"input":7}`, "input", "schema"},
		{charge2, `{"output":[]}`, "output", "schema"},
		{charge2, `{"output":` + large + `}`, "output", "max=16384"},
		{"/v1/contracts/a%20b/1", `{"output":true}`, "path task", "name"},
		{"/v1/contracts/orrery:http/1", `{"output":true}`, "path task", "name"},
		{"/v1/contracts/pay/0", `{"output":true}`, "path version", "min=1"},
	} {
		b := bench{surface: s}
		b.fault(request{"PUT", test.path, test.body}, test.body, test.field, test.rule)
	}
	if after := s.rows(); fmt.Sprint(after) != fmt.Sprint(before) {
		t.Errorf("rows %v, want %v", after, before)
	}
}

// TestContractsHoldFromTheFirstTurnOn: a function that starts an execution knows what was registered, and what was taken away.
func TestContractsHoldFromTheFirstTurnOn(t *testing.T) {
	s := newSurface(t)
	s.publish("orders", oneTask)
	units := func(name string) int {
		t.Helper()
		var d wire.ExecutionDetail
		s.call("GET", "/v1/executions/"+name, nil, 200, &d)
		if len(d.Units) == 0 && (d.Status != wire.Failed || d.Error.Code != "Orrery.InvalidInput" || !strings.Contains(d.Error.Message, "/amount (type)")) {
			t.Errorf("%s is %s: %+v", name, d.Status, d.Error)
		}
		return len(d.Units)
	}
	s.start("orders", "before", `{"amount":"7"}`)
	s.contract(charge2, `{"input":{"properties":{"amount":{"type":"number"}}}}`, 201)
	s.start("orders", "unfit", `{"amount":"7"}`)
	s.start("orders", "fit", `{"amount":7}`)
	s.call("DELETE", charge2, nil, 200, nil)
	s.start("orders", "after", `{"amount":"7"}`)
	if got := []int{units("before"), units("unfit"), units("fit"), units("after")}; fmt.Sprint(got) != "[1 0 1 1]" {
		t.Errorf("open units %v", got)
	}
	if tasks := s.poll(s.register("w"), "p"); len(tasks) != 3 {
		t.Errorf("%d tasks are offered", len(tasks))
	}
}

// TestContractsAreBounded: a namespace has five hundred, and each of them can be registered again.
func TestContractsAreBounded(t *testing.T) {
	s := newSurface(t)
	if _, err := s.pool.Exec(t.Context(), `insert into orrery.contract (namespace, task, version, hash, output)
		select 1, 'many', n, repeat('0', 64), 'true' from generate_series(1, 499) as n`); err != nil {
		t.Fatal(err)
	}
	s.contract(charge2, `{"output":true}`, 201)
	b := bench{surface: s}
	b.fault(request{"PUT", "/v1/contracts/more/1", ""}, `{"output":true}`, "path task", "max=500")
	s.contract(charge2, `{"output":true}`, 200)
}

// TestPublishingTellsMore: publishing answers with warnings, with a dry run too, and a version shows which state reads which
// variables.
func TestPublishingTellsMore(t *testing.T) {
	s := newSurface(t)
	const document = `{"StartAt":"A","States":{"A":{"Type":"Choice","Choices":[{"Variable":"$w.x","IsPresent":true,"Next":"B"}]},
		"B":{"Type":"Pass","Parameters":{"a.$":"States.Array($v, $v.x)"},"End":true}}}`
	for _, query := range []string{"?dry_run=true", ""} {
		var w wire.Workflow
		s.call("POST", "/v1/workflows"+query, `{"name":"n","document":`+document+`}`, map[string]int{"": 201, "?dry_run=true": 200}[query], &w)
		var got []string
		for _, x := range w.Warnings {
			got = append(got, x.Field+" "+x.Rule)
		}
		if fmt.Sprint(got) != "[/States/A no-default /States/B unresolvable]" {
			t.Errorf("warnings %v", got)
		}
	}
	var w wire.Workflow
	s.call("GET", "/v1/workflows/n", nil, 200, &w)
	if fmt.Sprint(w.VariableReferences) != "map[A:[w] B:[v]]" || w.Warnings != nil {
		t.Errorf("read %+v", w)
	}
	e := s.refused("POST", "/v1/workflows", `{"name":"n","document":{"QueryLanguage":"JSONata","StartAt":"A","States":{"A":{"Type":"Pass","QueryLanguage":"JSONata","End":true}}}}`, wire.InvalidWorkflow)
	if len(e.Details) == 0 || e.Details[0].Field != "/QueryLanguage" || e.Details[0].Rule != "not-built" || !strings.Contains(e.Details[0].Message, "JSONata") {
		t.Errorf("JSONata: %+v", e.Details)
	}
}
