package frontend

import (
	"context"
	"time"

	"github.com/orrery-dev/orrery/shared/auth"
	"github.com/orrery-dev/orrery/shared/history"
	"github.com/orrery-dev/orrery/shared/store"
	"github.com/orrery-dev/orrery/shared/wire"
)

// emptyRetry is how long a function asks a worker to leave an empty queue alone. A node asks for nothing: a poll that
// waits there costs nothing, and gets a task as it is written.
const emptyRetry = time.Second

// Poll claims tasks for a worker; it looks again, after pauses that grow, until there is one or the wait is over. A
// repeat of a poll gets what was claimed under its id and is not done.
func (f *Frontend) Poll(ctx context.Context, c auth.Call, q wire.PollRequest) (wire.PollResponse, error) {
	s, err := f.session(ctx, c, q.SessionID)
	if err != nil {
		return wire.PollResponse{}, err
	}
	p, err := f.host.Open(pollOf(s, q), false)
	if err != nil {
		return wire.PollResponse{}, failed("poll for session "+s.ID, err)
	}
	a := wire.PollResponse{}
	if a.Assignments, err = f.assignments(ctx, s, p, q.WaitMS); err == nil && len(a.Assignments) == 0 && f.options.Host == nil {
		a.RetryAfter = emptyRetry
	}
	return a, err
}

// assignments waits for the tasks of a poll, and gives them their tokens.
func (f *Frontend) assignments(ctx context.Context, s store.Session, p OpenPoll, waitMS int64) ([]wire.Assignment, error) {
	cl, err := f.settings(ctx)
	if err != nil {
		p.Close()
		return nil, err
	}
	tasks, err := p.Wait(ctx, waitUntil(ctx, time.Duration(waitMS)*time.Millisecond))
	if err != nil {
		return nil, failed("claim for session "+s.ID, err)
	}
	list := make([]wire.Assignment, len(tasks))
	for i, t := range tasks {
		list[i] = assignmentOf(cl.signer, s.Namespace, t)
	}
	return list, nil
}

// pollOf is a worker's poll as the store claims for it.
func pollOf(s store.Session, q wire.PollRequest) store.Poll {
	return store.Poll{
		ID: q.PollID, Session: s.ID, Worker: s.Worker, Namespace: s.Namespace, Language: s.Language,
		Contracts: s.Contracts, Max: q.MaxTasks, Recall: true,
	}
}

// assignmentOf is a claimed task as its worker is told about it, with its token.
func assignmentOf(signer *Signer, ns history.NamespaceID, t store.Assignment) wire.Assignment {
	return wire.Assignment{
		Token:              signer.Sign(Token{ns, t.Execution, t.Turn, t.Row, t.Claim.Session, t.Claim.Worker}),
		Execution:          t.Name,
		Workflow:           t.Workflow,
		Version:            t.Version,
		Unit:               string(t.Row.Unit),
		Task:               t.Contract.Task,
		ContractVersion:    t.Contract.Version,
		Input:              t.Work.Input,
		IdempotencyKey:     t.Work.IdempotencyKey,
		Attempt:            t.Row.Attempt,
		Redelivery:         t.Work.Redelivery,
		Deadline:           t.Deadline.Time(),
		TimeoutMS:          t.Work.Timeout,
		HeartbeatTimeoutMS: t.Work.HeartbeatTimeout,
		TraceParent:        t.Trace,
		FencingToken:       t.Token,
	}
}
