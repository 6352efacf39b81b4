package definition

import (
	"encoding/json"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/orrery-dev/orrery/shared/expr"
)

// yamlValues are YAML texts and the JSON that they spell.
var yamlValues = []struct{ yaml, json string }{
	// Mappings and sequences in block style.
	{"a: 1\nb: x y\n", `{"a":1,"b":"x y"}`},
	{"  a: 1\n  b: 2\n", `{"a":1,"b":2}`},
	{"a:\n  b:\n    c: 1\n  d: 2\ne: 3", `{"a":{"b":{"c":1},"d":2},"e":3}`},
	{"a:\n- 1\n- 2\nb: 3", `{"a":[1,2],"b":3}`},
	{"a:\n  - 1\n  -\n    - 2\n  - - 3\n    - 4\n", `{"a":[1,[2],[3,4]]}`},
	{"- a: 1\n  b: 2\n- c:\n  - d\n  e: f", `[{"a":1,"b":2},{"c":["d"],"e":"f"}]`},
	{"- - - x", `[[["x"]]]`},
	{"a:\nb:\nc:\n", `{"a":null,"b":null,"c":null}`},
	{"-\n-\n- \n", `[null,null,null]`},
	{"a : 1\n'b' : 2\n\"c\": 3\n? d\n", ``},
	// Flow style.
	{"a: {b: 1, \"c\":2, 'd': [x, \"y\", [], {}]}\n", `{"a":{"b":1,"c":2,"d":["x","y",[],{}]}}`},
	{"a: [1,\n  2,\n3]\nb: {c: 1,\n d: 2,}\n", `{"a":[1,2,3],"b":{"c":1,"d":2}}`},
	{"a: {b: , c: }\n", `{"a":{"b":null,"c":null}}`},
	{"[a, b]", `["a","b"]`},
	// Scalars.
	{"- null\n- ~\n- Null\n- true\n- True\n- FALSE\n- yes\n- on\n- n\n", `[null,null,null,true,true,false,"yes","on","n"]`},
	{"- 1\n- -1\n- 1.50\n- 1e3\n- 1.5E-3\n- 0\n- 123456789012345678901234567890\n", `[1,-1,1.50,1e3,1.5E-3,0,123456789012345678901234567890]`},
	{"- '1'\n- \"true\"\n- 'null'\n- ''\n- 'it''s'\n- \"\\u00e9\\n\\t\\\"\"\n", `["1","true","null","","it's","é\n\t\""]`},
	{"a: 2026-11-30T00:00:00Z\nb: 2026-11-30\nc: 1.2.3\nd: 12:30\n", `{"a":"2026-11-30T00:00:00Z","b":"2026-11-30","c":"1.2.3","d":"12:30"}`},
	{"a: $.x\nb.$: $$.Execution.Id\nc: States.Format('{}', $.a)\n", `{"a":"$.x","b.$":"$$.Execution.Id","c":"States.Format('{}', $.a)"}`},
	{"a: task:pay@2?language=go\nb: http://x/y#z\n", `{"a":"task:pay@2?language=go","b":"http://x/y#z"}`},
	{"a: one\n  two\n\n  three\nb: 1", `{"a":"one two\nthree","b":1}`},
	{"a: \"one\n  two\"\nb: 'x\n\n  y'\n", `{"a":"one two","b":"x\ny"}`},
	{"a: |\n  x\n   y\n\n  z\nb: |-\n  q\nc: |+\n  r\n\nd: >\n  s\n  t\n\n  u\ne: >-\n  v\n", `{"a":"x\n y\n\nz\n","b":"q","c":"r\n\n","d":"s t\nu\n","e":"v"}`},
	{"a: |\nb: >\nc: 1\n", `{"a":"","b":"","c":1}`},
	{"- |\n- x\n", `["","x"]`},
	{"a: |", `{"a":""}`},
	// Comments and document marks.
	{"# c\na: 1 # c\n# c\nb: # c\n  # c\n  - x # c\n", `{"a":1,"b":["x"]}`},
	{"---\na: 1\n", `{"a":1}`},
	{"--- # c\n- 1\n...\n", `[1]`},
	{"\uFEFFa: 1\r\nb:\r\n  - 2\r\n", `{"a":1,"b":[2]}`},
	// Anchors.
	{"a: &x 1\nb: *x\nc: [*x, &y {d: e}, *y]\n", `{"a":1,"b":1,"c":[1,{"d":"e"},{"d":"e"}]}`},
	{"a: &x\n  b: 1\nc: *x\nd: &x\n- 2\ne: *x\n", `{"a":{"b":1},"c":{"b":1},"d":[2],"e":[2]}`},
	{"- &x\n  a: 1\n- *x\n- &y\n- *y\n- &z\n", `[{"a":1},{"a":1},null,null,null]`},
	{"a: &x\nb: *x\n", `{"a":null,"b":null}`},
	{"[&x , *x]", `[null,null]`},
	// What YAML has and JSON does not.
	{"a: !!str 1", ``}, {"!a b", ``}, {"a: &x {b: 1}\nc:\n  <<: *x\n", ``}, {"%YAML 1.2\n---\na: 1\n", ``},
	{"a: 1\n---\nb: 2\n", ``}, {"a: 1\n...\nb: 2\n", ``}, {"? a\n: b\n", ``}, {"[a: b]", ``}, {"{a}", ``}, {"[a: ]", ``},
	{"1: a", ``}, {"null: a", ``}, {"true: a", ``}, {"*x : a", ``}, {"&x a: 1", ``}, {"[a]: b", ``}, {"{a: 1}: b", ``},
	{"a: 0x1F", ``}, {"a: 0o17", ``}, {"a: 017", ``}, {"a: 1_000", ``}, {"a: +1", ``}, {"a: .5", ``}, {"a: 5.", ``}, {"a: .inf", ``}, {"a: .NaN", ``},
	{"a: \"\\0\"", ``},
	// Broken text.
	{"a: b: c", ``}, {"a: - b", ``}, {"a:\n  b: 1\n c: 2\n", ``}, {"a: 1\n  b: 2\n", ``}, {"- a\nb: 1\n", ``}, {"a: 1\n- b\n", ``},
	{"- a\n  - b\n- c\n   d: 1\n", ``}, {"a: [1", ``}, {"a: {b: 1", ``}, {"a: [1 2]]", ``}, {"a: {b: 1 c: 2}", ``}, {"a: 'x", ``}, {"a: \"x", ``},
	{"a: *x", ``}, {"a: &x [*x]", ``}, {"a: *", ``}, {"a: 1\nb: &x\n  *x\n", ``}, {"a: &x &y 1\n", ``}, {"a: &", ``}, {"\ta: 1", ``}, {"a: 1\nb\n", ``}, {"a: @x", ``}, {"a: 1\n- ", ``}, {"---\n---\n", ``},
	{"a: {b: 1}}", ``}, {"]", ``}, {"[,]", ``}, {":", ``},
}

func TestReadYAML(t *testing.T) {
	for _, c := range yamlValues {
		r := &report{}
		v, ok := read([]byte(c.yaml), r)
		if c.json == "" {
			if ok || len(r.problems) != 1 || r.problems[0].Rule != RuleSyntax {
				t.Errorf("%q is read as %s, problems: %v", c.yaml, expr.Marshal(v), r.problems)
			}
			continue
		}
		if got := string(expr.Marshal(v)); !ok || got != c.json || r.errors > 0 {
			t.Errorf("%q is read as %s, want %s, problems: %v", c.yaml, got, c.json, r.problems)
		}
	}
}

func TestReadYAMLSaysWhere(t *testing.T) {
	for text, want := range map[string]string{
		"a: 1\nb: [1,\n  !x 2]": "line 3, column 3",
		"a:\n  b: 1\n c: 2\n":   "line 3, column 2",
		"a: 0x1F":               "line 1, column 4",
	} {
		r := &report{}
		readYAML([]byte(text), r)
		if len(r.problems) != 1 || !strings.Contains(r.problems[0].Message, want) {
			t.Errorf("%q: %v, want %s", text, r.problems, want)
		}
	}
}

func TestReadYAMLDuplicates(t *testing.T) {
	text := "a: 1\nb:\n  - {x: 1, x: 2}\n  - y: 1\n    y: 2\na: 2\n"
	r := &report{}
	v, ok := readYAML([]byte(text), r)
	if got := string(expr.Marshal(v)); !ok || got != `{"a":1,"b":[{"x":1},{"y":1}]}` {
		t.Errorf("read as %s", got)
	}
	var pointers []string
	for _, p := range r.problems {
		pointers = append(pointers, p.Pointer+" "+p.Rule)
	}
	if want := []string{"/b/0/x duplicate", "/b/1/y duplicate", "/a duplicate"}; !slices.Equal(pointers, want) {
		t.Errorf("problems %v, want %v", pointers, want)
	}
}

// TestAnchorsAreBounded: what anchors expand to counts as if it were written.
func TestAnchorsAreBounded(t *testing.T) {
	var laughs, deep strings.Builder
	laughs.WriteString("StartAt: A\nStates:\n  A:\n    Type: Pass\n    End: true\n    Result:\n      a0: &a0 [lol, lol]\n")
	deep.WriteString("StartAt: A\nStates:\n  A:\n    Type: Pass\n    End: true\n    Result:\n      a0: &a0 [lol]\n")
	for i := range 60 {
		fmt.Fprintf(&laughs, "      a%d: &a%d [*a%d, *a%d]\n", i+1, i+1, i, i)
		fmt.Fprintf(&deep, "      a%d: &a%d [[[[*a%d]]]]\n", i+1, i+1, i)
	}
	for name, text := range map[string]string{"wide": laughs.String(), "deep": deep.String()} {
		doc, problems := Parse([]byte(text), Options{})
		if doc != nil || len(problems) != 1 || problems[0].Rule != RuleTooLarge {
			t.Errorf("%s: %v", name, problems)
		}
	}
}

// TestHostileYAML: texts on which a parser can take more than linear work or
// depth. Four times the text takes about four times the memory.
func TestHostileYAML(t *testing.T) {
	repeat := func(unit string) func(int) string {
		return func(n int) string { return strings.Repeat(unit, n/len(unit)) }
	}
	keys := func(n int) string {
		var text strings.Builder
		for i := 0; text.Len() < n; i++ {
			fmt.Fprintf(&text, "k%d:\n", i)
		}
		return text.String()
	}
	for name, text := range map[string]func(int) string{
		"keys": keys, "one line": repeat("x"), "brackets": repeat("["), "braces": repeat("{a: "), "dashes": repeat("- "), "lines": repeat("a\n"),
		"colons": repeat("a: "), "anchors": repeat("&a "), "quotes": repeat("'a' "), "tabs": repeat("\t"), "tags": repeat("! "), "comments": repeat("# x\n"),
		"list": repeat("- a\n"), "literal": func(n int) string { return "a: |\n" + strings.Repeat("  x\n", n/4) },
	} {
		const small = 50_000
		if once, fourfold := allocated(text(small)), allocated(text(4*small)); fourfold > 6*once+1<<20 {
			t.Errorf("%s: %d bytes of memory for %d of text, %d for %d", name, once, small, fourfold, 4*small)
		}
	}
}

// allocated is the memory that reading a text takes in all: the least of some tries, because what else the process does is
// counted with it.
func allocated(text string) uint64 {
	least := uint64(math.MaxUint64)
	for range 3 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		readYAML([]byte(text), &report{})
		runtime.ReadMemStats(&after)
		least = min(least, after.TotalAlloc-before.TotalAlloc)
	}
	return least
}

// sameAsLibrary tells whether the YAML library reads a text as the same value,
// as far as it reads it at all. It takes numbers with an exponent for strings,
// and rounds.
func sameAsLibrary(text string, v expr.Value) (library string, same bool) {
	var other any
	if err := yaml.Unmarshal([]byte(text), &other); err != nil {
		return "", true
	}
	asJSON, err := json.Marshal(other)
	if err != nil {
		return "", true // infinity, keys that are not strings
	}
	w, err := expr.Parse(asJSON)
	if err != nil {
		return "", true
	}
	return string(asJSON), alike(v, w)
}

func alike(v, w expr.Value) bool {
	switch v := v.(type) {
	case expr.Number:
		switch w := w.(type) {
		case expr.Number:
			return v.Float64() == w.Float64()
		case string:
			return string(v) == w
		}
		return false
	case []expr.Value:
		list, ok := w.([]expr.Value)
		return ok && slices.EqualFunc(v, list, alike)
	case *expr.Object:
		o, ok := w.(*expr.Object)
		if !ok || o.Len() != v.Len() {
			return false
		}
		for name, member := range v.All() {
			if other, ok := o.Get(name); !ok || !alike(member, other) {
				return false
			}
		}
		return true
	}
	return expr.Equal(v, w)
}

func TestYAMLAsTheLibraryReadsIt(t *testing.T) {
	for _, c := range yamlValues {
		if v, ok := read([]byte(c.yaml), &report{}); ok {
			if library, same := sameAsLibrary(strings.TrimPrefix(c.yaml, "\uFEFF"), v); !same {
				t.Errorf("%q is read as %s, by the library as %s", c.yaml, expr.Marshal(v), library)
			}
		}
	}
}
