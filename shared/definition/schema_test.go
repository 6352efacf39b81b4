package definition

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/orrery-dev/orrery/shared/expr"
)

func schemaOf(t testing.TB, text string) *Schema {
	t.Helper()
	s, err := NewSchema(parsed(t, text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func parsed(t testing.TB, text string) expr.Value {
	t.Helper()
	v, err := expr.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestSchemaCheck(t *testing.T) {
	const order = `{"type": "object", "required": ["id", "items"], "additionalProperties": false, "properties": {
		"id": {"type": "string", "format": "uuid"},
		"items": {"type": "array", "minItems": 1, "items": {"type": "object", "properties": {"n": {"type": "integer", "minimum": 1}}}},
		"a/b": {"const": 1}}}`
	for _, c := range []struct{ schema, value, want string }{
		{order, `{"id": "a1b2c3d4-0000-4000-8000-000000000000", "items": [{"n": 1}], "a/b": 1.0}`, ""},
		{order, `{}`, "does not fit the schema at / (required)"},
		{order, `7`, "does not fit the schema at / (type)"},
		{order, `{"id": "x", "items": [{"n": 1}, {"n": 0}, {"n": 1.5}], "a/b": 2, "more": 1}`,
			"does not fit the schema at / (additionalProperties), /a~1b (const), /id (format), /items/1/n (minimum), /items/2/n (type)"},
		{`{"items": {"type": "null"}}`, `[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]`,
			"does not fit the schema at /0 (type), /1 (type), /10 (type), /11 (type), /2 (type), /3 (type), /4 (type), /5 (type), /6 (type), /7 (type)"},
		{`{"type": "number", "maximum": 10}`, `1e999999999`, "does not fit the schema at / (maximum)"},
		{`{"type": "number", "multipleOf": 0.01}`, `12345678901234567890.12`, ""},
		{`{"multipleOf": 3}`, `1e-999999999`, ""},
		{`true`, `{"any": "thing"}`, ""},
		{`{"$schema": "http://json-schema.org/draft-04/schema#", "maximum": 3, "exclusiveMaximum": true}`, `3`, "does not fit the schema at / (exclusiveMaximum)"},
		{`{"$dynamicAnchor": "n", "properties": {"n": {"$dynamicRef": "#n"}}, "required": ["n"]}`, `{"n": {"n": {}}}`, "does not fit the schema at /n/n (required)"},
	} {
		got := ""
		if err := schemaOf(t, c.schema).Check(parsed(t, c.value)); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s against %s:\ngot  %s\nwant %s", c.value, c.schema, got, c.want)
		}
	}
	if faults := schemaOf(t, `{"type": "string"}`).Check(expr.Number("1")).(FaultList); faults[0].Message != "got number, want string" {
		t.Errorf("%+v", faults)
	}
}

// TestSchemaIsBounded has schemas that are short and would take for ever.
func TestSchemaIsBounded(t *testing.T) {
	doubles := func(top, last string) string {
		var b strings.Builder
		fmt.Fprintf(&b, `{%s, "$defs": {"a0": %s`, top, last)
		for i := 1; i <= 60; i++ {
			fmt.Fprintf(&b, `, "a%d": {"allOf": [{"$ref": "#/$defs/a%d"}, {"$ref": "#/$defs/a%d"}]}`, i, i-1, i-1)
		}
		return b.String() + "}}"
	}
	patterns := make([]string, 1000)
	for i := range patterns {
		patterns[i] = fmt.Sprintf(`"^(a|b|%d)*$": true`, i)
	}
	members := make([]string, 2000)
	for i := range members {
		members[i] = fmt.Sprintf(`"ab%d": 1`, i)
	}
	deep := strings.Repeat(`[`, 200) + strings.Repeat(`]`, 200)
	for name, c := range map[string]struct{ schema, value string }{
		"doubles":     {doubles(`"$ref": "#/$defs/a60"`, `{"type": "string"}`), `1`},
		"doubled not": {doubles(`"not": {"$ref": "#/$defs/a60"}`, `true`), `1`},
		"depth":       {`{"items": {"$ref": "#"}, "allOf": [{"items": {"$ref": "#"}}]}`, deep},
		"patterns":    {`{"patternProperties": {` + strings.Join(patterns, ",") + `}}`, `{` + strings.Join(members, ",") + `}`},
	} {
		err := schemaOf(t, c.schema).Check(parsed(t, c.value))
		var list FaultList
		if !errors.As(err, &list) || list[0].Keyword != "$schema" || !strings.Contains(list[0].Message, "more than 250000 steps") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestSchemaServesManyAtOnce checks with one schema from several goroutines.
func TestSchemaServesManyAtOnce(t *testing.T) {
	s := schemaOf(t, `{"items": {"type": "number"}}`)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 50 {
				if s.Check(parsed(t, `[1, 2]`)) != nil || s.Check(parsed(t, `[1, "2"]`)) == nil {
					t.Error("a wrong answer")
				}
			}
		})
	}
	all.Wait()
}

func TestRulesOfADocument(t *testing.T) {
	const text = `{"StartAt": "A", "States": {"A": {"Type": "Succeed"}}}`
	usual, _ := Parse([]byte(text), Options{})
	strict, _ := Parse([]byte(text), Options{Strict: true})
	if usual.Hash == strict.Hash {
		t.Error("one hash for two sets of rules")
	}
	if l := usual.Machine.Limits(); l != (Limits{PayloadBytes: 262_144}) || usual.Machine.Strict() {
		t.Errorf("%+v", l)
	}
	if l := strict.Machine.Limits(); l != (Limits{Events: 25_000, PayloadBytes: 262_144}) || !strict.Machine.Strict() {
		t.Errorf("strict: %+v", l)
	}
	limited, _ := Parse([]byte(`{"Limits": {"Events": 9, "FanOut": 8}, "StartAt": "M", "States": {"M": {"Type": "Map", "End": true,
		"ItemProcessor": {"StartAt": "A", "States": {"A": {"Type": "Succeed"}}}}}}`), Options{})
	if l := limited.Machine.Run("M").Limits(); l != (Limits{Events: 9, FanOut: 8, PayloadBytes: 262_144}) {
		t.Errorf("inside: %+v", l)
	}
}
