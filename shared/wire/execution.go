package wire

import (
	"encoding/json"
	"time"
)

// StartRequest is the body of POST /v1/executions.
type StartRequest struct {
	Workflow string `json:"workflow" check:"required,name"`
	// Version pins a version; left out, it is the newest, or the one that Alias stands for.
	Version int `json:"version,omitempty" check:"min=1,max=2147483647"`
	// Alias takes the version that an alias of the workflow has for this execution. It does not go with Version.
	Alias string `json:"alias,omitempty" check:"alias"`
	// Input is any JSON; {} when left out.
	Input json.RawMessage `json:"input,omitempty" check:"payload,default={}"`
	// Name is the id of the execution, unique in its namespace; left out, a UUIDv7. The same name with the same workflow
	// and input answers the execution that is there.
	Name string `json:"name,omitempty" check:"name"`
	// Attributes is an object by whose members the execution is found: up to 16 texts of up to 256 characters, numbers and
	// booleans. A start that is repeated leaves them as they are.
	Attributes json.RawMessage `json:"attributes,omitempty" check:"payload"`
	// TimeoutMS ends the execution as TIMED_OUT; left out, the document's own limit holds.
	TimeoutMS int64 `json:"timeout_ms,omitempty" check:"min=1,max=99999999000"`
	// WaitMS is how long to wait for the end, from 0 to 20,000, so that one call starts a short execution and brings its
	// result. A function may answer earlier.
	WaitMS int64 `json:"wait_ms,omitempty" check:"min=0,max=20000"`
}

// StartResponse answers a StartRequest. The execution is durable whatever its status.
type StartResponse struct {
	Execution
	// Output is there when the execution has ended with the status SUCCEEDED within the wait, Error when with another one.
	Output json.RawMessage `json:"output,omitempty"`
	Error  *ExecutionError `json:"error,omitempty"`
}

// Status is how an execution stands.
type Status string

// The statuses. All but Running are final.
const (
	Running   Status = "RUNNING"
	Succeeded Status = "SUCCEEDED"
	Failed    Status = "FAILED"
	TimedOut  Status = "TIMED_OUT"
	Cancelled Status = "CANCELLED"
)

// Ended tells whether the status is final.
func (s Status) Ended() bool { return s != Running }

// Execution is an execution in a list.
type Execution struct {
	ID       string `json:"id"`
	Workflow string `json:"workflow"`
	Version  int    `json:"version"`
	Status   Status `json:"status"`
	// Blocked is set while the execution cannot go on without a human.
	Blocked   bool      `json:"blocked,omitempty"`
	StartedAt time.Time `json:"started_at"`
	EndedAt   time.Time `json:"ended_at,omitzero"`
	// Attributes are what it was started with, in lists and in the answer to GET /v1/executions/{id}.
	Attributes json.RawMessage `json:"attributes,omitempty"`
}

// ExecutionQuery is the query of GET /v1/executions. Every field narrows the list; all may be left out.
type ExecutionQuery struct {
	Status   Status `json:"status" check:"one=RUNNING SUCCEEDED FAILED TIMED_OUT CANCELLED"`
	Workflow string `json:"workflow" check:"name"`
	Version  int    `json:"version" check:"min=1,max=2147483647"`
	// Attributes is an object as JSON text, such as {"customer":"c-1","vip":true}: executions that have all of its members.
	Attributes string `json:"attributes" check:"max=8192"`
	// StartedAfter is exclusive, StartedBefore too.
	StartedAfter  time.Time `json:"started_after"`
	StartedBefore time.Time `json:"started_before"`
	// Limit is how many entries a page has at most, from 1 to 1000; 100 when left out.
	Limit int `json:"limit" check:"min=1,max=1000,default=100"`
	// Cursor is Next of the page before; left out for the first page.
	Cursor string `json:"cursor" check:"max=512"`
}

// ExecutionList answers GET /v1/executions: newest first.
type ExecutionList struct {
	Executions []Execution `json:"executions"`
	// Next is the cursor of the next page; absent on the last.
	Next string `json:"next,omitempty"`
}

// ExecutionDetail answers GET /v1/executions/{id}.
type ExecutionDetail struct {
	Execution
	// Hash is the content hash of the document that the execution is pinned to.
	Hash  string          `json:"hash"`
	Input json.RawMessage `json:"input"`
	// Output is there when the status is SUCCEEDED, Error when it is another final one.
	Output json.RawMessage `json:"output,omitempty"`
	Error  *ExecutionError `json:"error,omitempty"`
	// Units are those that are open, by key.
	Units []Unit `json:"units"`
	// Turn and Event number what was recorded last.
	Turn  int64 `json:"turn"`
	Event int64 `json:"event"`
	// WakeAt is the earliest timer; absent without one.
	WakeAt time.Time `json:"wake_at,omitzero"`
	// Partition, Epoch and Owner say who may append to the history; Owner is absent while no node owns the partition.
	Partition int    `json:"partition"`
	Epoch     int64  `json:"epoch"`
	Owner     *Owner `json:"owner,omitempty"`
}

// Owner is the node that owns a partition.
type Owner struct {
	Node        string `json:"node"`
	Incarnation string `json:"incarnation"`
}

// ExecutionError is why an execution did not succeed.
type ExecutionError struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// ExecutionPath is the path of the routes of one execution.
type ExecutionPath struct {
	ID string `json:"id" check:"required,name"`
}

// SignalPath is the path of POST /v1/executions/{id}/signals/{signal}.
type SignalPath struct {
	ID     string `json:"id" check:"required,name"`
	Signal string `json:"signal" check:"required,name"`
}

// Unit is an open unit of an execution: a task, a child or a wait.
type Unit struct {
	Key   string `json:"key"`
	State string `json:"state"`
	// Kind is "task", "compensation" (undoes a task that has succeeded), "child" (an execution), "map" (a distributed Map),
	// "signal", "wait", or "retry" for a Parallel or Map that pauses before another try.
	Kind string `json:"kind"`
	// Status is "queued", "dispatched" (a worker has it), "waiting" (for a signal, a time, a child, or a report with a token that
	// was passed on), "retrying" (pauses before the next attempt), "stopping" (a child that is not wanted any more has not ended
	// yet) or "uncertain" (waits for an operator).
	Status  string `json:"status"`
	Task    string `json:"task,omitempty"`
	Version int    `json:"version,omitempty"`
	Signal  string `json:"signal,omitempty"`
	// Child is the id of the execution that a unit of kind "child" waits for.
	Child string `json:"child,omitempty"`
	// Running is how many executions of a distributed Map run, Failed how many of its items have failed.
	Running    int    `json:"running,omitempty"`
	Failed     int    `json:"failed,omitempty"`
	Attempt    int    `json:"attempt,omitempty"`
	Redelivery int    `json:"redelivery,omitempty"`
	Worker     string `json:"worker,omitempty"`
	Session    string `json:"session,omitempty"`
	// Progress is what the worker told last.
	Progress json.RawMessage `json:"progress,omitempty"`
	// Since is when a worker got it, before that when the attempt began.
	Since time.Time `json:"since,omitzero"`
	// Due is when a timer of the unit fires; absent without one.
	Due time.Time `json:"due,omitzero"`
}

// HistoryQuery is the query of GET /v1/executions/{id}/history.
type HistoryQuery struct {
	// Order is asc, or desc for newest first; asc when left out.
	Order string `json:"order" check:"one=asc desc,default=asc"`
	// Limit is how many events a page has at most, from 1 to 1000; 100 when left out.
	Limit int `json:"limit" check:"min=1,max=1000,default=100"`
	// Cursor is Next of the page before; left out for the first page.
	Cursor string `json:"cursor" check:"max=512"`
}

// HistoryPage answers GET /v1/executions/{id}/history.
type HistoryPage struct {
	Events []Event `json:"events"`
	// Next is the cursor of the next page; absent on the last.
	Next string `json:"next,omitempty"`
}

// Event is one event of a history.
type Event struct {
	// ID numbers the events of an execution from 1 without gaps.
	ID int64 `json:"id"`
	// Turn is the number of the decision that made the event.
	Turn int64 `json:"turn"`
	// Previous is the event that this one follows in its branch or iteration; absent on the first.
	Previous int64     `json:"previous,omitempty"`
	At       time.Time `json:"at"`
	Type     string    `json:"type"`
	// Unit is the key of the unit or state that it happened to; absent where it concerns the whole execution.
	Unit string `json:"unit,omitempty"`
	// Data has the fields of the type.
	Data json.RawMessage `json:"data"`
}

// ResultQuery is the query of GET /v1/executions/{id}/result.
type ResultQuery struct {
	// WaitMS is how long to wait for the end, from 0 to 20,000. A function may answer earlier.
	WaitMS int64 `json:"wait_ms" check:"min=0,max=20000"`
}

// Result answers GET /v1/executions/{id}/result: 200 when the execution has ended, else 202 with the status alone.
type Result struct {
	ID      string          `json:"id"`
	Status  Status          `json:"status"`
	Output  json.RawMessage `json:"output,omitempty"`
	Error   *ExecutionError `json:"error,omitempty"`
	EndedAt time.Time       `json:"ended_at,omitzero"`
}

// SignalRequest is the body of POST /v1/executions/{id}/signals/{name}.
type SignalRequest struct {
	// Payload is any JSON; null when left out.
	Payload json.RawMessage `json:"payload,omitempty" check:"payload,default=null"`
}

// SignalResponse answers a SignalRequest: 200 when the signal is in the history, 202 when that is not yet known; it
// is durable and will be applied.
type SignalResponse struct {
	Confirmed bool `json:"confirmed"`
	// Event is the number of the event that recorded the signal; zero while not confirmed.
	Event int64 `json:"event,omitempty"`
}

// CancelRequest is the body of POST /v1/executions/{id}/cancel.
type CancelRequest struct {
	Reason string `json:"reason,omitempty" check:"max=1024"`
}

// CancelResponse answers a CancelRequest: 200 when the cancel is in the history, 202 when that is not yet known.
type CancelResponse struct {
	Confirmed bool `json:"confirmed"`
	// Execution is how the execution stands after the cancel, or now where that is not confirmed.
	Execution Execution `json:"execution"`
}

// RedriveRequest is the body of POST /v1/executions/{id}/redrive.
type RedriveRequest struct {
	Reason string `json:"reason,omitempty" check:"max=1024"`
}

// RedriveResponse answers a RedriveRequest: 200 when an execution that ended without success goes on from where it failed,
// 202 when that is not yet known.
type RedriveResponse struct {
	Confirmed bool `json:"confirmed"`
	// Execution is how the execution stands now.
	Execution Execution `json:"execution"`
}

// ResolveRequest is the body of POST /v1/executions/{id}/resolve: an operator's word on a unit that is uncertain.
type ResolveRequest struct {
	// Unit is its key. It is not in the path: a gateway would take the slashes in it for its own.
	Unit string `json:"unit" check:"required,min=1,max=4096"`
	// Resolution is completed (with Output), failed (with Error) or retry: it is offered anew.
	Resolution string          `json:"resolution" check:"required,one=completed failed retry"`
	Output     json.RawMessage `json:"output,omitempty" check:"payload,default=null"`
	Error      *TaskError      `json:"error,omitempty"`
}

// ResolveResponse answers a ResolveRequest: 200 when the word is in the history, 202 when that is not yet known.
type ResolveResponse struct {
	Confirmed bool `json:"confirmed"`
	// Event is the number of the event that recorded it; zero while not confirmed.
	Event int64 `json:"event,omitempty"`
}
