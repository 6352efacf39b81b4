package expr_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/orrery-dev/orrery/shared/expr"
)

// call evaluates the call of an intrinsic function.
func call(t *testing.T, text string, sc *expr.Scope) (expr.Value, error) {
	t.Helper()
	tmpl, problems := expr.ParseTemplate(object("x.$", text))
	if problems != nil {
		t.Errorf("%s: %v", text, problems)
		return nil, nil
	}
	v, err := tmpl.Eval(sc)
	return at(v, "x"), err
}

// functionInput is what the calls in the tables see as $.
const functionInput = `{
	"s": "Hello", "empty": "", "blank": " ", "n": 3, "null": null, "yes": true,
	"list": [1, 2, 3, 4, 5, 6], "dup": [1, 1.0, "1", null, null, [1], [1.0], {"a": 1, "b": 2}, {"b": 2, "a": 1}, true, true],
	"obj": {"Arg1": 1, "Arg2": [], "Arg3": {"x": "y"}, "Arg4": null},
	"template": "{}-{}", "csv": "a,b;c", "json": " {\"a\": [1, 2.50]} "
}`

type functionCase struct{ text, want string }

func checkFunctions(t *testing.T, cases []functionCase) {
	t.Helper()
	sc := scope(t, functionInput)
	for _, tc := range cases {
		v, err := call(t, tc.text, sc)
		if got := string(expr.Marshal(v)); err != nil || got != tc.want {
			t.Errorf("%s: %s %v, want %s", tc.text, got, err, tc.want)
		}
	}
}

func TestTextFunctions(t *testing.T) {
	checkFunctions(t, []functionCase{
		// Format
		{`States.Format('Hello {}, {}!', $.s, $.n)`, `"Hello Hello, 3!"`},
		{`States.Format('{}', $.obj)`, `"{Arg1=1, Arg2=[], Arg3={x=y}, Arg4=null}"`},
		{`States.Format('{} {}', $.null, $.yes)`, `"null true"`},
		{`States.Format('{}', $.list)`, `"[1, 2, 3, 4, 5, 6]"`},
		{`States.Format($.template, 1, 2.50)`, `"1-2.50"`},
		{`States.Format('\'\{\}\\ {} }', 'x')`, `"'{}\\ x }"`},
		{`States.Format('no places')`, `"no places"`},
		{`States.Format('{}', '{}')`, `"{}"`},
		{`States.Format('{}', $$.Execution.Name)`, `"run-1"`},
		{`States.Format('{}', $text)`, `"from variable"`},
		{`States.Format('{}{}', States.Format('{}', 1), 2)`, `"12"`},
		{`States.Format('a\d {}', 1)`, `"a\\d 1"`}, // another backslash is text
		// StringToJson, JsonToString
		{`States.StringToJson($.json)`, `{"a":[1,2.50]}`},
		{`States.StringToJson($.empty)`, `null`},
		{`States.StringToJson($.blank)`, `null`},
		{`States.StringToJson('-0')`, `0`},
		{`States.StringToJson('[1, 2]')`, `[1,2]`},
		{`States.JsonToString($.obj)`, `"{\"Arg1\":1,\"Arg2\":[],\"Arg3\":{\"x\":\"y\"},\"Arg4\":null}"`},
		{`States.JsonToString($.null)`, `"null"`},
		{`States.JsonToString('a')`, `"\"a\""`},
		// Base64, Hash
		{`States.Base64Encode('Data to encode')`, `"RGF0YSB0byBlbmNvZGU="`},
		{`States.Base64Decode('RGF0YSB0byBlbmNvZGU=')`, `"Data to encode"`},
		{`States.Base64Decode('')`, `""`},
		{`States.Hash('Hash this string', 'MD5')`, `"376630459092d7682c2a2e745d74aa6b"`},
		{`States.Hash('Hash this string', 'SHA-256')`, `"1cac63f39fd68d8c531f27b807610fb3d50f0fc3f186995767fb6316e7200a3e"`},
		{`States.Hash('', 'SHA-1')`, `"da39a3ee5e6b4b0d3255bfef95601890afd80709"`},
		// JsonMerge
		{`States.JsonMerge($.obj, States.StringToJson('{"Arg1":{"z":1},"new":2}'), false)`,
			`{"Arg1":{"z":1},"Arg2":[],"Arg3":{"x":"y"},"Arg4":null,"new":2}`},
		// StringSplit splits at any of the characters and drops empty pieces.
		{`States.StringSplit($.csv, ',;')`, `["a","b","c"]`},
		{`States.StringSplit(',,,,', ',')`, `[]`},
		{`States.StringSplit('', ',')`, `[]`},
		{`States.StringSplit('a,,b', ',')`, `["a","b"]`},
		{`States.StringSplit('abc', '')`, `["abc"]`},
		{`States.StringSplit('äöü', 'ö')`, `["ä","ü"]`},
	})
}

func TestArrayFunctions(t *testing.T) {
	checkFunctions(t, []functionCase{
		// Array and its kin
		{`States.Array()`, `[]`},
		{`States.Array('', ' ')`, `[""," "]`},
		{`States.Array($.null, 1, -1.5e3, true, false, null, 'it\'s')`, `[null,1,-1.5e3,true,false,null,"it's"]`},
		{`States.ArrayPartition($.list, 4)`, `[[1,2,3,4],[5,6]]`},
		{`States.ArrayPartition($.list, 1.5)`, `[[1,2],[3,4],[5,6]]`},
		{`States.ArrayPartition(States.Array(), 2)`, `[]`},
		{`States.ArrayPartition($.list, 99999999999)`, `[[1,2,3,4,5,6]]`},
		{`States.ArrayContains($.list, 5)`, `true`},
		{`States.ArrayContains($.list, 5.0)`, `true`},
		{`States.ArrayContains($.list, '5')`, `false`},
		{`States.ArrayContains(States.Array($.obj), $.obj)`, `true`},
		{`States.ArrayRange(1, 9, 2)`, `[1,3,5,7,9]`},
		{`States.ArrayRange(0, 10, 3)`, `[0,3,6,9]`},
		{`States.ArrayRange(1, 9, 9)`, `[1]`},
		{`States.ArrayRange(5, 1, -2)`, `[5,3,1]`},
		{`States.ArrayRange(1, 0, 1)`, `[]`},
		{`States.ArrayRange(9223372036854775806, 9223372036854775807, 1)`, `[9223372036854775806,9223372036854775807]`},
		{`States.ArrayRange(-9223372036854775807, -9223372036854775808, -1)`, `[-9223372036854775807,-9223372036854775808]`},
		{`States.ArrayLength(States.ArrayRange(1, 1000, 1))`, `1000`},
		{`States.ArrayGetItem($.list, 0)`, `1`},
		{`States.ArrayGetItem($.list, 5.0)`, `6`},
		{`States.ArrayLength($.list)`, `6`},
		{`States.ArrayUnique($.dup)`, `[1,"1",null,[1],{"a":1,"b":2},true]`},
	})
}

func TestNumberFunctions(t *testing.T) {
	checkFunctions(t, []functionCase{
		// MathAdd rounds each argument first, halves up.
		{`States.MathAdd(-9, 3)`, `-6`},
		{`States.MathAdd(1.49, 1.5)`, `3`},
		{`States.MathAdd(1.5, 1.51)`, `4`},
		{`States.MathAdd(-1.49, -1.5)`, `-2`},
		{`States.MathAdd(-1.5, -1.51)`, `-3`},
		{`States.MathAdd(-0.5, 0.5)`, `1`},
		{`States.MathAdd(-2.5, 0)`, `-2`},
		{`States.MathAdd(1700000000000, 1)`, `1700000000001`},
		// MathRandom, with what the caller draws and with a seed
		{`States.MathRandom(1, 3)`, `2`},
		{`States.MathRandom(-10, 10)`, `0`},
		{`States.ArrayContains(States.Array(1, 2), States.MathRandom(1, 3, 42))`, `true`},
		// UUID
		{`States.UUID()`, `"00000000-0000-4000-8000-000000000000"`},
	})
}

func TestFunctionArguments(t *testing.T) {
	checkFunctions(t, []functionCase{
		// Paths with commas, parentheses and quotes in them
		{`States.Array($.list[0,1], $['s'])`, `[[1,2],"Hello"]`},
		{`States.ArrayLength($.list[?(@ > 2 && @ in [3, 4])])`, `2`},
		{`States.Array($.list[?(@ == ')')], $.n)`, `[[],3]`},
		{"States.Array( 1 ,\t$.n ,\n'a' ) ", `[1,3,"a"]`},
	})
}

func TestMathRandomSeedRepeats(t *testing.T) {
	seen := map[string]bool{}
	for seed := range 50 {
		text := fmt.Sprintf("States.MathRandom(0, 1000000, %d)", seed)
		a, _ := call(t, text, scope(t, "null"))
		b, _ := call(t, text, scope(t, "null"))
		if !expr.Equal(a, b) {
			t.Errorf("seed %d gives %v and %v", seed, a, b)
		}
		seen[string(expr.Marshal(a))] = true
	}
	if len(seen) < 45 {
		t.Errorf("50 seeds give %d numbers", len(seen))
	}
}

// upper draws the largest number below 1.
type upper struct{ drawer }

func (upper) Float64() float64 { return 0x1.fffffffffffffp-1 }

func TestMathRandomStaysBelowTheEnd(t *testing.T) {
	sc := &expr.Scope{Draw: upper{}}
	for _, tc := range []struct{ text, want string }{
		{"States.MathRandom(1, 2)", "1"},
		{"States.MathRandom(0, 9223372036854775807)", "9223372036854774784"},
	} {
		if v, err := call(t, tc.text, sc); err != nil || string(expr.Marshal(v)) != tc.want {
			t.Errorf("%s: %v %v, want %s", tc.text, v, err, tc.want)
		}
	}
}

func TestIntrinsicFailures(t *testing.T) {
	long := strings.Repeat("x", 10_001)
	sc := scope(t, `{"list":[1],"s":"text","n":1,"obj":{},"long":"`+long+`","bad":"{} {","three":"{}{}{}","algo":"CRC"}`)
	noDraw := scope(t, `{}`)
	noDraw.Draw = nil
	for _, tc := range []struct {
		text, reason string
		sc           *expr.Scope
	}{
		{`States.Format($.n)`, "States.Format needs a string as argument 1, not a value of type number", sc},
		{`States.Format($.three, 1)`, "the number of arguments, 1, does not match the occurrences of {}, 3,", sc},
		{`States.Format($.bad, 1)`, "matching '}' not found for '{'", sc},
		{`States.StringToJson($.n)`, "States.StringToJson needs a string as argument 1, not a value of type number", sc},
		{`States.StringToJson('{')`, "invalid JSON at line 1, column 2: the text ends where a member name is expected", sc},
		{`States.ArrayPartition($.list, 0)`, "the size of the parts must be a positive integer", sc},
		{`States.ArrayPartition($.list, $.s)`, "States.ArrayPartition needs a number as argument 2, not a value of type string", sc},
		{`States.ArrayPartition($.s, 1)`, "States.ArrayPartition needs an array as argument 1, not a value of type string", sc},
		{`States.ArrayContains($.obj, 1)`, "States.ArrayContains needs an array as argument 1, not a value of type object", sc},
		{`States.ArrayRange(1, 2, 0)`, "the increment must not be zero", sc},
		{`States.ArrayRange(1, 2, 0.4)`, "the increment must not be zero", sc},
		{`States.ArrayRange(1, 1001, 1)`, "the range has more than 1000 items", sc},
		{`States.ArrayRange(1, 1e30, 1)`, "States.ArrayRange needs a number of 64 bits as argument 2, not a value of type number", sc},
		{`States.ArrayGetItem($.list, 1)`, "index 1 is not in an array of 1 items", sc},
		{`States.ArrayGetItem($.list, -1)`, "index -1 is not in an array of 1 items", sc},
		{`States.ArrayGetItem($.list, 0.5)`, "index 0.5 is not in an array of 1 items", sc},
		{`States.ArrayGetItem($.list, '0')`, "States.ArrayGetItem needs a number as argument 2, not a value of type string", sc},
		{`States.ArrayGetItem($.s, 0)`, "States.ArrayGetItem needs an array as argument 1, not a value of type string", sc},
		{`States.ArrayLength($.n)`, "States.ArrayLength needs an array as argument 1, not a value of type number", sc},
		{`States.ArrayUnique($.n)`, "States.ArrayUnique needs an array as argument 1, not a value of type number", sc},
		{`States.Base64Encode($.long)`, "States.Base64Encode takes strings of at most 10000 characters", sc},
		{`States.Base64Decode($.long)`, "States.Base64Decode takes strings of at most 10000 characters", sc},
		{`States.Base64Decode('a')`, "the string is not Base64", sc},
		{`States.Base64Decode('/w==')`, "the decoded string is not text", sc},
		{`States.Base64Decode('AA==')`, "the decoded string is not text", sc},
		{`States.Hash($.long, 'MD5')`, "States.Hash takes strings of at most 10000 characters", sc},
		{`States.Hash($.n, 'MD5')`, "States.Hash needs a string as argument 1, not a value of type number", sc},
		{`States.Hash('a', $.n)`, "States.Hash needs a string as argument 2, not a value of type number", sc},
		{`States.Hash('a', $.algo)`, `there is no algorithm "CRC": it is one of MD5, SHA-1, SHA-256, SHA-384 and SHA-512`, sc},
		{`States.JsonMerge($.list, $.obj, false)`, "States.JsonMerge needs an object as argument 1, not a value of type array", sc},
		{`States.JsonMerge($.obj, $.list, false)`, "States.JsonMerge needs an object as argument 2, not a value of type array", sc},
		{`States.JsonMerge($.obj, $.obj, true)`, "only the shallow merge exists: argument 3 must be false", sc},
		{`States.JsonMerge($.obj, $.obj, null)`, "only the shallow merge exists: argument 3 must be false", sc},
		{`States.MathAdd('1', 2)`, "States.MathAdd needs a number as argument 1, not a value of type string", sc},
		{`States.MathAdd(1, null)`, "States.MathAdd needs a number as argument 2, not a value of type null", sc},
		{`States.MathAdd(9223372036854775807, 1)`, "the sum does not fit in 64 bits", sc},
		{`States.MathAdd(-9223372036854775808, -1)`, "the sum does not fit in 64 bits", sc},
		{`States.MathRandom(2, 2)`, "the start must be less than the end", sc},
		{`States.MathRandom(-9223372036854775808, 9223372036854775807)`, "the start must be less than the end", sc},
		{`States.MathRandom(1, 2, 'x')`, "States.MathRandom needs a number as argument 3, not a value of type string", sc},
		{`States.MathRandom(1, 2)`, "nothing can be drawn here", noDraw},
		{`States.UUID()`, "nothing can be drawn here", noDraw},
		{`States.StringSplit($.n, ',')`, "States.StringSplit needs a string as argument 1, not a value of type number", sc},
		{`States.StringSplit('a', $.n)`, "States.StringSplit needs a string as argument 2, not a value of type number", sc},
	} {
		_, err := call(t, tc.text, tc.sc)
		wantError(t, tc.text, err, expr.StatesIntrinsicFailure, "The function '"+tc.text+"' had the following error: "+tc.reason)
	}
}

func TestIntrinsicRefuses(t *testing.T) {
	nested := func(depth int) string {
		return strings.Repeat("States.Array(", depth) + strings.Repeat(")", depth)
	}
	if _, problems := expr.ParseTemplate(object("x.$", nested(10))); problems != nil {
		t.Errorf("ten calls in each other: %v", problems)
	}
	for text, reason := range map[string]string{
		"States.Array('\x90')":       "it is not UTF-8 at position 1",
		"States.":                    "'(' is expected at position 1",
		"States.Format":              "'(' is expected at position 1",
		"States.format('x')":         `there is no function "States.format" at position 1`,
		"States.Array(":              "an argument is expected at position 14",
		"States.Array(1":             "',' or ')' is expected at position 15",
		"States.Array(1,)":           "an argument is expected at position 16",
		"States.Array(1 2)":          "',' or ')' is expected at position 16",
		"States.Array(1) x":          "text after the call at position 17",
		"States.Array('a)":           "a quote is not closed at position 14",
		`States.Array("a")`:          "an argument is expected at position 14",
		"States.Array(x)":            "an argument is expected at position 14",
		"States.Array(trueish)":      "',' or ')' is expected at position 18",
		"States.Array(01)":           "',' or ')' is expected at position 15",
		"States.UUID(1)":             "States.UUID takes at most 0 arguments, not 1, at position 15",
		"States.Format()":            "States.Format takes at least 1 arguments, not 0, at position 16",
		"States.MathAdd(1)":          "States.MathAdd takes at least 2 arguments, not 1, at position 18",
		"States.MathRandom(1,2,3,4)": "States.MathRandom takes at most 3 arguments, not 4, at position 27",
		"States.Format('{} {}', 1)":  "the number of arguments, 1, does not match the occurrences of {}, 2, at position 26",
		"States.Format('{', 1)":      "matching '}' not found for '{' at position 22",
		nested(11):                   "calls nested deeper than 10 at position 131",
		"States.Array('" + strings.Repeat("x", 20_000) + "')": "longer than 16384 bytes at position 1",
	} {
		_, problems := expr.ParseTemplate(object("x.$", text))
		if len(problems) != 1 || problems[0].Rule != expr.RuleIntrinsic || problems[0].Pointer != "/x.$" ||
			!strings.HasSuffix(problems[0].Message, "is not the call of an intrinsic function: "+reason) {
			t.Errorf("%.60s: got %v, want %s", text, problems, reason)
		}
	}
	// A path among the arguments is judged as a path.
	_, problems := expr.ParseTemplate(object("x.$", "States.Array($.a b)"))
	if len(problems) != 1 || problems[0].Message != `"$.a b" is not a path: unexpected text at position 4` {
		t.Errorf("got %v", problems)
	}
}
