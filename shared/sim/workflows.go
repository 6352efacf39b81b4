package sim

import (
	"maps"
	"slices"
)

// task is a task that is tried for as long as it takes.
const task = `"Type": "Task", "Resource": "task:work@1", "TimeoutSeconds": 8, "HeartbeatSeconds": 4,
	"Retry": [{"ErrorEquals": ["States.ALL"], "IntervalSeconds": 1, "BackoffRate": 1, "MaxAttempts": 99}]`

// workflows are what the executions are of. Each ends by itself when workers work and signals come.
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
}

func workflowNames() []string { return slices.Sorted(maps.Keys(workflows)) }
