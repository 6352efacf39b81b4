package history_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/orrery-dev/orrery/shared/history"
)

// TestDescribe shows the events of a small execution under resources of every family.
func TestDescribe(t *testing.T) {
	one := history.MainScope
	events := []history.Event{
		{Type: history.EventStarted, Scope: one, Text: lit(`{"a":1}`), Start: &history.Start{Workflow: "wf", Version: 2, RequestID: "r"}},
		{Type: history.EventEntered, Scope: one, State: "A", Kind: history.TaskState},
		{Type: history.EventScheduled, Scope: one, Timeout: 60_000, Heartbeat: 5_000},
		{Type: history.EventDispatched, Scope: one, Worker: "w"},
		{Type: history.EventProgressed, Scope: one, Text: lit(`{"done":1}`)},
		{Type: history.EventLost, Scope: one, Cause: "gone"},
		{Type: history.EventLost, Scope: one, Last: true},
		{Type: history.EventRuled, Scope: one, Name: history.ResolveRetry, RequestID: "r2"},
		{Type: history.EventDispatched, Scope: one, Worker: "w"},
		{Type: history.EventFailed, Scope: one, Error: "E", Cause: "c", Text: lit(`{"d":1}`), Retrier: 1, At: 70_000},
		{Type: history.EventScheduled, Scope: one},
		{Type: history.EventTimedOut, Scope: one, Error: "States.Timeout", Retrier: 1, At: 80_000},
		{Type: history.EventScheduled, Scope: one},
		{Type: history.EventCompleted, Scope: one, Text: lit(`"done"`)},
		{Type: history.EventExited, Scope: one, Last: true, Assigned: []history.Assignment{{Name: "x"}, {Name: "y", Text: lit("2")}}},
		{Type: history.EventSignalled, Scope: one, Name: "go", Text: lit(`7`), RequestID: "r3"},
		{Type: history.EventCancelling, Scope: one, Cause: "why", RequestID: "r4"},
		{Type: history.EventEnded, Scope: one, Status: history.Cancelled, Last: true},
	}
	unit := func(scheduled, started, failed, timedOut, succeeded string) string {
		return strings.Join([]string{
			`1<0 ExecutionStarted {"input":{"a":1},"workflow":"wf","version":2,"requestId":"r"}`,
			`2<0 TaskStateEntered A {"name":"A","input":{"a":1}}`,
			`3<2 ` + scheduled + `"timeoutInSeconds":60,"heartbeatInSeconds":5}`,
			`4<3 ` + started,
			`5<4 TaskProgressed A {"name":"A","progress":{"done":1}}`,
			`6<4 TaskRedelivered A {"name":"A","attempt":1,"redelivery":1,"cause":"gone"}`,
			`7<4 TaskUncertain A {"name":"A","attempt":1,"redelivery":2}`,
			`8<4 TaskResolved A {"name":"A","resolution":"retry","requestId":"r2"}`,
			`9<4 ` + started,
			`10<9 ` + failed + `"error":"E","cause":"c","details":{"d":1}}`,
			`11<10 ` + strings.TrimSuffix(scheduled, ",") + `}`,
			`12<11 ` + timedOut + `"error":"States.Timeout"}`,
			`13<12 ` + strings.TrimSuffix(scheduled, ",") + `}`,
			`14<13 ` + succeeded + `"output":"done"}`,
			`15<14 TaskStateExited A {"name":"A","output":"done","assignedVariables":{"x":"done","y":2}}`,
			`16<15 SignalReceived {"name":"go","input":7,"requestId":"r3"}`,
			`17<15 ExecutionCancelRequested {"cause":"why","requestId":"r4"}`,
			`18<15 ExecutionAborted {"cause":"why"}`,
		}, "\n") + "\n"
	}
	task := func(kind, name string) string {
		return fmt.Sprintf(`{"resourceType":"%s","resource":"%s",`, kind, name)
	}
	of := func(kind, name string) string {
		r := task(kind, name)
		return unit(`TaskScheduled A `+r+`"parameters":{"a":1},`, `TaskStarted A `+r+`"workerName":"w"}`, `TaskFailed A `+r, `TaskTimedOut A `+r, `TaskSucceeded A `+r)
	}
	lambda := "arn:aws:lambda:us-east-1:123456789012:function:f"
	activity := "arn:aws:states:us-east-1:123456789012:activity:work"
	for resource, want := range map[string]string{
		"task:work@2":                    of("task", "work@2"),
		"arn:aws:states:::lambda:invoke": of("lambda", "invoke"),
		lambda: unit(`LambdaFunctionScheduled A {"resource":"`+lambda+`","input":{"a":1},`, `LambdaFunctionStarted A {}`,
			`LambdaFunctionFailed A {`, `LambdaFunctionTimedOut A {`, `LambdaFunctionSucceeded A {`),
		activity: unit(`ActivityScheduled A {"resource":"`+activity+`","input":{"a":1},`, `ActivityStarted A {"workerName":"w"}`,
			`ActivityFailed A {`, `ActivityTimedOut A {`, `ActivitySucceeded A {`),
		"": unit(`TaskScheduled A {"parameters":{"a":1},`, `TaskStarted A {"workerName":"w"}`, `TaskFailed A {`, `TaskTimedOut A {`, `TaskSucceeded A {`),
	} {
		views, err := history.Describe(history.New(), 1, 5, 1, events, func(string) string { return resource })
		if err != nil {
			t.Fatal(err)
		}
		if got := shown(t, views); got != want {
			t.Errorf("%s: got\n%swant\n%s", resource, got, want)
		}
	}
}

func shown(t *testing.T, views []history.View) string {
	var b strings.Builder
	for i := range views {
		v := &views[i]
		if !json.Valid(v.Data()) {
			t.Errorf("%s has the data %s", v.Type, v.Data())
		}
		fmt.Fprintf(&b, "%d<%d %s ", v.ID, v.Previous, v.Type)
		if v.Unit != "" {
			fmt.Fprintf(&b, "%s ", v.Unit)
		}
		fmt.Fprintf(&b, "%s\n", v.Data())
	}
	return b.String()
}

func TestDescribeRefusesWhatDoesNotFollow(t *testing.T) {
	if _, err := history.Describe(history.New(), 2, 5, 7, events()[:1], nil); err == nil {
		t.Error("a turn from the middle was shown")
	}
}

func TestStatusNames(t *testing.T) {
	for _, s := range []history.Status{history.Running, history.Succeeded, history.Failed, history.TimedOut, history.Cancelled} {
		if got, ok := history.ParseStatus(s.String()); !ok || got != s || s.Ended() != (s != history.Running) {
			t.Errorf("%d is %q, and that is %d", s, s, got)
		}
	}
	if _, ok := history.ParseStatus("running"); ok {
		t.Error("status names are in capitals")
	}
}
