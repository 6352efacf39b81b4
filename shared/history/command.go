package history

// Kind is the kind of a command, and of the inbox entry that carries it.
type Kind string

const (
	// KindStart opens a new execution; it is never in an inbox.
	KindStart Kind = "start"
	// KindDispatched tells that a row of the queue was claimed. The claimed row itself is the message.
	KindDispatched Kind = "dispatched"
	// KindComplete, KindFail and KindUncertain are reports of workers.
	KindComplete  Kind = "complete"
	KindFail      Kind = "fail"
	KindUncertain Kind = "uncertain"
	// KindHeartbeat carries changed progress details of an attempt.
	KindHeartbeat Kind = "heartbeat"
	// KindLost tells that a claim is lost: its session is gone or its token was not listed twice.
	KindLost Kind = "lost"
	// KindTimer tells that a time of the state has come; it is never in an inbox.
	KindTimer Kind = "timer"
	// KindSignal, KindCancel, KindResolve and KindRedrive come from clients and operators and are awaited.
	KindSignal  Kind = "signal"
	KindCancel  Kind = "cancel"
	KindResolve Kind = "resolve"
	KindRedrive Kind = "redrive"
	// KindChildEnded tells a parent that its child execution is over.
	KindChildEnded Kind = "child_ended"
)

// Command is what the decider answers to. One struct serves all kinds, so that an inbox row, a direct call and a test
// script have the same form; the comment at each field names the kinds that use it.
type Command struct {
	Kind Kind
	// Ref is the sender's handle for the reply of a direct command; zero for inbox entries.
	Ref uint64
	// Inbox is the entry that carried the command; zero for a direct one.
	Inbox InboxID
	// Awaited tells that the inbox entry keeps its reply.
	Awaited bool
	// Row names the hand-out: dispatched, complete, fail, uncertain, heartbeat, lost, resolve (Unit only), child_ended (Unit and
	// Attempt).
	Row RowRef
	// Claim is who held it: dispatched; on a report, the claim that its token was issued for, so that a report can be applied
	// before its dispatch was recorded.
	Claim Claim
	// Output is JSON: complete, resolve with output, child_ended.
	Output []byte
	// Failure: fail, resolve as failed, child_ended.
	Failure *Failure
	// Status and At are how and when the child ended: child_ended.
	Status Status
	At     Time
	// Signal: the name; its payload is Output.
	Signal string
	// Reason is free text: cancel, uncertain, lost.
	Reason string
	// Terminate ends the execution at once, without undoing anything and without Cleanup: cancel.
	Terminate bool
	// Resolution is the operator's word on an uncertain unit: one of the Resolve constants.
	Resolution string
	// RequestID is recorded in the event, so that a sender whose commit had an unknown outcome can be answered.
	RequestID string
	// Heard tells, for units whose heartbeat time-out may be due, when their worker last listed their token. Those left out
	// were not heard since their claim: timer.
	Heard map[UnitKey]Time
	// Seed feeds what the turn draws (UUID, jitter, MathRandom); what was drawn is recorded in events.
	Seed uint64
}

// The words that an operator can give on an uncertain unit.
const (
	ResolveCompleted = "completed" // with Output
	ResolveFailed    = "failed"    // with Failure
	ResolveRetry     = "retry"     // offered once more
)

// Failure is a worker's failed report.
type Failure struct {
	Code    string // the error name that Retry and Catch match
	Message string // the cause
	// NonRetryable ends the retries of the attempt whatever the document says.
	NonRetryable bool
	Details      []byte // JSON, or nil
}

// BehaviourLevel is the newest level of rules that this version decides by. It is written in the first event, and rises
// when the decider must answer differently from before, which it does for new executions only (I11).
const BehaviourLevel = 1

// Start is the command that opens an execution, and what its first event records.
type Start struct {
	Namespace string
	Name      string // the execution's id for clients
	Workflow  string
	Version   int
	// Hash is the content hash of the definition that the execution is pinned to.
	Hash  string
	Input []byte // JSON
	// Behaviour is the level of rules that the execution is decided by for its whole life; zero means BehaviourLevel.
	Behaviour int
	// ContextID and MachineID are what the context object shows as Execution.Id and StateMachine.Id; empty for
	// namespace/name and namespace/workflow.
	ContextID string
	MachineID string
	// Timeout in milliseconds, zero for the document's own.
	Timeout   int64
	RequestID string
	// Trace is the W3C traceparent of the caller, empty for none.
	Trace string
	// Processor is the distributed Map whose item processor is executed, empty for the whole document.
	Processor string
	// Parent is the execution that has started this one, nil where none has.
	Parent *Parent
	// Occurrence is what a schedule has started the execution for, nil where no schedule has.
	Occurrence *Occurrence
	// Attributes are what the execution is found by, each name once. A child has those of its parent to begin with.
	Attributes []Attribute
	Seed       uint64
}

// Attribute is by what executions are found. Its value is JSON: a text, a number as it is written shortest, or a boolean.
type Attribute struct {
	Name  string `json:"n"`
	Value string `json:"v"`
}

// Parent is an execution that has started another one.
type Parent struct {
	Execution ExecutionID
	Name      string
	// Root is the name of the execution at the top of the tree: the parent, or its own root.
	Root string
	// Unit and Attempt are what the execution was started by.
	Unit    UnitKey
	Attempt int
	// Depth is 1 for a child of a root, 2 for a child of that one, ...
	Depth int
	// Waits tells that the parent waits for the end, and stops the child when it does not want it any more.
	Waits bool
}

// Occurrence is one try of an occurrence of a schedule.
type Occurrence struct {
	ID       OccurrenceID
	Schedule string // its id for clients
	Instant  Time   // the nominal one
	Trigger  string // cron, manual or backfill
	Retry    int    // 0 for the first try
	// Token is the fencing token of the key that is held until the end, zero where none is.
	Token int64
}
