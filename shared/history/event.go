package history

import (
	"maps"
	"slices"
)

// EventType is the type of an event, as it is written. The set only grows, and what a type means never changes: a history
// that was written once is folded for ever.
type EventType string

// The types of events. Behind each stands what it tells, and the fields that it carries beside Scope. A field in
// brackets is left out where it has its usual value.
const (
	// EventStarted opens the execution: Start, Text (its input).
	EventStarted EventType = "start"
	// EventEntered: a state was entered with the scope's data as its input. State, Kind, [At: when a Wait ends].
	EventEntered EventType = "enter"
	// EventExited: a state was left. [Text: output, else its value], [Assigned], [Last: the scope is done].
	EventExited EventType = "exit"
	// EventScheduled: an attempt of a unit begins. [Unit], [Name: of the signal, or of the execution that is started], [Text:
	// input, else that of the attempt before, else the state's], [Timeout], [Heartbeat], [Queue], [Key], [Workflow, Version: of
	// the execution that is started].
	EventScheduled EventType = "task"
	// EventDispatched: the current offer was claimed. Worker, Session, [At: when, else the turn's time]. Or a child is started.
	EventDispatched EventType = "disp"
	// EventSubmitted: what is waited for from now on was handed over: to a worker, or to a child. [Text: what that answered],
	// [Offer: of the token, else the current].
	EventSubmitted EventType = "sub"
	// EventCompleted: the unit gave a result. [Text: output, else its input], [Offer: of the token, else the current],
	// [Last: by an operator's word, not by a report].
	EventCompleted EventType = "done"
	// EventFailed: the attempt failed. Error, Cause, [Text: details], [Offer], [Last: not by a report], [Retrier, At: it is
	// tried again then], [Unit: TokenUnit where the token of a waiting task was used].
	EventFailed EventType = "fail"
	// EventTimedOut: the attempt ran out of time. Error, [Expiry], [Retrier, At].
	EventTimedOut EventType = "late"
	// EventLost: the outcome of the current offer is unknown. [Cause], [Last: it waits for an operator; else it is offered anew].
	EventLost EventType = "lost"
	// EventProgressed: the worker told how far it is. Text.
	EventProgressed EventType = "beat"
	// EventRuled: an operator gave word on an uncertain unit; what follows from it is in the next events. Name (the
	// resolution), [RequestID].
	EventRuled EventType = "rule"
	// EventTaken: a waiting unit took the oldest signal of its name.
	EventTaken EventType = "take"
	// EventReading: the items of a Map are to be read. Text: what is to be read. What becomes of it is told as of any unit,
	// with EventCompleted (Text: the items) or EventUnread.
	EventReading EventType = "read"
	// EventUnread: the items could not be read. Error, Cause, [Offer].
	EventUnread EventType = "readko"
	// EventWriting: what the executions of a Map gave is to be written. Text: what is to be written, and where. [Error, Cause: of
	// the failure of the run, which waits for that]. What becomes of it is told with EventCompleted (Text: the result of the Map)
	// or EventUnwritten.
	EventWriting EventType = "write"
	// EventUnwritten: it could not be written. Error, Cause, [Offer], [Last: by an operator's word, not by a report].
	EventUnwritten EventType = "writeko"
	// EventFanned: branches or iterations begin. Index (how many, or how many items where they were grouped), [Limit], [Text:
	// input of each branch, or the list of items; else that of the try before, else the state's input], [Tolerated].
	EventFanned EventType = "fan"
	// EventIterBegun: the next iteration began. Index, [Text: input, else the item].
	EventIterBegun EventType = "iter"
	// EventIterDone: an iteration ended well. Index.
	EventIterDone EventType = "iterok"
	// EventIterFailed: an iteration failed. Index, [Last: it is tolerated].
	EventIterFailed EventType = "iterko"
	// EventIterCut: an iteration was stopped because another one failed. Index.
	EventIterCut EventType = "itercut"
	// EventRunBegun: the iterations of the Map are executions. Name (of the run), [Tolerated].
	EventRunBegun EventType = "run"
	// EventChildBegun: the execution of an iteration began. Index, [Text: input, else the item].
	EventChildBegun EventType = "kid"
	// EventChildDone: the execution of an iteration ended well. Index, [Text: output, else the item].
	EventChildDone EventType = "kidok"
	// EventChildFailed: the execution of an iteration did not. Index, Error, Cause, Limit (how many items failed with it).
	EventChildFailed EventType = "kidko"
	// EventRunDone: all of them have ended, and not too many failed.
	EventRunDone EventType = "runok"
	// EventRunFailed: too many have failed, or the iterations cannot go on. Error and Cause, or Last, as EventBroken has them.
	EventRunFailed EventType = "runko"
	// EventAborted: a state was stopped because a branch or iteration failed, its own or another.
	EventAborted EventType = "abort"
	// EventJoined: all branches or iterations ended well; the state's value is the list of their outputs.
	EventJoined EventType = "join"
	// EventBroken: the state failed for good with its branches or iterations. [Index: of the branch that did it], and Error
	// and Cause, or Last: those of the failure that was recorded last.
	EventBroken EventType = "break"
	// EventAgain: the state failed without a unit's event to tell it, and is tried again. Retrier, At, and the fields of
	// EventBroken.
	EventAgain EventType = "again"
	// EventSignalled: a signal arrived and is kept until it is taken. Name, Text, [RequestID].
	EventSignalled EventType = "signal"
	// EventCancelling: a cancel was accepted. [Cause], [RequestID].
	EventCancelling EventType = "cancel"
	// EventRedriven: an execution that ended without success goes on. [Cause], [RequestID].
	EventRedriven EventType = "redrive"
	// EventEnded: the execution is over. Status, [Text: output, else the main scope's data], and Error and Cause, or Last: those
	// that it was unwound for, else as EventBroken has them.
	EventEnded EventType = "end"

	// EventInstance: a machine begins beside the main one for the oldest signal of its name. Name.
	EventInstance EventType = "inst"
	// EventStopped: a child that was told to stop has ended. Key (of its unit), Index (the attempt).
	EventStopped EventType = "stopped"
	// EventUndoable: the unit that just succeeded can be undone. Text: the input of its compensation.
	EventUndoable EventType = "undoable"
	// EventCaught: a failure was caught by a catcher that compensates first. Index (of the catcher, from 1), Error, Cause.
	EventCaught EventType = "catch"
	// EventUnwinding: the execution will end without success, once what it did is undone and cleaned up. Status, [Name: the
	// reason, where the status does not tell], and Error and Cause, or Last, as EventBroken has them.
	EventUnwinding EventType = "unwind"
	// EventUndoing: the compensation of a unit begins, for the scope that it belongs to. Key (of the unit that is undone).
	EventUndoing EventType = "undo"
	// EventUndone: the compensation that is this scope is over. Status (Succeeded or Failed), and for a failed one Error and
	// Cause, or Last, as EventBroken has them.
	EventUndone EventType = "undone"
	// EventCleaning: Cleanup begins. Text: its input.
	EventCleaning EventType = "clean"
	// EventCleaned: Cleanup is over. The fields of EventUndone.
	EventCleaned EventType = "cleaned"
)

// known has every type.
var known = map[EventType]bool{
	EventReading: true, EventUnread: true, EventWriting: true, EventUnwritten: true, EventStarted: true, EventEntered: true, EventExited: true, EventScheduled: true, EventDispatched: true, EventCompleted: true, EventFailed: true,
	EventTimedOut: true, EventLost: true, EventProgressed: true, EventRuled: true, EventTaken: true, EventFanned: true, EventIterBegun: true, EventIterDone: true,
	EventIterFailed: true, EventIterCut: true, EventAborted: true, EventJoined: true, EventBroken: true, EventAgain: true, EventSignalled: true,
	EventCancelling: true, EventEnded: true, EventInstance: true, EventRunBegun: true, EventChildBegun: true, EventChildDone: true, EventChildFailed: true, EventRunDone: true,
	EventRunFailed: true, EventSubmitted: true, EventStopped: true, EventUndoable: true, EventCaught: true, EventUnwinding: true, EventUndoing: true, EventUndone: true,
	EventCleaning: true, EventCleaned: true, EventRedriven: true,
}

// EventTypes lists every type, in alphabetical order.
func EventTypes() []EventType { return slices.Sorted(maps.Keys(known)) }

// ScopeID numbers the scopes of an execution in the order in which they were made. A scope is a machine that runs: the
// document's own is MainScope, each branch of a Parallel and each iteration of a Map has one of its own, and so have
// each machine that a signal begins, Cleanup, and each compensation. A scope is in at most one state at a time, so its number also names the visit that the
// state is having.
type ScopeID int32

// MainScope is the scope of the document's top level.
const MainScope ScopeID = 1

// StateKind is the Type field of a state, as one letter.
type StateKind byte

const (
	TaskState     StateKind = 'T'
	PassState     StateKind = 'P'
	WaitState     StateKind = 'W'
	ChoiceState   StateKind = 'C'
	ParallelState StateKind = 'L'
	MapState      StateKind = 'M'
	SucceedState  StateKind = 'S'
	FailState     StateKind = 'F'
	// UndoState is no state of a document, but the compensation of one.
	UndoState StateKind = 'U'
)

// UnitKind tells what a unit waits for.
type UnitKind byte

const (
	WorkerUnit     UnitKind = 0   // a worker's report; it has rows in the task queue
	SignalUnit     UnitKind = 's' // a signal
	WaitUnit       UnitKind = 'w' // a time; no event carries it
	ChildUnit      UnitKind = 'c' // the end of a child execution
	DetachedUnit   UnitKind = 'd' // nothing: it starts an execution and is done
	TokenUnit      UnitKind = 't' // a report with its token, which a worker passes on
	TokenChildUnit UnitKind = 'k' // a report with its token, which a child execution gets
)

// Expiry tells which time of an attempt ran out.
type Expiry byte

const (
	DeadlineExpiry  Expiry = 0   // TimeoutSeconds
	HeartbeatExpiry Expiry = 'h' // HeartbeatSeconds
	QueueExpiry     Expiry = 'q' // QueueTimeoutSeconds: nobody claimed it
)

// Event is one recorded fact. One struct serves all types; the comments at the types say which fields each has.
type Event struct {
	Type EventType
	// Scope is where it happened.
	Scope ScopeID

	State     string
	Kind      StateKind
	Unit      UnitKind
	Text      Text
	Assigned  []Assignment
	Error     string
	Cause     string
	Name      string
	Key       string
	Index     int
	Limit     int // 0 for no limit
	Tolerated int // iterations that may fail
	Retrier   int // 1 for the first entry of Retry, 0 for none
	At        Time
	Offer     int
	Last      bool
	Expiry    Expiry
	Timeout   int64 // milliseconds, 0 for none
	Heartbeat int64 // milliseconds, 0 for none
	Queue     int64 // milliseconds, 0 for none
	Status    Status
	Worker    string
	Session   string
	RequestID string
	Workflow  string
	Version   int
	Start     *Start // without its Input and Seed
}

// Assignment gives a variable a value.
type Assignment struct {
	Name string
	Text Text
}
