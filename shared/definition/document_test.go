package definition

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"pgregory.net/rapid"

	"github.com/orrery-dev/orrery/shared/expr"
)

var update = flag.Bool("update", false, "write the golden files anew")

// orderHash is the hash of testdata/order.yaml. It must never change: running
// executions are pinned to the hashes of their documents.
const orderHash = "a3f875ca1200141f2fa08cd9e863a0fbe2c0e8134bf0902f0e7fbdedfe07516c"

func TestNormalised(t *testing.T) {
	doc := parseFile(t, "order.yaml")
	const golden = "testdata/order.json"
	if *update {
		if err := os.WriteFile(golden, append(doc.Normalised, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(append(doc.Normalised, '\n'), want) {
		t.Errorf("normalised:\n%s\nwant:\n%s", doc.Normalised, want)
	}
	if doc.Hash != orderHash {
		t.Errorf("hash %s, want %s", doc.Hash, orderHash)
	}
	if again := parseFile(t, "order.json"); again.Hash != doc.Hash {
		t.Errorf("hash as JSON %s, as YAML %s", again.Hash, doc.Hash)
	}
}

func TestHash(t *testing.T) {
	same := []string{
		`{"StartAt":"A","States":{"A":{"Type":"Pass","End":true,"Result":{"x":[1,"é"],"y":null}}}}`,
		"{ \"States\" : { \"A\" : { \"Result\" : { \"y\": null, \"x\": [1, \"\\u00e9\"] }, \"End\": true, \"Type\": \"Pass\" } },\n\"StartAt\": \"\\u0041\" }",
		"# the same\nStartAt: A\nStates:\n  A: {Type: Pass, End: true, Result: {y: ~, x: [1, é]}} # here\n",
	}
	others := []string{
		`{"StartAt":"A","States":{"A":{"Type":"Pass","End":true,"Result":{"x":["é",1],"y":null}}}}`,
		`{"StartAt":"A","States":{"A":{"Type":"Pass","End":true,"Result":{"x":["1","é"],"y":null}}}}`,
		`{"StartAt":"A","States":{"A":{"Type":"Pass","End":true,"Result":{"x":[1.0,"é"],"y":null}}}}`,
		`{"StartAt":"A","States":{"A":{"Type":"Pass","End":true,"Result":{"x":[1,"é"]}}}}`,
	}
	hashes := map[string]string{}
	for _, text := range append(same, others...) {
		doc, problems := Parse([]byte(text), Options{})
		if doc == nil {
			t.Fatalf("%s: %v", text, problems)
		}
		if len(doc.Hash) != 64 {
			t.Errorf("hash %q", doc.Hash)
		}
		hashes[doc.Hash] = text
	}
	if len(hashes) != 1+len(others) {
		t.Errorf("%d hashes, want %d: %v", len(hashes), 1+len(others), hashes)
	}
}

// values generates JSON values.
func values(depth int) *rapid.Generator[expr.Value] {
	// Characters and lines are such that the YAML library writes them without
	// mistakes.
	name := rapid.StringOfN(rapid.RuneFrom([]rune("aZ09 _-:#,[]{}&*!|>'\"%@`$.\\/~é€😀")), 0, 12, -1)
	line := rapid.SampledFrom([]string{"x", "y z", "é: a", "# b", "- c", "'d'"})
	lines := rapid.Map(rapid.SliceOfN(line, 1, 4), func(v []string) string { return strings.Join(v, "\n") })
	text := rapid.OneOf(name, lines, rapid.SampledFrom([]string{"1", "true", "null", "~", "- a", "a: b", "#", "x\ny\n", " ", "{", "*a", "&a", "2026-11-30", "0x1"}))
	scalar := rapid.OneOf(
		rapid.Just[expr.Value](nil),
		rapid.Map(rapid.Bool(), func(v bool) expr.Value { return v }),
		rapid.Map(rapid.Int64(), func(v int64) expr.Value { return expr.NumberOf(v) }),
		rapid.Map(rapid.Float64Range(-1e6, 1e6), func(v float64) expr.Value {
			n, _ := expr.NumberOfFloat(v)
			return n
		}),
		rapid.Map(text, func(v string) expr.Value { return v }),
	)
	if depth == 0 {
		return scalar
	}
	list := rapid.Map(rapid.SliceOfN(values(depth-1), 0, 4), func(v []expr.Value) expr.Value { return v })
	object := rapid.Map(rapid.MapOfN(name, values(depth-1), 0, 4), func(m map[string]expr.Value) expr.Value {
		o := expr.NewObject()
		for name, v := range m {
			o.Set(name, v)
		}
		return sorted(o)
	})
	return rapid.OneOf(scalar, list, object)
}

// shuffled is v with the members of every object in another order.
func shuffled(t *rapid.T, v expr.Value) expr.Value {
	switch v := v.(type) {
	case []expr.Value:
		list := make([]expr.Value, len(v))
		for i, e := range v {
			list[i] = shuffled(t, e)
		}
		return list
	case *expr.Object:
		var members []expr.Member
		for name, e := range v.All() {
			members = append(members, expr.Member{Name: name, Value: shuffled(t, e)})
		}
		return expr.NewObject(rapid.Permutation(members).Draw(t, "members")...)
	}
	return v
}

func TestHashIgnoresOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := values(3).Draw(t, "value")
		state := expr.NewObject(expr.Member{Name: "Type", Value: "Pass"}, expr.Member{Name: "End", Value: true}, expr.Member{Name: "Result", Value: v})
		document := expr.NewObject(expr.Member{Name: "StartAt", Value: "A"}, expr.Member{Name: "States", Value: expr.NewObject(expr.Member{Name: "A", Value: state})})
		doc, problems := Parse(expr.Marshal(document), Options{})
		other, _ := Parse(expr.Marshal(shuffled(t, document)), Options{})
		if doc == nil || other == nil || doc.Hash != other.Hash {
			t.Fatalf("%v, %v, problems: %v", doc, other, problems)
		}
		if !bytes.Equal(doc.Normalised, expr.Marshal(document)) {
			t.Fatalf("normalised: %s, want %s", doc.Normalised, expr.Marshal(document))
		}
	})
}

// plain is v in the types that the YAML library writes.
func plain(v expr.Value) any {
	switch v := v.(type) {
	case expr.Number:
		if n, ok := v.Int64(); ok {
			return n
		}
		return v.Float64()
	case []expr.Value:
		list := make([]any, len(v))
		for i, e := range v {
			list[i] = plain(e)
		}
		return list
	case *expr.Object:
		var m yaml.MapSlice
		for name, e := range v.All() {
			m = append(m, yaml.MapItem{Key: name, Value: plain(e)})
		}
		return m
	}
	return v
}

// TestYAMLAsTheLibraryWritesIt: a value that the YAML library has written, in
// whatever style, is read as itself.
func TestYAMLAsTheLibraryWritesIt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := expr.NewObject(expr.Member{Name: "v", Value: values(3).Draw(t, "value")})
		text, err := yaml.MarshalWithOptions(plain(v),
			yaml.Indent(rapid.IntRange(1, 4).Draw(t, "indent")), yaml.IndentSequence(rapid.Bool().Draw(t, "indent sequences")),
			yaml.UseLiteralStyleIfMultiline(rapid.Bool().Draw(t, "literal")))
		if err != nil {
			t.Fatal(err)
		}
		r := &report{}
		got, ok := read(text, r)
		if !ok || r.errors > 0 || !expr.Equal(got, v) {
			t.Fatalf("%s\nis read as %s, want %s, problems: %v", text, expr.Marshal(got), expr.Marshal(v), r.problems)
		}
	})
}

func TestProblems(t *testing.T) {
	text := []byte(`{"StartAt": "A", "States": {"A": {"Type": "Choice", "Choices": [{"Variable": "$.a", "IsNull": true, "Next": "B"}]}}}`)
	doc, problems := Parse(text, Options{})
	if doc != nil || len(problems) != 2 || len(problems.Errors()) != 1 || len(problems.Warnings()) != 1 {
		t.Fatalf("problems: %v", problems)
	}
	want := Problem{"/States/A/Choices/0/Next", RuleTarget, `There is no state "B" in the same States.`, SeverityError}
	if problems.Errors()[0] != want {
		t.Errorf("problem: %+v", problems.Errors()[0])
	}
	var invalid *InvalidError
	if err := problems.Err(); !errors.As(err, &invalid) || len(invalid.Problems) != 1 ||
		err.Error() != `invalid document: error at /States/A/Choices/0/Next: There is no state "B" in the same States. (target)` {
		t.Errorf("error: %v", err)
	}
	if err := problems.Warnings().Err(); err != nil {
		t.Errorf("warnings alone are an error: %v", err)
	}
	two := Problems{want, want}
	if err := two.Err(); !strings.HasSuffix(err.Error(), "(target) and 1 more") {
		t.Errorf("error: %v", err)
	}
}

// TestRecordedTexts: the reference service's words, where they are known.
func TestRecordedTexts(t *testing.T) {
	for text, want := range map[string]Problem{
		`{}`:  {"", RuleRequired, "These fields are required: [States, StartAt]", SeverityError},
		`[1]`: {"", RuleType, "Definition must be a valid JSON object", SeverityError},
		stateA(`"Type": "Wait", "Timestamp": "tomorrow", "End": true`): {"/States/A/Timestamp", RuleTimestamp, "String does not match RFC3339 timestamp", SeverityError},
		`{"QueryLanguage": "JSONata", "StartAt": "A", "States": {"A": {"Type": "Succeed", "QueryLanguage": "JSONPath"}}}`: {"/States/A/QueryLanguage", RuleLanguage,
			"'QueryLanguage' can not be 'JSONPath' if set to 'JSONata' for whole state machine", SeverityError},
	} {
		_, problems := Parse([]byte(text), Options{})
		if len(problems) == 0 || problems[len(problems)-1] != want {
			t.Errorf("%s: %+v, want %+v", text, problems, want)
		}
	}
}

func TestHints(t *testing.T) {
	for text, want := range map[string]string{
		stateA(`"Type": "Pass", "End": true, "resultpath": "$"`):                        `Did you mean "ResultPath"?`,
		stateA(`"Type": "Task", "Resource": "task:x", "End": true, "TimeoutSecond": 1`): `Did you mean "TimeoutSeconds"?`,
		stateA(`"Type": "Paralel"`):                                                     `Did you mean "Parallel"?`,
		`{"StartAt": "Chekc", "States": {"Check": {"Type": "Succeed"}}}`:                `Did you mean "Check"?`,
		task(`, "Retry": [{"ErrorEquals": ["E"], "BackOffRate": 1}]`):                   `Did you mean "BackoffRate"?`,
	} {
		_, problems := Parse([]byte(text), Options{})
		if len(problems) == 0 || !strings.HasSuffix(problems[0].Message, want) {
			t.Errorf("%s: %v, want %s", text, problems, want)
		}
	}
	_, problems := Parse([]byte(stateA(`"Type": "Pass", "End": true, "Sum": 1`)), Options{})
	if len(problems) != 1 || strings.Contains(problems[0].Message, "mean") {
		t.Errorf("a field that is near nothing: %v", problems)
	}
}

func TestMaxBytes(t *testing.T) {
	text := []byte("StartAt: A\nStates: {A: {Type: Succeed}}\n")
	asJSON := len(`{"StartAt":"A","States":{"A":{"Type":"Succeed"}}}`)
	for _, c := range []struct {
		max int
		ok  bool
	}{{len(text) - 1, false}, {len(text), false}, {asJSON - 1, false}, {asJSON, true}} {
		doc, problems := Parse(text, Options{MaxBytes: c.max})
		if (doc != nil) != c.ok || !c.ok && problems[0].Rule != RuleTooLarge {
			t.Errorf("%s of %d bytes: %v", strconv.Quote(string(text)), c.max, problems)
		}
	}
}
