package history

import "strconv"

// A Turn is one decision and everything that it makes. The decider fills it, the store writes it in one transaction,
// and neither knows the other.
//
// Before the commit nothing of a turn may be seen outside: no answer is given, no bell is rung, no hand-over is
// delivered (I5). A turn whose commit failed is dropped together with the state that it was decided on; the execution
// is loaded again and the commands are decided anew.
type Turn struct {
	// Execution is filled in by whoever asked for the decision.
	Execution ExecutionID
	// Seq is the number of this turn; the commit sets last_seq from Seq-1 to Seq or raises (I2).
	Seq Seq
	// At is the time that the decision was made with.
	At Time
	// FirstEvent is the number of Events[0]. A turn without events is not written: it changes only the rows below.
	FirstEvent EventID
	Events     []Event
	// Offers are rows to insert into the task queue.
	Offers []Offer
	// Resolved are units whose rows leave the queue: what the turn withdraws or what a report has resolved.
	Resolved []Resolved
	// Noticed are claimed rows that the turn takes notice of. A row may be gone by then, so this write is not counted.
	Noticed []Noticed
	// Lost are rows whose offer this turn gives up as lost or uncertain: they are kept as 'lost', because a late report of the
	// same attempt still counts. A row may be 'queued' where the claim itself was never told.
	Lost []RowRef
	// Children are executions to start, with their first turns. A name that is taken is a failure of the commit.
	Children []Child
	// Stops are running children that are told to cancel; one that has ended already is left alone.
	Stops []Stop
	// Consumed are the inbox entries that this turn applies. An awaited one keeps its reply.
	Consumed []Consumed
	// WakeAt is the earliest timer of the state after the turn, zero for none. It is not later than At where the turn
	// stopped before its work was done: the execution then goes on with a timer command at once.
	WakeAt Time
	// Reopened tells that the execution had ended and goes on.
	Reopened bool
	// End is set by the turn that ends the execution, and Told by that of a child whose parent waits for it: who is told, if
	// it runs still.
	End  *End
	Told *Parent
	// Settles is the occurrence that ends with the execution, zero for none.
	Settles OccurrenceID
	// Retakes is the occurrence that goes on with an execution that had ended, and takes its key again; zero for none.
	Retakes OccurrenceID
	// Snapshot is the encoded state after the turn when one is due, else nil.
	Snapshot []byte
	// Replies answer the direct commands of this turn, by Command.Ref, after the commit.
	Replies []Reply
	// Stalled tells that the turn stopped because its decision lacked something that another process may have. Wants are the
	// workflows that it did not know; the rest of what it lacks depends on the process alone.
	Stalled bool
	Wants   []WorkflowRef
}

// WorkflowRef names a published version of a workflow, or an alias; with neither it is the newest.
type WorkflowRef struct {
	Name    string
	Version int
	Alias   string
}

// String is the form in which a document names it.
func (r WorkflowRef) String() string {
	switch {
	case r.Alias != "":
		return r.Name + ":" + r.Alias
	case r.Version > 0:
		return r.Name + "@" + strconv.Itoa(r.Version)
	}
	return r.Name
}

// Child is an execution to start.
type Child struct {
	// Start is what opens it, without its Input and Seed.
	Start Start
	// Definition is what it is pinned to; zero for that of its parent.
	Definition DefinitionID
	// Named tells that the document has chosen the name, so that it may be taken.
	Named bool
	// Anywhere tells that it need not share the partition of its parent.
	Anywhere bool
	// First is its first turn, which starts nothing itself.
	First Turn
}

// Stop is a child that is told to cancel.
type Stop struct {
	Name   string
	Reason string
	// Unit and Attempt are what does not wait for it any more.
	Unit    UnitKey
	Attempt int
	// Terminate ends the child at once, without undoing anything and without Cleanup.
	Terminate bool
}

// RowRef names one row of the task queue (I7).
type RowRef struct {
	Unit    UnitKey
	Attempt int
	Offer   int
}

// Offer is one hand-out of an attempt to the workers: a row of the task queue.
type Offer struct {
	RowRef
	Contract Contract
	// Language restricts who may claim it; empty for any.
	Language string
	// Priority orders claims, higher first; then age.
	Priority int
	// Task is what the worker gets (a wire.Assignment without its claim), as JSON: input, idempotency key, workflow, redelivery, ...
	Task Task
	// Claim is set when the row is handed over to a waiting poll in the commit that writes it. The row is then
	// written as claimed and noticed.
	Claim *Claim
	// TokenTask marks a row that no worker claims: it is written as claimed and noticed, and its token carries no session.
	TokenTask bool
}

// Task is the part of an assignment that is known when the unit is scheduled.
type Task struct {
	Input          []byte // JSON
	IdempotencyKey string
	Redelivery     int
	// Timeout and HeartbeatTimeout are in milliseconds, zero for none. The deadline is claim time plus Timeout.
	Timeout          int64
	HeartbeatTimeout int64
}

// Claim says who holds a row.
type Claim struct {
	Task    TaskID
	Session string
	Worker  string
	PollID  string
	At      Time
}

// Resolved is a unit whose rows are removed: all rows of Unit up to and including Attempt. When Reported is false the
// turn withdraws the unit, and the commit raises if one of the rows is 'done': that report is durable and comes first.
// OnlyQueued withdraws a row that nobody has claimed (QueueTimeoutSeconds) and raises when it is claimed. Every other
// withdrawal has CancelNotice, whatever its reason: a worker that has the unit is told to stop.
type Resolved struct {
	Unit       UnitKey
	Attempt    int
	Reported   bool
	OnlyQueued bool
	// CancelNotice keeps claimed rows as 'cancelled' until their worker no longer lists the token.
	CancelNotice bool
}

// Noticed is a claimed row whose dispatch event is written, in this turn or an earlier one, or is not needed any more.
type Noticed struct {
	Task TaskID
}

// Consumed is an inbox entry that the turn has applied. Reply is kept for the sender when the entry is awaited.
type Consumed struct {
	ID    InboxID
	Reply *Reply
}

// Reply is the answer to one command.
type Reply struct {
	// Ref repeats Command.Ref: the node's own handle of a direct command; zero for inbox entries.
	Ref uint64
	// Outcome is what the sender is told.
	Outcome Outcome
	// Event is the number of the event that recorded the command, zero where none did.
	Event EventID
	// Message says more for people where the outcome is a refusal.
	Message string
}

// Outcome is the closed list of answers to commands.
type Outcome string

const (
	Applied   Outcome = "applied"   // had its effect
	Duplicate Outcome = "duplicate" // the same report again: the same answer, no second effect
	Stale     Outcome = "stale"     // a report for an attempt or a unit that is over: acknowledged, no effect
	Finished  Outcome = "finished"  // the execution has ended
	Refused   Outcome = "refused"   // cannot be applied to this state; Message says why
)

// Status is how an execution stands.
type Status int16

const (
	Running   Status = 1
	Succeeded Status = 2
	Failed    Status = 3
	TimedOut  Status = 4
	Cancelled Status = 5
)

// Ended tells whether the execution is over.
func (s Status) Ended() bool { return s != Running && s != 0 }

var statusNames = map[Status]string{
	Running: "RUNNING", Succeeded: "SUCCEEDED", Failed: "FAILED", TimedOut: "TIMED_OUT", Cancelled: "CANCELLED",
}

func (s Status) String() string { return statusNames[s] }

// ParseStatus is the inverse of String.
func ParseStatus(name string) (Status, bool) {
	for s, n := range statusNames {
		if n == name {
			return s, true
		}
	}
	return 0, false
}

// End is how an execution ended.
type End struct {
	Status Status
	Output []byte // JSON, when Succeeded
	Error  string // error name, otherwise
	Cause  string
}
