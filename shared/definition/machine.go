package definition

import (
	"time"

	"github.com/orrery-dev/orrery/shared/expr"
	"github.com/orrery-dev/orrery/shared/history"
)

// Machine is a valid document, or one of the machines inside it (a branch, an
// item processor). It is immutable and safe for concurrent use.
type Machine struct {
	Comment string
	// Version is the Version field: "1.0" or empty. Top level only.
	Version string
	// TimeoutSeconds limits a whole execution; zero for none. Top level only.
	TimeoutSeconds int
	StartAt        string
	// States by name. Names are unique over the whole document, nested machines
	// included.
	States map[string]*State
	// Order lists the names as written.
	Order []string
	// OnSignal has the machines that run beside this one, by the name of the
	// signal that begins each; Signals lists the names as written. Top level only.
	OnSignal map[string]*Machine
	Signals  []string
	// Input and Output are what the execution's input and output must be like; nil for anything. Top level only.
	Input, Output *Schema
	// Attributes make of the execution's input what it is found by; nil for nothing. Top level only.
	Attributes expr.Expression
	// Cleanup runs after an end that is not success; nil for none. Top level only.
	Cleanup *Machine
	// Parent is the Parallel or Map that this machine is inside of; nil for the
	// document's own machine, for Cleanup and for those of OnSignal.
	Parent *State
	// Branch is the index of this machine in the Branches of a Parallel; else 0.
	Branch int

	// names has every state of the whole document.
	names map[string]*State
	rules *rules // nil for the usual ones
}

// StateType is the Type field of a state.
type StateType string

// The types of states.
const (
	Task     StateType = "Task"
	Pass     StateType = "Pass"
	Wait     StateType = "Wait"
	Choice   StateType = "Choice"
	Parallel StateType = "Parallel"
	Map      StateType = "Map"
	Succeed  StateType = "Succeed"
	Fail     StateType = "Fail"
)

// State is one state of any type; the comment at each group of fields names the
// types that have it.
//
// What a document gives as a constant or as an expression is an expr.Field: nil
// where the document has neither, and Field.Constant tells the two apart.
// Constants are within their bounds; what an expression yields is for whoever
// evaluates it to check.
type State struct {
	Name    string
	Type    StateType
	Comment string
	// Pointer is the state's place in the document (RFC 6901), for messages.
	Pointer string
	// Machine is the machine that the state belongs to.
	Machine *Machine

	// Next is empty where End is true, and on Choice, Succeed and Fail.
	Next string
	End  bool
	// Flow is how data passes through the state: one per state, whatever the
	// query language. It includes a Pass's Result, a Map's ItemSelector and the
	// state's Assign.
	Flow expr.Flow

	// Task

	Resource *Resource
	// TimeoutSeconds limits one attempt, from its hand-out; nil for no limit.
	TimeoutSeconds expr.Field[int64]
	// HeartbeatSeconds is the longest silence of a worker; nil for no limit.
	HeartbeatSeconds expr.Field[int64]
	// QueueTimeoutSeconds limits the wait for a worker; zero for no limit.
	QueueTimeoutSeconds int
	// Priority orders waiting tasks, higher first; from MinPriority to
	// MaxPriority, by default 0.
	Priority int
	// IdempotencyKey replaces the key that the engine makes; nil for that one.
	IdempotencyKey expr.Field[string]
	// MaxRedeliveries is how often one attempt is handed out again after an
	// unknown outcome before it counts as uncertain.
	MaxRedeliveries int
	// WhenUncertain says what becomes of an attempt that counts as uncertain.
	WhenUncertain Uncertainty
	// Compensate undoes the Task after it has succeeded; nil where nothing does.
	Compensate *Compensation

	// Task, Parallel, Map

	Retry []Retrier
	Catch []Catcher

	// Wait: exactly one of the two is set.

	Seconds   expr.Field[int64]
	Timestamp expr.Field[time.Time]

	// Choice: Default is empty where there is none.

	Choices []Rule
	Default string

	// Parallel

	Branches []*Machine

	// Map

	Processor *Machine
	// Items is what the Map iterates over.
	Items expr.Field[[]expr.Value]
	// MaxConcurrency is how many iterations may run at once; nil and the value 0
	// mean no limit.
	MaxConcurrency expr.Field[int64]
	// ToleratedFailureCount and ToleratedFailurePercentage (0 to 100) are how
	// many iterations may fail before the Map fails; either breach fails it. With
	// both nil the first failure does.
	ToleratedFailureCount      expr.Field[int64]
	ToleratedFailurePercentage expr.Field[float64]
	// Distributed tells that each iteration is an execution of its own.
	Distributed bool
	// Label names the Map in the ids of its runs; empty for a new name each time.
	Label string
	// Reader says where the items come from; nil where Items does. The Map then has a Resource. Distributed only.
	Reader *Reader
	// Writer says what becomes of the results; nil where the Map gives them as they are. Distributed only.
	Writer *Writer
	// Batcher groups items, so that an iteration gets several; nil for one each.
	// Distributed only.
	Batcher *Batcher

	// Fail: either may be nil; the execution's end then lacks it.

	Error expr.Field[string]
	Cause expr.Field[string]
}

// Compensation is how a Task is undone.
type Compensation struct {
	// Arguments make the input of Task, at the time the Task that it undoes
	// succeeds, from an object with that one's Input (raw) and Result. Nil gives
	// the object itself.
	Arguments expr.Expression
	// Task does it: a Task with Resource, time limits and Retry, and without
	// Catch and a way on. Its Flow changes nothing.
	Task *State
}

// Reader says what a Map reads its items from. Its Resource is that of the state.
type Reader struct {
	// Parameters name what is read; nil for what the state is given.
	Parameters expr.Expression
	// MaxItems is how many items are read at most; nil and the value 0 mean all.
	MaxItems expr.Field[int64]
	// Config is the rest of ReaderConfig, as the document has it.
	Config *expr.Object
}

// Writer says what becomes of the results of a Map.
type Writer struct {
	// Resource is where they are written to; nil where the Map gives them itself.
	Resource *Resource
	// Parameters name that place; nil for what the state is given.
	Parameters expr.Expression
	// Transformation is what an execution's result looks like.
	Transformation Transformation
	// Lines writes a result on each line, instead of a JSON array.
	Lines bool
}

// Transformation tells how the results of a Map are shown.
type Transformation string

const (
	// Described shows each execution with what is known of it.
	Described Transformation = "NONE"
	// Compact shows its output.
	Compact Transformation = "COMPACT"
	// Flattened shows its output, and the elements of one that is an array.
	Flattened Transformation = "FLATTEN"
)

// ByServer tells whether the server does something for it.
func (w *Writer) ByServer() bool {
	return w != nil && (w.Resource != nil || w.Transformation == Described)
}

// Batcher says how the items of a distributed Map are grouped. One of the two
// limits is there at least.
type Batcher struct {
	MaxItems expr.Field[int64]
	// MaxBytes limits the input of an iteration, as JSON; one item may be larger.
	MaxBytes expr.Field[int64]
	// Input is given to every iteration beside its items; nil for nothing.
	Input expr.Expression
}

// Uncertainty is what becomes of an attempt whose outcome nobody knows and that
// was handed out too often.
type Uncertainty string

const (
	// UncertainWaits leaves the unit open until an operator resolves it.
	UncertainWaits Uncertainty = "WAIT"
	// UncertainFails fails the attempt with the error Orrery.Uncertain, which
	// Retry and Catch match like any other.
	UncertainFails Uncertainty = "FAIL"
)

// Rule is one element of a Choice's Choices: where its condition holds, the
// state is left to Next.
type Rule struct {
	expr.Rule
	Next string
}

// Retrier is one element of Retry. Each keeps its own count.
type Retrier struct {
	ErrorEquals     []string
	IntervalSeconds int     // default 1
	MaxAttempts     int     // default 3; 0 is never
	BackoffRate     float64 // default 2.0
	MaxDelaySeconds int     // 0 for no cap
	FullJitter      bool    // JitterStrategy FULL: uniform over 0 to the delay, after the cap
}

// Catcher is one element of Catch: a failure that it matches is handled, and the
// state is left to Next with the output that Leave makes.
type Catcher struct {
	expr.Catcher
	ErrorEquals []string
	Next        string
	// Compensate undoes, before Next is entered, what the machine that the state
	// stands in has done: a branch or an iteration, or the whole document.
	Compensate bool
}

// ResourceKind tells who does a Task.
type ResourceKind string

const (
	// ResourceWorker is a contract that workers pull: task:NAME@VERSION, or the activity ARN form.
	ResourceWorker ResourceKind = "worker"
	// ResourceSignal waits for a signal: signal:NAME.
	ResourceSignal ResourceKind = "signal"
	// ResourceChild starts a child execution.
	ResourceChild ResourceKind = "child"
	// ResourceHTTP is a request that the server makes.
	ResourceHTTP ResourceKind = "http"
	// ResourceLambda is a Lambda function that the server invokes.
	ResourceLambda ResourceKind = "lambda"
	// ResourceItems is what the server reads the items of a Map from.
	ResourceItems ResourceKind = "items"
	// ResourceResults is what the server writes the results of a Map to.
	ResourceResults ResourceKind = "results"
)

// Resource is the parsed Resource field of a Task.
type Resource struct {
	Kind ResourceKind
	// Text is the field as written.
	Text     string
	Contract history.Contract // worker; http and lambda: one of the server's own
	Language string           // worker: ?language=python, lower case; empty for any
	Signal   string           // signal
	// Target is the function's ARN (lambda); empty where Arguments or Parameters
	// name it.
	Target string
	// Workflow is what a child runs, version 0 the newest; without a name
	// Arguments or Parameters name it.
	Workflow history.WorkflowRef
	// Token tells that the task ends by a token (.waitForTaskToken).
	Token bool
	// Sync is 1 for .sync and 2 for .sync:2: the task ends when the child does, as
	// it also does where Workflow has a name.
	Sync int
}
