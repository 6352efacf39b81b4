package expr_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/orrery-dev/orrery/shared/expr"
)

// order is an input of the usual shape.
const order = `{
	"id": "A1", "total": 42.50, "paid": false, "note": null,
	"detail-type": "web", "with space": 1, "a.b": 2, "it's": 3,
	"customer": {"name": "Ada", "tags": ["x", "y"]},
	"lines": [
		{"sku": "s1", "qty": 1, "price": 10, "kind": "book"},
		{"sku": "s2", "qty": 5, "price": 20.0, "kind": "pen"},
		{"sku": "s3", "qty": 5, "price": 30}
	],
	"matrix": [[1, 2], [3, 4]]
}`

func TestPathFinds(t *testing.T) {
	doc := parse(t, order)
	for _, tc := range []struct{ path, want string }{
		// A definite path gives the one value.
		{"$.id", `"A1"`},
		{"$['id']", `"A1"`},
		{`$["id"]`, `"A1"`},
		{"$.customer.name", `"Ada"`},
		{"$.customer['tags'][1]", `"y"`},
		{"$.lines[0].sku", `"s1"`},
		{"$.lines[-1].sku", `"s3"`},
		{"$.lines.[0].sku", `"s1"`}, // a dot before a bracket
		{"$.matrix[1][0]", `3`},
		{"$.note", `null`},         // a null that is there is found
		{"$.detail-type", `"web"`}, // a hyphen needs no quotes
		{"$['with space']", `1`},
		{"$['a.b']", `2`},
		{`$.a\.b`, `2`}, // a backslash takes the next character
		{`$['it\'s']`, `3`},
		{`$["it's"]`, `3`},
		{"$[ 'customer' ][ 'name' ]", `"Ada"`},
		{"$.lines[ 0 ].qty", `1`},
		// An indefinite path gives a list.
		{"$.lines[*].sku", `["s1","s2","s3"]`},
		{"$.lines.*.sku", `["s1","s2","s3"]`},
		{"$.customer.*", `["Ada",["x","y"]]`},
		{"$.lines[0,2].sku", `["s1","s3"]`},
		{"$.lines[-1,0].qty", `[5,1]`},
		{"$.lines[0,9].sku", `["s1"]`},
		{"$.lines[1:].sku", `["s2","s3"]`},
		{"$.lines[:1].sku", `["s1"]`},
		{"$.lines[0:2].sku", `["s1","s2"]`},
		{"$.lines[-2:].sku", `["s2","s3"]`},
		{"$.lines[:-1].sku", `["s1","s2"]`},
		{"$.lines[5:9]", `[]`},
		{"$.lines[2:1]", `[]`},
		{"$['id','total']", `["A1",42.50]`},
		{"$['id','absent']", `["A1"]`},
		{"$..sku", `["s1","s2","s3"]`},
		{"$..tags[0]", `["x"]`},
		{"$.matrix..[0]", `[[1,2],1,3]`},
		{"$.customer..*", `["Ada",["x","y"],"x","y"]`},
		{"$.lines[*].kind", `["book","pen"]`},
		// ... empty where nothing matches, even where a parent is missing.
		{"$.absent[*]", `[]`},
		{"$.absent[:1]", `[]`},
		{"$.absent[:1].more", `[]`},
		{"$.absent[0,1]", `[]`},
		{"$.absent.more[*].x", `[]`},
		{"$.absent[?(@.x)]", `[]`},
		{"$..absent", `[]`},
		{"$.id[*]", `[]`},
		{"$.lines[*].absent", `[]`},
		{"$[*].name", `["Ada"]`},
	} {
		p, err := expr.ParsePath(tc.path)
		if err != nil {
			t.Errorf("%s: %v", tc.path, err)
			continue
		}
		v, err := p.Eval(&expr.Scope{Input: doc})
		if err != nil {
			t.Errorf("%s: %v", tc.path, err)
		} else if got := string(expr.Marshal(v)); got != tc.want {
			t.Errorf("%s: %s, want %s", tc.path, got, tc.want)
		}
		if p.String() != tc.path {
			t.Errorf("%s is written %s", tc.path, p)
		}
	}
}

func TestPathFindsNothing(t *testing.T) {
	doc := parse(t, order)
	for _, tc := range []struct{ path, cause string }{
		{"$.absent", "Invalid path '$.absent' : No results for path: $['absent']"},
		{"$.customer.absent", "Invalid path '$.customer.absent' : No results for path: $['customer']['absent']"},
		{"$.absent.more", "Invalid path '$.absent.more' : Missing property in path $['absent']"},
		{"$.lines[7]", "Invalid path '$.lines[7]' : No results for path: $['lines'][7]"},
		{"$.lines[-4]", "Invalid path '$.lines[-4]' : No results for path: $['lines'][-4]"},
		{"$.total[0]", "Invalid path '$.total[0]' : Filter: [0] can only be applied to arrays. Current context is: 42.50"},
		{"$.customer.tags[0:1:1]", ""},
		{"$[1:5]", "Invalid path '$[1:5]' : Filter: [1:5] can only be applied to arrays. Current context is: " + string(expr.Marshal(doc))},
		{"$.total[:1]", "Invalid path '$.total[:1]' : Filter: [:1] can only be applied to arrays. Current context is: 42.50"},
		{"$.total[0,1]", "Invalid path '$.total[0,1]' : Filter: [0,1] can only be applied to arrays. Current context is: 42.50"},
		{"$.note.x", "Invalid path '$.note.x' : Expected to find an object with property ['x'] in path $['note'] but found 'null'."},
	} {
		p, err := expr.ParsePath(tc.path)
		if tc.cause == "" {
			if err == nil {
				t.Errorf("%s is taken for a path", tc.path)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", tc.path, err)
			continue
		}
		_, err = p.Eval(&expr.Scope{Input: doc})
		wantError(t, tc.path, err, expr.StatesRuntime, tc.cause)
	}
}

func wantError(t *testing.T, what string, err error, name, cause string) {
	t.Helper()
	e, ok := errors.AsType[*expr.Error](err)
	if !ok {
		t.Errorf("%s: got %v, want %s", what, err, name)
		return
	}
	if e.Name != name || e.Cause != cause {
		t.Errorf("%s:\n got %s: %s\nwant %s: %s", what, e.Name, e.Cause, name, cause)
	}
}

func TestPathFilters(t *testing.T) {
	doc := parse(t, `{"limit": 4, "allowed": ["b", "c"], "items": [
		{"id": 1, "name": "a", "on": true, "sub": {"n": 1}},
		{"id": 2, "name": "b", "on": false, "list": [1, 2]},
		{"id": 3, "name": "c", "note": null, "list": []},
		{"id": 4, "name": "d", "text": "4"},
		"plain", 7
	], "one": {"id": 9, "name": "only"}}`)
	for _, tc := range []struct{ filter, want string }{
		{"@.id == 2", `[2]`},
		{"@.id==2", `[2]`},
		{"@.id != 2", `[1,3,4]`},
		{"@.id < 2", `[1]`},
		{"@.id <= 2", `[1,2]`},
		{"@.id > 3", `[4]`},
		{"@.id >= 3.0", `[3,4]`},
		{"@['id'] == 1", `[1]`},
		{"2 == @.id", `[2]`},
		{"@.name == 'b'", `[2]`},
		{`@.name == "b"`, `[2]`},
		{"@.name == b", `[2]`}, // a word without quotes
		{"@.name > 'b'", `[3,4]`},
		{"@.on == true", `[1]`},
		{"@.on", `[1,2]`}, // existence, whatever the value
		{"@.note", `[3]`},
		{"@.note == null", `[3]`},
		{"!@.on", `[3,4]`},
		{"!(@.on)", `[3,4]`},
		{"@.sub.n == 1", `[1]`},
		{"@.list[0] == 1", `[2]`},
		{"@.list[*]", `[2]`}, // a list that finds nothing does not exist
		{"@.id > 1 && @.id < 4", `[2,3]`},
		{"@.id == 1 || @.id == 4", `[1,4]`},
		{"@.id == 1 || @.id == 2 && @.on == true", `[1]`}, // && binds tighter
		{"(@.id == 1 || @.id == 2) && @.on == true", `[1]`},
		{"@.id == $.limit", `[4]`},
		{"@.id in [1, 3]", `[1,3]`},
		{"@.name in $.allowed", `[2,3]`},
		{"@.name nin ['a', 'b']", `[3,4]`},
		{"@.name =~ /[AB]/i", `[1,2]`},
		{"@.name =~ /x|c/", `[3]`},
		{"@.name =~ /./", `[1,2,3,4]`},
		{"@.list size 2", `[2]`},
		{"@.list empty true", `[3]`},
		{"@.list contains 2", `[2]`},
		{"@.name contains 'c'", `[3]`},
		{"@.list subsetof [1,2,3]", `[2,3]`},
		{"@.list anyof [2,9]", `[2]`},
		{"@.list noneof [1]", `[3]`},
		{"@.text == 4", `[4]`}, // a text that holds the number
		{"@.id == '4'", `[4]`},
		{"@.name < 5", `[]`}, // no order between types
		{"@.absent == 1", `[]`},
		{"@.absent != 1", `[1,2,3,4]`},
		{"true", `[1,2,3,4]`},
		{"false", `[]`},
	} {
		for _, form := range []string{"$.items[?(" + tc.filter + ")].id", "$.items.[?(" + tc.filter + ")].id"} {
			if got := evalPath(t, form, doc); got != tc.want {
				t.Errorf("%s: %s, want %s", form, got, tc.want)
			}
		}
	}
	for path, want := range map[string]string{
		"$.one[?(@.id == 9)].name":          `["only"]`, // of an object, the object itself is tested
		"$.one[?(@.id == 8)].name":          `[]`,
		"$.items[?@.id == 1].name":          `["a"]`,
		"$..[?(@.n)].n":                     `[1]`,
		"$.items[?(@ == 7)]":                `[7]`,
		"$.items[?(@.list)].list[?(@ > 1)]": `[2]`,
		"$.items[?(@.list[?(@ > 1)])].id":   `[2]`, // a filter in a filter
	} {
		if got := evalPath(t, path, doc); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
}

func evalPath(t *testing.T, path string, doc expr.Value) string {
	t.Helper()
	p, err := expr.ParsePath(path)
	if err != nil {
		t.Errorf("%v", err)
		return ""
	}
	v, err := p.Eval(&expr.Scope{Input: doc})
	if err != nil {
		return err.Error()
	}
	return string(expr.Marshal(v))
}

func TestPathRefuses(t *testing.T) {
	long := "$." + strings.Repeat("a", 5000)
	for path, reason := range map[string]string{
		"":                                     "it does not begin with $ at position 1",
		"id":                                   "it does not begin with $ at position 1",
		"$id.":                                 "a name is expected at position 5",
		"$.":                                   "a name is expected at position 3",
		"$..":                                  "a name is expected at position 4",
		"$...a":                                "a name is expected at position 4",
		"$.a b":                                "unexpected text at position 4",
		"$.a]":                                 "unexpected text at position 4",
		"$.a*":                                 "a name cannot have * at position 4",
		"$.a.length()":                         "functions do not exist in paths at position 11",
		"$.a[":                                 "an index is expected at position 5",
		"$.a[]":                                "an index is expected at position 5",
		"$.a[x]":                               "an index is expected at position 5",
		"$.a[1":                                "']' is expected at position 6",
		"$.a[1,]":                              "an index is expected at position 7",
		"$.a[99999999999]":                     "an index is expected at position 5",
		"$.a[:]":                               "a slice needs one end at least at position 6",
		"$.a[1:2:3]":                           "']' is expected at position 8",
		"$.a['b]":                              "a quote is not closed at position 8",
		"$.a['b',1]":                           "a name in quotes is expected at position 9",
		`$.a\`:                                 "a backslash with nothing after it at position 5",
		"$.a[?(@.b ==)]":                       "a path or a literal is expected at position 13",
		"$.a[?(@.b == 1]":                      "')' is expected at position 15",
		"$.a[?(@.b =~ x)]":                     "/ is expected at position 14",
		"$.a[?(@.b =~ /x)]":                    "/ is expected at position 18",
		"$.a[?(@.b =~ /(/)]":                   "a pattern that is not a regular expression at position 17",
		"$.a[?('x')]":                          "an operator is expected at position 10",
		"$.a[?(@.b in [@.c])]":                 "a path in a list at position 18",
		"$.a[?(@.b in [[1]])]":                 "a list in a list at position 15",
		"$.a[?(@.length() > 1)]":               "functions do not exist in paths at position 15",
		"$states.input":                        `the name "states" is reserved at position 2`,
		"$" + strings.Repeat("v", 81):          "the name of a variable has at most 80 characters at position 2",
		long:                                   "longer than 4096 bytes at position 1",
		"$" + strings.Repeat(".a", 129):        "more than 128 steps at position 260",
		"$[?" + strings.Repeat("(", 20):        "a filter nested deeper than 16 at position 20",
		"$[?" + strings.Repeat("!", 20) + "@]": "a filter nested deeper than 16 at position 20",
		`$[?(@.a =~ /(\w{500}){10}/)]`:         "a pattern that is not a regular expression at position 27",
		`$[?(@.a =~ /\w{900}\w{900}/)]`:        "a pattern that is too large at position 28",
	} {
		_, err := expr.ParsePath(path)
		if err == nil || !strings.HasSuffix(err.Error(), "is not a path: "+reason) {
			t.Errorf("%.60s: got %v, want %s", path, err, reason)
		}
	}
}

func TestPathRoots(t *testing.T) {
	sc := &expr.Scope{
		Input:     parse(t, `{"a":"input"}`),
		Context:   func() *expr.Object { return object("a", "context") },
		Variables: object("v", object("a", "variable"), "größe_2", "x").Get,
	}
	for _, tc := range []struct {
		path     string
		root     expr.Root
		variable string
		want     string
	}{
		{"$", expr.InputRoot, "", `{"a":"input"}`},
		{"$.a", expr.InputRoot, "", `"input"`},
		{"$$", expr.ContextRoot, "", `{"a":"context"}`},
		{"$$.a", expr.ContextRoot, "", `"context"`},
		{"$$['a']", expr.ContextRoot, "", `"context"`},
		{"$v", expr.VariableRoot, "v", `{"a":"variable"}`},
		{"$v.a", expr.VariableRoot, "v", `"variable"`},
		{"$v[*]", expr.VariableRoot, "v", `["variable"]`},
		{"$größe_2", expr.VariableRoot, "größe_2", `"x"`},
	} {
		p, err := expr.ParsePath(tc.path)
		if err != nil {
			t.Errorf("%v", err)
			continue
		}
		if p.Root() != tc.root || p.Variable() != tc.variable {
			t.Errorf("%s starts from %d %q", tc.path, p.Root(), p.Variable())
		}
		v, err := p.Eval(sc)
		if got := string(expr.Marshal(v)); err != nil || got != tc.want {
			t.Errorf("%s: %s %v, want %s", tc.path, got, err, tc.want)
		}
	}
	p, _ := expr.ParsePath("$absent.x")
	_, err := p.Eval(sc)
	wantError(t, "$absent.x", err, expr.StatesRuntime, "The variable 'absent' of the JSONPath '$absent.x' has no value.")
	_, err = p.Eval(&expr.Scope{})
	wantError(t, "$absent.x", err, expr.StatesRuntime, "The variable 'absent' of the JSONPath '$absent.x' has no value.")
	if v, err := must(expr.ParsePath("$$")).Eval(&expr.Scope{}); err != nil || string(expr.Marshal(v)) != "{}" {
		t.Errorf("without a context object $$ is %v %v", v, err)
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func TestPathTellsWhatItIs(t *testing.T) {
	for _, tc := range []struct {
		path                string
		definite, reference bool
		prefix              string
	}{
		{"$", true, true, ""},
		{"$.a.b['c']", true, true, "a b c"},
		{"$.a[0].b", true, true, "a"},
		{"$.a[-1]", true, false, "a"},
		{"$.a[0,1].b", false, false, "a"},
		{"$.a['b','c']", false, false, "a"},
		{"$.a..b", false, false, "a"},
		{"$..[0]", false, false, ""},
		{"$.a[*]", false, false, "a"},
		{"$.a[1:]", false, false, "a"},
		{"$.a[?(@.b)]", false, false, "a"},
	} {
		p := must(expr.ParsePath(tc.path))
		if p.Definite() != tc.definite || p.Reference() != tc.reference || strings.Join(p.Prefix(), " ") != tc.prefix {
			t.Errorf("%s: definite %t, reference %t, prefix %v", tc.path, p.Definite(), p.Reference(), p.Prefix())
		}
	}
}

func TestReferencePathParse(t *testing.T) {
	for _, text := range []string{"$", "$.a", "$.a.b[0]['c d']", "$.ledgers.branch[0].pending.count"} {
		if p, err := expr.ParseReferencePath(text); err != nil || p.String() != text || p.Root() != (text == "$") {
			t.Errorf("%s: %v %v", text, p, err)
		}
	}
	for _, text := range []string{"$$", "$$.a", "$v", "$.a[*]", "$..a", "$.a[1:2]", "$.a[0,1]", "$.a[?(@.b)]", "$.a[-1]", "$['a','b']"} {
		if _, err := expr.ParseReferencePath(text); !errors.Is(err, expr.ErrNotReference) {
			t.Errorf("%s: %v", text, err)
		}
	}
	if _, err := expr.ParseReferencePath("a"); err == nil {
		t.Error("a is taken for a reference path")
	}
}

func TestReferencePathSet(t *testing.T) {
	for _, tc := range []struct{ root, path, want string }{
		{`{"a":1}`, "$", `9`},
		{`{"a":1}`, "$.a", `{"a":9}`},
		{`{"a":1}`, "$.b", `{"a":1,"b":9}`},
		{`{}`, "$.a.b.c", `{"a":{"b":{"c":9}}}`}, // missing objects are made
		{`{"a":{"x":1}}`, "$.a.b", `{"a":{"x":1,"b":9}}`},
		{`{"a":[1,2,3]}`, "$.a[1]", `{"a":[1,9,3]}`},
		{`{"a":[{"x":1}]}`, "$.a[0].y.z", `{"a":[{"x":1,"y":{"z":9}}]}`},
		{`[1]`, "$[0]", `[9]`},
		{`{"a":1}`, "$.a.b", "Unable to apply ReferencePath $.a.b to input {\"a\":1}"}, // inside a non-object
		{`{"a":null}`, "$.a.b", "Unable to apply ReferencePath $.a.b to input {\"a\":null}"},
		{`"text"`, "$.a", "Unable to apply ReferencePath $.a to input \"text\""},
		{`[1]`, "$.a", "Unable to apply ReferencePath $.a to input [1]"},
		{`{"a":[1]}`, "$.a[1]", "Unable to apply ReferencePath $.a[1] to input {\"a\":[1]}"},
		{`{}`, "$.a[0]", "Unable to apply ReferencePath $.a[0] to input {}"},
	} {
		p := must(expr.ParseReferencePath(tc.path))
		root := parse(t, tc.root)
		v, err := p.Set(root, expr.Number("9"))
		if err != nil {
			wantError(t, tc.root+" "+tc.path, err, expr.StatesRuntime, tc.want)
		} else if got := string(expr.Marshal(v)); got != tc.want {
			t.Errorf("%s in %s: %s, want %s", tc.path, tc.root, got, tc.want)
		} else if back, ok := p.Get(v); !ok || back != expr.Number("9") {
			t.Errorf("%s in %s: got back %v", tc.path, tc.root, back)
		}
		if now := string(expr.Marshal(root)); now != tc.root {
			t.Errorf("%s changed its input to %s", tc.path, now)
		}
	}
	if _, ok := must(expr.ParseReferencePath("$.a[0].b")).Get(parse(t, `{"a":[]}`)); ok {
		t.Error("found an element of an empty array")
	}
}
