package api_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/orrery-dev/orrery/shared/wire"
)

// TestAttributes finds executions by what they were started with, page by page.
func TestAttributes(t *testing.T) {
	s := newSurface(t)
	s.publish("hello", noTask)
	start := func(name, attributes string, status int) {
		t.Helper()
		s.call("POST", "/v1/executions", wire.StartRequest{Workflow: "hello", Name: name, Input: json.RawMessage(`{}`), Attributes: json.RawMessage(attributes)}, status, nil)
	}
	for i := range 7 {
		start(fmt.Sprint("a", i), fmt.Sprintf(`{"customer":"c-1","size":%d.0,"vip":%v}`, i, i%2 == 0), 201)
	}
	start("b", `{"customer":"c-2","size":"3"}`, 201)
	start("c", ``, 201)
	start("a0", `{"customer":"c-9"}`, 200) // a repeat: what is there stays
	find := func(attributes, rest string) (names string) {
		t.Helper()
		cursor := ""
		for {
			var l wire.ExecutionList
			s.call("GET", "/v1/executions?limit=2&attributes="+url.QueryEscape(attributes)+rest+cursor, nil, 200, &l)
			for _, e := range l.Executions {
				names += e.ID + " "
			}
			if l.Next == "" {
				return strings.TrimSpace(names)
			}
			cursor = "&cursor=" + l.Next
		}
	}
	for _, test := range []struct{ attributes, rest, want string }{
		{`{"customer":"c-1"}`, "", "a6 a5 a4 a3 a2 a1 a0"},
		{`{"customer":"c-1","vip":true}`, "", "a6 a4 a2 a0"},
		{`{"size":3}`, "", "a3"},
		{`{"size":3.00}`, "", "a3"},
		{`{"size":"3"}`, "", "b"},
		{`{"customer":"c-1"}`, "&status=RUNNING", ""},
		{`{"customer":"c-1"}`, "&workflow=other", ""},
		{`{"customer":"c-9"}`, "", ""},
		{`{}`, "", "c b a6 a5 a4 a3 a2 a1 a0"},
	} {
		if got := find(test.attributes, test.rest); got != test.want {
			t.Errorf("%s%s finds %q, want %q", test.attributes, test.rest, got, test.want)
		}
	}
	var d wire.ExecutionDetail
	s.call("GET", "/v1/executions/a3", nil, 200, &d)
	if string(d.Attributes) != `{"customer":"c-1","size":3,"vip":false}` {
		t.Errorf("a3 has %s", d.Attributes)
	}
	before := s.rows()
	many := make([]string, 17)
	for i := range many {
		many[i] = fmt.Sprintf(`"a%d":1`, i)
	}
	for _, test := range []struct{ attributes, field, rule string }{
		{`[]`, "attributes", "type=object"},
		{`{"a":[]}`, "attributes.a", "type=string number boolean"},
		{`{"a":null}`, "attributes.a", "type=string number boolean"},
		{`{"a b":1}`, "attributes", "name"},
		{`{"a":"` + strings.Repeat("x", 257) + `"}`, "attributes.a", "max=256"},
		{`{` + strings.Join(many, ",") + `}`, "attributes", "max=16"},
		{`{"a":1e999}`, "attributes.a", "number"},
	} {
		b := bench{surface: s}
		b.fault(request{"POST", "/v1/executions", ""}, `{"workflow":"hello","attributes":`+test.attributes+`}`, test.field, test.rule)
		b.fault(request{"GET", "/v1/executions?attributes=" + url.QueryEscape(test.attributes), ""}, "", "query "+test.field, test.rule)
	}
	if after := s.rows(); fmt.Sprint(after) != fmt.Sprint(before) {
		t.Errorf("rows %v, want %v", after, before)
	}
}

// TestAttributesOfADocument: executions are found by what their document makes of the input; one of which it can make nothing is
// not started.
func TestAttributesOfADocument(t *testing.T) {
	s := newSurface(t)
	s.publish("orders", `{"StartAt":"A","Attributes":{"customer.$":"$.c","source":"shop"},"States":{"A":{"Type":"Pass","End":true}}}`)
	start := func(name, input, attributes string) {
		t.Helper()
		s.call("POST", "/v1/executions", wire.StartRequest{Workflow: "orders", Name: name, Input: json.RawMessage(input), Attributes: json.RawMessage(attributes)}, 201, nil)
	}
	start("a", `{"c":"c-1"}`, "")
	start("b", `{"c":"c-1"}`, `{"source":"phone"}`)
	start("c", `{"c":2.0}`, "")
	for attributes, want := range map[string]string{
		`{"customer":"c-1"}`: "b a", `{"customer":"c-1","source":"shop"}`: "a", `{"source":"phone"}`: "b", `{"customer":2}`: "c", `{"customer":"2"}`: "",
	} {
		var l wire.ExecutionList
		s.call("GET", "/v1/executions?attributes="+url.QueryEscape(attributes), nil, 200, &l)
		var names []string
		for _, e := range l.Executions {
			names = append(names, e.ID)
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("%s finds %q, want %q", attributes, got, want)
		}
	}
	before := s.rows()
	for _, test := range []struct{ input, field, rule string }{
		{`{"c":null}`, "attributes.customer", "type=string number boolean"},
		{`{}`, "input", "attributes"},
	} {
		b := bench{surface: s}
		b.fault(request{"POST", "/v1/executions", ""}, `{"workflow":"orders","input":`+test.input+`}`, test.field, test.rule)
	}
	if after := s.rows(); fmt.Sprint(after) != fmt.Sprint(before) {
		t.Errorf("rows %v, want %v", after, before)
	}
}
