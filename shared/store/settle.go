package store

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/orrery-dev/orrery/shared/history"
)

// RunOutcome is how a claim or a run of an occurrence ended.
type RunOutcome string

const (
	RunCompleted RunOutcome = "completed"
	RunFailed    RunOutcome = "failed"    // tried again, where tries are left
	RunRefused   RunOutcome = "refused"   // failed for good
	RunCancelled RunOutcome = "cancelled" // by somebody
	// RunReleased: its end was seen before it was done; it is claimed again.
	RunReleased RunOutcome = "released"
	// RunDeferred: it has not begun. Its attempt does not count.
	RunDeferred RunOutcome = "deferred"
	RunArchived RunOutcome = "archived" // its schedule is gone
)

// RunEnd ends one claim of an occurrence, or the run of it.
type RunEnd struct {
	ClaimRef
	Outcome RunOutcome
	Reason  string
	Result  []byte        // JSON; nil for none
	Delay   time.Duration // RunReleased, RunDeferred: until it may be claimed
}

// Settled is what has become of ends.
type Settled struct {
	// Ended are those that counted. The others were not under their claims any more, and nothing was written.
	Ended []history.OccurrenceID
	// Paused are schedules that have failed once too often.
	Paused []history.ScheduleID
	// Wanted tells that occurrences may wait for keys that are free now.
	Wanted bool
}

type settledRow struct {
	Settled, Paused []int64
	Wanted          bool
}

// SettleRuns ends claims and runs: occurrence, trace and key in one transaction. What is not under its claim any more is
// left alone. ErrConflict tells that rows are locked by others; try again.
func (s *Store) SettleRuns(ctx context.Context, ends []RunEnd) (Settled, error) {
	var c settledColumns
	for _, e := range ends {
		c.add(e)
	}
	var rows []settledRow
	p := s.pipeline()
	collect(p, settleRunsSQL, c.args(s), &rows)
	if err := p.run(ctx); err != nil {
		return Settled{}, fmt.Errorf("store: settle %d runs: %w", len(ends), translateWrite(err))
	}
	out := Settled{Wanted: rows[0].Wanted}
	for _, id := range rows[0].Settled {
		out.Ended = append(out.Ended, history.OccurrenceID(id))
	}
	for _, id := range rows[0].Paused {
		out.Paused = append(out.Paused, history.ScheduleID(id))
	}
	return out, nil
}

// settledColumns are ends of runs as their statement takes them.
type settledColumns struct {
	occurrences []int64
	claims      []*int32
	executions  []*int64
	outcomes    []string
	reasons     []*string
	results     []*string
	delays      []int64
}

func (c *settledColumns) add(e RunEnd) {
	claim := int32(e.Claim)
	c.row(e, &claim, nil)
}

// addTurn notes the end of an execution that an occurrence has started.
func (c *settledColumns) addTurn(t *history.Turn) {
	execution := int64(t.Execution)
	outcome, reason := outcomeOf(t.End)
	c.row(RunEnd{ClaimRef: ClaimRef{Occurrence: t.Settles}, Outcome: outcome, Reason: reason, Result: t.End.Output}, nil, &execution)
}

func (c *settledColumns) row(e RunEnd, claim *int32, execution *int64) {
	c.occurrences = append(c.occurrences, int64(e.Occurrence))
	c.claims = append(c.claims, claim)
	c.executions = append(c.executions, execution)
	c.outcomes = append(c.outcomes, string(e.Outcome))
	c.reasons = append(c.reasons, optional(clip(e.Reason)))
	c.results = append(c.results, text(e.Result))
	c.delays = append(c.delays, e.Delay.Milliseconds())
}

func (c *settledColumns) args(s *Store) args {
	return args{
		"occurrences": c.occurrences, "claims": c.claims, "executions": c.executions, "outcomes": c.outcomes,
		"reasons": c.reasons, "results": c.results, "delays": c.delays, "now": s.now(),
	}
}

var (
	lockRetakesSQL = query("lock_retakes")
	retakeKeysSQL  = query("retake_keys")
)

// retakeColumns are occurrences that go on with their executions.
type retakeColumns struct{ executions, occurrences []int64 }

func (c *retakeColumns) add(t *history.Turn) {
	c.executions = append(c.executions, int64(t.Execution))
	c.occurrences = append(c.occurrences, int64(t.Retakes))
}

func (c *retakeColumns) args() args {
	return args{"executions": c.executions, "occurrences": c.occurrences}
}

// maxReason bounds what is kept of a reason, in bytes.
const maxReason = 2000

// clip makes a text of people or of somebody's answer fit for the database: bounded, valid and without NUL.
func clip(s string) string {
	s = strings.ToValidUTF8(s[:min(len(s), maxReason)], "")
	return strings.ReplaceAll(s, "\x00", "")
}

// outcomeOf is what the end of an execution means for its occurrence.
func outcomeOf(end *history.End) (RunOutcome, string) {
	reason := end.Error
	if end.Cause != "" {
		reason = strings.TrimPrefix(reason+": "+end.Cause, ": ")
	}
	switch end.Status {
	case history.Succeeded:
		return RunCompleted, ""
	case history.Cancelled:
		return RunCancelled, reason
	}
	return RunFailed, reason
}

// Renewed is the answer to the renewal of one lease.
type Renewed struct {
	Occurrence history.OccurrenceID
	// Held is false when the run is not under its claim any more: somebody else has it, or it has ended.
	Held bool
	// CancelledBy and CancelReason are set where somebody asks for its end.
	CancelledBy, CancelReason string
}

// Renew renews leases.
func (s *Store) Renew(ctx context.Context, refs []ClaimRef, lease time.Duration) ([]Renewed, error) {
	var occurrences []int64
	var claims []int32
	for _, r := range refs {
		occurrences, claims = append(occurrences, int64(r.Occurrence)), append(claims, int32(r.Claim))
	}
	type row struct {
		Occurrence   int64
		Renewed      bool
		CancelledBy  string
		CancelReason string
	}
	rows, err := write[row](ctx, s, "renew leases", renewSQL, args{
		"occurrences": occurrences, "claims": claims, "lease": lease.Milliseconds(), "now": s.now(),
	})
	var out []Renewed
	for _, r := range rows {
		out = append(out, Renewed{history.OccurrenceID(r.Occurrence), r.Renewed, r.CancelledBy, r.CancelReason})
	}
	return out, err
}
