package expr_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/orrery-dev/orrery/shared/expr"
)

// scope is what most tests see.
func scope(t *testing.T, input string) *expr.Scope {
	return &expr.Scope{
		Input:     parse(t, input),
		Context:   func() *expr.Object { return object("Execution", object("Name", "run-1")) },
		Variables: object("v", object("x", expr.Number("7")), "text", "from variable").Get,
		Draw:      drawer{},
	}
}

func template(t *testing.T, text string) *expr.Template {
	t.Helper()
	tmpl, problems := expr.ParseTemplate(parse(t, text))
	if problems != nil {
		t.Fatalf("%s: %v", text, problems)
	}
	return tmpl
}

func TestTemplateFillsIn(t *testing.T) {
	input := `{"a":1,"b":{"c":[1,2,null]},"n":null}`
	for _, tc := range []struct{ template, want string }{
		{`{"x.$":"$.a"}`, `{"x":1}`},
		{`{"x.$":"$"}`, `{"x":{"a":1,"b":{"c":[1,2,null]},"n":null}}`},
		{`{"x.$":"$.n"}`, `{"x":null}`},
		{`{"x.$":"$$.Execution.Name"}`, `{"x":"run-1"}`},
		{`{"x.$":"$$"}`, `{"x":{"Execution":{"Name":"run-1"}}}`},
		{`{"x.$":"$v"}`, `{"x":{"x":7}}`},
		{`{"x.$":"$v.x"}`, `{"x":7}`},
		{`{"x.$":"States.ArrayLength($.b.c)"}`, `{"x":3}`},
		{`{"keep":1,"x":{"deep":[{"y.$":"$.a"},2]},"last":"$.a"}`, `{"keep":1,"x":{"deep":[{"y":1},2]},"last":"$.a"}`},
		{`{"a.$.$":"$.a",".$":"$.a"}`, `{"a.$":1,"":1}`},
		{`{"x":"States.UUID()","y":"$$.Execution","z":"$v"}`, `{"x":"States.UUID()","y":"$$.Execution","z":"$v"}`},
		{`{"x.$":"$.b.c[?(@ > 1)]"}`, `{"x":[2]}`},
		{`{}`, `{}`},
		{`[{"x.$":"$.a"}]`, `[{"x":1}]`},
		{`"$.a"`, `"$.a"`},
		{`null`, `null`},
	} {
		v, err := template(t, tc.template).Eval(scope(t, input))
		if got := string(expr.Marshal(v)); err != nil || got != tc.want {
			t.Errorf("%s: %s %v, want %s", tc.template, got, err, tc.want)
		}
	}
}

func TestTemplateFails(t *testing.T) {
	for _, tc := range []struct{ template, input, cause string }{
		{`{"JobName.$":"$.JobName"}`, `{}`, `The JSONPath '$.JobName' specified for the field 'JobName.$' could not be found in the input '{}'`},
		{`{"a":{"b.$":"$.x.y"}}`, `{"flagged":false}`, `The JSONPath '$.x.y' specified for the field 'b.$' could not be found in the input '{"flagged":false}'`},
		{`{"a.$":"$$.Nope"}`, `{}`, `The JSONPath '$$.Nope' specified for the field 'a.$' could not be found in the input '{"Execution":{"Name":"run-1"}}'`},
		{`{"a.$":"$v.y"}`, `{}`, `The JSONPath '$v.y' specified for the field 'a.$' could not be found in the input '{"x":7}'`},
		{`{"a.$":"$none"}`, `{}`, `The variable 'none' of the JSONPath '$none' has no value.`},
		{`{"a.$":"$[1:5]"}`, `{}`, `The JSONPath '$[1:5]' specified for the field 'a.$' could not be found in the input '{}'`},
		{`{"a.$":"$.x"}`, `null`, `Unable to apply Path transformation to null or empty input.`},
		{`{"a.$":"States.Format('{}', $.nope)"}`, `{"other":1}`,
			`The function 'States.Format('{}', $.nope)' had the following error: The JsonPath argument for the field '$.nope' could not be found in the input '{"other":1}'`},
		{`{"a.$":"States.Format('{}',States.Array($.nope))"}`, `{"other":1}`, // the whole expression, as written
			`The function 'States.Format('{}',States.Array($.nope))' had the following error: The JsonPath argument for the field '$.nope' could not be found in the input '{"other":1}'`},
	} {
		_, err := template(t, tc.template).Eval(scope(t, tc.input))
		wantError(t, tc.template, err, expr.StatesRuntime, tc.cause)
	}
}

func TestTemplateQuotesLittleOfALargeInput(t *testing.T) {
	sc := &expr.Scope{Input: object("a", strings.Repeat("x", 100_000))}
	_, err := template(t, `{"b.$":"$.b"}`).Eval(sc)
	wantError(t, "a large input", err, expr.StatesRuntime,
		"The JSONPath '$.b' specified for the field 'b.$' could not be found in the input '(object of more than 16384 bytes)'")
}

func TestTemplateProblems(t *testing.T) {
	_, problems := expr.ParseTemplate(parse(t, `{
		"ok.$": "$.a",
		"plain.$": "text",
		"number.$": 1,
		"path.$": "$.a b",
		"call.$": "States.Nope()",
		"deep": [{"a/b~c": {"x.$": ""}}],
		"same": 1,
		"same.$": "$.a"
	}`))
	want := []expr.Problem{
		{Pointer: "/plain.$", Rule: expr.RulePath, Message: `"text" is neither a path, which begins with $, nor the call of an intrinsic function, which begins with States.`},
		{Pointer: "/number.$", Rule: expr.RuleType, Message: "a path or the call of an intrinsic function is needed here, not a value of type number"},
		{Pointer: "/path.$", Rule: expr.RulePath, Message: `"$.a b" is not a path: unexpected text at position 4`},
		{Pointer: "/call.$", Rule: expr.RuleIntrinsic, Message: `"States.Nope()" is not the call of an intrinsic function: there is no function "States.Nope" at position 1`},
		{Pointer: "/deep/0/a~1b~0c/x.$", Rule: expr.RulePath, Message: `"" is neither a path, which begins with $, nor the call of an intrinsic function, which begins with States.`},
		{Pointer: "/same.$", Rule: expr.RuleExclusive, Message: `"same.$" and "same" give the same member`},
	}
	if !reflect.DeepEqual(problems, want) {
		t.Errorf("got  %v\nwant %v", problems, want)
	}
}

func TestTemplateConstant(t *testing.T) {
	if v, ok := template(t, `{"a":[1,{"b":"$.c"}]}`).Constant(); !ok || string(expr.Marshal(v)) != `{"a":[1,{"b":"$.c"}]}` {
		t.Errorf("%v %t", v, ok)
	}
	if _, ok := template(t, `{"a":[{"b.$":"$.c"}]}`).Constant(); ok {
		t.Error("a template with an expression is constant")
	}
}

func TestTemplateReferences(t *testing.T) {
	refs := template(t, `{
		"a.$": "$.x", "b": [{"c.$": "$$.Execution.Id"}],
		"d.$": "States.Format('{}{}', $v.x, States.Array($w, $v))"
	}`).References()
	if !refs.Input || !refs.Context || refs.Chance {
		t.Errorf("input %t, context %t, chance %t", refs.Input, refs.Context, refs.Chance)
	}
	if want := []string{"v", "w"}; !reflect.DeepEqual(refs.Variables, want) {
		t.Errorf("variables %v, want %v", refs.Variables, want)
	}
	var paths []string
	for _, p := range refs.Paths {
		paths = append(paths, p.String())
	}
	if want := []string{"$.x", "$$.Execution.Id", "$v.x", "$w", "$v"}; !reflect.DeepEqual(paths, want) {
		t.Errorf("paths %v, want %v", paths, want)
	}
	for _, text := range []string{`{"a.$":"States.UUID()"}`, `{"a.$":"States.Array(States.MathRandom(1, 2))"}`} {
		if refs := template(t, text).References(); !refs.Chance || refs.Input {
			t.Errorf("%s: %+v", text, refs)
		}
	}
}
