package stack

import "encoding/json"

// MixDocument has every way in which an execution can be on its way, for tests of whole systems: tasks in work, one after the other
// and side by side, one that fails at first, a signal that is waited for, a timer, a child, and a signal that never comes. Its
// input says which, see MixInput. What it gives is the number in that.
const MixDocument = `
StartAt: Kind
States:
  Kind:
    Type: Choice
    Choices:
      - {Variable: $.kind, StringEquals: signal, Next: AwaitGo}
      - {Variable: $.kind, StringEquals: timer, Next: Pause}
      - {Variable: $.kind, StringEquals: map, Next: Each}
      - {Variable: $.kind, StringEquals: flaky, Next: Flaky}
      - {Variable: $.kind, StringEquals: child, Next: Child}
      - {Variable: $.kind, StringEquals: cancel, Next: Never}
      - {Variable: $.kind, StringEquals: stays, Next: Never}
    Default: First
  First: {Type: Task, Resource: 'task:mix.work', Parameters: {ms.$: $.ms, echo.$: $.n}, ResultPath: $.first, Next: Last}
  AwaitGo: {Type: Task, Resource: 'signal:go', ResultPath: $.go, Next: Last}
  Pause: {Type: Wait, SecondsPath: $.seconds, Next: Last}
  Each:
    Type: Map
    ItemsPath: $.items
    ItemSelector: {ms.$: $.ms, echo.$: $$.Map.Item.Value}
    ItemProcessor:
      StartAt: Item
      States:
        Item: {Type: Task, Resource: 'task:mix.work', End: true}
    ResultPath: $.each
    Next: Last
  Flaky:
    Type: Task
    Resource: 'task:mix.work'
    Parameters: {ms.$: $.ms, echo.$: $.n, fails: true}
    Retry: [{ErrorEquals: [Busy], IntervalSeconds: 1}]
    ResultPath: $.first
    Next: Last
  Child: {Type: Task, Resource: 'workflow:mix-child', Parameters: {n.$: $.n}, ResultPath: $.child, Next: Last}
  Never: {Type: Task, Resource: 'signal:never', End: true}
  Last: {Type: Task, Resource: 'task:mix.work', Parameters: {ms: 5, echo.$: $.n}, End: true}
`

// MixChildDocument is the workflow mix-child, which the kind 'child' starts.
const MixChildDocument = `
StartAt: Do
States:
  Do: {Type: Task, Resource: 'task:mix.work', Parameters: {ms: 5, echo.$: $.n}, End: true}
`

// MixWork is the contract of the tasks: a worker takes MS milliseconds and gives back Echo; where Fails is set, its first attempt
// fails with the code Busy.
const MixWork = "mix.work"

// MixJob is the input of a task of MixWork.
type MixJob struct {
	MS    int64 `json:"ms"`
	Echo  int   `json:"echo"`
	Fails bool  `json:"fails"`
}

// MixInput is the input of an execution of MixDocument: its kind, its number, how long its first task takes in milliseconds, and
// how long its timer does in seconds.
func MixInput(kind string, n, ms, seconds int) json.RawMessage {
	text, err := json.Marshal(map[string]any{"kind": kind, "n": n, "ms": ms, "seconds": seconds, "items": []int{1, 2, 3}})
	if err != nil {
		panic(err) // it is made of numbers and plain text
	}
	return text
}
