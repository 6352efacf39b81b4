package store

import (
	"context"
	"fmt"

	"github.com/orrery-dev/orrery/shared/history"
)

// Report is a worker's word on an attempt, its token checked already.
type Report struct {
	Kind      history.Kind // complete, fail or uncertain
	Execution history.ExecutionID
	Row       history.RowRef
	// Session and Worker are the token's; empty for a token task.
	Session string
	Worker  string
	Output  []byte           // complete: JSON
	Failure *history.Failure // fail
	Reason  string           // uncertain
	// OpenAt is a turn after which the attempt was open without a row in the queue, because its owner had handed it over and
	// owed the row; zero for an attempt that has a row.
	OpenAt    history.Seq
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
	// ReportUnclear: nothing was written, because turns have followed Report.OpenAt. Load the execution: if the attempt is open
	// still, report it with the turn of that.
	ReportUnclear ReportOutcome = "unclear"
)

var (
	lockRunningSQL  = query("lock_running")
	lockAttemptsSQL = query("lock_attempts")
	reportSQL       = query("report")
)

// Report puts reports into the inboxes of their executions, in one transaction and one round trip, and rings the owners.
// The outcomes are in the order of the reports. A report of an execution that does not exist is stale.
func (s *Store) Report(ctx context.Context, rs []Report) ([]ReportOutcome, error) {
	if len(rs) == 0 {
		return nil, nil
	}
	c := reportColumnsOf(rs)
	type row struct{ Outcome string }
	var rows []row
	p := s.pipeline()
	p.begin()
	p.exec(lockRunningSQL, args{"executions": c.executions})
	p.exec(lockAttemptsSQL, args{"executions": c.executions, "units": c.units, "attempts": c.attempts})
	collect(p, reportSQL, c.args(), &rows)
	p.commit()
	p.ring(Bells{InboxOf: c.reported})
	if err := p.run(ctx); err != nil {
		return nil, fmt.Errorf("store: report %d attempts: %w", len(rs), translateWrite(err))
	}
	out := make([]ReportOutcome, len(rows))
	for i, r := range rows {
		out[i] = ReportOutcome(r.Outcome)
	}
	return out, nil
}

type reportColumns struct {
	reported                   []history.ExecutionID
	executions                 []int64
	units, kinds               []string
	attempts, offers           []int32
	sessions, workers          []*string
	outputs, reasons, requests []*string
	errors, causes, details    []*string
	finals                     []*bool
	openAts                    []int32
}

func reportColumnsOf(rs []Report) reportColumns {
	var c reportColumns
	for i := range rs {
		r := &rs[i]
		c.reported = append(c.reported, r.Execution)
		c.units = append(c.units, string(r.Row.Unit))
		c.attempts = append(c.attempts, int32(r.Row.Attempt))
		c.offers = append(c.offers, int32(r.Row.Offer))
		c.kinds = append(c.kinds, string(r.Kind))
		c.sessions = append(c.sessions, optional(r.Session))
		c.workers = append(c.workers, optional(r.Worker))
		c.outputs = append(c.outputs, text(r.Output))
		c.reasons = append(c.reasons, optional(r.Reason))
		c.requests = append(c.requests, optional(r.RequestID))
		c.openAts = append(c.openAts, int32(r.OpenAt))
		f := failureOf(r.Failure)
		c.errors = append(c.errors, f.code)
		c.causes = append(c.causes, f.cause)
		c.details = append(c.details, f.details)
		c.finals = append(c.finals, f.final)
	}
	c.executions = int64s(c.reported)
	return c
}

func (c *reportColumns) args() args {
	return args{
		"executions": c.executions, "units": c.units, "attempts": c.attempts, "offers": c.offers, "kinds": c.kinds,
		"sessions": c.sessions, "workers": c.workers, "outputs": c.outputs, "reasons": c.reasons, "errors": c.errors,
		"causes": c.causes, "details": c.details, "finals": c.finals, "requests": c.requests,
		"open_ats": c.openAts,
	}
}

// failureColumns is a failure as the inbox keeps it, all NULL without one.
type failureColumns struct {
	code, cause, details *string
	final                *bool
}

func failureOf(f *history.Failure) failureColumns {
	if f == nil {
		return failureColumns{}
	}
	return failureColumns{code: &f.Code, cause: &f.Message, details: text(f.Details), final: &f.NonRetryable}
}
