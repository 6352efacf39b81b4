package sim

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// task is a task that is tried for as long as it takes. What it gives its worker names the version of the workflow, so that a
// decision by another version shows.
const task = `"Type": "Task", "Resource": "task:work@1", "TimeoutSeconds": 8, "HeartbeatSeconds": 4,
	"Parameters": {"of.$": "$$.Execution.Name", "version": VERSION},
	"Retry": [{"ErrorEquals": ["States.ALL"], "IntervalSeconds": 1, "BackoffRate": 1, "MaxAttempts": 99}]`

// workflows are what the executions are of. Each ends by itself when workers work, signals come, and somebody gives word on
// what is uncertain.
var workflows = map[string]string{
	"one": `{"StartAt": "Do", "States": {"Do": {` + task + `, "End": true}}}`,
	"two": `{"StartAt": "First", "States": {"First": {` + task + `, "Next": "Second"}, "Second": {` + task + `, "End": true}}}`,
	"naps": `{"StartAt": "Nap", "States": {"Nap": {"Type": "Wait", "Seconds": 2, "Next": "Do"}, "Do": {` + task + `, "Next": "Again"},
		"Again": {"Type": "Wait", "Seconds": 1, "End": true}}}`,
	"hears": `{"StartAt": "One", "States": {
		"One": {"Type": "Task", "Resource": "signal:go", "Next": "Do"}, "Do": {` + task + `, "Next": "Two"},
		"Two": {"Type": "Task", "Resource": "signal:go", "End": true}}}`,
	"fans": `{"StartAt": "Both", "States": {"Both": {"Type": "Parallel", "End": true, "Branches": [
		{"StartAt": "Left", "States": {"Left": {` + task + `, "End": true}}},
		{"StartAt": "Right", "States": {"Right": {` + task + `, "Next": "Hear"}, "Hear": {"Type": "Task", "Resource": "signal:go", "End": true}}}]}}}`,
	"parent": `{"StartAt": "Child", "States": {"Child": {"Type": "Task", "Resource": "workflow:two", "End": true}}}`,
	// Its iterations are executions of their own, in any partition.
	"spreads": `{"StartAt": "Each", "States": {"Each": {"Type": "Map", "ItemsPath": "$.items", "MaxConcurrency": 2, "End": true,
		"ItemProcessor": {"ProcessorConfig": {"Mode": "DISTRIBUTED"}, "StartAt": "Item", "States": {"Item": {` + task + `, "End": true}}}}}}`,
	// A worker passes its token on, and somebody else reports with that.
	"asks": `{"StartAt": "Ask", "States": {"Ask": {"Type": "Task", "Resource": "task:work@1.waitForTaskToken", "TimeoutSeconds": 8,
		"Parameters": {"token.$": "$$.Task.Token", "version": VERSION},
		"Retry": [{"ErrorEquals": ["States.ALL"], "IntervalSeconds": 1, "BackoffRate": 1, "MaxAttempts": 99}], "Next": "Do"},
		"Do": {` + task + `, "End": true}}}`,
	// What is lost once waits for an operator's word.
	"holds": `{"StartAt": "Hold", "States": {"Hold": {"MaxRedeliveries": 0, ` + task + `, "Next": "Do"}, "Do": {` + task + `, "End": true}}}`,
	// A failure of its task is not tried again: its executions can be redriven.
	"falls": `{"StartAt": "Do", "States": {"Do": {` + task + `, "Next": "Fall"},
		"Fall": {"Type": "Task", "Resource": "task:work@1", "Parameters": {"falls": true, "version": VERSION}, "TimeoutSeconds": 8, "End": true}}}`,
}

func workflowNames() []string { return slices.Sorted(maps.Keys(workflows)) }

// documentOf is the n-th version of a workflow.
func documentOf(name string, n int) []byte {
	return []byte(strings.ReplaceAll(workflows[name], "VERSION", fmt.Sprint(n)))
}
