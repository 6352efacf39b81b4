package store

import (
	"context"

	"github.com/orrery-dev/orrery/shared/history"
)

// Report is a worker's word on an attempt, its token checked already.
type Report struct {
	Kind      history.Kind // complete, fail or uncertain
	Execution history.ExecutionID
	Row       history.RowRef
	// Session and Worker are the token's; empty for a token task.
	Session   string
	Worker    string
	Output    []byte           // complete: JSON
	Failure   *history.Failure // fail
	Reason    string           // uncertain
	RequestID string
}

// ReportOutcome is what became of a report.
type ReportOutcome string

const (
	// ReportAccepted: durable, and the first of its attempt.
	ReportAccepted ReportOutcome = "accepted"
	// ReportDuplicate: the same token has reported before, durably.
	ReportDuplicate ReportOutcome = "duplicate"
	// ReportStale: the attempt, the unit or the execution is over, or another token of the attempt has reported.
	ReportStale ReportOutcome = "stale"
	// ReportRetry: the execution is about to end; ask again after the end has committed.
	ReportRetry ReportOutcome = "retry"
)

// Report puts reports into the inboxes of their executions, in one transaction and one round trip, and rings the owners.
// The outcomes are in the order of the reports. A report of an execution that does not exist is stale.
func (s *Store) Report(ctx context.Context, rs []Report) ([]ReportOutcome, error) {
	panic("not written")
}
