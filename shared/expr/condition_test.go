package expr_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/orrery-dev/orrery/shared/expr"
)

func condition(t *testing.T, text string) expr.Condition {
	t.Helper()
	c, problems := expr.ParseCondition(parse(t, text))
	if problems != nil {
		t.Fatalf("%s: %v", text, problems)
	}
	return c
}

// kinds has one value of each type, and several where types look alike.
var kinds = []string{
	`null`, `0`, `0.0`, `1`, `1.1`, `""`, `" "`, `"HelloWorld"`, `"2012-10-09T19:00:55"`, `"2012-10-09T19:00:55Z"`,
	`"2012-10-09T19:00:55+01:00"`, `"2023-02-24"`, `[]`, `[""]`, `{}`, `{"A":0}`, `true`, `false`,
}

// An operator that asks for a type says yes for the values listed, no for all
// others, and the opposite where it asks for false.
func TestConditionTypes(t *testing.T) {
	for operator, yes := range map[string][]string{
		"IsNull":    {`null`},
		"IsNumeric": {`0`, `0.0`, `1`, `1.1`},
		"IsBoolean": {`true`, `false`},
		"IsString": {`""`, `" "`, `"HelloWorld"`, `"2012-10-09T19:00:55"`, `"2012-10-09T19:00:55Z"`,
			`"2012-10-09T19:00:55+01:00"`, `"2023-02-24"`},
		"IsTimestamp": {`"2012-10-09T19:00:55Z"`, `"2012-10-09T19:00:55+01:00"`},
		"IsPresent":   kinds, // a null is present
	} {
		for _, value := range kinds {
			for _, asked := range []bool{true, false} {
				text := fmt.Sprintf(`{"Variable":"$.v",%q:%t}`, operator, asked)
				holdsFor(t, text, value, slices.Contains(yes, value) == asked)
			}
		}
	}
}

func holdsFor(t *testing.T, text, value string, want bool) {
	t.Helper()
	got, err := condition(t, text).Holds(&expr.Scope{Input: parse(t, `{"v":`+value+`}`)})
	if got != want || err != nil {
		t.Errorf("%s on %s: %t %v, want %t", text, value, got, err, want)
	}
}

// A value of the wrong type is not an error: the comparison does not hold. The
// constants are equal to none of the values, except for the booleans.
func TestConditionTypeMismatch(t *testing.T) {
	constants := map[string]string{"Numeric": `-5`, "String": `"zzz"`, "Timestamp": `"1999-01-01T00:00:00Z"`}
	for _, value := range kinds {
		for kind, constant := range constants {
			holdsFor(t, fmt.Sprintf(`{"Variable":"$.v","%sEquals":%s}`, kind, constant), value, false)
		}
		holdsFor(t, `{"Variable":"$.v","StringMatches":"zzz*"}`, value, false)
		holdsFor(t, `{"Variable":"$.v","BooleanEquals":true}`, value, value == "true")
		holdsFor(t, `{"Variable":"$.v","BooleanEquals":false}`, value, value == "false")
		// Compared with itself, found by a path, a value of the right type is equal.
		holdsFor(t, `{"Variable":"$.v","NumericEqualsPath":"$.v"}`, value, isAny(value, "0", "0.0", "1", "1.1"))
		holdsFor(t, `{"Variable":"$.v","StringLessThanEqualsPath":"$.v"}`, value, value[0] == '"')
		holdsFor(t, `{"Variable":"$.v","BooleanEqualsPath":"$.v"}`, value, isAny(value, "true", "false"))
		holdsFor(t, `{"Variable":"$.v","TimestampEqualsPath":"$.v"}`, value,
			isAny(value, `"2012-10-09T19:00:55Z"`, `"2012-10-09T19:00:55+01:00"`))
	}
}

func isAny(value string, of ...string) bool { return slices.Contains(of, value) }

// Every ordering operator, with a constant and with a path, on a pair that is
// less, equal and greater.
func TestConditionOrders(t *testing.T) {
	pairs := map[string][3][2]string{
		"String":    {{`"A"`, `"AB"`}, {`"A"`, `"A"`}, {`"b"`, `"a"`}},
		"Numeric":   {{`9`, `10.0`}, {`1`, `1.0`}, {`2.22`, `2.2`}},
		"Timestamp": {{`"2012-10-09T19:00:55Z"`, `"2012-10-09T19:00:55.1Z"`}, {`"2012-10-09T19:00:55+01:00"`, `"2012-10-09T18:00:55Z"`}, {`"2012-10-09T19:00:56Z"`, `"2012-10-09T19:00:55Z"`}},
	}
	holds := map[string][3]bool{
		"Equals":            {false, true, false},
		"LessThan":          {true, false, false},
		"GreaterThan":       {false, false, true},
		"LessThanEquals":    {true, true, false},
		"GreaterThanEquals": {false, true, true},
	}
	for kind, triple := range pairs {
		for order, want := range holds {
			for i, pair := range triple {
				sc := &expr.Scope{Input: parse(t, fmt.Sprintf(`{"v":%s,"w":%s}`, pair[0], pair[1]))}
				for _, text := range []string{
					fmt.Sprintf(`{"Variable":"$.v","%s%s":%s}`, kind, order, pair[1]),
					fmt.Sprintf(`{"%s%sPath":"$.w","Variable":"$.v"}`, kind, order),
				} {
					if got, err := condition(t, text).Holds(sc); got != want[i] || err != nil {
						t.Errorf("%s on %s: %t %v, want %t", text, pair, got, err, want[i])
					}
				}
			}
		}
	}
	sc := &expr.Scope{Input: parse(t, `{"v":true,"w":true,"x":"true"}`)}
	for text, want := range map[string]bool{
		`{"Variable":"$.v","BooleanEqualsPath":"$.w"}`: true,
		`{"Variable":"$.v","BooleanEqualsPath":"$.x"}`: false,
		`{"Variable":"$.x","StringEqualsPath":"$.v"}`:  false,
	} {
		if got, err := condition(t, text).Holds(sc); got != want || err != nil {
			t.Errorf("%s: %t %v", text, got, err)
		}
	}
}

func TestStringMatches(t *testing.T) {
	for _, tc := range []struct {
		text, pattern string
		want          bool
	}{
		{"log-1.txt", "log-*.txt", true},
		{"log-.txt", "log-*.txt", true},
		{"log-.tx", "log-*.txt", false},
		{"anything", "*", true},
		{"", "*", true},
		{"", "", true},
		{"a", "", false},
		{"abc", "abc", true},
		{"abcd", "abc", false},
		{"foobarbaz", "foo*bar*baz", true},
		{"foobar", "foo*bar*bar", false},
		{"aXbXc", "a*b*c", true},
		{"aba", "ab*ba", false}, // the parts do not share text
		{"abba", "ab*ba", true},
		{"aaab", "a**b", true},
		{"*", `\*`, true},
		{"x", `\*`, false},
		{"a*b", `a\*b`, true},
		{`a\b`, `a\\b`, true},
		{`a\`, `a\\`, true},
		{`a\zz`, `a\\*`, true},
		{`a\d`, `a\d`, true},
		{"ab", "a?", false}, // no other signs mean anything
		{"a?", "a?", true},
		{"a", "[ab]", false},
		{"[ab]", "[ab]", true},
	} {
		c, problems := expr.ParseCondition(object("Variable", "$", "StringMatches", tc.pattern))
		if problems != nil {
			t.Fatal(problems)
		}
		if got, err := c.Holds(&expr.Scope{Input: tc.text}); got != tc.want || err != nil {
			t.Errorf("%q matches %q: %t %v, want %t", tc.text, tc.pattern, got, err, tc.want)
		}
	}
}

func TestTimestamps(t *testing.T) {
	for text, want := range map[string]bool{
		"2016-03-14T01:59:00Z":            true,
		"2016-03-05T21:29:29.243167252Z":  true,
		"2016-03-05T21:29:29.2431672529Z": true,
		"2026-11-30T03:29:21.000000Z":     true,
		"2016-03-14T01:59:00-05:30":       true,
		"2024-02-29T00:00:00Z":            true,
		"2016-12-05T21:29:29":             false, // without a zone
		"2016-03-14":                      false,
		"05-12-2016T21:29:29Z":            false,
		"2016-03-14t01:59:00Z":            false,
		"2016-03-14T01:59:00z":            false,
		"2016-03-14 01:59:00Z":            false,
		"2016-03-14T01:59Z":               false,
		"2016-3-14T01:59:00Z":             false,
		"2016-03-14T1:59:00Z0000":         false,
		"2016-03-14T01:59:00,5Z":          false,
		"2016-03-14T01:59:00.Z":           false,
		"2016-03-14T25:00:00Z":            false,
		"2023-02-29T00:00:00Z":            false,
		"2016-03-14T01:59:00+24:00":       false,
		"2016-03-14T01:59:00Z ":           false,
		"":                                false,
	} {
		if _, ok := expr.ParseTimestamp(text); ok != want {
			t.Errorf("%q: %t", text, ok)
		}
	}
}

func TestConditionCombines(t *testing.T) {
	input := `{"type":"Private","value":22}`
	for text, want := range map[string]bool{
		`{"Not":{"Variable":"$.type","StringEquals":"Private"}}`:                                                     false,
		`{"Not":{"Variable":"$.type","StringEquals":"Public"}}`:                                                      true,
		`{"And":[{"Variable":"$.value","NumericGreaterThanEquals":20},{"Variable":"$.value","NumericLessThan":30}]}`: true,
		`{"And":[{"Variable":"$.value","NumericGreaterThanEquals":20},{"Variable":"$.value","NumericLessThan":22}]}`: false,
		`{"Or":[{"Variable":"$.value","NumericEquals":1},{"Variable":"$.value","NumericEquals":22}]}`:                true,
		`{"Or":[{"Variable":"$.value","NumericEquals":1},{"Variable":"$.value","NumericEquals":2}]}`:                 false,
		`{"And":[{"Variable":"$.type","StringEquals":"Private","Comment":"one alone"}]}`:                             true,
		// The first that decides ends the test: what follows may be absent.
		`{"And":[{"Variable":"$.absent","IsPresent":true},{"Variable":"$.absent","NumericEquals":1}]}`: false,
		`{"Or":[{"Variable":"$.absent","IsPresent":false},{"Variable":"$.absent","NumericEquals":1}]}`: true,
		`{"Not":{"And":[{"Or":[{"Not":{"Variable":"$.value","IsNull":true}}]}]}}`:                      false,
		// IsPresent
		`{"Variable":"$.absent","IsPresent":false}`:               true,
		`{"Variable":"$.absent.more","IsPresent":true}`:           false,
		`{"Variable":"$.value[0]","IsPresent":true}`:              false,
		`{"Variable":"$none","IsPresent":true}`:                   false,
		`{"Variable":"$none.x","IsPresent":false}`:                true,
		`{"Variable":"$v.x","IsPresent":true}`:                    true,
		`{"Variable":"$v.x","NumericEquals":7}`:                   true,
		`{"Variable":"$$.Execution.Name","StringEquals":"run-1"}`: true,
		`{"Variable":"$.list[?(@.x)]","IsPresent":true}`:          true, // a list, be it empty
	} {
		if got, err := condition(t, text).Holds(scope(t, input)); got != want || err != nil {
			t.Errorf("%s: %t %v, want %t", text, got, err, want)
		}
	}
}

func TestConditionFails(t *testing.T) {
	for text, cause := range map[string]string{
		`{"Variable":"$.absent","NumericEquals":1}`:               "Invalid path '$.absent': The choice state's condition path references an invalid value.",
		`{"Variable":"$.absent","IsNull":true}`:                   "Invalid path '$.absent': The choice state's condition path references an invalid value.",
		`{"Variable":"$.value","NumericEqualsPath":"$.absent"}`:   "Invalid path '$.absent': The choice state's condition path references an invalid value.",
		`{"Not":{"Variable":"$.absent","NumericEquals":1}}`:       "Invalid path '$.absent': The choice state's condition path references an invalid value.",
		`{"Or":[{"Variable":"$.absent","NumericEquals":1}]}`:      "Invalid path '$.absent': The choice state's condition path references an invalid value.",
		`{"And":[{"Variable":"$none","NumericEquals":1}]}`:        "The variable 'none' of the JSONPath '$none' has no value.",
		`{"Variable":"$.value","NumericEqualsPath":"$none.deep"}`: "The variable 'none' of the JSONPath '$none.deep' has no value.",
	} {
		got, err := condition(t, text).Holds(scope(t, `{"value":1}`))
		if got {
			t.Errorf("%s holds", text)
		}
		wantError(t, text, err, expr.StatesRuntime, cause)
	}
}

func TestConditionProblems(t *testing.T) {
	deep := strings.Repeat(`{"Not":`, 40) + `{"Variable":"$","IsNull":true}` + strings.Repeat("}", 40)
	for _, tc := range []struct {
		text string
		want expr.Problem
	}{
		{`1`, expr.Problem{Rule: expr.RuleType, Message: "an object is needed here, not a value of type number"}},
		{`{}`, expr.Problem{Rule: expr.RuleCondition, Message: "a condition needs And, Or, Not or an operator"}},
		{`{"Variable":"$"}`, expr.Problem{Rule: expr.RuleCondition, Message: "a condition needs And, Or, Not or an operator"}},
		{`{"IsNull":true}`, expr.Problem{Rule: expr.RuleRequired, Message: "the operator IsNull needs a Variable"}},
		{`{"Variable":1,"IsNull":true}`, expr.Problem{Pointer: "/Variable", Rule: expr.RuleType, Message: "a path is needed here, not a value of type number"}},
		{`{"Variable":"x","IsNull":true}`, expr.Problem{Pointer: "/Variable", Rule: expr.RulePath, Message: `"x" is not a path: it does not begin with $ at position 1`}},
		{`{"Variable":"$","IsNull":"true"}`, expr.Problem{Pointer: "/IsNull", Rule: expr.RuleType, Message: `IsNull needs true or false, not "true"`}},
		{`{"Variable":"$","StringEquals":1}`, expr.Problem{Pointer: "/StringEquals", Rule: expr.RuleType, Message: "StringEquals needs a string, not 1"}},
		{`{"Variable":"$","NumericLessThan":"1"}`, expr.Problem{Pointer: "/NumericLessThan", Rule: expr.RuleType, Message: `NumericLessThan needs a number, not "1"`}},
		{`{"Variable":"$","TimestampEquals":"2023-02-24"}`, expr.Problem{Pointer: "/TimestampEquals", Rule: expr.RuleType, Message: `TimestampEquals needs an RFC 3339 timestamp, not "2023-02-24"`}},
		{`{"Variable":"$","NumericEqualsPath":1}`, expr.Problem{Pointer: "/NumericEqualsPath", Rule: expr.RuleType, Message: "a path is needed here, not a value of type number"}},
		{`{"Variable":"$","IsNull":true,"IsString":true}`, expr.Problem{Pointer: "/IsString", Rule: expr.RuleExclusive, Message: "a condition has only one of IsNull, IsString"}},
		{`{"And":[{"Variable":"$","IsNull":true}],"Not":{"Variable":"$","IsNull":true}}`, expr.Problem{Pointer: "/Not", Rule: expr.RuleExclusive, Message: "a condition has only one of And, Not"}},
		{`{"And":[]}`, expr.Problem{Pointer: "/And", Rule: expr.RuleType, Message: "an array of at least one condition is needed here"}},
		{`{"Or":{}}`, expr.Problem{Pointer: "/Or", Rule: expr.RuleType, Message: "an array of at least one condition is needed here"}},
		{`{"Or":[{"Variable":"$","IsNull":true},1]}`, expr.Problem{Pointer: "/Or/1", Rule: expr.RuleType, Message: "an object is needed here, not a value of type number"}},
		{`{"Not":[]}`, expr.Problem{Pointer: "/Not", Rule: expr.RuleType, Message: "an object is needed here, not a value of type array"}},
		{`{"Not":{"Variable":"$","IsNull":true,"Next":"X"}}`, expr.Problem{Pointer: "/Not/Next", Rule: expr.RuleCondition, Message: `there is no operator "Next"`}},
		{`{"Variable":"$","IsNull":true,"StringMatchesPath":"$"}`, expr.Problem{Pointer: "/StringMatchesPath", Rule: expr.RuleCondition, Message: `there is no operator "StringMatchesPath"`}},
		{`{"Variable":"$","IsNull":true,"IsNullPath":"$"}`, expr.Problem{Pointer: "/IsNullPath", Rule: expr.RuleCondition, Message: `there is no operator "IsNullPath"`}},
		{`{"Variable":"$","IsNull":true,"Path":"$"}`, expr.Problem{Pointer: "/Path", Rule: expr.RuleCondition, Message: `there is no operator "Path"`}},
		{deep, expr.Problem{Pointer: strings.Repeat("/Not", 32), Rule: expr.RuleTooLarge, Message: "conditions nest at most 32 deep"}},
	} {
		c, problems := expr.ParseCondition(parse(t, tc.text))
		if c != nil || !reflect.DeepEqual(problems, []expr.Problem{tc.want}) {
			t.Errorf("%.80s: got %v, want %v", tc.text, problems, tc.want)
		}
	}
	// All problems are told at once.
	_, problems := expr.ParseCondition(parse(t, `{"And":[{"Variable":"x","IsNull":1},{"Wrong":1,"Variable":"$"}]}`))
	if len(problems) != 4 {
		t.Errorf("got %v", problems)
	}
}

func TestConditionReferences(t *testing.T) {
	refs := condition(t, `{"And":[{"Or":[{"Variable":"$v","IsNull":true}]},{"Not":{"Variable":"$$.State","NumericEqualsPath":"$w.x"}}]}`).References()
	if !reflect.DeepEqual(refs.Variables, []string{"v", "w"}) || !refs.Context || refs.Input || len(refs.Paths) != 3 {
		t.Errorf("%+v", refs)
	}
}
