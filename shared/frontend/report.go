package frontend

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/orrery-dev/orrery/shared/auth"
	"github.com/orrery-dev/orrery/shared/history"
	"github.com/orrery-dev/orrery/shared/store"
	"github.com/orrery-dev/orrery/shared/wire"
)

// errTokenForeign is a token that was issued to another worker than the one that brings it.
var errTokenForeign = errors.New("frontend: task token of another worker")

// errTokenRepeated is a token that one request brings twice.
var errTokenRepeated = errors.New("frontend: task token given twice")

// Complete reports successes and, where the request has a poll, fetches further tasks.
func (f *Frontend) Complete(ctx context.Context, c auth.Call, q wire.CompleteRequest) (wire.ReportResponse, error) {
	reports := make([]report, len(q.Reports))
	for i, r := range q.Reports {
		reports[i] = report{r.Token, store.Report{Kind: history.KindComplete, Output: r.Output}}
	}
	if q.Poll == nil {
		return f.report(ctx, c, q.SessionID, reports)
	}
	// A session that is gone is told before anything is written, so that the whole request can be sent anew.
	s, err := f.session(ctx, c, q.Poll.SessionID)
	if err != nil {
		return wire.ReportResponse{}, err
	}
	// The poll is open before the reports are applied, so that what follows from them can be handed over with them. The
	// reports matter more: a poll that fails must not hide what became of them. The worker polls again.
	p, pollErr := f.host.Open(pollOf(s, *q.Poll), true)
	a, err := f.report(ctx, c, q.SessionID, reports)
	a.Assignments = []wire.Assignment{}
	switch {
	case pollErr != nil:
	case err != nil:
		p.Close()
	default:
		if got, err := f.assignments(ctx, s, p, q.Poll.WaitMS); err == nil {
			a.Assignments = got
		}
	}
	return a, err
}

// Fail reports failures.
func (f *Frontend) Fail(ctx context.Context, c auth.Call, q wire.FailRequest) (wire.ReportResponse, error) {
	reports := make([]report, len(q.Reports))
	for i, r := range q.Reports {
		reports[i] = report{r.Token, store.Report{Kind: history.KindFail, Failure: failureOf(r.Error)}}
	}
	return f.report(ctx, c, q.SessionID, reports)
}

func failureOf(e wire.TaskError) *history.Failure {
	return &history.Failure{
		Code: e.Code, Message: e.Message, Details: e.Details, NonRetryable: e.Retryable != nil && !*e.Retryable,
	}
}

// Uncertain reports tasks of which the worker does not know whether they had their effect.
func (f *Frontend) Uncertain(ctx context.Context, c auth.Call, q wire.UncertainRequest) (wire.ReportResponse, error) {
	reports := make([]report, len(q.Reports))
	for i, r := range q.Reports {
		reports[i] = report{r.Token, store.Report{Kind: history.KindUncertain, Reason: r.Reason}}
	}
	return f.report(ctx, c, q.SessionID, reports)
}

// report is a report whose token is not checked yet.
type report struct {
	token string
	store.Report
}

// report checks every token, then writes all reports together. One bad token refuses the request.
func (f *Frontend) report(ctx context.Context, c auth.Call, session string, reports []report) (wire.ReportResponse, error) {
	rs, err := f.checked(ctx, c, session, reports)
	if err != nil {
		return wire.ReportResponse{}, err
	}
	outcomes, err := f.enter(ctx, rs)
	if err != nil {
		return wire.ReportResponse{}, err
	}
	if session != "" {
		// Contact is all that is wanted: a report under a session that is lost by now counts all the same.
		_, _ = f.sessions.contact(ctx, session)
	}
	if !slices.ContainsFunc(outcomes, func(o store.ReportOutcome) bool { return o != store.ReportRetry }) {
		return wire.ReportResponse{}, wire.Errorf(wire.Unavailable, "the executions are about to end").After(time.Second)
	}
	a := wire.ReportResponse{Results: make([]wire.ReportResult, len(reports))}
	for i, o := range outcomes {
		a.Results[i] = wire.ReportResult{Token: reports[i].token, Outcome: wire.ReportOutcome(o)}
	}
	return a, nil
}

// checked reads the tokens and fills the reports from them.
func (f *Frontend) checked(ctx context.Context, c auth.Call, session string, reports []report) ([]store.Report, error) {
	ns, err := f.namespace(ctx, c)
	if err != nil {
		return nil, err
	}
	cl, err := f.settings(ctx)
	if err != nil {
		return nil, err
	}
	caller := reporter{f, c, session}
	var faults tokenFaults
	rs := make([]store.Report, len(reports))
	seen := make(map[string]bool, len(reports))
	for i, r := range reports {
		t, err := cl.signer.Parse(r.token)
		if err == nil && t.Namespace != ns {
			err = ErrTokenForged // of another namespace: it is not seen here
		}
		if err == nil && seen[r.token] {
			err = errTokenRepeated
		}
		if err == nil {
			if err = caller.owns(ctx, t); err != nil && !errors.Is(err, errTokenForeign) {
				return nil, err
			}
		}
		seen[r.token] = true
		if err != nil {
			faults.add(tokenField{"reports", i}, err)
			continue
		}
		rs[i] = r.Report
		rs[i].Execution, rs[i].Row, rs[i].OpenAt = t.Execution, t.Row, t.Turn
		rs[i].Session, rs[i].Worker, rs[i].RequestID = t.Session, t.Worker, c.RequestID
	}
	return rs, faults.err()
}

// reporter is who brings reports; the session is empty where the request names none.
type reporter struct {
	f       *Frontend
	call    auth.Call
	session string
}

// owns returns errTokenForeign unless the token was issued to the reporter: under its session, or under an earlier
// one of the same worker. Only in the second case the session's row is needed.
func (r reporter) owns(ctx context.Context, t Token) error {
	if r.session == "" || r.session == t.Session {
		return nil
	}
	s, err := r.f.session(ctx, r.call, r.session)
	if err != nil {
		return err
	}
	if s.Worker != t.Worker {
		return errTokenForeign
	}
	return nil
}

// tokenField is the place of a token in a request: "reports[3].token".
type tokenField struct {
	list  string
	index int
}

// tokenFaults gathers what is wrong with the tokens of a request.
type tokenFaults struct{ details []wire.Detail }

// tokenRules orders the faults: the first of the list that occurs gives the error its code.
var tokenRules = []struct {
	err     error
	code    wire.Code
	rule    string
	message string
}{
	{ErrTokenMalformed, wire.MalformedToken, "token", "is no task token"},
	{errTokenRepeated, wire.InvalidRequest, "unique", "is given twice"},
	{ErrTokenForged, wire.TokenNotFound, "signature", "is not known"},
	{errTokenForeign, wire.ForeignToken, "own", "was issued to another worker"},
}

func (t *tokenFaults) add(at tokenField, err error) {
	for _, r := range tokenRules {
		if errors.Is(err, r.err) {
			t.details = append(t.details, wire.Detail{Field: fmt.Sprintf("%s[%d].token", at.list, at.index), Rule: r.rule, Message: r.message})
		}
	}
}

// err is the error for what was gathered, nil for nothing.
func (t *tokenFaults) err() error {
	for _, r := range tokenRules {
		for _, d := range t.details {
			if d.Rule == r.rule {
				e := wire.Errorf(r.code, "a task token %s", r.message)
				e.Details = t.details
				return e
			}
		}
	}
	return nil
}
