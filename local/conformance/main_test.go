package main

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/orrery-dev/orrery/shared/expr"
)

func value(t *testing.T, text string) expr.Value {
	t.Helper()
	v, err := expr.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestMatcher(t *testing.T) {
	for _, c := range []struct {
		want, got string
		same      bool
	}{
		{`{"a":1,"b":[true,null]}`, `{"b":[true,null],"a":1.0}`, true},
		{`{"a":1}`, `{"a":1,"b":2}`, false},
		{`{"a":1,"b":2}`, `{"a":1}`, false},
		{`[1,2]`, `[2,1]`, false},
		{`"arn:aws:x:<name>"`, `"arn:aws:x:anything"`, true},
		{`"arn:aws:x:<name>"`, `"arn:aws:x:any:thing"`, false},
		{`"arn:aws:x:<name>"`, `"arn:aws:x:"`, false},
		{`"at <timestamp>"`, `"at 2026-11-30T03:29:21.5+01:00"`, false},
		{`"start-time"`, `"2026-11-30T03:29:21.500Z"`, true},
		{`"start-time"`, `"soon"`, false},
		{`"date"`, `{"any":"thing"}`, true},
		{`"f:lambda_function_1_name"`, `"f:my-function"`, true},
		{`["<uuid:1>","<uuid:1>"]`, `["a","a"]`, true},
		{`["<uuid:1>","<uuid:1>"]`, `["a","b"]`, false},
		{`"{\"id\":\"<uuid:1>\"}"`, `"{ \"id\": \"x\" }"`, true},
	} {
		if diff := newMatcher().value("v", value(t, c.want), value(t, c.got)); (diff == "") != c.same {
			t.Errorf("%s and %s: %q", c.want, c.got, diff)
		}
	}
}

// cases are of our own making, in the form of the recordings: one that passes, one that does not, one that is skipped.
const cases = `{"id":"ok","n":0,"definition":{"StartAt":"M","States":{"M":{"Type":"Map","MaxConcurrency":1,"End":true,"ItemProcessor":{"StartAt":"F","States":{"F":{"Type":"Task","Resource":"arn:aws:lambda:us-east-1:111111111111:function:f","End":true}}}}}},"input":[7],"history":[` +
	`{"id":1,"previousEventId":0,"type":"ExecutionStarted","executionStartedEventDetails":{"input":"[7]"}},` +
	`{"id":2,"previousEventId":0,"type":"MapStateEntered","stateEnteredEventDetails":{"name":"M","input":"[7]"}},` +
	`{"id":3,"previousEventId":2,"type":"MapStateStarted","mapStateStartedEventDetails":{"length":1}},` +
	`{"id":4,"previousEventId":3,"type":"MapIterationStarted","mapIterationStartedEventDetails":{"name":"M","index":0}},` +
	`{"id":5,"previousEventId":4,"type":"TaskStateEntered","stateEnteredEventDetails":{"name":"F","input":"7"}},` +
	`{"id":6,"previousEventId":5,"type":"LambdaFunctionScheduled","lambdaFunctionScheduledEventDetails":{"resource":"arn:<partition>:lambda:<region>:111111111111:function:lambda_function_1_name","input":"7"}},` +
	`{"id":7,"previousEventId":6,"type":"LambdaFunctionStarted"},` +
	`{"id":8,"previousEventId":7,"type":"LambdaFunctionSucceeded","lambdaFunctionSucceededEventDetails":{"output":"8"}},` +
	`{"id":9,"previousEventId":8,"type":"TaskStateExited","stateExitedEventDetails":{"name":"F","output":"8"}},` +
	`{"id":10,"previousEventId":9,"type":"MapIterationSucceeded","mapIterationSucceededEventDetails":{"name":"M","index":0}},` +
	`{"id":11,"previousEventId":10,"type":"MapStateSucceeded"},` +
	`{"id":12,"previousEventId":10,"type":"MapStateExited","stateExitedEventDetails":{"name":"M","output":"[8]"}},` +
	`{"id":13,"previousEventId":12,"type":"ExecutionSucceeded","executionSucceededEventDetails":{"output":"[8]"}}]}
{"id":"bad","n":1,"definition":{"StartAt":"P","States":{"P":{"Type":"Pass","End":true}}},"input":{},"history":[{"id":1,"previousEventId":0,"type":"ExecutionStarted","executionStartedEventDetails":{"input":"{\"x\":1}"}}]}
{"id":"later","n":0,"definition":{"StartAt":"P","QueryLanguage":"JSONata","States":{"P":{"Type":"Pass","End":true}}},"input":{},"history":[]}
`

func TestTally(t *testing.T) {
	name := filepath.Join(t.TempDir(), "cases.jsonl")
	if err := os.WriteFile(name, []byte(cases), 0o600); err != nil {
		t.Fatal(err)
	}
	var total tally
	var out bytes.Buffer
	if err := total.file(name, runHistory, true, &out); err != nil {
		t.Fatal(err)
	}
	if total != (tally{passed: 1, failed: 1, skipped: 1}) {
		t.Errorf("%+v\n%s", total, out.String())
	}
	for _, want := range []string{"FAIL bad#1: event 1: ExecutionStarted.input.x: recorded 1, got nothing", "SKIP later#0: "} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, out.String())
		}
	}
	if err := total.file(filepath.Join(t.TempDir(), "none"), runChoice, false, &out); err == nil {
		t.Error("a file that is not there was read")
	}
}

// TestRecordings runs what lies beside the repository, where it does. The cases that fail are those that
// docs/conformance.md gives the reason of.
func TestRecordings(t *testing.T) {
	const dir = "../../../shared/conformance/asl"
	if _, err := os.Stat(dir); err != nil {
		t.Logf("there are no recordings at %s: only the cases of this package were run", filepath.Clean(dir))
		return
	}
	page, err := os.ReadFile("../../docs/conformance.md")
	if err != nil {
		t.Fatal(err)
	}
	known := knownFailures(string(page))
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		run := kinds[kind]
		var total tally
		var out bytes.Buffer
		if err := total.file(filepath.Join(dir, kind+".jsonl"), run, false, &out); err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %s", kind, total)
		if total.passed == 0 {
			t.Errorf("%s: nothing passed", kind)
		}
		for line := range strings.SplitSeq(strings.TrimSpace(out.String()), "\n") {
			id, _, _ := strings.Cut(strings.TrimPrefix(line, "FAIL "), ": ")
			if line != "" && !known[id] {
				t.Errorf("%s: %s", kind, line)
			}
			delete(known, id)
		}
	}
	for id := range known {
		t.Errorf("docs/conformance.md says that %s fails: it does not", id)
	}
}

// knownFailures reads the ids of the page's list: each stands in backquotes at the beginning of a line.
func knownFailures(page string) map[string]bool {
	known := map[string]bool{}
	for line := range strings.SplitSeq(page, "\n") {
		if rest, ok := strings.CutPrefix(line, "- `tests/"); ok {
			id, _, _ := strings.Cut(rest, "`")
			known["tests/"+id] = true
		}
	}
	return known
}
