package expr_test

import (
	"encoding/json"
	"errors"
	"testing"
	"unicode/utf8"

	"github.com/orrery-dev/orrery/shared/expr"
)

// fuzzScope is small in what it may use up, so that many inputs are tried.
func fuzzScope(input expr.Value) *expr.Scope {
	return &expr.Scope{
		Input:     input,
		Context:   func() *expr.Object { return object("Execution", object("Name", "run-1")) },
		Variables: object("v", object("x", expr.Number("7"))).Get,
		Draw:      drawer{},
		Limits:    expr.Limits{Steps: 20_000, Bytes: 100_000, Depth: 100},
	}
}

// wantResult checks what holds for every evaluation: it fails with an Error, or
// gives a value within its limits that is printed and read back as itself.
func wantResult(t *testing.T, v expr.Value, err error) {
	t.Helper()
	if err != nil {
		if e, ok := errors.AsType[*expr.Error](err); !ok || e.Name == "" || e.Cause == "" || !utf8.ValidString(e.Cause) {
			t.Fatalf("failed with %#v", err)
		}
		return
	}
	text := expr.Marshal(v)
	back, err := expr.Parse(text)
	if err != nil || !expr.Equal(v, back) {
		t.Fatalf("%q is read back as another value: %v", text, err)
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		`null`, `[true,false,null]`, `{"a":{"b":[1,-0,1.50,1e+400,"\u00e9\ud83d\ude00\n"]},"a":2}`, order, ` [ ] `, `"\ud800"`, "\"\x00\"", `01`, `[1,`, `{"a"`, "\xff",
		`123456789012345678901234567890.5E-3`, `[[[[[[]]]]]]`, `"\u0000"`, `{"":""}`, `1 2`, "\ufeff1",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		v, err := expr.Parse(text)
		if err != nil {
			e, ok := errors.AsType[*expr.SyntaxError](err)
			if !ok || e.Offset < 0 || e.Offset > len(text) || e.Line < 1 || e.Column < 1 {
				t.Fatalf("failed with %#v", err)
			}
			return
		}
		if !json.Valid(text) {
			t.Fatal("takes what encoding/json does not")
		}
		first := expr.Marshal(v)
		back, err := expr.Parse(first)
		if err != nil || !expr.Equal(v, back) {
			t.Fatalf("%q is read back as another value: %v", first, err)
		}
		if again := expr.Marshal(back); string(again) != string(first) {
			t.Fatalf("%q is printed again as %q", first, again)
		}
		if n, within := expr.Size(v, len(first)); n != len(first) || !within {
			t.Fatalf("%q has size %d", first, n)
		}
	})
}

func FuzzPath(f *testing.F) {
	for _, path := range []string{
		"$", "$$", "$v.x", "$.a.b[0]['c d']", "$.lines[*].sku", "$.lines[1:3]", "$.lines[0,2]", "$..sku", "$.lines[?(@.qty > 1 && @.sku != 's3')].price",
		"$.lines.[?(@.kind==book)]", "$.detail-type", `$.a\.b`, "$..*..*", "$[?(@ =~ /a(b|c)*/i)]", "$['a','b']", "$.lines[?(@.sku in ['s1'] || !(@.qty))]",
		"$.customer.tags[-1]", "$.x.length()", "$[", "$.a[?(", "$states", "$.lines[?($.id == @.sku)]", "$.a[?(@.b size 2)]",
	} {
		f.Add(path, order)
	}
	f.Add("$[0][1]", `[[1,2]]`)
	f.Fuzz(func(t *testing.T, path, doc string) {
		input, err := expr.Parse([]byte(doc))
		if err != nil {
			return
		}
		p, err := expr.ParsePath(path)
		if err != nil {
			return
		}
		if p.String() != path {
			t.Fatalf("%q is written %q", path, p)
		}
		v, err := p.Eval(fuzzScope(input))
		wantResult(t, v, err)
		if _, isList := v.([]expr.Value); !p.Definite() && err == nil && !isList {
			t.Fatalf("an indefinite path gives %T", v)
		}
		fuzzReference(t, path, input)
	})
}

// fuzzReference sets what a reference path leads to, and finds it again.
func fuzzReference(t *testing.T, path string, input expr.Value) {
	r, err := expr.ParseReferencePath(path)
	if err != nil {
		return
	}
	before := string(expr.Marshal(input))
	out, err := r.Set(input, "set")
	if after := string(expr.Marshal(input)); after != before {
		t.Fatalf("setting %q changed the input", path)
	}
	if err != nil {
		return
	}
	if got, ok := r.Get(out); !ok || got != "set" {
		t.Fatalf("%q is set, and then %v", path, got)
	}
}

func FuzzTemplate(f *testing.F) {
	for _, template := range []string{
		`{"a.$":"$.id","b":{"c.$":"$$.Execution.Name","d":["$.x",{"e.$":"$v.x"}]}}`,
		`{"a.$":"States.Format('{}', $)"}`, `{"a.$":1}`, `{".$":"$"}`, `[{"x.$":"$"},{"x":"$"}]`, `"$"`, `{"a":1,"a.$":"$"}`,
		`{"x.$":"States.Array($, $, $$)"}`,
	} {
		f.Add(template, order)
	}
	f.Fuzz(func(t *testing.T, template, doc string) {
		tree, err := expr.Parse([]byte(template))
		if err != nil {
			return
		}
		input, err := expr.Parse([]byte(doc))
		if err != nil {
			return
		}
		tmpl, problems := expr.ParseTemplate(tree)
		if (tmpl == nil) != (len(problems) > 0) {
			t.Fatalf("a template and problems: %v", problems)
		}
		if tmpl == nil {
			return
		}
		before := string(expr.Marshal(input))
		v, err := tmpl.Eval(fuzzScope(input))
		wantResult(t, v, err)
		if after := string(expr.Marshal(input)); after != before {
			t.Fatal("evaluating changed the input")
		}
		if c, ok := tmpl.Constant(); ok && !expr.Equal(c, v) {
			t.Fatal("the constant is not what evaluating gives")
		}
	})
}

func FuzzIntrinsic(f *testing.F) {
	for _, text := range []string{
		`States.Format('a {} \'b\' \{\}', $.id)`, `States.StringToJson('{"a":[1]}')`, `States.JsonToString($)`, `States.Array(1, -2.5e3, 'x', null, true, $.id)`,
		`States.ArrayPartition($.lines, 2)`, `States.ArrayContains($.lines, $.lines[0])`, `States.ArrayRange(1, 9, 2)`, `States.ArrayGetItem($.lines, 0)`,
		`States.ArrayLength($.lines[?(@.qty > 1)])`, `States.ArrayUnique($.matrix[*][*])`, `States.Base64Encode($.id)`, `States.Base64Decode('QTE=')`,
		`States.Hash($.id, 'SHA-256')`, `States.JsonMerge($, $.customer, false)`, `States.MathRandom(1, 9, 3)`, `States.MathRandom(1, 9)`, `States.MathAdd($.total, 0.5)`,
		`States.StringSplit($.id, 'A')`, `States.UUID()`, `States.Array(States.Array(States.Array()))`, `States.Format($.id)`, `States.Array(`, `States.Nope()`,
	} {
		f.Add(text, order)
	}
	f.Fuzz(func(t *testing.T, text, doc string) {
		input, err := expr.Parse([]byte(doc))
		if err != nil {
			return
		}
		tmpl, problems := expr.ParseTemplate(object("x.$", text))
		if problems != nil {
			return
		}
		v, err := tmpl.Eval(fuzzScope(input))
		wantResult(t, v, err)
		again, err2 := tmpl.Eval(fuzzScope(input))
		if (err == nil) != (err2 == nil) || err == nil && !expr.Equal(v, again) {
			t.Fatal("evaluated twice with the same draws, it gives another result")
		}
	})
}

func FuzzCondition(f *testing.F) {
	for _, text := range []string{
		`{"Variable":"$.id","StringMatches":"A*"}`, `{"And":[{"Variable":"$.total","NumericGreaterThan":1},{"Not":{"Variable":"$.note","IsNull":false}}]}`,
		`{"Or":[{"Variable":"$.lines[0].sku","StringEqualsPath":"$.id"},{"Variable":"$v","IsPresent":true}]}`, `{"Variable":"$.id","TimestampLessThan":"2016-03-14T01:59:00Z"}`,
		`{"Not":{}}`, `{"Variable":"$.id"}`,
	} {
		f.Add(text, order)
	}
	f.Fuzz(func(t *testing.T, text, doc string) {
		tree, err := expr.Parse([]byte(text))
		if err != nil {
			return
		}
		input, err := expr.Parse([]byte(doc))
		if err != nil {
			return
		}
		c, problems := expr.ParseCondition(tree)
		if (c == nil) != (len(problems) > 0) {
			t.Fatalf("a condition and problems: %v", problems)
		}
		if c != nil {
			ok, err := c.Holds(fuzzScope(input))
			wantResult(t, ok, err)
		}
	})
}
