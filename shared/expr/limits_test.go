package expr_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/orrery-dev/orrery/shared/expr"
)

// nested is an array in an array, depth deep.
func nested(depth int) expr.Value {
	var v expr.Value = []expr.Value{}
	for range depth - 1 {
		v = []expr.Value{v}
	}
	return v
}

// comb is nested depth deep, with n numbers at each level.
func comb(depth, n int) expr.Value {
	var v expr.Value
	for range depth {
		list := []expr.Value{v}
		for range n {
			list = append(list, expr.Number("0"))
		}
		v = list
	}
	return v
}

// wide is an array of n objects.
func wide(n int) []expr.Value {
	list := make([]expr.Value, n)
	for i := range list {
		list[i] = object("id", expr.NumberOf(int64(i)), "name", fmt.Sprint("name ", i))
	}
	return list
}

// Expressions that would take for ever, or give more than fits, end with an
// error.
func TestHostileExpressionsEnd(t *testing.T) {
	list := wide(20_000)
	for _, tc := range []struct {
		name, text string
		input      expr.Value
	}{
		{"every descendant of every descendant", "$..*..*..*..*", nested(500)},
		{"a filter over all for each of all", "$[?($[?(@.id == 1)])]", list},
		{"a filter over all descendants for each", "$..[?(@..[?(@.id == 1)])]", comb(300, 50)},
		{"comparing all with all", "$[?(@ == $)]", list},
		{"one list in another", "$.a[?($.a subsetof $.a)]", object("a", list)},
		{"a slow pattern on a long text", "$[?(@ =~ /(a|aa|aaa)+(a|b)*c{1,200}/)]", []expr.Value{strings.Repeat("a", 200_000), strings.Repeat("a", 200_000)}},
	} {
		_, err := call(t, tc.text, &expr.Scope{Input: tc.input})
		wantError(t, tc.name, err, expr.StatesRuntime, "The evaluation takes more than 1000000 steps.")
	}
}

func TestResultsAreBoundedInBytes(t *testing.T) {
	big := strings.Repeat("x", 100_000)
	const cause = "The result is larger than 1048576 bytes."
	doubling := "$.a"
	for range 9 {
		doubling = "States.Array(" + doubling + ", " + doubling + ")"
	}
	for _, text := range []string{
		"States.Array($.a, $.a, $.a, $.a, $.a, $.a, $.a, $.a, $.a, $.a, $.a)",
		"States.Format('{}{}{}{}{}{}{}{}{}{}{}', $.a, $.a, $.a, $.a, $.a, $.a, $.a, $.a, $.a, $.a, $.a)",
		"States.JsonToString(States.Array($.a, $.a, $.a, $.a, $.a, $.a, $.a, $.a, $.a, $.a, $.a))",
		doubling,
	} {
		_, err := call(t, text, &expr.Scope{Input: object("a", big)})
		wantError(t, fmt.Sprintf("%.30s", text), err, expr.StatesDataLimitExceeded, cause)
	}
	// The caller sets the bound.
	sc := &expr.Scope{Input: object("a", big), Limits: expr.Limits{Bytes: 100_010}}
	if _, err := call(t, "$.a", sc); err != nil {
		t.Error(err)
	}
	sc.Limits.Bytes = 100_007
	_, err := call(t, "$.a", sc)
	wantError(t, "a smaller bound", err, expr.StatesDataLimitExceeded, "The result is larger than 100007 bytes.")
}

// What a state gives can be parsed again: a loop that nests its value deeper at
// each turn fails, and does not leave a text that nobody can read.
func TestResultsAreBoundedInDepth(t *testing.T) {
	const cause = "The result is nested deeper than 512 levels."
	grow := flow(t, expr.Pass, `{"Parameters":{"x.$":"$"}}`)
	var v expr.Value = object()
	turns := 0
	for {
		entry, err := grow.Enter(&expr.Scope{Input: v})
		if err != nil {
			wantError(t, "Parameters", err, expr.StatesRuntime, cause)
			break
		}
		v = entry.Effective
		turns++
	}
	if turns != expr.MaxDepth-1 {
		t.Errorf("%d turns", turns)
	}
	if _, err := expr.Parse(expr.Marshal(v)); err != nil {
		t.Errorf("the last value cannot be read: %v", err)
	}
	_, err := flow(t, expr.Task, `{"ResultPath":"$.a"}`).Leave(&expr.Scope{Input: object()}, nested(512))
	wantError(t, "ResultPath", err, expr.StatesRuntime, cause)
	_, err = call(t, "States.Array($)", &expr.Scope{Input: nested(511)})
	wantError(t, "States.Array", err, expr.StatesRuntime, cause)
	_, err = call(t, "$", &expr.Scope{Input: nested(20), Limits: expr.Limits{Depth: 20}})
	wantError(t, "a smaller bound", err, expr.StatesRuntime, "The result is nested deeper than 20 levels.")
	_, err = call(t, "States.StringToJson($)", &expr.Scope{Input: strings.Repeat("[", 600)})
	if e, ok := errors.AsType[*expr.Error](err); !ok || !strings.Contains(e.Cause, "nested deeper than 512") {
		t.Errorf("StringToJson: %v", err)
	}
}

func TestStepsAreTheCallersToSet(t *testing.T) {
	sc := &expr.Scope{Input: wide(100), Limits: expr.Limits{Steps: 50}}
	_, err := call(t, "$[*]", sc)
	wantError(t, "50 steps", err, expr.StatesRuntime, "The evaluation takes more than 50 steps.")
	c := condition(t, `{"Variable":"$[*]","IsPresent":true}`)
	_, err = c.Holds(sc)
	wantError(t, "a condition", err, expr.StatesRuntime, "The evaluation takes more than 50 steps.")
	sc.Limits.Steps = 1000
	if _, err := call(t, "$[*]", sc); err != nil {
		t.Error(err)
	}
}

// What is usual stays far below the bounds: a filter over 256 KiB, a lookup of
// a thousand in a thousand.
func TestUsualWorkFits(t *testing.T) {
	list := wide(6_000) // 256 KiB
	ids := make([]expr.Value, 1000)
	for i := range ids {
		ids[i] = expr.NumberOf(int64(2 * i))
	}
	input := object("list", list, "some", list[:1000], "ids", ids)
	for _, text := range []string{
		"$.list[?(@.id > 10 && @.name =~ /name 1\\d*/)].id",
		"$..name",
		"$.some[?(@.id in $.ids)].name",
		"States.ArrayUnique($.list)",
		"States.JsonToString($.list)",
		"States.ArrayContains($.list, $.list[5999])",
	} {
		if _, err := call(t, text, &expr.Scope{Input: input}); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}
