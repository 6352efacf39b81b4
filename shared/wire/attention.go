package wire

import "time"

// AttentionQuery is the query of GET /v1/attention.
type AttentionQuery struct {
	// Limit is how many entries a page has at most, from 1 to 1000; 100 when left out.
	Limit int `json:"limit" check:"min=1,max=1000,default=100"`
	// Cursor is Next of the page before; left out for the first page. It names a unit, so it may be long.
	Cursor string `json:"cursor" check:"max=8192"`
}

// AttentionList answers GET /v1/attention: what waits for a human, by execution in the order of their starts, then the
// occurrences of schedules, by number.
type AttentionList struct {
	Items []Attention `json:"items"`
	// Next is the cursor of the next page; absent on the last. A page may be short, or empty, and have a next one.
	Next string `json:"next,omitempty"`
}

// AttentionKind says what waits.
type AttentionKind string

const (
	// AttentionBlocked is an execution that cannot go on: its inbox and its timers wait.
	AttentionBlocked AttentionKind = "blocked"
	// AttentionUncertain is a unit whose outcome nobody knows after its last redelivery.
	AttentionUncertain AttentionKind = "uncertain"
	// AttentionDeadLetter is an occurrence of a schedule whose tries are used up, and AttentionMissed one that was too late for
	// its start. Whoever has it tried again has dealt with it.
	AttentionDeadLetter AttentionKind = "dead_letter"
	AttentionMissed     AttentionKind = "missed"
)

// Attention is one thing that waits for a human.
type Attention struct {
	Kind AttentionKind `json:"kind"`
	// Execution, Workflow and Version are absent for an occurrence.
	Execution string `json:"execution,omitempty"`
	Workflow  string `json:"workflow,omitempty"`
	Version   int    `json:"version,omitempty"`
	// Since is when the execution was blocked, when a worker last took the unit, or when the occurrence ended.
	Since time.Time `json:"since"`
	// Reason is why the execution is blocked or the occurrence has failed; absent for a unit.
	Reason string `json:"reason,omitempty"`
	// Unit is there for a unit, Occurrence for an occurrence.
	Unit       *UncertainUnit  `json:"unit,omitempty"`
	Occurrence *DeadOccurrence `json:"occurrence,omitempty"`
}

// DeadOccurrence is an occurrence of a schedule that did not come to a good end.
type DeadOccurrence struct {
	Schedule string    `json:"schedule"`
	ID       int64     `json:"id"`
	Instant  time.Time `json:"instant"`
	// Tries is how many there were; none where it was missed.
	Tries int `json:"tries"`
}

// UncertainUnit is a unit whose outcome nobody knows.
type UncertainUnit struct {
	Key             string `json:"key"`
	Task            string `json:"task"`
	ContractVersion int    `json:"contract_version"`
	Attempt         int    `json:"attempt"`
	// Redelivery is the number of its last delivery, from 0.
	Redelivery int `json:"redelivery"`
}
