package expr_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/orrery-dev/orrery/shared/expr"
)

func TestParseKeepsWhatItReads(t *testing.T) {
	for _, tc := range []struct{ text, want string }{
		{`null`, `null`},
		{` true `, `true`},
		{`false`, `false`},
		{`"text"`, `"text"`},
		{`""`, `""`},
		{`{"b":1,"a":2}`, `{"b":1,"a":2}`}, // order
		{`1.0`, `1.0`},                     // text of numbers
		{`-0`, `-0`},
		{`1E+2`, `1E+2`},
		{`12345678901234567890.123456789`, `12345678901234567890.123456789`},
		{"[ 1 ,\t2\n,\r3 ]", `[1,2,3]`},
		{`[]`, `[]`},
		{`{}`, `{}`},
		{`{ "a" : [ { } ] }`, `{"a":[{}]}`},
		{`"\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00"`, `"\"\\/\b\f\n\r\té😀"`},
		{`"\u001f<>&\u2028"`, "\"\\u001f<>&\u2028\""},
		{`{"a":1,"b":2,"a":3}`, `{"a":3,"b":2}`}, // the last wins, in the first place
	} {
		v, err := expr.Parse([]byte(tc.text))
		if err != nil {
			t.Errorf("%s: %v", tc.text, err)
			continue
		}
		if got := string(expr.Marshal(v)); got != tc.want {
			t.Errorf("%s: printed as %s, want %s", tc.text, got, tc.want)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	deep := strings.Repeat("[", expr.MaxDepth+1)
	for _, tc := range []struct {
		text         string
		line, column int
		message      string
	}{
		{``, 1, 1, "the text ends where a value is expected"},
		{"\n ", 2, 2, "the text ends where a value is expected"},
		{`nul`, 1, 1, "'n' where a value is expected"},
		{`[1,]`, 1, 4, "']' where a value is expected"},
		{`[1 2]`, 1, 4, "'2' where ',' or ']' is expected"},
		{`[,1]`, 1, 2, "',' where a value is expected"},
		{`{"a":1,}`, 1, 8, "'}' where a member name is expected"},
		{`{"a" 1}`, 1, 6, "'1' where ':' is expected"},
		{`{"a":}`, 1, 6, "'}' where a value is expected"},
		{`{a:1}`, 1, 2, "'a' where a member name is expected"},
		{"{\n  \"a\": 1\n  \"b\": 2\n}", 3, 3, "'\"' where ',' or '}' is expected"},
		{`01`, 1, 2, "text after the value"},
		{`1.`, 1, 3, "the text ends where a digit is expected"},
		{`.5`, 1, 1, "'.' where a value is expected"},
		{`-`, 1, 2, "the text ends where a digit is expected"},
		{`+1`, 1, 1, "'+' where a value is expected"},
		{`1e`, 1, 3, "the text ends where a digit is expected"},
		{`NaN`, 1, 1, "'N' where a value is expected"},
		{`1 2`, 1, 3, "text after the value"},
		{`"a`, 1, 3, "a string is not closed"},
		{`"a\`, 1, 4, "a string is not closed"},
		{"\"a\nb\"", 1, 3, "control character 0x0a in a string"},
		{"\"\\n\x01\"", 1, 4, "control character 0x01 in a string"},
		{`"\x"`, 1, 2, "unknown escape sequence"},
		{`"\u12g4"`, 1, 2, `\u without four hexadecimal digits`},
		{`"a\u0000"`, 1, 3, "the character NUL"},
		{`"\ud800"`, 1, 2, "a surrogate without its other half"},
		{`"\ud800\u0041"`, 1, 2, "a surrogate without its other half"},
		{`"\udc00\ud800"`, 1, 2, "a surrogate without its other half"},
		{"\"a\xffb\"", 1, 3, "invalid UTF-8"},
		{"\"\xed\xa0\x80\"", 1, 2, "invalid UTF-8"}, // a surrogate in UTF-8
		{"\ufeff1", 1, 1, `'\ufeff' where a value is expected`},
		{deep, 1, expr.MaxDepth + 1, "nested deeper than 512"},
	} {
		_, err := expr.Parse([]byte(tc.text))
		e, ok := errors.AsType[*expr.SyntaxError](err)
		if !ok {
			t.Errorf("%q: got %v", tc.text, err)
			continue
		}
		if e.Line != tc.line || e.Column != tc.column || e.Message != tc.message {
			t.Errorf("%q: got %d:%d %s, want %d:%d %s", tc.text, e.Line, e.Column, e.Message, tc.line, tc.column, tc.message)
		}
	}
}

func TestParseTakesTheGreatestDepth(t *testing.T) {
	text := strings.Repeat("[", expr.MaxDepth) + strings.Repeat("]", expr.MaxDepth)
	if got := expr.Marshal(parse(t, text)); string(got) != text {
		t.Errorf("printed %d bytes, want %d", len(got), len(text))
	}
}

// A long text is not kept in memory by the strings of its value; the value is
// the same.
func TestParseLongText(t *testing.T) {
	var b strings.Builder
	b.WriteString("[")
	for i := range 2000 {
		fmt.Fprintf(&b, `{"name%d":"value %d","n":%d},`, i, i, 10*i)
	}
	text := strings.TrimSuffix(b.String(), ",") + "]"
	if got := string(expr.Marshal(parse(t, text))); got != text {
		t.Error("a long text is printed otherwise than it was read")
	}
}

func TestNumberCompare(t *testing.T) {
	// Each line holds numbers of one value; lines are in ascending order.
	ordered := [][]expr.Number{
		{"-1e999999999999999999999"},
		{"-1e400"},
		{"-9223372036854775809"},
		{"-9223372036854775808", "-9223372036854775808.0"},
		{"-2"},
		{"-1.5", "-15e-1", "-0.15e1"},
		{"-1", "-1.0"},
		{"-1e-400"},
		{"0", "-0", "0.0", "0e5", "-0.00e-3"},
		{"1e-999999999999999999999"},
		{"0.1", "1e-1", "0.10"},
		{"0.10000000000000000000001"},
		{"1", "1.0", "1.00", "10e-1", "0.1e1"},
		{"1.0000000000000000000000001"},
		{"2"},
		{"9.9"},
		{"10", "1e1", "1E+1", "1.0e1"},
		{"9007199254740992"},
		{"9007199254740993"},
		{"123456789012345678901234567890", "1.2345678901234567890123456789e29"},
		{"1e400"},
	}
	for i, as := range ordered {
		for j, bs := range ordered {
			for _, a := range as {
				for _, b := range bs {
					want := 0
					if i < j {
						want = -1
					} else if i > j {
						want = 1
					}
					if got := a.Compare(b); got != want {
						t.Errorf("%s.Compare(%s) = %d, want %d", a, b, got, want)
					}
				}
			}
		}
	}
}

func TestNumberInt64(t *testing.T) {
	for _, tc := range []struct {
		n    expr.Number
		want int64
		ok   bool
	}{
		{"0", 0, true}, {"-0", 0, true}, {"1", 1, true}, {"1.0", 1, true}, {"1e2", 100, true}, {"-1.50e1", -15, true},
		{"9223372036854775807", math.MaxInt64, true}, {"-9223372036854775808", math.MinInt64, true},
		{"9223372036854775808", 0, false}, {"1e19", 0, false}, {"1e18", 1e18, true}, {"1e999999999999", 0, false},
		{"1.5", 0, false}, {"1e-1", 0, false}, {"0e-9", 0, true}, {"1e-99999999999", 0, false},
	} {
		if got, ok := tc.n.Int64(); got != tc.want || ok != tc.ok {
			t.Errorf("%s: %d %t, want %d %t", tc.n, got, ok, tc.want, tc.ok)
		}
	}
}

func TestNumberRound(t *testing.T) {
	for _, tc := range []struct {
		n    expr.Number
		want int64
		ok   bool
	}{
		{"1.49", 1, true}, {"1.5", 2, true}, {"1.51", 2, true}, {"2.5", 3, true}, {"0.5", 1, true}, {"0.05e1", 1, true},
		{"0.49999999999999999999", 0, true}, {"0.05", 0, true}, {"0.00005", 0, true},
		{"-0.5", 0, true}, {"-1.49", -1, true}, {"-1.5", -1, true}, {"-1.51", -2, true}, {"-2.5", -2, true}, {"-0.05", 0, true},
		{"15e-1", 2, true}, {"9223372036854775807.5", 0, false}, {"9223372036854775807.4", math.MaxInt64, true},
		{"-9223372036854775808.5", math.MinInt64, true}, {"-9223372036854775808.6", 0, false}, {"1e30", 0, false},
	} {
		if got, ok := tc.n.Round(); ok != tc.ok || ok && got != tc.want {
			t.Errorf("%s: %d %t, want %d %t", tc.n, got, ok, tc.want, tc.ok)
		}
	}
}

func TestNumberOfFloat(t *testing.T) {
	for f, want := range map[float64]expr.Number{0: "0", 1: "1", 0.1: "0.1", -2.5: "-2.5", 1e21: "1e+21", 1e-7: "1e-07"} {
		if got, ok := expr.NumberOfFloat(f); !ok || got != want || got.Float64() != f {
			t.Errorf("%g: %q, want %q", f, got, want)
		}
	}
	for _, f := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		if _, ok := expr.NumberOfFloat(f); ok {
			t.Errorf("%g has a number", f)
		}
	}
	if f := expr.Number("1e400").Float64(); !math.IsInf(f, 1) {
		t.Errorf("1e400 is %g", f)
	}
}

func TestObjectKeepsOrder(t *testing.T) {
	o := expr.NewObject()
	for _, n := range []int{3, 40} { // without and with an index
		for i := range n {
			o.Set(fmt.Sprint("m", i), expr.NumberOf(int64(i)))
		}
		o.Set("m1", "changed")
		o.Delete("m0")
		o.Delete("absent")
		o.Set("m0", "again")
		var names []string
		for name := range o.All() {
			names = append(names, name)
		}
		if first, last := names[0], names[len(names)-1]; first != "m1" || last != "m0" || o.Len() != n {
			t.Errorf("%d members: first %s, last %s, length %d", n, first, last, o.Len())
		}
		if v, _ := o.Get("m1"); v != "changed" {
			t.Errorf("%d members: m1 is %v", n, v)
		}
		for i := 2; i < n; i++ {
			if v, ok := o.Get(fmt.Sprint("m", i)); !ok || v != expr.NumberOf(int64(i)) {
				t.Errorf("%d members: m%d is %v %t", n, i, v, ok)
			}
		}
	}
}

func TestObjectNil(t *testing.T) {
	var o *expr.Object
	if v, ok := o.Get("a"); ok || v != nil || o.Len() != 0 {
		t.Error("a nil object has something in it")
	}
	for range o.All() {
		t.Error("a nil object has members")
	}
	if got := string(expr.Marshal(o)); got != "{}" {
		t.Errorf("a nil object is printed as %s", got)
	}
	if c := o.Clone(); c == nil || c.Len() != 0 {
		t.Error("the clone of a nil object is not the empty object")
	}
}

func TestObjectCloneIsApart(t *testing.T) {
	for _, n := range []int{2, 30} {
		o := expr.NewObject()
		for i := range n {
			o.Set(fmt.Sprint(i), nil)
		}
		c := o.Clone()
		c.Set("new", true)
		c.Set("0", true)
		c.Delete("1")
		if v, _ := o.Get("0"); v != nil || o.Len() != n {
			t.Errorf("%d members: a change of the clone shows in the original", n)
		}
	}
}

func TestObjectAllStops(t *testing.T) {
	o := parse(t, `{"a":1,"b":2,"c":3}`).(*expr.Object)
	var seen []string
	for name := range o.All() {
		if seen = append(seen, name); name == "b" {
			break
		}
	}
	if !slices.Equal(seen, []string{"a", "b"}) {
		t.Errorf("saw %v", seen)
	}
}

func TestEqual(t *testing.T) {
	for _, tc := range []struct {
		a, b string
		want bool
	}{
		{`1`, `1.0`, true}, {`1`, `1.1`, false}, {`1`, `"1"`, false}, {`null`, `false`, false}, {`null`, `null`, true},
		{`"a"`, `"a"`, true}, {`true`, `true`, true}, {`true`, `false`, false},
		{`[1,2]`, `[1.0,2e0]`, true}, {`[1,2]`, `[2,1]`, false}, {`[1]`, `[1,1]`, false}, {`[]`, `{}`, false},
		{`{"a":1,"b":[{"c":null}]}`, `{"b":[{"c":null}],"a":1.0}`, true}, {`{"a":1}`, `{"b":1}`, false}, {`{"a":null}`, `{}`, false},
	} {
		if got := expr.Equal(parse(t, tc.a), parse(t, tc.b)); got != tc.want {
			t.Errorf("Equal(%s, %s) = %t", tc.a, tc.b, got)
		}
	}
}

func TestSizeStopsAtTheLimit(t *testing.T) {
	v := parse(t, `{"a":[1,true,null,false,"é\n\u0001\""],"b":{}}`)
	n := len(expr.Marshal(v))
	if got, within := expr.Size(v, n); got != n || !within {
		t.Errorf("Size = %d %t, want %d", got, within, n)
	}
	if _, within := expr.Size(v, n-1); within {
		t.Error("one byte less is still within")
	}
	// A value that shares parts is huge as text and small in memory.
	var huge expr.Value = "0123456789"
	for range 200 {
		huge = []expr.Value{huge, huge}
	}
	if _, within := expr.Size(huge, 1<<20); within {
		t.Error("2^200 texts are within a mebibyte")
	}
}

func TestAppendRepairsText(t *testing.T) {
	for s, want := range map[string]string{"a\xffb": `"a` + "\ufffd" + `b"`, "\xff": `"` + "\ufffd" + `"`} {
		got := string(expr.Marshal(s))
		if got != want {
			t.Errorf("%q is printed as %s", s, got)
		}
		if n, _ := expr.Size(s, 100); n != len(want) {
			t.Errorf("%q has size %d, want %d", s, n, len(want))
		}
	}
}

func TestForeignValuesPanic(t *testing.T) {
	for name, use := range map[string]func(){
		"Append": func() { expr.Marshal(1) },
		"Equal":  func() { expr.Equal(map[string]any{}, nil) },
		"Size":   func() { expr.Size([]expr.Value{1.5}, 100) },
		"Clone":  func() { expr.Clone(int64(1)) },
	} {
		func() {
			defer func() {
				if r := fmt.Sprint(recover()); !strings.Contains(r, "is not a Value") {
					t.Errorf("%s: %s", name, r)
				}
			}()
			use()
		}()
	}
}
