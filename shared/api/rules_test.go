package api_test

import (
	"encoding/json"
	"testing"

	"github.com/orrery-dev/orrery/shared/wire"
)

// TestStrictWorkflow publishes a document under the rules of the reference service alone: it is another content than the same
// document without them, and a name is its execution's for good once that has ended.
func TestStrictWorkflow(t *testing.T) {
	s := newSurface(t)
	var usual, strict wire.Workflow
	s.call("POST", "/v1/workflows", wire.PublishRequest{Name: "hello", Document: json.RawMessage(noTask)}, 201, &usual)
	s.call("POST", "/v1/workflows", wire.PublishRequest{Name: "hello", Document: json.RawMessage(noTask), Strict: true}, 201, &strict)
	if usual.Hash == strict.Hash || usual.Strict || !strict.Strict || strict.Version != 2 {
		t.Errorf("%+v, %+v", usual, strict)
	}
	s.call("POST", "/v1/workflows", wire.PublishRequest{Name: "hello", Document: json.RawMessage(noTask), Strict: true}, 200, nil)
	s.refused("POST", "/v1/workflows", wire.PublishRequest{Name: "orders", Document: json.RawMessage(oneTask), Strict: true}, wire.InvalidWorkflow)
	var read wire.Workflow
	s.call("GET", "/v1/workflows/hello", nil, 200, &read)
	if !read.Strict || read.Hash != strict.Hash {
		t.Errorf("%+v", read)
	}
	for version, again := range map[int]int{1: 200, 2: 409} {
		q := wire.StartRequest{Workflow: "hello", Version: version, Name: string(rune('a' + version)), Input: json.RawMessage(`{}`)}
		s.call("POST", "/v1/executions", q, 201, nil)
		s.call("POST", "/v1/executions", q, again, nil)
	}
}

// TestInputThatDoesNotFit is refused with every place, and nothing is started.
func TestInputThatDoesNotFit(t *testing.T) {
	s := newSurface(t)
	s.publish("orders", `{"StartAt":"A","Input":{"type":"object","required":["id"],"properties":{"items":{"type":"array","items":{"type":"integer"}}}},
		"States":{"A":{"Type":"Succeed"}}}`)
	before := s.rows()["execution"]
	e := s.refused("POST", "/v1/executions", `{"workflow":"orders","input":{"items":[1,"2"]}}`, wire.InvalidRequest)
	want := []wire.Detail{
		{Field: "input", Rule: "required", Message: "missing property 'id'"}, {Field: "input/items/1", Rule: "type", Message: "got string, want integer"},
	}
	if len(e.Details) != 2 || e.Details[0] != want[0] || e.Details[1] != want[1] {
		t.Errorf("details %+v", e.Details)
	}
	if s.rows()["execution"] != before {
		t.Error("something was started")
	}
	s.call("POST", "/v1/executions", `{"workflow":"orders","input":{"id":7,"items":[1]}}`, 201, nil)
}
