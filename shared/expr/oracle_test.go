package expr_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/ohler55/ojg/jp"
	"github.com/theory/jsonpath"
	"pgregory.net/rapid"

	"github.com/orrery-dev/orrery/shared/expr"
)

// Paths of the subset on which JSONPath libraries agree find the same values
// here as there. What is ours alone is left out: filters are applied to arrays
// only (the member "l" is always one), and a path that leads nowhere is taken
// as one that finds an empty list. Libraries keep no order of members, so
// results are compared as sets.

var oracleDocs = rapid.Custom(func(t *rapid.T) expr.Value { return oracleObject(t, 3) })

func oracleObject(t *rapid.T, depth int) *expr.Object {
	o := expr.NewObject()
	for _, name := range []string{"a", "b", "c"} {
		if rapid.Bool().Draw(t, "has "+name) {
			o.Set(name, oracleValue(t, depth-1))
		}
	}
	list := []expr.Value{}
	for range rapid.IntRange(0, 4).Draw(t, "length") {
		list = append(list, oracleValue(t, depth-1))
	}
	o.Set("l", list)
	return o
}

func oracleValue(t *rapid.T, depth int) expr.Value {
	kind := rapid.IntRange(0, 6).Draw(t, "kind")
	switch {
	case kind == 0:
		return nil
	case kind == 1:
		return rapid.Bool().Draw(t, "bool")
	case kind == 2:
		return rapid.SampledFrom([]string{"x", "y", "xy"}).Draw(t, "string")
	case kind <= 4 || depth <= 0:
		return expr.NumberOf(int64(rapid.IntRange(0, 3).Draw(t, "number")))
	case kind == 5:
		list := []expr.Value{}
		for range rapid.IntRange(0, 3).Draw(t, "length") {
			list = append(list, oracleValue(t, depth-1))
		}
		return list
	}
	return oracleObject(t, depth)
}

var oracleNames = rapid.SampledFrom([]string{"a", "b", "c", "l"})

// The forms of steps that a library takes as we do.
var (
	plainSteps = []string{".name", "['name']", "[0]", "[*]", "[0:1]", "[0,1]"}
	allSteps   = append([]string{"..name", ".l[?]", "..[?]"}, plainSteps...)
)

func oraclePath(t *rapid.T, forms []string) string {
	path := "$"
	for range rapid.IntRange(1, 4).Draw(t, "steps") {
		name := oracleNames.Draw(t, "name")
		switch rapid.SampledFrom(forms).Draw(t, "form") {
		case ".name":
			path += "." + name
		case "['name']":
			path += "['" + name + "']"
		case "[0]":
			path += fmt.Sprintf("[%d]", rapid.IntRange(-3, 3).Draw(t, "index"))
		case "[*]":
			path += "[*]"
		case "[0:1]":
			path += fmt.Sprintf("[%d:%d]", rapid.IntRange(-3, 3).Draw(t, "from"), rapid.IntRange(-3, 3).Draw(t, "to"))
		case "[0,1]":
			path += fmt.Sprintf("[%d,%d]", rapid.IntRange(0, 2).Draw(t, "one"), rapid.IntRange(0, 2).Draw(t, "other"))
		case "..name":
			path += ".." + name
		case ".l[?]":
			path += ".l[?(" + oracleFilter(t, 2) + ")]"
		case "..[?]":
			path += "..[?(" + oracleFilter(t, 1) + ")]"
		}
	}
	return path
}

func oracleFilter(t *rapid.T, depth int) string {
	operand := "@." + oracleNames.Draw(t, "member")
	if rapid.Bool().Draw(t, "deeper") {
		operand += "." + oracleNames.Draw(t, "member of member")
	}
	switch kind := rapid.IntRange(0, 5).Draw(t, "filter"); {
	case kind <= 2 || depth == 0:
		op := rapid.SampledFrom([]string{"==", "!=", "<", "<=", ">", ">="}).Draw(t, "operator")
		return operand + " " + op + " " + rapid.SampledFrom([]string{"0", "1", "2", "'x'", "'xy'"}).Draw(t, "literal")
	case kind == 3:
		return operand
	case kind == 4:
		return "!(" + oracleFilter(t, depth-1) + ")"
	}
	op := rapid.SampledFrom([]string{" && ", " || "}).Draw(t, "joined")
	return "(" + oracleFilter(t, depth-1) + op + oracleFilter(t, depth-1) + ")"
}

// foundHere lists the texts of what we find.
func foundHere(t *rapid.T, path string, doc expr.Value) []string {
	p, err := expr.ParsePath(path)
	if err != nil {
		t.Fatal(err)
	}
	v, err := p.Eval(&expr.Scope{Input: doc})
	switch {
	case err != nil:
		return nil
	case p.Definite():
		return []string{sortedText(t, v)}
	}
	var found []string
	for _, e := range v.([]expr.Value) {
		found = append(found, sortedText(t, e))
	}
	slices.Sort(found)
	return found
}

// sortedText writes a value with its members sorted.
func sortedText(t *rapid.T, v expr.Value) string {
	return foreignText(t, foreign(t, v))
}

func foreign(t *rapid.T, v expr.Value) any {
	var out any
	if err := json.Unmarshal(expr.Marshal(v), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func foreignText(t *rapid.T, v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func foundThere(t *rapid.T, list []any) []string {
	var found []string
	for _, v := range list {
		found = append(found, foreignText(t, v))
	}
	slices.Sort(found)
	return found
}

func TestPathsAgreeWithRFC9535(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		doc, path := oracleDocs.Draw(t, "doc"), oraclePath(t, allSteps)
		other, err := jsonpath.Parse(path)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		want := foundThere(t, other.Select(foreign(t, doc)))
		if got := foundHere(t, path, doc); !slices.Equal(got, want) {
			t.Fatalf("%s in %s:\nfound %v\n want %v", path, expr.Marshal(doc), got, want)
		}
	})
}

func TestPathsAgreeWithOjg(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		doc, path := oracleDocs.Draw(t, "doc"), oraclePath(t, plainSteps)
		other, err := jp.ParseString(path)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		want := foundThere(t, other.Get(foreign(t, doc)))
		if got := foundHere(t, path, doc); !slices.Equal(got, want) {
			t.Fatalf("%s in %s:\nfound %v\n want %v", path, expr.Marshal(doc), got, want)
		}
	})
}
