package definition

import (
	"reflect"
	"strings"
	"testing"

	"github.com/orrery-dev/orrery/shared/history"
)

func TestParseResource(t *testing.T) {
	const function = "arn:aws:lambda:eu-west-1:123456789012:function:f"
	worker := func(task string, version int, language string) Resource {
		return Resource{Kind: ResourceWorker, Contract: history.Contract{Task: task, Version: version}, Language: language}
	}
	for text, want := range map[string]Resource{
		"task:payments.charge":                                 worker("payments.charge", 1, ""),
		"task:payments.charge@2":                               worker("payments.charge", 2, ""),
		"task:payments.charge@2147483647":                      worker("payments.charge", 2147483647, ""),
		"task:payments.charge@2?language=Python":               worker("payments.charge", 2, "python"),
		"task:charge?language=c%2B%2B":                         worker("charge", 1, "c++"),
		"task:bezahlen-ä_1@1":                                  worker("bezahlen-ä_1", 1, ""),
		"arn:aws:states:x-1:123456789012:activity:a@2":         worker("a", 2, ""),
		"arn:aws-cn:states:cn-north-1:123456789012:activity:a": worker("a", 1, ""),
		"signal:approved":                                      {Kind: ResourceSignal, Signal: "approved"},
		"task:ask@3.waitForTaskToken?language=go":              {Kind: ResourceWorker, Contract: history.Contract{Task: "ask", Version: 3}, Language: "go", Token: true},
		"task:ask.waitForTaskToken":                            {Kind: ResourceWorker, Contract: history.Contract{Task: "ask", Version: 1}, Token: true},
		"workflow:ship@3":                                      {Kind: ResourceChild, Workflow: history.WorkflowRef{Name: "ship", Version: 3}},
		"workflow:ship":                                        {Kind: ResourceChild, Workflow: history.WorkflowRef{Name: "ship"}},
		"arn:aws:states:::states:startExecution":               {Kind: ResourceChild},
		"arn:aws:states:::states:startExecution.sync":          {Kind: ResourceChild, Sync: 1},
		"arn:aws:states:::states:startExecution.sync:2":        {Kind: ResourceChild, Sync: 2},
		"http":                           {Kind: ResourceHTTP, Contract: HTTPContract},
		"arn:aws:states:::http:invoke":   {Kind: ResourceHTTP, Contract: HTTPContract},
		function:                         {Kind: ResourceLambda, Target: function, Contract: FunctionContract},
		function + ":$LATEST":            {Kind: ResourceLambda, Target: function + ":$LATEST", Contract: FunctionContract},
		"arn:aws:states:::lambda:invoke": {Kind: ResourceLambda, Contract: LambdaContract},
		"arn:aws:states:::lambda:invoke.waitForTaskToken":         {Kind: ResourceLambda, Token: true, Contract: LambdaContract},
		"arn:aws:states:::states:startExecution.waitForTaskToken": {Kind: ResourceChild, Token: true},
	} {
		want.Text = text
		got, err := ParseResource(text)
		if err != nil || !reflect.DeepEqual(*got, want) {
			t.Errorf("%s: %+v, %v, want %+v", text, got, err, want)
		}
	}
}

func TestParseResourceRefuses(t *testing.T) {
	for _, text := range []string{
		"", "pay", "task:", "task:@1", "task:a b", "task:a/b", "task:a@", "task:a@0", "task:a@01", "task:a@-1", "task:a@1.0",
		"task:a@2147483648", "task:a@99999999999999999999", "task:a@1@2", "task:a\x00", "task:" + strings.Repeat("x", 81),
		"task:a?", "task:a?lang=go", "task:a?language=", "task:a?language=go&language=python", "task:a?language=go+lang", "task:a?%zz",
		"task:a@1?language=go&x=1", "signal:", "signal:a b", "signal:a?b", "workflow:", "workflow:a@x", "http:", "HTTP", "Task:a",
		"arn:", "arn:aws:states", "arn:aws:states:::activity:a", "arn:aws:states:eu-west-1:1:activity:a",
		"arn:aws:states:eu-west-1:123456789012:activity:a?language=go", "arn:aws:states:eu-west-1:123456789012:activity:",
		"arn:aws:lambda:eu-west-1:123456789012:function:", "arn:aws:states:::dynamodb:putItem", "arn:aws:states:::aws-sdk:s3:getObject",
		"arn:aws:states:::lambda:invoke.sync", "arn:aws:states:::lambda:invoke.later", "arn:aws:states:::http:invoke.waitForTaskToken",
	} {
		if got, err := ParseResource(text); err == nil {
			t.Errorf("%q is read as %+v", text, got)
		}
	}
}

func TestParseWorkflow(t *testing.T) {
	for text, want := range map[string]history.WorkflowRef{
		"ship":   {Name: "ship"},
		"ship@4": {Name: "ship", Version: 4},
		"arn:aws:states:eu-west-1:123456789012:stateMachine:ship":   {Name: "ship"},
		"arn:aws:states:eu-west-1:123456789012:stateMachine:ship:4": {Name: "ship", Version: 4},
		"arn:aws:states:eu-west-1:123456789012:stateMachine:ship:x": {Name: "ship", Alias: "x"},
	} {
		if got, err := ParseWorkflow(text); err != nil || got != want {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "a b", "ship@0", "ship@x", "arn:aws:states:eu-west-1:123456789012:stateMachine:ship:a b", "arn:aws:lambda:x:123456789012:function:f"} {
		if got, err := ParseWorkflow(text); err == nil {
			t.Errorf("%q is read as %+v", text, got)
		}
	}
}

func TestCheckName(t *testing.T) {
	for _, name := range []string{"a", "payments.charge", "Zahlung-ä_1", "a@b", "(x)", "a=b'c!", strings.Repeat("é", MaxName)} {
		if err := CheckName(name); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
	refused := []string{"", strings.Repeat("é", MaxName+1), "a b", "a\tb", "a\u00a0b", "a\u0085b", "a\x7fb", "a\xffb"}
	for _, c := range forbiddenInNames {
		refused = append(refused, "a"+string(c)+"b")
	}
	for _, name := range refused {
		if CheckName(name) == nil {
			t.Errorf("%q is taken as a name", name)
		}
	}
}

// No document and no worker can name a contract of the server.
func TestContractsOfTheServer(t *testing.T) {
	for _, c := range []history.Contract{HTTPContract, LambdaContract, FunctionContract} {
		if CheckName(c.Task) == nil {
			t.Errorf("%s is a name", c.Task)
		}
	}
}
