package wire

import (
	"encoding/json"
	"time"
)

// The worker protocol: register, then poll, report and heartbeat under the session, and deregister at the end.
//
//	register -> session
//	   |
//	   v                 lost answer: the same poll_id again
//	 poll -----> assignments ---> complete | fail | uncertain
//	   ^                |                     |
//	   +----------------|---------------------+
//	                heartbeat, every heartbeat_interval_ms, with the tokens held
//
// A session that is not heard of for session_timeout_ms is lost: what it held is handed to others, and its next call gets
// SESSION_NOT_FOUND. A report of such a task still counts when it is the first of its attempt.

// RegisterRequest is the body of POST /v1/workers/register.
type RegisterRequest struct {
	WorkerID string `json:"worker_id" check:"required,label"`
	// Language is what the worker is written in, lower case; tasks may ask for it. Optional.
	Language  string     `json:"language,omitempty" check:"language"`
	Contracts []Contract `json:"contracts" check:"required,min=1,max=200"`
}

// Contract names what a worker does: a task and its version, from 1.
type Contract struct {
	Task    string `json:"task" check:"required,name"`
	Version int    `json:"version" check:"required,min=1,max=2147483647"`
}

// RegisterResponse answers a RegisterRequest.
type RegisterResponse struct {
	SessionID           string `json:"session_id"`
	SessionTimeoutMS    int64  `json:"session_timeout_ms"`
	HeartbeatIntervalMS int64  `json:"heartbeat_interval_ms"`
}

// HeartbeatRequest is the body of POST /v1/workers/heartbeat.
type HeartbeatRequest struct {
	SessionID string `json:"session_id" check:"required,max=64"`
	// Beat numbers the heartbeats of the session: 1, 2, 3, ... A number that is not higher than the last is ignored.
	Beat int64 `json:"beat" check:"required,min=1"`
	// Tokens are all that the worker holds. The list must be there, and may be empty: a task that is in none of two
	// heartbeats is handed to another worker.
	Tokens []HeldToken `json:"tokens" check:"required,max=1000"`
}

// HeldToken is a task in work.
type HeldToken struct {
	Token string `json:"token" check:"required,max=4096"`
	// Details says how far it is: any JSON, kept in the history when it changes. Optional.
	Details json.RawMessage `json:"details,omitempty" check:"payload"`
}

// HeartbeatResponse answers a HeartbeatRequest.
type HeartbeatResponse struct {
	// Cancelled are tokens of the list whose work is no longer wanted; each is named until it is no longer listed.
	Cancelled []string `json:"cancelled"`
	// Unknown are tokens of the list that are over, are another session's by now, or have a signature of an earlier key.
	Unknown []string `json:"unknown"`
}

// PollRequest is the body of POST /v1/workers/poll, and the poll of a CompleteRequest.
type PollRequest struct {
	SessionID string `json:"session_id" check:"required,max=64"`
	// MaxTasks is from 1 to 100; 1 when left out.
	MaxTasks int `json:"max_tasks,omitempty" check:"min=1,max=100,default=1"`
	// WaitMS is how long an empty queue may be waited on, from 0 to 20,000. A function may answer earlier.
	WaitMS int64 `json:"wait_ms,omitempty" check:"min=0,max=20000"`
	// PollID names the poll: a new one for each, the same for the repeat of one whose answer was lost.
	PollID string `json:"poll_id" check:"required,id"`
}

// PollResponse answers a PollRequest.
type PollResponse struct {
	Assignments []Assignment `json:"assignments"`
	// RetryAfter is the header of the same name: how long to leave an empty queue alone, zero for not at all.
	RetryAfter time.Duration `json:"-"`
}

// Assignment is one task for the worker.
type Assignment struct {
	// Token is what reports and heartbeats name the task by.
	Token     string `json:"token"`
	Execution string `json:"execution"`
	Workflow  string `json:"workflow"`
	Version   int    `json:"version"`
	// Unit is the place in the execution: the path of state names with indexes.
	Unit            string          `json:"unit"`
	Task            string          `json:"task"`
	ContractVersion int             `json:"contract_version"`
	Input           json.RawMessage `json:"input"`
	// IdempotencyKey stays the same over retries and redeliveries: what was done under it need not be done again.
	IdempotencyKey string `json:"idempotency_key"`
	// Attempt counts from 1 and grows after a known failure; Redelivery counts from 0 and grows when it is not known
	// what became of an earlier hand-out of the same attempt.
	Attempt    int `json:"attempt"`
	Redelivery int `json:"redelivery"`
	// Deadline is when the attempt times out; absent when it does not.
	Deadline  time.Time `json:"deadline,omitzero"`
	TimeoutMS int64     `json:"timeout_ms,omitempty"`
	// HeartbeatTimeoutMS is how long the task may go unlisted in heartbeats; zero when it may.
	HeartbeatTimeoutMS int64 `json:"heartbeat_timeout_ms,omitempty"`
	// TraceParent is the W3C trace context of the execution.
	TraceParent string `json:"traceparent,omitempty"`
	// FencingToken is the number of the singleton that the execution holds; it grows with every holder. Absent without one.
	FencingToken int64 `json:"fencing_token,omitempty"`
}

// DeregisterRequest is the body of POST /v1/workers/deregister.
type DeregisterRequest struct {
	SessionID string `json:"session_id" check:"required,max=64"`
}

// DeregisterResponse names the tokens that the session still held and that are handed out again.
type DeregisterResponse struct {
	Tokens []string `json:"tokens"`
}

// CompleteRequest is the body of POST /v1/tasks/complete.
type CompleteRequest struct {
	// Reports are from 1 to 100.
	Reports []Completion `json:"reports" check:"required,min=1,max=100"`
	// SessionID says who reports; tokens of another worker are then refused. Optional, and taken from Poll where that is there.
	SessionID string `json:"session_id,omitempty" check:"max=64"`
	// Poll fetches further tasks in the same call. It does not wait before the reports are durable.
	Poll *PollRequest `json:"poll,omitempty"`
}

// Completion is the success of one task.
type Completion struct {
	Token  string          `json:"token" check:"required,max=4096"`
	Output json.RawMessage `json:"output" check:"required,payload"`
}

// FailRequest is the body of POST /v1/tasks/fail.
type FailRequest struct {
	Reports   []Failure `json:"reports" check:"required,min=1,max=100"`
	SessionID string    `json:"session_id,omitempty" check:"max=64"`
}

// Failure is the failure of one task.
type Failure struct {
	Token string    `json:"token" check:"required,max=4096"`
	Error TaskError `json:"error" check:"required"`
}

// TaskError is what went wrong in a task.
type TaskError struct {
	// Code is the error name that Retry and Catch of the document match.
	Code    string `json:"code" check:"required,min=1,max=256"`
	Message string `json:"message,omitempty" check:"max=32768"`
	// Retryable false ends the retries whatever the document says; absent means true.
	Retryable *bool           `json:"retryable,omitempty"`
	Details   json.RawMessage `json:"details,omitempty" check:"payload"`
}

// UncertainRequest is the body of POST /v1/tasks/uncertain.
type UncertainRequest struct {
	Reports   []Uncertainty `json:"reports" check:"required,min=1,max=100"`
	SessionID string        `json:"session_id,omitempty" check:"max=64"`
}

// Uncertainty says that the worker does not know whether the effect of a task happened.
type Uncertainty struct {
	Token  string `json:"token" check:"required,max=4096"`
	Reason string `json:"reason,omitempty" check:"max=1024"`
}

// ReportResponse answers the three kinds of reports: a result per token, in the order of the request.
type ReportResponse struct {
	Results []ReportResult `json:"results"`
	// Assignments answer the poll of a CompleteRequest; absent without one, [] when there was nothing.
	Assignments []Assignment `json:"assignments,omitzero"`
}

// ReportResult is what became of one report.
type ReportResult struct {
	Token   string        `json:"token"`
	Outcome ReportOutcome `json:"outcome"`
}

// ReportOutcome is the closed list of answers to a report. All but ReportRetry are final.
type ReportOutcome string

const (
	// ReportAccepted: the report is durable and the first of its attempt.
	ReportAccepted ReportOutcome = "accepted"
	// ReportDuplicate: the same report came before and is durable.
	ReportDuplicate ReportOutcome = "duplicate"
	// ReportStale: the attempt, the unit or the execution is over; the report has no effect.
	ReportStale ReportOutcome = "stale"
	// ReportRetry: not taken now; send it again after a second. Where this holds for every report of a request, the answer is
	// a 503 instead.
	ReportRetry ReportOutcome = "retry"
)
