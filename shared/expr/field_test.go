package expr_test

import (
	"fmt"
	"math"
	"reflect"
	"testing"
	"time"

	"github.com/orrery-dev/orrery/shared/expr"
)

// evaluate gives the text of what a field gives, or its error.
func evaluate[T any](t *testing.T, f expr.Field[T], problems []expr.Problem, sc *expr.Scope) string {
	t.Helper()
	if problems != nil {
		return fmt.Sprint(problems)
	}
	if f == nil {
		return "absent"
	}
	v, err := f.Eval(sc)
	if err != nil {
		return err.Error()
	}
	if c, ok := f.Constant(); ok && !reflect.DeepEqual(c, v) {
		t.Errorf("the constant is %v, the value %v", c, v)
	}
	if _, ok := f.Constant(); ok != (len(f.References().Paths) == 0) {
		t.Errorf("constant %t with paths %v", ok, f.References().Paths)
	}
	return fmt.Sprint(v)
}

func TestIntegerFields(t *testing.T) {
	lang := language(t)
	for _, tc := range []struct{ name, owner, input, want string }{
		{"Seconds", `{}`, `{}`, "absent"},
		{"Seconds", `{"Seconds":10}`, `{}`, "10"},
		{"Seconds", `{"Seconds":0}`, `{}`, "0"},
		{"Seconds", `{"Seconds":1.0}`, `{}`, "1"},
		{"Seconds", `{"Seconds":"10"}`, `{}`, "[{/Seconds type Seconds needs an integer}]"},
		{"Seconds", `{"Seconds":1.5}`, `{}`, "[{/Seconds type Seconds needs an integer}]"},
		{"Seconds", `{"Seconds":-1}`, `{}`, "[{/Seconds range Seconds is from 0 to 99999999}]"},
		{"Seconds", `{"Seconds":1,"SecondsPath":"$.p"}`, `{}`, "[{/SecondsPath exclusive only one of Seconds and SecondsPath may be there}]"},
		{"Seconds", `{"SecondsPath":1}`, `{}`, "[{/SecondsPath type a path is needed here, not a value of type number}]"},
		{"Seconds", `{"SecondsPath":"p"}`, `{}`, `[{/SecondsPath path "p" is neither a path, which begins with $, nor the call of an intrinsic function, which begins with States.}]`},
		{"Seconds", `{"SecondsPath":"States.MathAdd(1, 2)"}`, `{}`, "[{/SecondsPath intrinsic the call of this function cannot stand here}]"},
		{"Seconds", `{"SecondsPath":"$.p"}`, `{"p":0}`, "0"},
		{"Seconds", `{"SecondsPath":"$.p"}`, `{"p":5.0}`, "5"},
		{"Seconds", `{"SecondsPath":"$.p"}`, `{"p":"5"}`, "5"},
		{"Seconds", `{"SecondsPath":"$v.x"}`, `{}`, "7"},
		{"Seconds", `{"SecondsPath":"$.p"}`, `{"p":1.5}`, "States.Runtime: The SecondsPath parameter cannot be parsed as a long value: $.p == 1.5"},
		{"Seconds", `{"SecondsPath":"$.p"}`, `{"p":null}`, "States.Runtime: The SecondsPath parameter cannot be parsed as a long value: $.p == null"},
		{"Seconds", `{"SecondsPath":"$.p"}`, `{"p":"x"}`, "States.Runtime: The SecondsPath parameter cannot be parsed as a long value: $.p == x"},
		{"Seconds", `{"SecondsPath":"$.p"}`, `{"p":-1}`, "States.Runtime: The SecondsPath parameter references a negative value: $.p == -1"},
		{"Seconds", `{"SecondsPath":"$.p"}`, `{}`, "States.Runtime: The SecondsPath parameter does not reference an input value: $.p"},
		{"Seconds", `{"SecondsPath":"$.p"}`, `{"p":2147483647}`, "2147483647"},
		{"Seconds", `{"SecondsPath":"$.p"}`, `{"p":2147483648}`, "States.Runtime: Wait state delay is too long."},
		{"TimeoutSeconds", `{"TimeoutSeconds":0}`, `{}`, "[{/TimeoutSeconds range TimeoutSeconds is from 1 to 99999999}]"},
		{"TimeoutSeconds", `{"TimeoutSeconds":99999999}`, `{}`, "99999999"},
		{"TimeoutSeconds", `{"TimeoutSecondsPath":"$.t"}`, `{"t":5}`, "5"},
		{"TimeoutSeconds", `{"TimeoutSecondsPath":"$.t"}`, `{}`, "States.Runtime: Invalid path '$.t' : No results for path: $['t']"},
		{"TimeoutSeconds", `{"TimeoutSecondsPath":"$.t"}`, `{"t":0}`, "States.Runtime: TimeoutSeconds must be between 1 and 99999999."},
		{"TimeoutSeconds", `{"TimeoutSecondsPath":"$.t"}`, `{"t":"x"}`, `States.Runtime: The TimeoutSecondsPath field refers to value "x" which is not a valid integer: $.t`},
		{"MaxConcurrency", `{"MaxConcurrency":0}`, `{}`, "0"},
		{"MaxConcurrency", `{"MaxConcurrencyPath":"$text"}`, `{}`, `States.Runtime: The MaxConcurrencyPath field refers to value "from variable" which is not a valid integer: $text`},
		{"MaxConcurrency", `{"MaxConcurrencyPath":"$.c"}`, `{"c":"1"}`, "1"}, // a text that holds an integer
		{"MaxConcurrency", `{"MaxConcurrencyPath":"$.c"}`, `{"c":-1}`, "States.Runtime: MaxConcurrency cannot be negative."},
		{"ToleratedFailureCount", `{"ToleratedFailureCountPath":"$.c"}`, `{"c":{}}`, `States.Runtime: The ToleratedFailureCountPath field refers to value "{}" which is not a valid integer: $.c`},
		{"ToleratedFailureCount", `{"ToleratedFailureCountPath":"$.c"}`, `{"c":"NoNumber"}`, `States.Runtime: The ToleratedFailureCountPath field refers to value "NoNumber" which is not a valid integer: $.c`},
		{"ToleratedFailureCount", `{"ToleratedFailureCountPath":"$.c"}`, `{"c":-1}`, "States.Runtime: ToleratedFailureCount cannot be negative."},
		{"MaxItems", `{"MaxItemsPath":"$.m"}`, `{"m":0}`, "0"},
		{"MaxItems", `{"MaxItemsPath":"$.m"}`, `{"m":100000001}`, "100000001"},
		{"MaxItems", `{"MaxItemsPath":"$.m"}`, `{"m":-1}`, "States.ItemReaderFailed: field MaxItems must be positive"},
		{"MaxItems", `{"MaxItemsPath":"$.m"}`, `{"m":1.5}`, `States.Runtime: The MaxItemsPath field refers to value "1.5" which is not a valid integer: $.m`},
		{"MaxInputBytesPerBatch", `{"MaxInputBytesPerBatchPath":"$.m"}`, `{"m":262145}`, "States.Runtime: MaxInputBytesPerBatch must be between 1 and 262144."},
		{"AnythingElse", `{"AnythingElse":-9223372036854775808}`, `{}`, "-9223372036854775808"},
	} {
		f, problems := lang.Integer(parse(t, tc.owner).(*expr.Object), tc.name)
		if got := evaluate(t, f, problems, scope(t, tc.input)); got != tc.want {
			t.Errorf("%s of %s with %s:\n got %s\nwant %s", tc.name, tc.owner, tc.input, got, tc.want)
		}
	}
}

func TestDecimalFields(t *testing.T) {
	lang := language(t)
	for _, tc := range []struct{ owner, input, want string }{
		{`{}`, `{}`, "absent"},
		{`{"ToleratedFailurePercentage":1.1}`, `{}`, "1.1"},
		{`{"ToleratedFailurePercentage":"1"}`, `{}`, "[{/ToleratedFailurePercentage type ToleratedFailurePercentage needs a number}]"},
		{`{"ToleratedFailurePercentage":100.1}`, `{}`, "[{/ToleratedFailurePercentage range ToleratedFailurePercentage is from 0 to 100}]"},
		{`{"ToleratedFailurePercentagePath":"$.p"}`, `{"p":0}`, "0"},
		{`{"ToleratedFailurePercentagePath":"$.p"}`, `{"p":1.1}`, "1.1"},
		{`{"ToleratedFailurePercentagePath":"$.p"}`, `{"p":"1"}`, "1"},
		{`{"ToleratedFailurePercentagePath":"$.p"}`, `{"p":-1.1}`, "States.Runtime: ToleratedFailurePercentage must be between 0 and 100."},
		{`{"ToleratedFailurePercentagePath":"$.p"}`, `{"p":1e400}`, `States.Runtime: The ToleratedFailurePercentagePath field refers to value "1e400" which is not a valid float: $.p`},
		{`{"ToleratedFailurePercentagePath":"$.p"}`, `{"p":"NaN"}`, `States.Runtime: The ToleratedFailurePercentagePath field refers to value "NaN" which is not a valid float: $.p`},
		{`{"ToleratedFailurePercentagePath":"$.p"}`, `{"p":[]}`, `States.Runtime: The ToleratedFailurePercentagePath field refers to value "[]" which is not a valid float: $.p`},
	} {
		f, problems := lang.Decimal(parse(t, tc.owner).(*expr.Object), "ToleratedFailurePercentage")
		if got := evaluate(t, f, problems, scope(t, tc.input)); got != tc.want {
			t.Errorf("%s with %s:\n got %s\nwant %s", tc.owner, tc.input, got, tc.want)
		}
	}
}

func TestInstantFields(t *testing.T) {
	lang := language(t)
	for _, tc := range []struct{ owner, input, want string }{
		{`{}`, `{}`, "absent"},
		{`{"Timestamp":"2016-03-05T21:29:29.243167252Z"}`, `{}`, "2016-03-05 21:29:29.243167252 +0000 UTC"},
		{`{"Timestamp":"2016-03-05T21:29:29"}`, `{}`, "[{/Timestamp timestamp String does not match RFC3339 timestamp}]"},
		{`{"Timestamp":5}`, `{}`, "[{/Timestamp timestamp String does not match RFC3339 timestamp}]"},
		{`{"TimestampPath":"$.t"}`, `{"t":"2016-03-14T01:59:00Z"}`, "2016-03-14 01:59:00 +0000 UTC"},
		{`{"TimestampPath":"$.t"}`, `{"t":"05-12-2016T21:29:29Z"}`, "States.Runtime: The TimestampPath parameter does not reference a valid ISO-8601 extended offset date-time format string: $.t == 05-12-2016T21:29:29Z"},
		{`{"TimestampPath":"$.t"}`, `{"t":5}`, "States.Runtime: The TimestampPath parameter does not reference a valid ISO-8601 extended offset date-time format string: $.t == 5"},
		{`{"TimestampPath":"$.t"}`, `{}`, "States.Runtime: The TimestampPath parameter does not reference an input value: $.t"},
	} {
		f, problems := lang.Instant(parse(t, tc.owner).(*expr.Object), "Timestamp")
		if got := evaluate(t, f, problems, scope(t, tc.input)); got != tc.want {
			t.Errorf("%s with %s:\n got %s\nwant %s", tc.owner, tc.input, got, tc.want)
		}
	}
}

func TestTextFields(t *testing.T) {
	lang := language(t)
	for _, tc := range []struct{ name, owner, input, want string }{
		{"Cause", `{}`, `{}`, "absent"},
		{"Cause", `{"Cause":"$.x is plain"}`, `{}`, "$.x is plain"},
		{"Cause", `{"Cause":null}`, `{}`, "[{/Cause type Cause needs a string}]"},
		{"Cause", `{"CausePath":"$.c"}`, `{"c":"why"}`, "why"},
		{"Cause", `{"CausePath":"$$.Execution.Name"}`, `{}`, "run-1"},
		{"Cause", `{"CausePath":"$text"}`, `{}`, "from variable"},
		{"Cause", `{"CausePath":"States.Format('{} by {}', $.a, $.b)"}`, `{"a":1,"b":"two"}`, "1 by two"},
		{"Cause", `{"CausePath":"States.JsonToString($)"}`, `{"a":1}`, `{"a":1}`},
		{"Cause", `{"CausePath":"States.ArrayGetItem($.l, 0)"}`, `{"l":[1]}`, "States.Runtime: The CausePath parameter does not reference a string: States.ArrayGetItem($.l, 0) == 1"},
		{"Cause", `{"CausePath":"States.Format('{}', $.no)"}`, `{}`, "States.Runtime: The function 'States.Format('{}', $.no)' had the following error: The JsonPath argument for the field '$.no' could not be found in the input '{}'"},
		{"Cause", `{"CausePath":"States.ArrayLength($)"}`, `[]`, "[{/CausePath intrinsic the call of this function cannot stand here}]"},
		{"Cause", `{"CausePath":"$.c"}`, `{"c":{"a":1}}`, `States.Runtime: The CausePath parameter does not reference a string: $.c == {"a":1}`},
		{"Error", `{"ErrorPath":"$.e"}`, `{}`, "States.Runtime: Invalid path '$.e' : No results for path: $['e']"},
		{"Error", `{"Error":"E","ErrorPath":"$.e"}`, `{}`, "[{/ErrorPath exclusive only one of Error and ErrorPath may be there}]"},
		{"IdempotencyKey", `{}`, `{}`, "absent"},
		{"IdempotencyKey", `{"IdempotencyKey":"$.id"}`, `{"id":"A1"}`, "A1"},
		{"IdempotencyKey", `{"IdempotencyKey":"$.id"}`, `{"id":17}`, "17"},
		{"IdempotencyKey", `{"IdempotencyKey":"States.Format('{}-{}', $.id, $$.Execution.Name)"}`, `{"id":1}`, "1-run-1"},
		{"IdempotencyKey", `{"IdempotencyKey":"$.id"}`, `{"id":""}`, "States.Runtime: The IdempotencyKey must be a string or a number, and not empty: $.id == "},
		{"IdempotencyKey", `{"IdempotencyKey":"$.id"}`, `{"id":null}`, "States.Runtime: The IdempotencyKey must be a string or a number, and not empty: $.id == null"},
		{"IdempotencyKey", `{"IdempotencyKey":"fixed"}`, `{}`, `[{/IdempotencyKey path "fixed" is neither a path, which begins with $, nor the call of an intrinsic function, which begins with States.}]`},
		{"IdempotencyKey", `{"IdempotencyKey":7}`, `{}`, "[{/IdempotencyKey type a path is needed here, not a value of type number}]"},
	} {
		f, problems := lang.Text(parse(t, tc.owner).(*expr.Object), tc.name)
		if got := evaluate(t, f, problems, scope(t, tc.input)); got != tc.want {
			t.Errorf("%s of %s with %s:\n got %s\nwant %s", tc.name, tc.owner, tc.input, got, tc.want)
		}
	}
}

func TestItems(t *testing.T) {
	lang := language(t)
	for _, tc := range []struct{ state, input, want string }{
		{`{}`, `[1,2]`, "[1 2]"},
		{`{"ItemsPath":"$.l"}`, `{"l":[]}`, "[]"},
		{`{"ItemsPath":"$$.Execution.Name"}`, `{}`, `States.Runtime: Reference path "$.Execution.Name" must point to array.`},
		{`{"ItemsPath":"$$"}`, `{}`, `States.Runtime: Reference path "$" must point to array.`},
		{`{}`, `{"a":1}`, `States.Runtime: Reference path "$" must point to array.`}, // an object is no array
		{`{"ItemsPath":"$.l"}`, `{}`, "States.Runtime: Invalid path '$.l' : No results for path: $['l']"},
		{`{"ItemsPath":"$.l[*].x"}`, `{"l":[{"x":1},{"x":2}]}`, "[1 2]"},
		{`{"ItemsPath":null}`, `{}`, "[{/ItemsPath type a path is needed here, not a value of type null}]"},
	} {
		sc := scope(t, tc.input)
		told := ""
		sc.Trace = func(step string, v expr.Value) { told = fmt.Sprint(step, v) }
		f, problems := lang.Items(parse(t, tc.state).(*expr.Object))
		if got := evaluate(t, f, problems, sc); got != tc.want {
			t.Errorf("%s with %s:\n got %s\nwant %s", tc.state, tc.input, got, tc.want)
		} else if told != "" && told != "afterItemsPath"+tc.want {
			t.Errorf("%s with %s: the trace is told %s", tc.state, tc.input, told)
		}
	}
}

func TestTemplateFields(t *testing.T) {
	lang := language(t)
	for _, tc := range []struct{ name, owner, want string }{
		{"Parameters", `{}`, "absent"},
		{"Parameters", `{"Parameters":{"Bucket.$":"$.b"}}`, `{"Bucket":"name"}`},
		{"BatchInput", `{"BatchInput":{"x.$":"$.b"}}`, `{"x":"name"}`},
		{"Parameters", `{"Parameters":"$.b"}`, "[{/Parameters type an object is needed here, not a value of type string}]"},
		{"Parameters", `{"Parameters":{"x.$":1}}`, "[{/Parameters/x.$ type a path or the call of an intrinsic function is needed here, not a value of type number}]"},
	} {
		f, problems := lang.Template(parse(t, tc.owner).(*expr.Object), tc.name)
		got := "absent"
		switch {
		case problems != nil:
			got = fmt.Sprint(problems)
		case f != nil:
			v, err := f.Eval(scope(t, `{"b":"name"}`))
			if err != nil {
				t.Errorf("%s: %v", tc.owner, err)
			}
			got = string(expr.Marshal(v))
		}
		if got != tc.want {
			t.Errorf("%s of %s: %s, want %s", tc.name, tc.owner, got, tc.want)
		}
	}
}

// The longest wait is 24,855 days and some hours.
func TestCheckWait(t *testing.T) {
	const day = 24 * time.Hour
	if err := expr.CheckWait(24_855 * day); err != nil {
		t.Error(err)
	}
	wantError(t, "24,856 days", expr.CheckWait(24_856*day), expr.StatesRuntime, "Wait state delay is too long.")
	wantError(t, "for ever", expr.CheckWait(math.MaxInt64), expr.StatesRuntime, "Wait state delay is too long.")
}

func TestErrorTexts(t *testing.T) {
	e := &expr.Error{Name: expr.StatesRuntime, Cause: "Why."}
	if got := e.Error(); got != "States.Runtime: Why." {
		t.Error(got)
	}
	if got := e.InState("MapState", 2); got != "An error occurred while executing the state 'MapState' (entered at the event id #2). Why." {
		t.Error(got)
	}
	if got := string(expr.Marshal(expr.ErrorOutput("E", ""))); got != `{"Error":"E","Cause":""}` {
		t.Error(got)
	}
}
