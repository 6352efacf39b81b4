package wire

import (
	"encoding/json"
	"time"
)

// OccurrenceStatus is how an occurrence stands.
type OccurrenceStatus string

// The statuses. Those from completed on are final, unless somebody has the occurrence tried again.
const (
	OccurrencePending   OccurrenceStatus = "pending"
	OccurrenceClaimed   OccurrenceStatus = "claimed" // a process is about to start it
	OccurrenceRunning   OccurrenceStatus = "running"
	OccurrenceCompleted OccurrenceStatus = "completed"
	OccurrenceFailed    OccurrenceStatus = "failed"
	OccurrenceCancelled OccurrenceStatus = "cancelled"

	OccurrenceSkippedMisfire OccurrenceStatus = "skipped_misfire" // instants that were planned too late: one row for all
	OccurrenceSkippedOverlap OccurrenceStatus = "skipped_overlap" // another run held its key
	OccurrenceMissedDeadline OccurrenceStatus = "missed_deadline" // too late for its start
	OccurrenceArchived       OccurrenceStatus = "cancelled_by_archive"
)

// Occurrence is one instant of a schedule that was to run, one trigger by hand, or a stretch of instants that were missed.
type Occurrence struct {
	ID     int64            `json:"id"`
	Status OccurrenceStatus `json:"status"`
	// Trigger is cron, manual or backfill.
	Trigger string `json:"trigger"`
	// Instant is the nominal one, of a stretch the last. DueAt is later by the schedule's own part of the jitter.
	Instant time.Time `json:"instant"`
	DueAt   time.Time `json:"due_at"`
	// SkippedFrom is the first instant of a stretch, and Skipped their number.
	SkippedFrom time.Time `json:"skipped_from,omitzero"`
	Skipped     int64     `json:"skipped,omitempty"`
	StartedAt   time.Time `json:"started_at,omitzero"`
	EndedAt     time.Time `json:"ended_at,omitzero"`
	// Retry numbers the tries from 0, Attempt the claims of one try from 1: another one follows a lost lease.
	Retry   int `json:"retry"`
	Attempt int `json:"attempt"`
	// Execution is the id of what was started last, for a workflow.
	Execution string `json:"execution,omitempty"`
	// Reason says why it stands as it does, where there is something to say.
	Reason string `json:"reason,omitempty"`
	// Buffered is set while it waits for its key.
	Buffered bool `json:"buffered,omitempty"`
	// DeadLetter is set when it has failed for good or was missed, until somebody has dealt with it.
	DeadLetter bool `json:"dead_letter,omitempty"`
}

// OccurrenceQuery is the query of GET /v1/schedules/{id}/occurrences. Every field narrows the list; all may be left out.
type OccurrenceQuery struct {
	Status  OccurrenceStatus `json:"status" check:"one=pending claimed running completed failed cancelled skipped_misfire skipped_overlap missed_deadline cancelled_by_archive"`
	Trigger string           `json:"trigger" check:"one=cron manual backfill"`
	// From is included in the instants, To is not.
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
	// Limit is how many entries a page has at most, from 1 to 1000; 100 when left out.
	Limit int `json:"limit" check:"min=1,max=1000,default=100"`
	// Cursor is Next of the page before; left out for the first page.
	Cursor string `json:"cursor" check:"max=512"`
}

// OccurrenceList answers GET /v1/schedules/{id}/occurrences: newest first. A page may be short, or empty, and have a next
// one.
type OccurrenceList struct {
	Occurrences []Occurrence `json:"occurrences"`
	// Next is the cursor of the next page; absent on the last.
	Next string `json:"next,omitempty"`
}

// OccurrencePath is the path of the routes of one occurrence.
type OccurrencePath struct {
	ID         string `json:"id" check:"required,id"`
	Occurrence int64  `json:"occurrence" check:"required,min=1"`
}

// OccurrenceDetail answers GET /v1/schedules/{id}/occurrences/{occurrence}.
type OccurrenceDetail struct {
	Occurrence
	// Overlap is its policy: that of its schedule, or of its trigger; queue waits as long as it takes.
	Overlap string `json:"overlap"`
	// ScheduleVersion is that of the definition when it was made, WorkflowVersion what its execution runs.
	ScheduleVersion int    `json:"schedule_version"`
	WorkflowVersion int    `json:"workflow_version,omitempty"`
	Title           string `json:"title"`
	// Key is the singleton key, Slot which of its slots it holds now, and FencingToken the token that its work has got.
	Key          string `json:"key,omitempty"`
	Slot         int    `json:"slot,omitempty"`
	FencingToken int64  `json:"fencing_token,omitempty"`
	// DeadlineAt is when it is too late to start. LookAt is when it may be claimed, or when its lease is over.
	DeadlineAt time.Time `json:"deadline_at,omitzero"`
	LookAt     time.Time `json:"look_at,omitzero"`
	// Claimant is the process that holds it.
	Claimant  string    `json:"claimant,omitempty"`
	ClaimedAt time.Time `json:"claimed_at,omitzero"`
	// TraceID is that of the last start (W3C Trace Context).
	TraceID string `json:"trace_id,omitempty"`
	// CancelledBy and CancelReason are set while a run that somebody has cancelled has yet to end.
	CancelledBy  string `json:"cancelled_by,omitempty"`
	CancelReason string `json:"cancel_reason,omitempty"`
	// Input is what it gets in place of the schedule's.
	Input json.RawMessage `json:"input,omitempty"`
	// Attempts are its starts, oldest first, up to 1000.
	Attempts []OccurrenceAttempt `json:"attempts"`
}

// OccurrenceAttempt is one start of an occurrence.
type OccurrenceAttempt struct {
	Retry   int `json:"retry"`
	Attempt int `json:"attempt"`
	// Status is running, completed, failed, cancelled or lost (its lease was over, and another one followed).
	Status    string    `json:"status"`
	StartedAt time.Time `json:"started_at"`
	EndedAt   time.Time `json:"ended_at,omitzero"`
	Claimant  string    `json:"claimant"`
	// TraceParent is the W3C trace context that the work got.
	TraceParent  string          `json:"trace_parent"`
	FencingToken int64           `json:"fencing_token,omitempty"`
	Execution    string          `json:"execution,omitempty"`
	Error        string          `json:"error,omitempty"`
	Result       json.RawMessage `json:"result,omitempty"`
}

// OccurrenceRequest is the body of an operator's word on an occurrence: cancel and retry.
type OccurrenceRequest struct {
	Reason string `json:"reason,omitempty" check:"max=1024"`
}

// OccurrenceResponse answers it. A cancel is 202 while what runs has yet to end.
type OccurrenceResponse struct {
	Confirmed  bool       `json:"confirmed"`
	Occurrence Occurrence `json:"occurrence"`
}
