package definition

import (
	"bytes"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
)

// FuzzParse: whatever the text, parsing ends without a panic and reports within
// its bounds; a document that is taken parses from its normal form to the same.
func FuzzParse(f *testing.F) {
	for _, table := range [][]ruleCase{documentCases, stateCases, waitCases, choiceCases, taskCases, handlerCases, nestedCases, notBuiltCases, foreseenCases, strictCases} {
		for _, c := range table {
			f.Add([]byte(c.doc), false)
		}
	}
	for _, c := range yamlValues {
		f.Add([]byte("StartAt: A\nStates: {A: {Type: Succeed, Comment: "+c.yaml+"}}\n"), true)
	}
	for _, name := range []string{"order.yaml", "order.json"} {
		text, err := os.ReadFile("testdata/" + name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text, false)
	}
	rules := ruleConstants(f)
	f.Fuzz(func(t *testing.T, text []byte, strict bool) {
		const maxBytes = 20_000
		doc, problems := Parse(text, Options{Strict: strict, MaxBytes: maxBytes})
		if len(problems) > maxProblems+2 {
			t.Errorf("%d problems", len(problems))
		}
		for _, p := range problems {
			if !slices.Contains(rules, p.Rule) || p.Message == "" || p.Pointer != "" && !strings.HasPrefix(p.Pointer, "/") {
				t.Errorf("problem %#v", p)
			}
		}
		if (doc == nil) != (problems.Err() != nil) {
			t.Fatalf("document is %v, problems are %v", doc, problems)
		}
		if doc == nil {
			return
		}
		if !json.Valid(doc.Normalised) || len(doc.Normalised) > maxBytes {
			t.Errorf("normalised: %s", doc.Normalised)
		}
		again, problems := Parse(doc.Normalised, Options{Strict: strict, MaxBytes: maxBytes})
		if again == nil || again.Hash != doc.Hash || !bytes.Equal(again.Normalised, doc.Normalised) {
			t.Errorf("%s\nis parsed again with %v as %+v", doc.Normalised, problems, again)
		}
	})
}
