package definition

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// recordings is where recorded executions of the reference service are, beside
// the repository: definitions that it has accepted.
const recordings = "../../../shared/conformance/asl"

// TestRecordedDefinitions: what the reference service has accepted is refused
// for nothing but what is not built, in strict mode too.
func TestRecordedDefinitions(t *testing.T) {
	if _, err := os.Stat(recordings); err != nil {
		t.Logf("no recordings at %s: nothing is compared", recordings)
		return
	}
	for _, file := range []string{"histories.jsonl", "choices.jsonl"} {
		accepted := 0
		for _, c := range readRecordings(t, file) {
			for _, strict := range []bool{false, true} {
				doc, problems := Parse(c.Definition, Options{Strict: strict})
				for _, p := range problems.Errors() {
					if p.Rule != RuleNotBuilt {
						t.Errorf("%s: %v\n%s", c.ID, p, c.Definition)
					}
				}
				if doc != nil {
					accepted++
				}
				if uses := usesNotBuilt(c.Definition); uses != (doc == nil) {
					t.Errorf("%s: refused is %v, uses what is not built is %v\n%s", c.ID, doc == nil, uses, c.Definition)
				}
			}
		}
		if accepted == 0 {
			t.Errorf("%s: no definition was accepted", file)
		}
		t.Logf("%s: %d accepted", file, accepted)
	}
}

// usesNotBuilt looks for the marks of what is not built.
func usesNotBuilt(definition []byte) bool {
	for _, mark := range []string{`"JSONata"`} {
		if strings.Contains(string(definition), mark) {
			return true
		}
	}
	return false
}

type recording struct {
	ID         string
	Definition json.RawMessage
}

func readRecordings(t *testing.T, name string) []recording {
	t.Helper()
	file, err := os.Open(filepath.Join(recordings, name))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	var found []recording
	for lines.Scan() {
		var r recording
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		found = append(found, r)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return found
}
