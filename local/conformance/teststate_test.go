package main

import "testing"

// states are cases of our own making, in the form of the recordings, with what becomes of each.
var states = []struct{ line, want string }{
	{`{"id":"all","calls":[{"definition":"{\"Type\":\"Task\",\"Resource\":\"arn:aws:states:::sqs:sendMessage\",\"Next\":\"N\",\"Retry\":[{\"ErrorEquals\":[\"E\"]}],\"Catch\":[{\"ErrorEquals\":[\"States.ALL\"],\"Next\":\"C\"}]}","input":null,"args":{"inspectionLevel":"INFO","mock":{"result":"{\"a\":1}"}}},` +
		`{"definition":"{\"Type\":\"Task\",\"Resource\":\"arn:aws:states:::sqs:sendMessage\",\"End\":true,\"Retry\":[{\"ErrorEquals\":[\"E\"],\"BackoffRate\":3}]}","input":"{\"i\":1}","args":{"inspectionLevel":"DEBUG","stateConfiguration":{"retrierRetryCount":2},"mock":{"errorOutput":{"error":"E","cause":"c"}}}}],` +
		`"recorded":{"one":{"output":{"a":1.0},"nextState":"N","status":"SUCCEEDED","ResponseMetadata":{"x":1}},` +
		`"two":{"status":"RETRIABLE","error":"E","cause":"c","inspectionData":{"input":"{\"i\":1}","afterInputPath":{"i":1},"afterParameters":{"i":1},"errorDetails":{"retryIndex":0,"retryBackoffIntervalSeconds":9}}}}}`, ""},
	{`{"id":"texts stay texts","calls":[{"definition":"{\"Type\":\"Pass\",\"Result\":\"1\",\"End\":true}","input":"{}","args":{"inspectionLevel":"TRACE"}}],` +
		`"recorded":{"r":{"output":"\"1\"","status":"SUCCEEDED","inspectionData":{"input":{},"result":"\"1\"","afterResultSelector":"\"1\"","afterResultPath":"\"1\""}}}}`, ""},
	{`{"id":"context","calls":[{"definition":"{\"Type\":\"Pass\",\"InputPath\":\"$$\",\"End\":true}","input":"[1]","args":{"roleArn":"arn:aws:iam::111111111111:role/r"}}],` +
		`"recorded":{"r":{"status":"SUCCEEDED","output":{"Execution":{"Id":"arn:<partition>:states:<region>:111111111111:express:<resource:2>:<resource:1>","Input":[1],"Name":"<resource:1>","RoleArn":"arn:<partition>:iam::111111111111:role/<resource:3>","StartTime":"date"},"StateMachine":{"Id":"arn:<partition>:states:<region>:111111111111:stateMachine:<resource:2>","Name":"<resource:2>"},"State":{"Name":"StateName","EnteredTime":"date"}}}}}`, ""},
	{`{"id":"raised","calls":[{"definition":"{\"StartAt\":\"A\",\"States\":{\"A\":{\"Type\":\"Succeed\"}}}","input":"{}","args":{"stateName":"B"}}],` +
		`"recorded":{"r":{"exception_typename":"ValidationException","exception_value":"An error occurred (ValidationException) when calling the TestState operation: State not found in definition"}}}`, ""},
	{`{"id":"without a role","calls":[{"definition":"{\"Type\":\"Task\",\"Resource\":\"arn:aws:states:::lambda:invoke\",\"End\":true}","input":"{}","args":{}}],` +
		`"recorded":{"r":{"Error":{"Code":"ValidationException","Message":"RoleArn must be specified when testing a Task state"},"message":"RoleArn must be specified when testing a Task state"}}}`, ""},
	{`{"id":"without a mock","calls":[{"definition":"{\"Type\":\"Parallel\",\"QueryLanguage\":\"JSONata\",\"End\":true}","input":"{}","args":{"roleArn":"r"}}],` +
		`"recorded":{"r":{"Error":{"Code":"InvalidDefinition","Message":"TestState API does not support Map or Parallel states. Supported state types include: [Task, Wait, Pass, Succeed, Fail, Choice]"},"message":"TestState API does not support Map or Parallel states. Supported state types include: [Task, Wait, Pass, Succeed, Fail, Choice]"}}}`, ""},

	{`{"id":"differs","calls":[{"definition":"{\"Type\":\"Pass\",\"End\":true}","input":"{}","args":{}}],"recorded":{"r":{"output":{"a":1},"status":"SUCCEEDED"}}}`,
		"FAIL differs: r.output.a: recorded 1, got nothing\n"},
	{`{"id":"refused","calls":[{"definition":"{\"Type\":\"Pass\"}","input":"{}","args":{}}],"recorded":{"r":{"output":{},"status":"SUCCEEDED"}}}`,
		"FAIL refused: r: invalid document: error at /: One of these fields is required: [Next, End] (required)\n"},
	{`{"id":"later","calls":[{"definition":"{\"Type\":\"Pass\",\"QueryLanguage\":\"JSONata\",\"End\":true}","input":"{}","args":{}}],"recorded":{"r":{"output":{},"status":"SUCCEEDED"}}}`,
		"SKIP later: This version does not run the query language JSONata: it is not built yet.\n"},
	{`{"id":"elsewhere","calls":[{"definition":"{\"Type\":\"Task\",\"Resource\":\"arn:aws:states:::lambda:invoke\",\"End\":true}","input":"{}","args":{"roleArn":"r"}}],"recorded":{"r":{"output":"1","status":"SUCCEEDED"}}}`,
		"SKIP elsewhere: calls another service\n"},
	{`{"id":"model","calls":[{"definition":"{\"Type\":\"Task\",\"Resource\":\"arn:aws:states:::events:putEvents\",\"End\":true}","input":"{}","args":{"mock":{"result":"1"}}}],"recorded":{"r":{"message":"Mock result schema validation error: Field 'x' must be a string"}}}`,
		"SKIP model: needs what another service says of its results\n"},
}

func TestStates(t *testing.T) {
	for n, c := range states {
		var total tally
		got, err := total.line([]byte(c.line), n+1, runState, true)
		if err != nil || got != c.want {
			t.Errorf("%v\ngot  %swant %s", err, got, c.want)
		}
	}
	for _, line := range []string{`{`, `{"id":"x","calls":[{}],"recorded":{}}`, `{"id":"x","calls":[{}],"recorded":{"a":1}}`} {
		if _, err := runState([]byte(line), 1); err == nil {
			t.Errorf("%s was taken", line)
		}
	}
}

func TestPlaceholdersOfTheInput(t *testing.T) {
	m := newMatcher()
	m.learn(events(t, `1 0 ExecutionStarted input={"at":"<timestamp>","list":["<a>",1]}`), []byte(`{"at":"2026-11-30T03:29:21Z","list":["x:y",1]}`))
	for _, c := range []struct {
		want, got string
		same      bool
	}{
		{`"<timestamp>"`, `"2026-11-30T03:29:21Z"`, true},
		{`"$.at == <timestamp>"`, `"$.at == 2026-11-30T03:29:21Z"`, true},
		{`"<timestamp>"`, `"2026-11-30T03:29:22Z"`, false},
		{`"<a>"`, `"x:y"`, true},
		{`"<a>"`, `"other"`, true},
		{`"<b>"`, `"x:y"`, false},
	} {
		if diff := m.value("v", value(t, c.want), value(t, c.got)); (diff == "") != c.same {
			t.Errorf("%s and %s: %q", c.want, c.got, diff)
		}
	}
}
