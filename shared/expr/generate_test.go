package expr_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/orrery-dev/orrery/shared/expr"
)

// numberTexts are numbers in every form of the grammar.
var numberTexts = rapid.StringMatching(`-?(0|[1-9][0-9]{0,20})(\.[0-9]{1,10})?([eE][+-]?[0-9]{1,3})?`)

// texts are strings without NUL, which values do not have.
var texts = rapid.Custom(func(t *rapid.T) string {
	return strings.ReplaceAll(rapid.String().Draw(t, "text"), "\x00", "")
})

// values are values of any kind, with names from texts, not deep.
var values = valuesOf(texts, 4)

func valuesOf(names *rapid.Generator[string], depth int) *rapid.Generator[expr.Value] {
	return rapid.Custom(func(t *rapid.T) expr.Value {
		kinds := 6
		if depth == 0 {
			kinds = 4
		}
		switch rapid.IntRange(0, kinds-1).Draw(t, "kind") {
		case 0:
			return nil
		case 1:
			return rapid.Bool().Draw(t, "bool")
		case 2:
			return expr.Number(numberTexts.Draw(t, "number"))
		case 3:
			return texts.Draw(t, "string")
		case 4:
			return rapid.SliceOfN(valuesOf(names, depth-1), 0, 5).Draw(t, "list")
		}
		o := expr.NewObject()
		for _, name := range rapid.SliceOfN(names, 0, 20).Draw(t, "names") {
			o.Set(name, valuesOf(names, depth-1).Draw(t, "member"))
		}
		return o
	})
}

func TestParseReadsWhatAppendPrints(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := values.Draw(t, "value")
		text := expr.Marshal(v)
		back, err := expr.Parse(text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if !expr.Equal(v, back) {
			t.Fatalf("%s is read as another value", text)
		}
		if again := expr.Marshal(back); string(again) != string(text) {
			t.Fatalf("%s is printed again as %s", text, again)
		}
		if n, within := expr.Size(v, len(text)); n != len(text) || !within {
			t.Fatalf("%s: size %d, is %d", text, n, len(text))
		}
		if c := expr.Clone(v); !expr.Equal(c, v) || string(expr.Marshal(c)) != string(text) {
			t.Fatalf("the clone of %s is %s", text, expr.Marshal(c))
		}
	})
}

// Compare is an order that agrees with floats where those are exact, and Equal
// and ArrayUnique agree with it.
func TestNumberProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := expr.Number(numberTexts.Draw(t, "a")), expr.Number(numberTexts.Draw(t, "b")), expr.Number(numberTexts.Draw(t, "c"))
		if a.Compare(b) != -b.Compare(a) || a.Compare(a) != 0 {
			t.Fatal("not antisymmetric")
		}
		if a.Compare(b) <= 0 && b.Compare(c) <= 0 && a.Compare(c) > 0 {
			t.Fatal("not transitive")
		}
		if fa, fb := a.Float64(), b.Float64(); fa < fb && a.Compare(b) >= 0 || fa > fb && a.Compare(b) <= 0 {
			t.Fatalf("as floats %g and %g, as numbers %d", fa, fb, a.Compare(b))
		}
		if expr.Equal(a, b) != (a.Compare(b) == 0) {
			t.Fatal("Equal and Compare differ")
		}
		if i, ok := a.Int64(); ok && expr.NumberOf(i).Compare(a) != 0 {
			t.Fatalf("%s is %d", a, i)
		}
		if i, ok := a.Round(); ok && i > -1e15 && i < 1e15 { // where floats have halves
			if f := a.Float64(); f < float64(i)-0.5 || f > float64(i)+0.5 {
				t.Fatalf("%s is rounded to %d", a, i)
			}
		}
	})
}

func TestArrayUniqueAgreesWithEqual(t *testing.T) {
	few := rapid.SampledFrom([]string{"a", "b"})
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SliceOfN(valuesOf(few, 2), 0, 12).Draw(t, "list")
		tmpl, problems := expr.ParseTemplate(object("x.$", "States.ArrayUnique($)"))
		if problems != nil {
			t.Fatal(problems)
		}
		out, err := tmpl.Eval(&expr.Scope{Input: list})
		if err != nil {
			t.Fatal(err)
		}
		var want []expr.Value
	next:
		for _, v := range list {
			for _, w := range want {
				if expr.Equal(v, w) {
					continue next
				}
			}
			want = append(want, v)
		}
		if got := at(out, "x").([]expr.Value); !expr.Equal(got, append([]expr.Value{}, want...)) {
			t.Fatalf("got %s, want %s", expr.Marshal(got), expr.Marshal(append([]expr.Value{}, want...)))
		}
	})
}

// Setting at a reference path is found there again, changes nothing else and
// leaves the original as it was.
func TestReferencePathProperties(t *testing.T) {
	names := rapid.SampledFrom([]string{"a", "b", "c"})
	rapid.Check(t, func(t *rapid.T) {
		root := valuesOf(names, 3).Draw(t, "root")
		text := "$"
		for _, i := range rapid.SliceOfN(rapid.IntRange(0, 4), 0, 4).Draw(t, "steps") {
			if i < 3 {
				text += "." + []string{"a", "b", "c"}[i]
			} else {
				text += fmt.Sprintf("[%d]", i-3)
			}
		}
		p, err := expr.ParseReferencePath(text)
		if err != nil {
			t.Fatal(err)
		}
		before := string(expr.Marshal(root))
		v := values.Draw(t, "value")
		out, err := p.Set(root, v)
		if after := string(expr.Marshal(root)); after != before {
			t.Fatalf("the original became %s", after)
		}
		if err != nil {
			return
		}
		if got, ok := p.Get(out); !ok || !expr.Equal(got, v) {
			t.Fatalf("%s in %s: got back %v", text, before, got)
		}
		if old, ok := p.Get(root); ok {
			if back, err := p.Set(out, old); err != nil || !expr.Equal(back, root) {
				t.Fatalf("%s in %s: setting it back gives %s", text, before, expr.Marshal(back))
			}
		}
	})
}
