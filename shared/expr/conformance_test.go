package expr_test

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/orrery-dev/orrery/shared/expr"
)

// recordings is where recorded behaviour of the reference service lies, beside
// the work tree. It is not part of the repository.
const recordings = "../../../shared/conformance/asl"

// recordedCases reads one JSON object a line; none where the recordings are not
// there.
func recordedCases(t *testing.T, name string) []*expr.Object {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(recordings, name))
	if err != nil {
		t.Logf("no recordings here (%v): the rules that they taught are cases of the other tests", err)
		return nil
	}
	var cases []*expr.Object
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		cases = append(cases, parse(t, lines.Text()).(*expr.Object))
	}
	return cases
}

func parse(t *testing.T, text string) expr.Value {
	t.Helper()
	v, err := expr.Parse([]byte(text))
	if err != nil {
		t.Fatalf("parse %s: %v", text, err)
	}
	return v
}

// at follows member names.
func at(v expr.Value, names ...string) expr.Value {
	for _, name := range names {
		o, _ := v.(*expr.Object)
		v, _ = o.Get(name)
	}
	return v
}

func TestRecordedChoices(t *testing.T) {
	cases := recordedCases(t, "choices.jsonl")
	passed := 0
	for i, c := range cases {
		m := newMachine(t, at(c, "definition"), at(c, "input"))
		m.run()
		if m.failed != nil {
			t.Errorf("choices:%d: %v", i+1, m.failed)
		} else if want := at(c, "recorded", "output"); !expr.Equal(m.output, want) {
			t.Errorf("choices:%d: output %s, recorded %s", i+1, expr.Marshal(m.output), expr.Marshal(want))
		} else {
			passed++
		}
	}
	if t.Logf("%d of %d recorded choices", passed, len(cases)); passed != len(cases) {
		t.Fail()
	}
}

// recordedNow is the time at which the recordings begin.
var recordedNow = time.Date(2026, 11, 30, 3, 29, 21, 0, time.UTC)

// TestRecordedHistories runs the recorded executions whose states do no work,
// and compares what each state gave and how the execution ended.
func TestRecordedHistories(t *testing.T) {
	cases, ran := recordedCases(t, "histories.jsonl"), 0
	for i, c := range cases {
		definition := at(c, "definition")
		if !withoutWork(definition) {
			continue
		}
		ran++
		id, _ := at(c, "id").(string)
		t.Run(fmt.Sprintf("%d/%s", i+1, filepath.Base(id)), func(t *testing.T) {
			m := newMachine(t, definition, at(c, "input"))
			m.run()
			compareHistory(t, m, at(c, "history").([]expr.Value))
		})
	}
	t.Logf("%d of %d recorded histories run without work", ran, len(cases))
}

// withoutWork says whether all states are in JSONPath and of kinds that the
// machine runs.
func withoutWork(definition expr.Value) bool {
	if bytes.Contains(expr.Marshal(definition), []byte("JSONata")) {
		return false
	}
	for _, state := range at(definition, "States").(*expr.Object).All() {
		switch at(state, "Type") {
		case "Pass", "Choice", "Wait", "Succeed", "Fail":
		default:
			return false
		}
	}
	return true
}

func compareHistory(t *testing.T, m *machine, history []expr.Value) {
	exits := m.exits
	for _, event := range history {
		kind := at(event, "type").(string)
		switch {
		case strings.HasSuffix(kind, "StateExited"):
			if len(exits) == 0 {
				t.Fatalf("recorded %s, but the machine ended: %v", kind, m.failed)
			}
			details := at(event, "stateExitedEventDetails")
			compareExit(t, exits[0], details)
			exits = exits[1:]
		case kind == "ExecutionFailed":
			compareFailure(t, m.failed, at(event, "executionFailedEventDetails"))
		case kind == "ExecutionSucceeded" && m.failed != nil:
			t.Errorf("recorded success, failed with %v", m.failed)
		}
	}
	if len(exits) > 0 {
		t.Errorf("states left that the recording does not have: %v", exits)
	}
}

func compareExit(t *testing.T, got exit, want expr.Value) {
	if name := at(want, "name"); got.state != name {
		t.Errorf("left %s, recorded %v", got.state, name)
	}
	if output := decoded(at(want, "output")); !similar(got.output, output) {
		t.Errorf("%s: output %s, recorded %s", got.state, expr.Marshal(got.output), expr.Marshal(output))
	}
	assigned, _ := at(want, "assignedVariables").(*expr.Object)
	if assigned.Len() != got.assigned.Len() {
		t.Errorf("%s: assigned %s, recorded %s", got.state, expr.Marshal(got.assigned), expr.Marshal(assigned))
	}
	for name, v := range got.assigned.All() {
		if recorded := decoded(at(assigned, name)); !similar(v, recorded) {
			t.Errorf("%s: variable %s = %s, recorded %s", got.state, name, expr.Marshal(v), expr.Marshal(recorded))
		}
	}
}

func compareFailure(t *testing.T, got *failure, want expr.Value) {
	if got == nil {
		t.Fatalf("recorded failure %s, but succeeded", expr.Marshal(want))
	}
	name, _ := at(want, "error").(string)
	cause, _ := at(want, "cause").(string)
	if got.name != name || !similar(got.cause, cause) {
		t.Errorf("failed with %q %q\nrecorded    %q %q", got.name, got.cause, name, cause)
	}
}

// decoded takes a recorded text that holds JSON as the value in it.
func decoded(v expr.Value) expr.Value {
	if s, ok := v.(string); ok {
		if inner, err := expr.Parse([]byte(s)); err == nil {
			return inner
		}
	}
	return v
}

var placeholder = regexp.MustCompile(`<[^<>]*>`)

// similar compares with a recorded value, in which a placeholder stands for any
// text. Values that differ from run to run are not compared.
func similar(got, want expr.Value) bool {
	switch want := want.(type) {
	case string:
		switch want {
		case "date", "timestamp", "start-time", "entered-time", "snf_role_arn":
			return true
		}
		if g, ok := got.(string); ok && placeholder.MatchString(want) {
			pattern := ""
			for i, part := range placeholder.Split(want, -1) {
				if i > 0 {
					pattern += ".+"
				}
				pattern += regexp.QuoteMeta(part)
			}
			return regexp.MustCompile("^" + pattern + "$").MatchString(g)
		}
	case []expr.Value:
		g, ok := got.([]expr.Value)
		if !ok || len(g) != len(want) {
			return false
		}
		for i := range g {
			if !similar(g[i], want[i]) {
				return false
			}
		}
		return true
	case *expr.Object:
		g, ok := got.(*expr.Object)
		if !ok || g.Len() != want.Len() {
			return false
		}
		for name, w := range want.All() {
			if v, ok := g.Get(name); !ok || !similar(v, w) {
				return false
			}
		}
		return true
	}
	return expr.Equal(got, want)
}
