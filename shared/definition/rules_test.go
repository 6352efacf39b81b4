package definition

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// A ruleCase is a document and all that is wrong with it: "POINTER RULE" for an
// error, with "? " before it for a warning, in order.
type ruleCase struct {
	name string
	doc  string
	want []string
}

// stateA is a document whose only state is A; fields are its members as YAML in
// flow style, without End.
func stateA(fields string) string {
	return "{\"StartAt\": \"A\", \"States\": {\"A\": {" + fields + "}}}"
}

// task is a Task without problems, but for the fields added.
func task(fields string) string {
	return stateA(`"Type": "Task", "Resource": "arn:aws:states:eu-west-1:000000000000:activity:pay@2", "End": true` + fields)
}

// inline is a Map without problems, but for the fields added.
func inline(fields string) string {
	return stateA(`"Type": "Map", "End": true, "ItemProcessor": {"StartAt": "B", "States": {"B": {"Type": "Succeed"}}}` + fields)
}

// distributed is a distributed Map without problems, but for the fields added.
func distributed(fields string) string {
	return stateA(`"Type": "Map", "End": true, "ItemProcessor": {"ProcessorConfig": {"Mode": "DISTRIBUTED", "ExecutionType": "STANDARD"},
		"StartAt": "B", "States": {"B": {"Type": "Succeed"}}}` + fields)
}

var documentCases = []ruleCase{
	{"empty", ``, []string{" syntax"}},
	{"white space", " \n\t", []string{" syntax"}},
	{"not UTF-8", "{\"\xff\": 1}", []string{" syntax"}},
	{"not an object", `[1]`, []string{" type"}},
	{"a word", `hello`, []string{" type"}},
	{"broken JSON", `{"StartAt": }`, []string{" syntax"}},
	{"text after the document", `{} {}`, []string{" syntax"}},
	{"nothing in it", `{}`, []string{" required"}},
	{"Attributes no object", `{"StartAt": "A", "Attributes": [], "States": {"A": {"Type": "Succeed"}}}`, []string{"/Attributes type"}},
	{"Attributes of the context object", `{"StartAt": "A", "Attributes": {"a.$": "$$.Execution.Name"}, "States": {"A": {"Type": "Succeed"}}}`, []string{"/Attributes reference"}},
	{"Attributes of a variable", `{"StartAt": "A", "Attributes": {"a.$": "$v"}, "States": {"A": {"Type": "Succeed"}}}`, []string{"/Attributes reference"}},
	{"Attributes by chance", `{"StartAt": "A", "Attributes": {"a.$": "States.UUID()"}, "States": {"A": {"Type": "Succeed"}}}`, []string{"/Attributes reference"}},
	{"Attributes no path", `{"StartAt": "A", "Attributes": {"a.$": "x"}, "States": {"A": {"Type": "Succeed"}}}`, []string{"/Attributes/a.$ path"}},
	{"Attributes that are none", `{"StartAt": "A", "Attributes": {"a": [1]}, "States": {"A": {"Type": "Succeed"}}}`, []string{"/Attributes value"}},
	{"Attributes", `{"StartAt": "A", "Attributes": {"a": 1, "b.$": "States.Format('{}', $.c)"}, "States": {"A": {"Type": "Succeed"}}}`, nil},
	{"StartAt missing", `{"States": {"A": {"Type": "Succeed"}}}`, []string{" required"}},
	{"States missing", `{"StartAt": "A"}`, []string{" required"}},
	{"States empty", `{"StartAt": "A", "States": {}}`, []string{"/States empty", "/StartAt target"}},
	{"States no object", `{"StartAt": "A", "States": []}`, []string{"/States type"}},
	{"StartAt no string", `{"StartAt": 1, "States": {"A": {"Type": "Succeed"}}}`, []string{"/StartAt type"}},
	{"StartAt empty", `{"StartAt": "", "States": {"A": {"Type": "Succeed"}}}`, []string{"/StartAt empty"}},
	{"StartAt nowhere", `{"StartAt": "B", "States": {"A": {"Type": "Succeed"}}}`, []string{"/StartAt target"}},
	{"a state no object", `{"StartAt": "A", "States": {"A": 1}}`, []string{"/States/A type"}},
	{"all top-level fields", `{"Comment": "c", "Version": "1.0", "QueryLanguage": "JSONPath", "TimeoutSeconds": 1, "StartAt": "A", "States": {"A": {"Type": "Succeed"}}}`, nil},
	{"wrong top-level fields", `{"Comment": 1, "Version": "2.0", "TimeoutSeconds": 0, "StartAt": "A", "States": {"A": {"Type": "Succeed"}}}`,
		[]string{"/Comment type", "/Version value", "/TimeoutSeconds range"}},
	{"Version a number", `{"Version": 1.0, "StartAt": "A", "States": {"A": {"Type": "Succeed"}}}`, []string{"/Version type"}},
	{"TimeoutSeconds with a fraction", `{"TimeoutSeconds": 1.5, "StartAt": "A", "States": {"A": {"Type": "Succeed"}}}`, []string{"/TimeoutSeconds type"}},
	{"TimeoutSeconds a string", `{"TimeoutSeconds": "1", "StartAt": "A", "States": {"A": {"Type": "Succeed"}}}`, []string{"/TimeoutSeconds type"}},
	{"TimeoutSeconds highest", `{"TimeoutSeconds": 99999999, "StartAt": "A", "States": {"A": {"Type": "Succeed"}}}`, nil},
	{"TimeoutSeconds too high", `{"TimeoutSeconds": 1e8, "StartAt": "A", "States": {"A": {"Type": "Succeed"}}}`, []string{"/TimeoutSeconds range"}},
	{"unknown top-level field", `{"Startat": "A", "StartAt": "A", "States": {"A": {"Type": "Succeed"}}}`, []string{"/Startat unknown-field"}},
	{"misplaced top-level field", `{"ProcessorConfig": {}, "StartAt": "A", "States": {"A": {"Type": "Succeed"}}}`, []string{"/ProcessorConfig misplaced-field"}},
	{"QueryLanguage unknown", `{"QueryLanguage": "SQL", "StartAt": "A", "States": {"A": {"Type": "Succeed"}}}`, []string{"/QueryLanguage value"}},
	{"JSONata", `{"QueryLanguage": "JSONata", "StartAt": "A", "States": {"A": {"Type": "Succeed", "Output": "{% 1 %}"}}}`, []string{"/QueryLanguage not-built"}},
	{"JSONPath in JSONata", `{"QueryLanguage": "JSONata", "StartAt": "A", "States": {"A": {"Type": "Succeed", "QueryLanguage": "JSONPath"}}}`,
		[]string{"/QueryLanguage not-built", "/States/A/QueryLanguage language"}},
	{"a state in JSONata", stateA(`"Type": "Succeed", "QueryLanguage": "JSONata", "Output": 1`), []string{"/States/A/QueryLanguage not-built"}},
	{"the rest of a JSONata state is checked", stateA(`"Type": "Wait", "QueryLanguage": "JSONata", "Seconds": "{% 1 %}", "Wrong": 1, "Next": "B"`),
		[]string{"/States/A/QueryLanguage not-built", "/States/A/Wrong unknown-field", "/States/A/Next target"}},
	{"members twice", `{"StartAt": "A", "StartAt": "B", "States": {"A": {"Type": "Pass", "End": true, "Result": [{"x": 1, "x": 2}]}, "A": {"Type": "Succeed"}}}`,
		[]string{"/StartAt duplicate", "/States/A/Result/0/x duplicate", "/States/A duplicate", "/StartAt target"}},
	{"pointers are escaped", `{"StartAt": "a/b~c", "States": {"a/b~c": {"Type": "Pass"}}}`, []string{"/States/a~1b~0c required"}},
}

var stateCases = []ruleCase{
	{"name of 80 characters", `{"StartAt": "` + strings.Repeat("é", 80) + `", "States": {"` + strings.Repeat("é", 80) + `": {"Type": "Succeed"}}}`, nil},
	{"name of 81 characters", `{"StartAt": "A", "States": {"A": {"Type": "Succeed"}, "` + strings.Repeat("x", 81) + `": {"Type": "Succeed"}}}`,
		[]string{"/States/" + strings.Repeat("x", 81) + " name"}},
	{"empty name", `{"StartAt": "A", "States": {"A": {"Type": "Succeed"}, "": {"Type": "Succeed"}}}`, []string{"/States/ name"}},
	{"name taken in a branch", stateA(`"Type": "Parallel", "End": true, "Branches": [
		{"StartAt": "B", "States": {"B": {"Type": "Succeed"}}}, {"StartAt": "B", "States": {"B": {"Type": "Succeed"}}}]`),
		[]string{"/States/A/Branches/1/States/B name-taken"}},
	{"name taken by the state around", stateA(`"Type": "Map", "End": true, "Iterator": {"StartAt": "A", "States": {"A": {"Type": "Succeed"}}}`),
		[]string{"/States/A/Iterator/States/A name-taken"}},
	{"Type missing", stateA(`"End": true`), []string{"/States/A required"}},
	{"Type unknown", stateA(`"Type": "pass", "End": true`), []string{"/States/A/Type value"}},
	{"Type no string", stateA(`"Type": 1`), []string{"/States/A/Type type"}},
	{"Comment no string", stateA(`"Type": "Succeed", "Comment": []`), []string{"/States/A/Comment type"}},
	{"neither Next nor End", stateA(`"Type": "Pass"`), []string{"/States/A required"}},
	{"both Next and End", stateA(`"Type": "Pass", "Next": "A", "End": true`), []string{"/States/A exclusive"}},
	{"End false is no End", stateA(`"Type": "Pass", "End": false`), []string{"/States/A required"}},
	{"End false beside Next", stateA(`"Type": "Pass", "Next": "A", "End": false`), nil},
	{"End no boolean", stateA(`"Type": "Pass", "End": "true"`), []string{"/States/A/End type", "/States/A required"}},
	{"Next no string", stateA(`"Type": "Pass", "Next": true`), []string{"/States/A/Next type"}},
	{"Next empty", stateA(`"Type": "Pass", "Next": ""`), []string{"/States/A/Next empty"}},
	{"Next nowhere", stateA(`"Type": "Pass", "Next": "B"`), []string{"/States/A/Next target"}},
	{"Next into a branch", `{"StartAt": "A", "States": {
		"A": {"Type": "Pass", "Next": "C"},
		"B": {"Type": "Map", "End": true, "ItemProcessor": {"StartAt": "C", "States": {"C": {"Type": "Pass", "Next": "B"}}}}}}`,
		[]string{"/States/B/ItemProcessor/States/C/Next target", "/States/A/Next target"}},
	{"unreachable", `{"StartAt": "A", "States": {"A": {"Type": "Succeed"}, "B": {"Type": "Pass", "Next": "C"}, "C": {"Type": "Succeed"}}}`,
		[]string{"? /States/B unreachable", "? /States/C unreachable"}},
	{"reached by rule, Default and Catch", `{"StartAt": "A", "States": {
		"A": {"Type": "Choice", "Choices": [{"Variable": "$.a", "IsNull": true, "Next": "B"}], "Default": "C"},
		"B": {"Type": "Task", "Resource": "task:b", "End": true, "Catch": [{"ErrorEquals": ["States.ALL"], "Next": "D"}]},
		"C": {"Type": "Succeed"}, "D": {"Type": "Fail"}}}`, nil},
	{"a loop is no problem", `{"StartAt": "A", "States": {"A": {"Type": "Pass", "Next": "B"}, "B": {"Type": "Pass", "Next": "A"}}}`, nil},
	{"unknown field", stateA(`"Type": "Pass", "End": true, "Reslt": 1`), []string{"/States/A/Reslt unknown-field"}},
	{"fields of other types", stateA(`"Type": "Pass", "End": true, "Seconds": 1, "Resource": "task:x", "ItemsPath": "$"`),
		[]string{"/States/A/Seconds misplaced-field", "/States/A/Resource misplaced-field", "/States/A/ItemsPath misplaced-field"}},
	{"fields of JSONata", stateA(`"Type": "Pass", "End": true, "Output": 1, "Arguments": {}`), []string{"/States/A/Output language", "/States/A/Arguments language"}},
	{"Succeed goes nowhere", stateA(`"Type": "Succeed", "Next": "A", "End": true, "ResultPath": "$"`),
		[]string{"/States/A/Next misplaced-field", "/States/A/End misplaced-field", "/States/A/ResultPath misplaced-field"}},
	{"Fail has no data flow", stateA(`"Type": "Fail", "InputPath": "$", "OutputPath": "$", "Assign": {}`),
		[]string{"/States/A/InputPath misplaced-field", "/States/A/OutputPath misplaced-field", "/States/A/Assign misplaced-field"}},
	{"Fail", stateA(`"Type": "Fail", "Error": "E", "CausePath": "States.Format('{}', $.x)"`), nil},
	{"Fail in both forms", stateA(`"Type": "Fail", "Error": "E", "ErrorPath": "$.e"`), []string{"/States/A/ErrorPath exclusive"}},
	{"Fail with wrong types", stateA(`"Type": "Fail", "Error": 1, "CausePath": "cause"`), []string{"/States/A/Error type", "/States/A/CausePath path"}},
	{"Pass", stateA(`"Type": "Pass", "End": true, "InputPath": null, "Parameters": {"a.$": "$.b"}, "Result": null, "ResultPath": "$.r", "OutputPath": "$.r", "Assign": {"x.$": "$.y"}`), nil},
	{"Pass with wrong paths", stateA(`"Type": "Pass", "End": true, "InputPath": "x", "ResultPath": "$.a[*]", "Parameters": {"a.$": "States.Nothing()"}, "Assign": {"states": 1}`),
		[]string{"/States/A/InputPath path", "/States/A/Assign/states variable", "/States/A/Parameters/a.$ intrinsic", "/States/A/ResultPath reference"}},
}

var waitCases = []ruleCase{
	{"Seconds", stateA(`"Type": "Wait", "End": true, "Seconds": 0`), nil},
	{"SecondsPath", stateA(`"Type": "Wait", "End": true, "SecondsPath": "$.s"`), nil},
	{"Timestamp", stateA(`"Type": "Wait", "End": true, "Timestamp": "2026-11-30T01:02:03.5+01:00"`), nil},
	{"TimestampPath", stateA(`"Type": "Wait", "End": true, "TimestampPath": "$.t"`), nil},
	{"none", stateA(`"Type": "Wait", "End": true`), []string{"/States/A required"}},
	{"two", stateA(`"Type": "Wait", "End": true, "Seconds": 1, "TimestampPath": "$.t"`), []string{"/States/A exclusive"}},
	{"two forms", stateA(`"Type": "Wait", "End": true, "Seconds": 1, "SecondsPath": "$.t"`), []string{"/States/A/SecondsPath exclusive"}},
	{"negative", stateA(`"Type": "Wait", "End": true, "Seconds": -1`), []string{"/States/A/Seconds range"}},
	{"fraction", stateA(`"Type": "Wait", "End": true, "Seconds": 1.5`), []string{"/States/A/Seconds type"}},
	{"no zone", stateA(`"Type": "Wait", "End": true, "Timestamp": "2026-11-30T01:02:03"`), []string{"/States/A/Timestamp timestamp"}},
	{"no T", stateA(`"Type": "Wait", "End": true, "Timestamp": "2026-11-30 01:02:03Z"`), []string{"/States/A/Timestamp timestamp"}},
}

var choiceCases = []ruleCase{
	{"no Default", stateA(`"Type": "Choice", "Choices": [{"Variable": "$.a", "IsNull": true, "Next": "A"}]`), []string{"? /States/A no-default"}},
	{"no Choices", stateA(`"Type": "Choice", "Default": "A"`), []string{"/States/A required"}},
	{"empty Choices", stateA(`"Type": "Choice", "Default": "A", "Choices": []`), []string{"/States/A/Choices empty"}},
	{"Choices no array", stateA(`"Type": "Choice", "Default": "A", "Choices": {}`), []string{"/States/A/Choices type"}},
	{"a rule no object", stateA(`"Type": "Choice", "Default": "A", "Choices": [1]`), []string{"/States/A/Choices/0 type"}},
	{"a rule without Next", stateA(`"Type": "Choice", "Default": "A", "Choices": [{"Variable": "$.a", "IsNull": true}]`), []string{"/States/A/Choices/0 required"}},
	{"a rule to nowhere", stateA(`"Type": "Choice", "Default": "A", "Choices": [{"Variable": "$.a", "IsNull": true, "Next": "B"}]`), []string{"/States/A/Choices/0/Next target"}},
	{"Default to nowhere", stateA(`"Type": "Choice", "Default": "B", "Choices": [{"Variable": "$.a", "IsNull": true, "Next": "A"}]`), []string{"/States/A/Default target"}},
	{"Next on the Choice", stateA(`"Type": "Choice", "Default": "A", "Next": "A", "Choices": [{"Variable": "$.a", "IsNull": true, "Next": "A"}]`), []string{"/States/A/Next misplaced-field"}},
	{"unknown operator", stateA(`"Type": "Choice", "Default": "A", "Choices": [{"Variable": "$.a", "StringEqual": "x", "Next": "A"}]`),
		[]string{"/States/A/Choices/0/StringEqual condition", "/States/A/Choices/0 condition"}},
	{"Next in a nested rule", stateA(`"Type": "Choice", "Default": "A", "Choices": [{"Not": {"Variable": "$.a", "IsNull": true, "Next": "A"}, "Next": "A"}]`),
		[]string{"/States/A/Choices/0/Not/Next condition"}},
	{"assigning rule", stateA(`"Type": "Choice", "Default": "A", "Assign": {"y": 1}, "Choices": [{"Variable": "$.a", "IsNull": true, "Next": "A", "Assign": {"x": 1}, "Comment": "c"}]`), nil},
}

var taskCases = []ruleCase{
	{"all fields", task(`, "Comment": "c", "InputPath": "$.a", "Parameters": {}, "ResultSelector": {}, "ResultPath": null, "OutputPath": "$", "Assign": {},
		"TimeoutSeconds": 10, "HeartbeatSeconds": 9, "QueueTimeoutSeconds": 5, "Priority": -100, "IdempotencyKey": "$.id", "MaxRedeliveries": 0, "WhenUncertain": "FAIL"`), nil},
	{"Resource missing", stateA(`"Type": "Task", "End": true`), []string{"/States/A required"}},
	{"Resource no string", stateA(`"Type": "Task", "End": true, "Resource": {}`), []string{"/States/A/Resource type"}},
	{"Resource unreadable", stateA(`"Type": "Task", "End": true, "Resource": "pay"`), []string{"/States/A/Resource resource"}},
	{"paths", task(`, "TimeoutSecondsPath": "$.t", "HeartbeatSecondsPath": "$.h"`), nil},
	{"both forms", task(`, "TimeoutSeconds": 1, "TimeoutSecondsPath": "$.t"`), []string{"/States/A/TimeoutSecondsPath exclusive"}},
	{"bounds", task(`, "TimeoutSeconds": 0, "HeartbeatSeconds": 100000000, "QueueTimeoutSeconds": 0, "Priority": 101, "MaxRedeliveries": 1001, "WhenUncertain": "ASK"`), []string{
		"/States/A/TimeoutSeconds range", "/States/A/HeartbeatSeconds range", "/States/A/QueueTimeoutSeconds range",
		"/States/A/Priority range", "/States/A/MaxRedeliveries range", "/States/A/WhenUncertain value"}},
	{"heartbeat as long as the time-out", task(`, "TimeoutSeconds": 10, "HeartbeatSeconds": 10`), []string{"/States/A/HeartbeatSeconds heartbeat"}},
	{"heartbeat alone", task(`, "HeartbeatSeconds": 600`), nil},
	{"heartbeat beside a path", task(`, "TimeoutSecondsPath": "$.t", "HeartbeatSeconds": 1000`), nil},
	{"IdempotencyKey no expression", task(`, "IdempotencyKey": "order"`), []string{"/States/A/IdempotencyKey path"}},
	{"signal", stateA(`"Type": "Task", "Resource": "signal:approved", "TimeoutSeconds": 5, "End": true, "Catch": [{"ErrorEquals": ["States.Timeout"], "Next": "A"}]`), nil},
	{"signal with fields for workers", stateA(`"Type": "Task", "Resource": "signal:approved", "End": true, "TimeoutSeconds": 9, "HeartbeatSeconds": 5, "QueueTimeoutSeconds": 1, "IdempotencyKey": "$.x"`),
		[]string{"/States/A/HeartbeatSeconds misplaced-field", "/States/A/QueueTimeoutSeconds misplaced-field", "/States/A/IdempotencyKey misplaced-field"}},
}

var handlerCases = []ruleCase{
	{"empty", task(`, "Retry": [], "Catch": []`), nil},
	{"no arrays", task(`, "Retry": {}, "Catch": null`), []string{"/States/A/Retry type", "/States/A/Catch type"}},
	{"no objects", task(`, "Retry": [1], "Catch": ["x"]`), []string{"/States/A/Retry/0 type", "/States/A/Catch/0 type"}},
	{"all fields", task(`, "Retry": [{"Comment": "c", "ErrorEquals": ["E", "States.Timeout"], "IntervalSeconds": 1, "MaxAttempts": 0, "BackoffRate": 1, "MaxDelaySeconds": 31622400, "JitterStrategy": "FULL"}],
		"Catch": [{"Comment": "c", "ErrorEquals": ["States.ALL"], "Next": "A", "ResultPath": "$.e", "Assign": {"x.$": "$.Error"}}]`), nil},
	{"ErrorEquals missing", task(`, "Retry": [{}], "Catch": [{"Next": "A"}]`), []string{"/States/A/Retry/0 required", "/States/A/Catch/0 required"}},
	{"ErrorEquals empty", task(`, "Retry": [{"ErrorEquals": []}]`), []string{"/States/A/Retry/0/ErrorEquals empty"}},
	{"ErrorEquals with a number", task(`, "Retry": [{"ErrorEquals": ["E", 1]}]`), []string{"/States/A/Retry/0/ErrorEquals/1 type"}},
	{"States.ALL not alone", task(`, "Retry": [{"ErrorEquals": ["E", "States.ALL"]}]`), []string{"/States/A/Retry/0/ErrorEquals/1 error-name"}},
	{"States.ALL not last", task(`, "Catch": [{"ErrorEquals": ["States.ALL"], "Next": "A"}, {"ErrorEquals": ["E"], "Next": "A"}]`), []string{"/States/A/Catch/0/ErrorEquals/0 error-name"}},
	{"unknown States error", task(`, "Retry": [{"ErrorEquals": ["States.Timeouts"]}]`), []string{"? /States/A/Retry/0/ErrorEquals/0 error-name"}},
	{"bounds", task(`, "Retry": [{"ErrorEquals": ["E"], "IntervalSeconds": 0, "MaxAttempts": -1, "BackoffRate": 0.9, "MaxDelaySeconds": 31622401, "JitterStrategy": "HALF"}]`), []string{
		"/States/A/Retry/0/IntervalSeconds range", "/States/A/Retry/0/MaxAttempts range", "/States/A/Retry/0/MaxDelaySeconds range",
		"/States/A/Retry/0/JitterStrategy value", "/States/A/Retry/0/BackoffRate range"}},
	{"BackoffRate endless", task(`, "Retry": [{"ErrorEquals": ["E"], "BackoffRate": 1e999}]`), []string{"/States/A/Retry/0/BackoffRate range"}},
	{"BackoffRate a string", task(`, "Retry": [{"ErrorEquals": ["E"], "BackoffRate": "2"}]`), []string{"/States/A/Retry/0/BackoffRate type"}},
	{"unknown fields", task(`, "Retry": [{"ErrorEquals": ["E"], "MaxAttempt": 1}], "Catch": [{"ErrorEquals": ["E"], "Next": "A", "Nxt": "A"}]`),
		[]string{"/States/A/Retry/0/MaxAttempt unknown-field", "/States/A/Catch/0/Nxt unknown-field"}},
	{"misplaced fields", task(`, "Catch": [{"ErrorEquals": ["E"], "Next": "A", "OutputPath": "$"}]`), []string{"/States/A/Catch/0/OutputPath misplaced-field"}},
	{"catcher to nowhere", task(`, "Catch": [{"ErrorEquals": ["E"]}, {"ErrorEquals": ["E"], "Next": "B"}]`), []string{"/States/A/Catch/0 required", "/States/A/Catch/1/Next target"}},
	{"catcher with a wrong ResultPath", task(`, "Catch": [{"ErrorEquals": ["E"], "Next": "A", "ResultPath": "$..e"}]`), []string{"/States/A/Catch/0/ResultPath reference"}},
	{"on a Parallel", stateA(`"Type": "Parallel", "End": true, "Branches": [{"StartAt": "B", "States": {"B": {"Type": "Succeed"}}}], "Retry": [{"ErrorEquals": ["E"]}]`), nil},
	{"on a Pass", stateA(`"Type": "Pass", "End": true, "Retry": [], "Catch": []`), []string{"/States/A/Retry misplaced-field", "/States/A/Catch misplaced-field"}},
}

var nestedCases = []ruleCase{
	{"no Branches", stateA(`"Type": "Parallel", "End": true`), []string{"/States/A required"}},
	{"empty Branches", stateA(`"Type": "Parallel", "End": true, "Branches": []`), []string{"/States/A/Branches empty"}},
	{"a branch no object", stateA(`"Type": "Parallel", "End": true, "Branches": ["B"]`), []string{"/States/A/Branches/0 type"}},
	{"an empty branch", stateA(`"Type": "Parallel", "End": true, "Branches": [{}]`), []string{"/States/A/Branches/0 required"}},
	{"top-level fields in a branch", stateA(`"Type": "Parallel", "End": true, "Branches": [{"Comment": "c", "TimeoutSeconds": 1, "QueryLanguage": "JSONPath", "Other": 1, "StartAt": "B", "States": {"B": {"Type": "Succeed"}}}]`),
		[]string{"/States/A/Branches/0/TimeoutSeconds misplaced-field", "/States/A/Branches/0/QueryLanguage misplaced-field", "/States/A/Branches/0/Other unknown-field"}},
	{"unreachable in a branch", stateA(`"Type": "Parallel", "End": true, "Branches": [{"StartAt": "B", "States": {"B": {"Type": "Succeed"}, "C": {"Type": "Succeed"}}}]`),
		[]string{"? /States/A/Branches/0/States/C unreachable"}},
	{"Map", inline(`, "ItemsPath": "$.a", "ItemSelector": {"v.$": "$$.Map.Item.Value"}, "MaxConcurrency": 0, "ToleratedFailureCount": 1, "ToleratedFailurePercentage": 0.5`), nil},
	{"Map with paths", inline(`, "Parameters": {"v.$": "$$.Map.Item.Value"}, "MaxConcurrencyPath": "$.m", "ToleratedFailureCountPath": "$.c", "ToleratedFailurePercentagePath": "$.p"`), nil},
	{"Map with both forms", inline(`, "Parameters": {}, "ItemSelector": {}, "MaxConcurrency": 1, "MaxConcurrencyPath": "$.m"`),
		[]string{"/States/A/Parameters exclusive", "/States/A/MaxConcurrencyPath exclusive"}},
	{"Map beyond bounds", inline(`, "MaxConcurrency": -1, "ToleratedFailureCount": -1, "ToleratedFailurePercentage": 100.1`),
		[]string{"/States/A/MaxConcurrency range", "/States/A/ToleratedFailureCount range", "/States/A/ToleratedFailurePercentage range"}},
	{"Map without a processor", stateA(`"Type": "Map", "End": true`), []string{"/States/A required"}},
	{"Map with two", inline(`, "Iterator": {"StartAt": "C", "States": {"C": {"Type": "Succeed"}}}`), []string{"/States/A/Iterator exclusive"}},
	{"a processor no object", stateA(`"Type": "Map", "End": true, "ItemProcessor": 1`), []string{"/States/A/ItemProcessor type"}},
	{"ProcessorConfig", stateA(`"Type": "Map", "End": true, "ItemProcessor": {"ProcessorConfig": {"Mode": "INLINE", "ExecutionType": "STANDARD"}, "StartAt": "B", "States": {"B": {"Type": "Succeed"}}}`), nil},
	{"wrong ProcessorConfig", stateA(`"Type": "Map", "End": true, "ItemProcessor": {"ProcessorConfig": {"Mode": "BOTH", "ExecutionType": 1, "Size": 1}, "StartAt": "B", "States": {"B": {"Type": "Succeed"}}}`),
		[]string{"/States/A/ItemProcessor/ProcessorConfig/Size unknown-field", "/States/A/ItemProcessor/ProcessorConfig/ExecutionType type", "/States/A/ItemProcessor/ProcessorConfig/Mode value"}},
}

var distributedCases = []ruleCase{
	{"all fields", distributed(`, "Label": "L", "MaxConcurrency": 10000, "ItemBatcher": {"MaxItemsPerBatch": 5, "MaxInputBytesPerBatch": 262144, "BatchInput": {"a.$": "$.b"}}`), nil},
	{"paths", distributed(`, "ItemBatcher": {"MaxItemsPerBatchPath": "$.n", "MaxInputBytesPerBatchPath": "$m"}`), nil},
	{"wrong batcher", distributed(`, "ItemBatcher": {"MaxItemsPerBatch": 0, "MaxInputBytesPerBatch": 262145, "BatchInput": [], "Size": 1}`), []string{
		"/States/A/ItemBatcher/Size unknown-field", "/States/A/ItemBatcher/MaxItemsPerBatch range", "/States/A/ItemBatcher/MaxInputBytesPerBatch range",
		"/States/A/ItemBatcher/BatchInput type"}},
	{"empty batcher", distributed(`, "ItemBatcher": {}`), []string{"/States/A/ItemBatcher required"}},
	{"batcher no object", distributed(`, "ItemBatcher": 5`), []string{"/States/A/ItemBatcher type"}},
	{"label too long", distributed(`, "Label": "` + strings.Repeat("x", 41) + `"`), []string{"/States/A/Label name"}},
	{"inline", inline(`, "Label": "L", "ItemBatcher": {"MaxItemsPerBatch": 5}`), []string{"/States/A/Label misplaced-field", "/States/A/ItemBatcher misplaced-field"}},
}

// readerOf is an ItemReader of an object, with more fields of its ReaderConfig.
func readerOf(fields string) string {
	return distributed(`, "ItemReader": {"Resource": "arn:aws:states:::s3:getObject", "Parameters": {"Bucket": "b", "Key.$": "$.k"}, "ReaderConfig": {` + fields + `}}`)
}

var readerCases = []ruleCase{
	{"json", readerOf(`"InputType": "JSON", "MaxItems": 0, "ItemsPointer": "/a/b"`), nil},
	{"csv", readerOf(`"InputType": "CSV", "CSVHeaderLocation": "GIVEN", "CSVHeaders": ["a"], "CSVDelimiter": "TAB", "MaxItemsPath": "$.n"`), nil},
	{"list", distributed(`, "ItemReader": {"Resource": "arn:aws:states:::s3:listObjectsV2", "ReaderConfig": {"MaxItems": 3}}`), nil},
	{"empty", distributed(`, "ItemReader": {}`), []string{"/States/A/ItemReader required"}},
	{"resource", distributed(`, "ItemReader": {"Resource": "task:a", "Args": 1}`),
		[]string{"/States/A/ItemReader/Args unknown-field", "/States/A/ItemReader/Resource resource", "/States/A/ItemReader required"}},
	{"a list has no type", distributed(`, "ItemReader": {"Resource": "arn:aws:states:::s3:listObjectsV2", "ReaderConfig": {"InputType": "JSON"}}`),
		[]string{"/States/A/ItemReader required"}},
	{"config", readerOf(`"InputType": "XML", "MaxItems": -1, "Rows": 1, "CSVHeaders": []`),
		[]string{"/States/A/ItemReader/ReaderConfig/Rows unknown-field", "/States/A/ItemReader/ReaderConfig/MaxItems range",
			"/States/A/ItemReader/ReaderConfig/InputType value", "/States/A/ItemReader/ReaderConfig/CSVHeaders misplaced-field"}},
	{"both numbers", readerOf(`"InputType": "JSON", "MaxItems": 1, "MaxItemsPath": "$.n"`), []string{"/States/A/ItemReader/ReaderConfig/MaxItemsPath exclusive"}},
	{"csv without headers", readerOf(`"InputType": "CSV"`), []string{"/States/A/ItemReader/ReaderConfig required"}},
	{"csv with bad ones", readerOf(`"InputType": "CSV", "CSVHeaderLocation": "GIVEN", "CSVHeaders": [1], "CSVDelimiter": "X"`),
		[]string{"/States/A/ItemReader/ReaderConfig/CSVDelimiter value", "/States/A/ItemReader/ReaderConfig/CSVHeaders type"}},
	{"results in S3", distributed(`, "ResultWriter": {"Resource": "arn:aws:states:::s3:putObject", "Parameters": {"Bucket.$": "$.b"}}`), nil},
	{"results as lines", distributed(`, "ResultWriter": {"Resource": "arn:aws:states:::s3:putObject", "Parameters": {"Bucket": "b"}, "WriterConfig": {"OutputType": "JSONL"}}`), nil},
	{"results shown", distributed(`, "ResultWriter": {"WriterConfig": {"Transformation": "FLATTEN"}}`), nil},
	{"results nowhere", distributed(`, "ResultWriter": {}`), []string{"/States/A/ResultWriter required"}},
	{"results without parameters", distributed(`, "ResultWriter": {"Resource": "arn:aws:states:::s3:putObject"}`), []string{"/States/A/ResultWriter required"}},
	{"results without a resource", distributed(`, "ResultWriter": {"Parameters": {}, "WriterConfig": {"Transformation": "NONE"}}`), []string{"/States/A/ResultWriter required"}},
	{"results elsewhere", distributed(`, "ResultWriter": {"Resource": "arn:aws:states:::s3:getObject", "Parameters": {}, "Arguments": {}}`),
		[]string{"/States/A/ResultWriter/Arguments misplaced-field", "/States/A/ResultWriter/Resource resource"}},
	{"results in another form", distributed(`, "ResultWriter": {"WriterConfig": {"Transformation": "ZIP", "OutputType": "CSV", "Size": 1}}`),
		[]string{"/States/A/ResultWriter/WriterConfig/Size unknown-field", "/States/A/ResultWriter/WriterConfig/Transformation value", "/States/A/ResultWriter/WriterConfig/OutputType value"}},
	{"an empty form", distributed(`, "ResultWriter": {"WriterConfig": {}}`), []string{"/States/A/ResultWriter/WriterConfig required"}},
	{"results inline", inline(`, "ResultWriter": {"WriterConfig": {"Transformation": "NONE"}}`), []string{"/States/A/ResultWriter misplaced-field"}},
	{"an inventory", readerOf(`"InputType": "MANIFEST", "ManifestType": "S3_INVENTORY"`), nil},
	{"an inventory by itself", readerOf(`"InputType": "MANIFEST"`), nil},
	{"files of Athena", readerOf(`"InputType": "JSONL", "ManifestType": "ATHENA_DATA"`), nil},
	{"an inventory of lines", readerOf(`"InputType": "JSONL", "ManifestType": "S3_INVENTORY"`), []string{"/States/A/ItemReader/ReaderConfig/ManifestType value"}},
	{"a manifest of a manifest", readerOf(`"InputType": "MANIFEST", "ManifestType": "ATHENA_DATA"`), []string{"/States/A/ItemReader/ReaderConfig/ManifestType value"}},
	{"another manifest", readerOf(`"InputType": "MANIFEST", "ManifestType": "OTHER"`), []string{"/States/A/ItemReader/ReaderConfig/ManifestType value"}},
	{"pointer", readerOf(`"InputType": "JSON", "ItemsPointer": "a"`), []string{"/States/A/ItemReader/ReaderConfig/ItemsPointer value"}},
	{"inline", inline(`, "ItemReader": {"Resource": "arn:aws:states:::s3:listObjectsV2"}`), []string{"/States/A/ItemReader misplaced-field"}},
}

var notBuiltCases = []ruleCase{
	{"JSONL given by the Map", distributed(`, "ResultWriter": {"WriterConfig": {"OutputType": "JSONL"}}`), []string{"/States/A/ResultWriter/WriterConfig/OutputType not-built"}},
	{"kinds of objects", distributed(`, "ItemReader": {"Resource": "arn:aws:states:::s3:getObject", "ReaderConfig": {"InputType": "PARQUET"}}`),
		[]string{"/States/A/ItemReader/ReaderConfig/InputType not-built"}},
	{"credentials", stateA(`"Type": "Task", "End": true, "Resource": "arn:aws:states:::lambda:invoke.waitForTaskToken", "Credentials": {}`),
		[]string{"/States/A/Credentials not-built"}},
}

// offCases are read where HTTP requests are off.
var offCases = []ruleCase{
	{"a request", stateA(`"Type": "Task", "End": true, "Resource": "http"`), []string{"/States/A/Resource off"}},
	{"a compensation", stateA(`"Type": "Task", "End": true, "Resource": "task:a", "Compensate": {"Resource": "arn:aws:states:::http:invoke"}`),
		[]string{"/States/A/Compensate/Resource off"}},
	{"a function", stateA(`"Type": "Task", "End": true, "Resource": "arn:aws:states:::lambda:invoke"`), nil},
}

// topped is a document with more fields at its top.
func topped(fields string) string {
	return `{` + fields + `, "StartAt": "A", "States": {"A": {"Type": "Succeed"}}}`
}

var topCases = []ruleCase{
	{"limits", topped(`"Limits": {"Events": 1, "FanOut": 1048576, "PayloadBytes": 1048576}`), nil},
	{"no limits", topped(`"Limits": {}`), nil},
	{"wrong limits", topped(`"Limits": {"Events": 0, "FanOut": 1048577, "PayloadBytes": "many", "States": 1}`),
		[]string{"/Limits/States unknown-field", "/Limits/Events range", "/Limits/FanOut range", "/Limits/PayloadBytes type"}},
	{"limits no object", topped(`"Limits": 5`), []string{"/Limits type"}},
	{"schemas", topped(`"Input": {"type": "object", "required": ["a"], "properties": {"a": {"$ref": "#/$defs/n"}}, "$defs": {"n": {"type": "number"}}}, "Output": true`), nil},
	{"an older draft", topped(`"Input": {"$schema": "http://json-schema.org/draft-07/schema#", "type": "string"}`), nil},
	{"no schemas", topped(`"Input": {"type": "nothing"}, "Output": 7`), []string{"/Input schema", "/Output schema"}},
	{"a schema elsewhere", topped(`"Input": {"$ref": "https://example.com/schema.json"}, "Output": {"$schema": "https://example.com/meta"}`),
		[]string{"/Input schema", "/Output schema"}},
	{"a file", topped(`"Input": {"$ref": "file:///etc/passwd"}`), []string{"/Input schema"}},
	{"a reference to nothing", topped(`"Input": {"$ref": "#/$defs/no"}`), []string{"/Input schema"}},
	{"a wrong pattern", topped(`"Input": {"pattern": "("}`), []string{"/Input schema"}},
}

// two is a document of two states, A before B.
func two(a, b string) string {
	return `{"StartAt": "A", "States": {"A": {` + a + `, "Next": "B"}, "B": {` + b + `}}}`
}

// foreseenCases have what surely fails, and beside it what may go well.
var foreseenCases = []ruleCase{
	{"a variable that nobody assigns", two(`"Type": "Pass"`, `"Type": "Pass", "Parameters": {"a.$": "$v.x", "b.$": "States.Array($v)"}, "End": true`), []string{"? /States/B unresolvable"}},
	{"a variable that comes later", two(`"Type": "Pass", "Parameters": {"a.$": "$v"}`, `"Type": "Pass", "Assign": {"v": 1}, "End": true`), []string{"? /States/A unresolvable"}},
	{"a variable that the state itself assigns", stateA(`"Type": "Pass", "Assign": {"v.$": "$v"}, "End": true`), []string{"? /States/A unresolvable"}},
	{"a variable of a turn before", two(`"Type": "Pass", "Assign": {"v": 1}`, `"Type": "Choice", "Choices": [{"Variable": "$v", "IsNull": true, "Next": "A"}], "Default": "A"`), nil},
	{"a variable that a rule assigns", `{"StartAt": "A", "States": {"A": {"Type": "Choice", "Choices": [{"Variable": "$.a", "IsNull": true, "Next": "B", "Assign": {"v": 1}}], "Default": "B"}, "B": {"Type": "Wait", "SecondsPath": "$v", "End": true}}}`, nil},
	{"a variable that a catcher assigns", `{"StartAt": "A", "States": {"A": {"Type": "Task", "Resource": "task:a", "End": true, "Catch": [{"ErrorEquals": ["States.ALL"], "Next": "B", "Assign": {"v.$": "$.Error"}}]}, "B": {"Type": "Fail", "ErrorPath": "$v"}}}`, nil},
	{"a variable that is only tested", `{"StartAt": "A", "States": {"A": {"Type": "Choice", "Choices": [{"And": [{"Variable": "$v", "IsPresent": true}, {"Variable": "$v", "NumericEquals": 1}], "Next": "B"}], "Default": "B"}, "B": {"Type": "Succeed"}}}`, nil},
	{"a variable of the document in a branch", `{"StartAt": "A", "States": {"A": {"Type": "Pass", "Assign": {"v": 1}, "Next": "P"}, "P": {"Type": "Parallel", "End": true, "Branches": [
		{"StartAt": "B", "States": {"B": {"Type": "Pass", "Parameters": {"a.$": "$v"}, "Assign": {"w": 1}, "Next": "C"}, "C": {"Type": "Wait", "SecondsPath": "$w", "End": true}}},
		{"StartAt": "D", "States": {"D": {"Type": "Wait", "SecondsPath": "$w", "End": true}}}]}}}`, []string{"? /States/P/Branches/1/States/D unresolvable"}},
	{"a variable of the document in a distributed Map", `{"StartAt": "A", "States": {"A": {"Type": "Pass", "Assign": {"v": 1}, "Next": "P"}, "P": {"Type": "Map", "End": true, "ItemSelector": {"a.$": "$v"}, "ItemProcessor": {
		"ProcessorConfig": {"Mode": "DISTRIBUTED", "ExecutionType": "STANDARD"}, "StartAt": "B", "States": {"B": {"Type": "Wait", "SecondsPath": "$v", "End": true}}}}}}`, []string{"? /States/P/ItemProcessor/States/B unresolvable"}},
	{"a variable of the document in Cleanup", `{"StartAt": "A", "States": {"A": {"Type": "Pass", "Assign": {"v": 1}, "End": true}}, "Cleanup": {"StartAt": "B", "States": {"B": {"Type": "Wait", "SecondsPath": "$v", "End": true}}}}`, []string{"? /Cleanup/States/B unresolvable"}},
	{"what the context object has", stateA(`"Type": "Pass", "End": true, "Parameters": {"a.$": "$$", "b.$": "$$.Execution.Input.a.b", "c.$": "$$.State.Name", "d.$": "$$.Execution.RedriveTime", "e.$": "$$.Schedule.FencingToken", "f.$": "$$..no"}`), nil},
	{"what the context object lacks", stateA(`"Type": "Pass", "End": true, "Parameters": {"a.$": "$$.Execution.Nam", "b.$": "$$.no", "c.$": "$$.State.RetryCount", "d.$": "$$.Map.Item.Index", "e.$": "$$.Task.Token", "f.$": "$$.State.Name.x"}`),
		[]string{"? /States/A unresolvable", "? /States/A unresolvable", "? /States/A unresolvable", "? /States/A unresolvable", "? /States/A unresolvable", "? /States/A unresolvable"}},
	{"the item of a Map", inline(`, "ItemSelector": {"a.$": "$$.Map.Item.Value.x", "b.$": "$$.Map.Item.Index", "c.$": "$$.State.RetryCount"}`), nil},
	{"the token of a Task", stateA(`"Type": "Task", "Resource": "task:a.waitForTaskToken", "End": true, "Parameters": {"a.$": "$$.Task.Token"}`), nil},
	{"a field that a Result lacks", two(`"Type": "Pass", "Result": {"a": 1}`, `"Type": "Wait", "SecondsPath": "$.b", "End": true`), []string{"? /States/B unresolvable"}},
	{"a field that a Result has", two(`"Type": "Pass", "Result": {"a": 1}`, `"Type": "Wait", "SecondsPath": "$.a", "End": true`), nil},
	{"a Result beside the input", two(`"Type": "Pass", "Result": {"a": 1}, "ResultPath": "$.r"`, `"Type": "Wait", "SecondsPath": "$.b", "End": true`), nil},
	{"Parameters without a path", two(`"Type": "Pass", "Parameters": {"a": {"b": 1}}`, `"Type": "Task", "Resource": "task:a", "Parameters": {"x.$": "$.a.c"}, "End": true`), []string{"? /States/B unresolvable"}},
	{"Parameters with a path", two(`"Type": "Pass", "Parameters": {"a.$": "$..b"}`, `"Type": "Task", "Resource": "task:a", "Parameters": {"x.$": "$.a[0].c"}, "End": true`), nil},
	{"a Result two states before", `{"StartAt": "A", "States": {"A": {"Type": "Pass", "Result": [1], "Next": "B"}, "B": {"Type": "Pass", "ResultPath": null, "Next": "C"}, "C": {"Type": "Choice", "Choices": [{"Variable": "$.x", "IsNull": true, "Next": "D"}], "Default": "D"}, "D": {"Type": "Succeed", "InputPath": "$[1]"}}}`,
		[]string{"? /States/C unresolvable"}},
	{"a Result and another way", `{"StartAt": "A", "States": {"A": {"Type": "Choice", "Choices": [{"Variable": "$.x", "IsNull": true, "Next": "B"}], "Default": "C"}, "B": {"Type": "Pass", "Result": [1], "Next": "C"}, "C": {"Type": "Succeed", "InputPath": "$.x"}}}`, nil},
	{"a Result that is no array", two(`"Type": "Pass", "Result": {"a": 1}`, `"Type": "Map", "ItemsPath": "$.a", "End": true, "ItemProcessor": {"StartAt": "C", "States": {"C": {"Type": "Succeed"}}}`), []string{"? /States/B unresolvable"}},
	{"a request", stateA(`"Type": "Task", "Resource": "http", "End": true, "Parameters": {"ApiEndpoint.$": "$.url", "Method": "GET", "Headers": {"a": "b"}}`), nil},
	{"a request at fault", stateA(`"Type": "Task", "Resource": "http", "End": true, "Parameters": {"Url": "x", "Method": "FETCH", "Headers": 1, "Body.$": "$"}`), []string{
		"? /States/A/Parameters/Url request", "? /States/A/Parameters/Body.$ request", "? /States/A/Parameters request", "? /States/A/Parameters/Method request", "? /States/A/Parameters/Headers request"}},
	{"a request that comes whole", stateA(`"Type": "Task", "Resource": "http", "End": true`), nil},
	{"a function", stateA(`"Type": "Task", "Resource": "arn:aws:states:::lambda:invoke", "End": true, "Parameters": {"Payload.$": "$", "LogTyp": "None"}`), []string{"? /States/A/Parameters/LogTyp request", "? /States/A/Parameters request"}},
	{"a start", stateA(`"Type": "Task", "Resource": "arn:aws:states:::states:startExecution", "End": true, "Parameters": {"Input.$": "$", "Name": 7}`), []string{"? /States/A/Parameters request", "? /States/A/Parameters/Name request"}},
}

var strictCases = []ruleCase{
	{"an activity", task(`, "TimeoutSeconds": 10, "HeartbeatSeconds": 9`), nil},
	{"task:", stateA(`"Type": "Task", "End": true, "Resource": "task:pay"`), []string{"/States/A/Resource addition"}},
	{"signal:", stateA(`"Type": "Task", "End": true, "Resource": "signal:paid"`), []string{"/States/A/Resource addition"}},
	{"workflow:", stateA(`"Type": "Task", "End": true, "Resource": "workflow:pay"`), []string{"/States/A/Resource addition"}},
	{"http", stateA(`"Type": "Task", "End": true, "Resource": "http"`), []string{"/States/A/Resource addition"}},
	{"fields of a Task", task(`, "QueueTimeoutSeconds": 1, "IdempotencyKey": "$.a", "Priority": 1, "MaxRedeliveries": 1, "WhenUncertain": "WAIT", "Compensate": {"Resource": "arn:aws:states:x:000000000000:activity:undo"}`), []string{
		"/States/A/QueueTimeoutSeconds addition", "/States/A/IdempotencyKey addition", "/States/A/Priority addition",
		"/States/A/MaxRedeliveries addition", "/States/A/WhenUncertain addition", "/States/A/Compensate addition"}},
	{"a catcher", task(`, "Catch": [{"ErrorEquals": ["E"], "Next": "A", "Compensate": true}]`), []string{"/States/A/Catch/0/Compensate addition"}},
	{"top level", `{"Attributes": {}, "OnSignal": {}, "Cleanup": {"StartAt": "B", "States": {"B": {"Type": "Succeed"}}}, "Limits": {}, "Input": {}, "Output": {}, "StartAt": "A", "States": {"A": {"Type": "Succeed"}}}`,
		[]string{"/Attributes addition", "/OnSignal addition", "/Cleanup addition", "/Limits addition", "/Input addition", "/Output addition"}},
	{"unreachable", `{"StartAt": "A", "States": {"A": {"Type": "Succeed"}, "B": {"Type": "Succeed"}}}`, []string{"/States/B unreachable"}},
}

// limitCases are documents at and beyond a limit.
func limitCases() []ruleCase {
	states := func(n int) string {
		var text strings.Builder
		text.WriteString(`{"StartAt": "s0", "States": {`)
		for i := range n {
			fmt.Fprintf(&text, `"s%d": {"Type": "Pass", "Next": "s%d"}, `, i, (i+1)%n)
		}
		return strings.TrimSuffix(text.String(), ", ") + "}}"
	}
	result := func(value string) string { return stateA(`"Type": "Pass", "End": true, "Result": ` + value) }
	nested := func(n int) string { return result(strings.Repeat("[", n) + strings.Repeat("]", n)) }
	many := make([]string, 0, maxProblems+1)
	var unknown strings.Builder
	for i := range 2 * maxProblems {
		fmt.Fprintf(&unknown, `, "x%d": 1`, i)
		if i < maxProblems {
			many = append(many, fmt.Sprintf("/States/A/x%d unknown-field", i))
		}
	}
	return []ruleCase{
		{"text as large as allowed", result(`"` + strings.Repeat("x", DefaultMaxBytes-len(result(`""`))) + `"`), nil},
		{"text too large", result(`"` + strings.Repeat("x", DefaultMaxBytes-len(result(`""`))+1) + `"`), []string{" too-large"}},
		{"as many states as allowed", states(MaxStates), nil},
		{"too many states", states(MaxStates + 1), []string{"/States too-large"}},
		{"as deep as allowed", nested(MaxDepth - 3), nil},
		{"too deep", nested(MaxDepth - 2), []string{" too-large"}},
		{"much too deep", nested(100_000), []string{" syntax"}},
		{"too many problems", task(unknown.String()), append(many, "?  more-problems")},
	}
}

var undoCases = []ruleCase{
	{"all fields", task(`, "Compensate": {"Comment": "c", "Resource": "task:undo", "Parameters": {"id.$": "$.Result.id"}, "TimeoutSeconds": 10, "HeartbeatSecondsPath": "$.h",
		"QueueTimeoutSeconds": 5, "Priority": 1, "MaxRedeliveries": 1, "WhenUncertain": "FAIL", "Retry": [{"ErrorEquals": ["States.ALL"]}]},
		"Catch": [{"ErrorEquals": ["E"], "Next": "A", "Compensate": true}]`), nil},
	{"no object", task(`, "Compensate": "task:undo"`), []string{"/States/A/Compensate type"}},
	{"Resource missing", task(`, "Compensate": {}`), []string{"/States/A/Compensate required"}},
	{"a signal", task(`, "Compensate": {"Resource": "signal:x"}`), []string{"/States/A/Compensate/Resource resource"}},
	{"of a signal", stateA(`"Type": "Task", "Resource": "signal:x", "End": true, "Compensate": {"Resource": "task:undo"}`), []string{"/States/A/Compensate misplaced-field"}},
	{"of a Pass", stateA(`"Type": "Pass", "End": true, "Compensate": {"Resource": "task:undo"}`), []string{"/States/A/Compensate misplaced-field"}},
	{"fields of a state", task(`, "Compensate": {"Resource": "task:undo", "Next": "A", "Catch": [], "ResultPath": "$", "Retr": []}`), []string{
		"/States/A/Compensate/Next unknown-field", "/States/A/Compensate/Catch unknown-field", "/States/A/Compensate/ResultPath misplaced-field",
		"/States/A/Compensate/Retr unknown-field"}},
	{"wrong fields", task(`, "Compensate": {"Resource": "undo", "Parameters": [], "TimeoutSeconds": 0, "Retry": [{}]}`), []string{
		"/States/A/Compensate/Parameters type", "/States/A/Compensate/Resource resource", "/States/A/Compensate/TimeoutSeconds range", "/States/A/Compensate/Retry/0 required"}},
	{"Cleanup", `{"StartAt": "A", "States": {"A": {"Type": "Succeed"}}, "Cleanup": {"Comment": "c", "StartAt": "B", "States": {"B": {"Type": "Succeed"}}}}`, nil},
	{"Cleanup no object", `{"StartAt": "A", "States": {"A": {"Type": "Succeed"}}, "Cleanup": true}`, []string{"/Cleanup type"}},
	{"Cleanup empty", `{"StartAt": "A", "States": {"A": {"Type": "Succeed"}}, "Cleanup": {}}`, []string{"/Cleanup required"}},
	{"Cleanup with a name that is taken", `{"StartAt": "A", "States": {"A": {"Type": "Succeed"}}, "Cleanup": {"StartAt": "A", "States": {"A": {"Type": "Succeed"}}}}`,
		[]string{"/Cleanup/States/A name-taken"}},
	{"Cleanup with fields of a document", `{"StartAt": "A", "States": {"A": {"Type": "Succeed"}}, "Cleanup": {"TimeoutSeconds": 5, "StartAt": "B", "States": {"B": {"Type": "Succeed"}}}}`,
		[]string{"/Cleanup/TimeoutSeconds misplaced-field"}},
	{"into Cleanup", `{"StartAt": "A", "States": {"A": {"Type": "Pass", "Next": "B"}}, "Cleanup": {"StartAt": "B", "States": {"B": {"Type": "Succeed"}}}}`,
		[]string{"/States/A/Next target"}},
	{"OnSignal", `{"StartAt": "A", "States": {"A": {"Type": "Succeed"}}, "OnSignal": {"change": {"Comment": "c", "StartAt": "B", "States": {"B": {"Type": "Succeed"}}}}}`, nil},
	{"OnSignal empty", `{"StartAt": "A", "States": {"A": {"Type": "Succeed"}}, "OnSignal": {}}`, nil},
	{"OnSignal no object", `{"StartAt": "A", "States": {"A": {"Type": "Succeed"}}, "OnSignal": []}`, []string{"/OnSignal type"}},
	{"OnSignal with what is no machine", `{"StartAt": "A", "States": {"A": {"Type": "Succeed"}}, "OnSignal": {"x": 1, "y": {}, "a b": {}, "z": {"Seconds": 1, "StartAt": "B", "States": {"B": {"Type": "Succeed"}}}}}`,
		[]string{"/OnSignal/x type", "/OnSignal/y required", "/OnSignal/a b name", "/OnSignal/z/Seconds unknown-field"}},
	{"a signal that OnSignal takes", `{"StartAt": "A", "States": {"A": {"Type": "Task", "Resource": "signal:x", "End": true}}, "OnSignal": {"x": {"StartAt": "B", "States": {"B": {"Type": "Task", "Resource": "signal:y", "End": true}}}}}`,
		[]string{"/States/A/Resource exclusive"}},
	{"nothing is undone in Cleanup", `{"StartAt": "A", "States": {"A": {"Type": "Succeed"}}, "Cleanup": {"StartAt": "B", "States": {"B": {"Type": "Task", "Resource": "task:b", "End": true,
		"Compensate": {"Resource": "task:undo"}, "Catch": [{"ErrorEquals": ["E"], "Next": "B", "Compensate": true}]}}}}`,
		[]string{"/Cleanup/States/B/Catch/0/Compensate misplaced-field", "/Cleanup/States/B/Compensate misplaced-field"}},
}

func TestRules(t *testing.T) {
	tables := map[string][]ruleCase{
		"document": documentCases, "foreseen": foreseenCases, "state": stateCases, "wait": waitCases, "choice": choiceCases, "task": taskCases,
		"handler": handlerCases, "nested": nestedCases, "undo": undoCases, "top": topCases, "distributed": distributedCases, "reader": readerCases, "not built": notBuiltCases, "limit": limitCases(),
	}
	hit := map[string]bool{}
	for table, cases := range tables {
		for _, c := range cases {
			t.Run(table+"/"+c.name, func(t *testing.T) { checkRules(t, c, Options{}, hit) })
		}
	}
	for _, c := range strictCases {
		t.Run("strict/"+c.name, func(t *testing.T) { checkRules(t, c, Options{Strict: true}, hit) })
	}
	off := Options{Off: map[ResourceKind]string{ResourceHTTP: "nothing is allowed"}}
	for _, c := range offCases {
		t.Run("off/"+c.name, func(t *testing.T) { checkRules(t, c, off, hit) })
	}
	for _, rule := range ruleConstants(t) {
		if !hit[rule] {
			t.Errorf("no document of the tables breaks the rule %q", rule)
		}
		delete(hit, rule)
	}
	for rule := range hit {
		t.Errorf("the rule %q is not one of the Rule constants", rule)
	}
}

func checkRules(t *testing.T, c ruleCase, opts Options, hit map[string]bool) {
	t.Helper()
	doc, problems := Parse([]byte(c.doc), opts)
	var got []string
	for _, p := range problems {
		line := p.Pointer + " " + p.Rule
		if p.Severity == SeverityWarning {
			line = "? " + line
		}
		got = append(got, line)
		hit[p.Rule] = true
		if p.Message == "" || len(p.Message) > maxMessage+len("…") {
			t.Errorf("%s: message of %d bytes: %s", line, len(p.Message), cut(p.Message, maxQuoted))
		}
	}
	if !slices.Equal(got, c.want) {
		t.Errorf("problems:\n%v\nwant:\n%s\ndocument: %s", problems, strings.Join(c.want, "\n"), cut(c.doc, 1000))
	}
	if (doc == nil) != (problems.Err() != nil) {
		t.Errorf("document is %v, error is %v", doc, problems.Err())
	}
}

// ruleConstants lists the values of the Rule constants. Those that are taken
// from package expr have the text of their rule only there.
func ruleConstants(t testing.TB) []string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "rules.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	fromExpr := map[string]string{
		"RuleTooLarge": RuleTooLarge, "RuleRequired": RuleRequired, "RuleType": RuleType, "RuleRange": RuleRange,
		"RuleExclusive": RuleExclusive, "RulePath": RulePath, "RuleReference": RuleReference, "RuleIntrinsic": RuleIntrinsic,
		"RuleTimestamp": RuleTimestamp, "RuleVariable": RuleVariable, "RuleCondition": RuleCondition, "RuleLanguage": RuleLanguage,
	}
	var rules []string
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		rule := fromExpr[spec.Names[0].Name]
		if literal, ok := spec.Values[0].(*ast.BasicLit); ok {
			rule, _ = strconv.Unquote(literal.Value)
		}
		if rule == "" {
			t.Errorf("%s has no rule", spec.Names[0].Name)
		}
		rules = append(rules, rule)
		return true
	})
	return rules
}
