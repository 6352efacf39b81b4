package expr_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/orrery-dev/orrery/shared/expr"
)

func language(t *testing.T) expr.Language {
	t.Helper()
	lang, err := expr.LanguageOf("")
	if err != nil {
		t.Fatal(err)
	}
	return lang
}

func flow(t *testing.T, kind expr.Kind, state string) expr.Flow {
	t.Helper()
	f, problems := language(t).Flow(kind, parse(t, state).(*expr.Object))
	if problems != nil {
		t.Fatalf("%s: %v", state, problems)
	}
	return f
}

func TestLanguages(t *testing.T) {
	for _, name := range []string{"", "JSONPath"} {
		if lang, err := expr.LanguageOf(name); err != nil || lang.Name() != "JSONPath" {
			t.Errorf("%q: %v %v", name, lang, err)
		}
	}
	if _, err := expr.LanguageOf("JSONata"); err != expr.ErrNotBuilt {
		t.Errorf("JSONata: %v", err)
	}
	if _, err := expr.LanguageOf("jsonpath"); err != expr.ErrUnknownLanguage {
		t.Errorf("jsonpath: %v", err)
	}
	lang := language(t)
	for _, tc := range []struct {
		kind  expr.Kind
		field string
		want  bool
	}{
		{expr.Pass, "Result", true}, {expr.Task, "Result", false}, {expr.Fail, "InputPath", false}, {expr.Wait, "InputPath", true},
		{expr.Choice, "ResultPath", false}, {expr.Map, "ItemSelector", true}, {expr.Catch, "ResultPath", true}, {expr.Catch, "ResultSelector", false},
		{expr.Task, "Arguments", false}, {expr.Task, "Next", false}, {expr.Succeed, "Assign", false}, {expr.Wait, "SecondsPath", true},
	} {
		if got := lang.Owns(tc.kind, tc.field); got != tc.want {
			t.Errorf("%s owns %s: %t", tc.kind, tc.field, got)
		}
	}
}

// Each line is one state from its raw input and the result of its work to what
// it works on and what it gives.
func TestFlow(t *testing.T) {
	for _, tc := range []struct {
		name         string
		kind         expr.Kind
		state, input string
		effective    string
		result       string // empty: the effective input
		output       string
		assigned     string // empty: nothing
	}{
		{"nothing said", expr.Task, `{}`, `{"a":1}`, `{"a":1}`, `[2]`, `[2]`, ""},
		{"InputPath", expr.Task, `{"InputPath":"$.a"}`, `{"a":1}`, `1`, `2`, `2`, ""},
		{"InputPath null", expr.Task, `{"InputPath":null}`, `{"a":1}`, `{}`, `2`, `2`, ""},
		{"InputPath of the context", expr.Pass, `{"InputPath":"$$"}`, `1`, `{"Execution":{"Name":"run-1"}}`, "", `{"Execution":{"Name":"run-1"}}`, ""},
		{"InputPath of a variable", expr.Pass, `{"InputPath":"$v.x"}`, `1`, `7`, "", `7`, ""},
		{"InputPath, then Parameters", expr.Task, `{"InputPath":"$.a","Parameters":{"x.$":"$.b"}}`, `{"a":{"b":5}}`, `{"x":5}`, `0`, `0`, ""},
		{"ResultSelector", expr.Task, `{"ResultSelector":{"n.$":"$.v"}}`, `{}`, `{}`, `{"v":3,"w":4}`, `{"n":3}`, ""},
		{"ResultPath", expr.Task, `{"ResultPath":"$.r"}`, `{"a":1}`, `{"a":1}`, `2`, `{"a":1,"r":2}`, ""},
		{"ResultPath of the whole", expr.Task, `{"ResultPath":"$"}`, `{"a":1}`, `{"a":1}`, `2`, `2`, ""},
		{"ResultPath null keeps the raw input", expr.Task, `{"InputPath":"$.a","ResultPath":null}`, `{"a":1}`, `1`, `2`, `{"a":1}`, ""},
		{"ResultPath goes into the raw input", expr.Task, `{"InputPath":"$.a","ResultPath":"$.r.s"}`, `{"a":1}`, `1`, `2`, `{"a":1,"r":{"s":2}}`, ""},
		{"OutputPath", expr.Task, `{"ResultPath":"$.r","OutputPath":"$.r"}`, `{"a":1}`, `{"a":1}`, `2`, `2`, ""},
		{"OutputPath null", expr.Task, `{"OutputPath":null}`, `{"a":1}`, `{"a":1}`, `2`, `{}`, ""},
		{"OutputPath of the context", expr.Pass, `{"OutputPath":"$$.Execution"}`, `1`, `1`, "", `{"Name":"run-1"}`, ""},
		{"OutputPath of a variable", expr.Pass, `{"OutputPath":"$text"}`, `1`, `1`, "", `"from variable"`, ""},
		{"all together", expr.Task, `{"InputPath":"$.in","Parameters":{"p.$":"$.x"},"ResultSelector":{"s.$":"$.y"},"ResultPath":"$.out","OutputPath":"$.out.s"}`,
			`{"in":{"x":1}}`, `{"p":1}`, `{"y":[9]}`, `[9]`, ""},
		{"Pass", expr.Pass, `{}`, `{"a":1}`, `{"a":1}`, "", `{"a":1}`, ""},
		{"Pass with Parameters", expr.Pass, `{"Parameters":{"b.$":"$.a"},"ResultPath":"$.c"}`, `{"a":1}`, `{"b":1}`, "", `{"a":1,"c":{"b":1}}`, ""},
		{"Pass with Result", expr.Pass, `{"Result":{"x.$":"$.a","y":"$.a"}}`, `{"a":1}`, `{"x.$":"$.a","y":"$.a"}`, "", `{"x.$":"$.a","y":"$.a"}`, ""}, // plain text
		{"Result wins over Parameters", expr.Pass, `{"InputPath":"$.none","Parameters":{"b.$":"$.none"},"Result":2,"ResultPath":"$.r"}`, `{"a":1}`, `2`, "", `{"a":1,"r":2}`, ""},
		{"Pass with Result null", expr.Pass, `{"Result":null}`, `{"a":1}`, `null`, "", `null`, ""},
		{"Parallel", expr.Parallel, `{"Parameters":{"x.$":"$.a"},"ResultSelector":{"first.$":"$[0]"}}`, `{"a":1}`, `{"x":1}`, `[5,6]`, `{"first":5}`, ""},
		{"Map leaves Parameters to its items", expr.Map, `{"InputPath":"$.a","Parameters":{"x":1}}`, `{"a":[1]}`, `[1]`, `[2]`, `[2]`, ""},
		{"Choice", expr.Choice, `{"InputPath":"$.a","OutputPath":"$.b"}`, `{"a":{"b":1}}`, `{"b":1}`, "", `1`, ""},
		{"Wait", expr.Wait, `{"InputPath":"$.a"}`, `{"a":1}`, `1`, "", `1`, ""},
		{"Succeed", expr.Succeed, `{"OutputPath":"$.a"}`, `{"a":1}`, `{"a":1}`, "", `1`, ""},
		// Assign reads the result: of a Pass what it gives, of work what it gave.
		{"Assign in Pass with Result", expr.Pass, `{"Result":{"answer":42},"Assign":{"n.$":"$.answer"}}`, `{}`, `{"answer":42}`, "", `{"answer":42}`, `{"n":42}`},
		{"Assign in Pass with Parameters", expr.Pass, `{"Parameters":{"input":"PENDING"},"Assign":{"r.$":"$.input"}}`, `{}`, `{"input":"PENDING"}`, "", `{"input":"PENDING"}`, `{"r":"PENDING"}`},
		{"Assign in Task", expr.Task, `{"ResultSelector":{"s.$":"$.y"},"ResultPath":null,"Assign":{"y.$":"$.y","old.$":"$v.x","c.$":"$$.Execution.Name"}}`,
			`{}`, `{}`, `{"y":1}`, `{}`, `{"y":1,"old":7,"c":"run-1"}`},
		{"Assign in Wait", expr.Wait, `{"InputPath":"$.a","Assign":{"x.$":"$"}}`, `{"a":1}`, `1`, "", `1`, `{"x":1}`},
		{"Assign of a tree", expr.Pass, `{"Assign":{"o":{"n.$":"$.a","s":"$.a"}}}`, `{"a":1}`, `{"a":1}`, "", `{"a":1}`, `{"o":{"n":1,"s":"$.a"}}`},
		{"arrays in Assign are plain", expr.Pass, `{"Assign":{"l":["$.a",{"x.$":"$.a"},["$v"]]}}`, `{"a":1}`, `{"a":1}`, "", `{"a":1}`, `{"l":["$.a",{"x.$":"$.a"},["$v"]]}`},
	} {
		f := flow(t, tc.kind, tc.state)
		entry, err := f.Enter(scope(t, tc.input))
		if got := string(expr.Marshal(entry.Effective)); err != nil || got != tc.effective {
			t.Errorf("%s: effective %s %v, want %s", tc.name, got, err, tc.effective)
			continue
		}
		result := entry.Effective
		if tc.result != "" {
			result = parse(t, tc.result)
		}
		out, err := f.Leave(scope(t, tc.input), result)
		if got := string(expr.Marshal(out.Output)); err != nil || got != tc.output {
			t.Errorf("%s: output %s %v, want %s", tc.name, got, err, tc.output)
		}
		assigned := ""
		if out.Assigned != nil {
			assigned = string(expr.Marshal(out.Assigned))
		}
		if assigned != tc.assigned {
			t.Errorf("%s: assigned %s, want %s", tc.name, assigned, tc.assigned)
		}
	}
}

func TestFlowItems(t *testing.T) {
	for _, tc := range []struct{ state, item, want string }{
		{`{}`, `"x"`, `"x"`},
		{`{"ItemSelector":{"i.$":"$$.Map.Item.Index","v.$":"$$.Map.Item.Value","all.$":"$","run.$":"$$.Execution.Name","plain":"$v","var.$":"$v.x"}}`, `{"n":1}`,
			`{"i":3,"v":{"n":1},"all":["raw"],"run":"run-1","plain":"$v","var":7}`},
		{`{"Parameters":{"v.$":"$$.Map.Item.Value.n"}}`, `{"n":1}`, `{"v":1}`},
	} {
		v, err := flow(t, expr.Map, tc.state).Item(scope(t, `["raw"]`), 3, parse(t, tc.item))
		if got := string(expr.Marshal(v)); err != nil || got != tc.want {
			t.Errorf("%s: %s %v, want %s", tc.state, got, err, tc.want)
		}
	}
	_, err := flow(t, expr.Map, `{"ItemSelector":{"a.$":"$.x"}}`).Item(scope(t, `{}`), 0, nil)
	wantError(t, "ItemSelector", err, expr.StatesRuntime, "The JSONPath '$.x' specified for the field 'a.$' could not be found in the input '{}'")
}

// The context object is made once, however many scopes come from one.
func TestContextIsMadeOnce(t *testing.T) {
	made := 0
	sc := scope(t, `{}`)
	sc.Context = func() *expr.Object { made++; return object("a", expr.Number("1")) }
	f := flow(t, expr.Task, `{"Parameters":{"x.$":"$$.a"},"ResultSelector":{"x.$":"$$.a"},"Assign":{"x.$":"$$.a"},"OutputPath":"$$.a"}`)
	if _, err := f.Enter(sc); err != nil {
		t.Error(err)
	}
	if _, err := f.Leave(sc, nil); err != nil {
		t.Error(err)
	}
	if sc.WithItem(0, nil); made != 1 {
		t.Errorf("made %d times", made)
	}
}

// The items of a Map in a Map see their own item.
func TestFlowItemsNest(t *testing.T) {
	f := flow(t, expr.Map, `{"ItemSelector":{"v.$":"$$.Map.Item.Value","run.$":"$$.Execution.Name"}}`)
	outer := scope(t, `{}`).WithItem(0, "outer")
	v, err := f.Item(outer, 1, "inner")
	if got := string(expr.Marshal(v)); err != nil || got != `{"v":"inner","run":"run-1"}` {
		t.Errorf("%s %v", got, err)
	}
	if v, err := must(expr.ParsePath("$$.Map.Item.Value")).Eval(outer); err != nil || v != "outer" {
		t.Errorf("the outer item is %v %v", v, err)
	}
}

func TestFlowFails(t *testing.T) {
	for _, tc := range []struct {
		kind         expr.Kind
		state, input string
		enters       bool
		name, cause  string
	}{
		{expr.Task, `{"InputPath":"$.x"}`, `{}`, false, expr.StatesRuntime, "Invalid path '$.x' : No results for path: $['x']"},
		{expr.Task, `{"Parameters":{"p.$":"$.x"}}`, `{}`, false, expr.StatesRuntime, "The JSONPath '$.x' specified for the field 'p.$' could not be found in the input '{}'"},
		{expr.Task, `{"ResultSelector":{"p.$":"$.x"}}`, `{}`, true, expr.StatesRuntime, "The JSONPath '$.x' specified for the field 'p.$' could not be found in the input '{}'"},
		{expr.Task, `{"ResultPath":"$.a.b"}`, `{"a":1}`, true, expr.StatesRuntime, `Unable to apply ReferencePath $.a.b to input {"a":1}`},
		{expr.Task, `{"OutputPath":"$.no.such.path"}`, `{}`, true, expr.StatesRuntime, "Invalid path '$.no.such.path' : Missing property in path $['no']"},
		{expr.Task, `{"Assign":{"a.$":"$.x"}}`, `{}`, true, expr.StatesRuntime, "The JSONPath '$.x' specified for the field 'a.$' could not be found in the input '{}'"},
		{expr.Pass, `{"Assign":{"a.$":"$.big"}}`, `{"big":"` + strings.Repeat("x", 256<<10) + `"}`, true, expr.StatesDataLimitExceeded,
			"The variables that the state assigns are larger than 262144 bytes."},
	} {
		f := flow(t, tc.kind, tc.state)
		entry, err := f.Enter(scope(t, tc.input))
		if tc.enters {
			if err != nil {
				t.Errorf("%s: %v", tc.state, err)
			}
			result := entry.Effective
			if tc.kind == expr.Task {
				result = object()
			}
			_, err = f.Leave(scope(t, tc.input), result)
		}
		wantError(t, tc.state, err, tc.name, tc.cause)
	}
}

func TestFlowTrace(t *testing.T) {
	for _, tc := range []struct {
		kind         expr.Kind
		state, steps string
	}{
		{expr.Pass, `{"InputPath":"$.a"}`, `afterInputPath=1 afterParameters=1 afterResultSelector=1 afterResultPath=1`},
		{expr.Pass, `{"Result":2,"ResultPath":"$.r"}`, `result=2 afterResultSelector=2 afterResultPath={"a":1,"r":2}`},
		{expr.Task, `{"Parameters":{"x":0}}`, `afterInputPath={"a":1} afterParameters={"x":0} afterResultSelector={"x":0} afterResultPath={"x":0}`},
		{expr.Map, `{"InputPath":"$.a"}`, `afterInputPath=1 afterResultSelector=1 afterResultPath=1`},
		{expr.Choice, `{}`, `afterInputPath={"a":1}`},
		{expr.Succeed, `{}`, `afterInputPath={"a":1}`},
	} {
		sc := scope(t, `{"a":1}`)
		var steps []string
		sc.Trace = func(step string, v expr.Value) { steps = append(steps, fmt.Sprintf("%s=%s", step, expr.Marshal(v))) }
		f := flow(t, tc.kind, tc.state)
		entry, err := f.Enter(sc)
		if err == nil {
			_, err = f.Leave(sc, entry.Effective)
		}
		if got := strings.Join(steps, " "); err != nil || got != tc.steps {
			t.Errorf("%s %s:\n got %s %v\nwant %s", tc.kind, tc.state, got, err, tc.steps)
		}
	}
}

func TestFlowProblems(t *testing.T) {
	for _, tc := range []struct {
		kind  expr.Kind
		state string
		want  []expr.Problem
	}{
		{expr.Task, `{"InputPath":1,"OutputPath":"a","Parameters":[],"ResultSelector":"$","ResultPath":"$$.x"}`, []expr.Problem{
			{Pointer: "/InputPath", Rule: expr.RuleType, Message: "a path is needed here, not a value of type number"},
			{Pointer: "/OutputPath", Rule: expr.RulePath, Message: `"a" is not a path: it does not begin with $ at position 1`},
			{Pointer: "/Parameters", Rule: expr.RuleType, Message: "an object is needed here, not a value of type array"},
			{Pointer: "/ResultSelector", Rule: expr.RuleType, Message: "an object is needed here, not a value of type string"},
			{Pointer: "/ResultPath", Rule: expr.RuleReference, Message: `"$$.x" is not a reference path`},
		}},
		{expr.Task, `{"Parameters":{"a":{"b.$":"x"}}}`, []expr.Problem{
			{Pointer: "/Parameters/a/b.$", Rule: expr.RulePath, Message: `"x" is neither a path, which begins with $, nor the call of an intrinsic function, which begins with States.`},
		}},
		{expr.Map, `{"ItemSelector":{},"Parameters":{}}`, []expr.Problem{
			{Pointer: "/Parameters", Rule: expr.RuleExclusive, Message: "only one of ItemSelector and Parameters may be there"},
		}},
		{expr.Pass, `{"Assign":[]}`, []expr.Problem{{Pointer: "/Assign", Rule: expr.RuleType, Message: "an object is needed here, not a value of type array"}}},
		{expr.Pass, `{"Assign":{"states":1,"1a":2,"a.b.$":"$","":3,"ok_1":4,"größe":5}}`, []expr.Problem{
			{Pointer: "/Assign/states", Rule: expr.RuleVariable, Message: `the name "states" is reserved`},
			{Pointer: "/Assign/1a", Rule: expr.RuleVariable, Message: "the name of a variable cannot have '1' there"},
			{Pointer: "/Assign/a.b.$", Rule: expr.RuleVariable, Message: "the name of a variable cannot have '.' there"},
			{Pointer: "/Assign/", Rule: expr.RuleVariable, Message: "the name of a variable cannot be empty"},
		}},
	} {
		f, problems := language(t).Flow(tc.kind, parse(t, tc.state).(*expr.Object))
		if f != nil || !reflect.DeepEqual(problems, tc.want) {
			t.Errorf("%s:\n got %v\nwant %v", tc.state, problems, tc.want)
		}
	}
	// What a kind does not have is not read.
	if f, problems := language(t).Flow(expr.Fail, parse(t, `{"InputPath":1,"Assign":2}`).(*expr.Object)); f == nil || problems != nil {
		t.Errorf("Fail: %v", problems)
	}
}

func TestFlowReferences(t *testing.T) {
	refs := flow(t, expr.Map, `{"InputPath":"$a","OutputPath":"$b","ItemSelector":{"x.$":"$c"},"ResultSelector":{"x.$":"$d"},"Assign":{"e.$":"States.Array($e, States.UUID())"}}`).References()
	if !reflect.DeepEqual(refs.Variables, []string{"a", "b", "c", "d", "e"}) || !refs.Chance {
		t.Errorf("%+v", refs)
	}
}

func rule(t *testing.T, choice, rule string) expr.Rule {
	t.Helper()
	r, problems := language(t).Rule(parse(t, choice).(*expr.Object), parse(t, rule).(*expr.Object))
	if problems != nil {
		t.Fatalf("%s: %v", rule, problems)
	}
	return r
}

func TestRule(t *testing.T) {
	r := rule(t, `{"OutputPath":"$.out","Assign":{"other":1}}`,
		`{"Variable":"$.n","NumericEquals":42,"Assign":{"status":"CORRECT","n.$":"$.n"},"Next":"X","Comment":"c"}`)
	sc := scope(t, `{"n":42,"out":5}`)
	if ok, err := r.Holds(sc); !ok || err != nil {
		t.Fatalf("%t %v", ok, err)
	}
	out, err := r.Leave(sc, sc.Input)
	if err != nil || string(expr.Marshal(out.Output)) != "5" || string(expr.Marshal(out.Assigned)) != `{"status":"CORRECT","n":42}` {
		t.Errorf("%s %s %v", expr.Marshal(out.Output), expr.Marshal(out.Assigned), err)
	}
	if refs := r.References(); len(refs.Paths) != 3 {
		t.Errorf("%+v", refs)
	}
	// The Choice's own Assign serves its Default only.
	if out, err := rule(t, `{"Assign":{"other":1}}`, `{"Variable":"$.n","IsPresent":true}`).Leave(sc, sc.Input); err != nil || out.Assigned != nil {
		t.Errorf("%v %v", out.Assigned, err)
	}
	_, err = r.Leave(scope(t, `{}`), object("n", expr.Number("1")))
	wantError(t, "OutputPath", err, expr.StatesRuntime, "Invalid path '$.out' : No results for path: $['out']")
	_, err = r.Leave(scope(t, `{}`), object("out", expr.Number("1")))
	wantError(t, "Assign", err, expr.StatesRuntime, `The JSONPath '$.n' specified for the field 'n.$' could not be found in the input '{"out":1}'`)
}

func TestRuleProblems(t *testing.T) {
	r, problems := language(t).Rule(object("OutputPath", expr.Number("1")), object("Variable", "$", "Output", "x", "Assign", nil))
	want := []expr.Problem{
		{Pointer: "/Output", Rule: expr.RuleCondition, Message: `there is no operator "Output"`},
		{Rule: expr.RuleCondition, Message: "a condition needs And, Or, Not or an operator"},
		{Pointer: "/Assign", Rule: expr.RuleType, Message: "an object is needed here, not a value of type null"},
	}
	if r != nil || !reflect.DeepEqual(problems, want) {
		t.Errorf("got %v", problems)
	}
}

func TestCatcher(t *testing.T) {
	for _, tc := range []struct{ catcher, output, assigned string }{
		{`{}`, `{"Error":"E","Cause":"{\"why\":1}"}`, ""}, // the cause stays text
		{`{"ResultPath":"$.failure"}`, `{"raw":1,"failure":{"Error":"E","Cause":"{\"why\":1}"}}`, ""},
		{`{"ResultPath":null}`, `{"raw":1}`, ""},
		{`{"ResultPath":null,"Assign":{"e.$":"$.Error","all.$":"$"}}`, `{"raw":1}`, `{"e":"E","all":{"Error":"E","Cause":"{\"why\":1}"}}`},
	} {
		c, problems := language(t).Catcher(parse(t, tc.catcher).(*expr.Object))
		if problems != nil {
			t.Fatal(problems)
		}
		out, err := c.Leave(scope(t, `{"raw":1}`), "E", `{"why":1}`)
		assigned := ""
		if out.Assigned != nil {
			assigned = string(expr.Marshal(out.Assigned))
		}
		if got := string(expr.Marshal(out.Output)); err != nil || got != tc.output || assigned != tc.assigned {
			t.Errorf("%s: %s %s %v", tc.catcher, got, assigned, err)
		}
		if refs := c.References(); refs.Input != strings.Contains(tc.catcher, "Assign") {
			t.Errorf("%s: %+v", tc.catcher, refs)
		}
	}
	c, _ := language(t).Catcher(object("Assign", object("x.$", "$.nope"), "ResultPath", "$.a.b"))
	_, err := c.Leave(scope(t, `{}`), "", "")
	wantError(t, "Assign", err, expr.StatesRuntime, `The JSONPath '$.nope' specified for the field 'x.$' could not be found in the input '{"Error":"","Cause":""}'`)
	if c, problems := language(t).Catcher(object("ResultPath", "$..a")); c != nil || len(problems) != 1 {
		t.Errorf("%v", problems)
	}
}
