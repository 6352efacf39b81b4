package worker

import (
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"runtime"
	"time"

	"github.com/orrery-dev/orrery/shared/wire"
)

// retryPause is how long a report rests that the server could not take now.
const retryPause = time.Second

// report sends what handlers have finished until w.reports is closed and empty, or ctx ends. What is finished while a
// call is under way goes with the next, up to a hundred at once. What the calls bring is started under work.
func (w *Worker) report(ctx, work context.Context) {
	for r := range w.reports {
		batch := []report{r}
		runtime.Gosched() // what finishes at the same time goes in the same call
	fill:
		for len(batch) < wire.MaxReports {
			select {
			case r, open := <-w.reports:
				if !open {
					break fill
				}
				batch = append(batch, r)
			default:
				break fill
			}
		}
		w.send(ctx, work, batch)
	}
}

// send delivers a batch, a call per kind, and sees to it that each report's slot is used again.
func (w *Worker) send(ctx, work context.Context, batch []report) {
	var done []wire.Completion
	var failed []wire.Failure
	var unsure []wire.Uncertainty
	for _, r := range batch {
		switch {
		case r.complete != nil:
			done = append(done, *r.complete)
		case r.fail != nil:
			failed = append(failed, *r.fail)
		default:
			unsure = append(unsure, *r.uncertain)
		}
	}
	w.free(len(failed) + len(unsure))
	w.complete(ctx, work, done)
	deliver(ctx, w, "fail", failed, func(f wire.Failure) string { return f.Token },
		func(part []wire.Failure) any { return wire.FailRequest{Reports: part} }, nil)
	deliver(ctx, w, "uncertain", unsure, func(u wire.Uncertainty) string { return u.Token },
		func(part []wire.Uncertainty) any { return wire.UncertainRequest{Reports: part} }, nil)
}

// complete delivers successes. The first call that is answered polls for as many tasks as it reports: what follows from
// the reports is then handed over with them.
func (w *Worker) complete(ctx, work context.Context, reports []wire.Completion) {
	slots := len(reports)
	deliver(ctx, w, "complete", reports, func(c wire.Completion) string { return c.Token },
		func(part []wire.Completion) any {
			q := wire.CompleteRequest{Reports: part}
			if slots > 0 && !w.stops() {
				q.Poll = &wire.PollRequest{SessionID: w.sessionID(), MaxTasks: slots, PollID: rand.Text()}
			}
			return q
		},
		func(got []wire.Assignment) {
			w.begin(work, got[:min(len(got), slots)], slots)
			slots = 0
		})
	w.free(slots)
}

// deliver sends reports of one kind until each has a final answer, and passes on the assignments of the answers. A call
// that is refused as a whole is sent report by report, so that one that the server can't take (an output that is too
// large) does not take the others with it.
func deliver[R any](
	ctx context.Context, w *Worker, route string, reports []R, token func(R) string, body func([]R) any, assigned func([]wire.Assignment),
) {
	for len(reports) > 0 {
		var answer wire.ReportResponse
		session, request := w.sessionID(), body(reports)
		err := w.repeat(ctx, route, func() error {
			answer = wire.ReportResponse{}
			_, err := w.client.Call(ctx, http.MethodPost, wire.Path("tasks", route), nil, request, &answer)
			return err
		})
		if errors.Is(err, &wire.Error{Code: wire.SessionNotFound}) {
			err = w.reopen(ctx, session) // nothing was written: the same with a new session
			if err == nil {
				continue
			}
		}
		switch {
		case err == nil:
			reports = settle(w, reports, answer.Results, token)
			if assigned != nil {
				assigned(answer.Assignments)
			}
			if len(reports) > 0 && !sleep(ctx, retryPause) {
				return
			}
		case ctx.Err() != nil:
			return
		case len(reports) > 1:
			for i := range reports {
				deliver(ctx, w, route, reports[i:i+1], token, body, assigned)
			}
			return
		default:
			w.refused(ctx, route, token(reports[0]), err)
			return
		}
	}
}

// settle forgets the reports with a final answer and gives those to send again.
func settle[R any](w *Worker, reports []R, results []wire.ReportResult, token func(R) string) []R {
	outcome := map[string]wire.ReportOutcome{}
	for _, r := range results {
		outcome[r.Token] = r.Outcome
	}
	var again []R
	for _, r := range reports {
		switch outcome[token(r)] {
		case wire.ReportRetry:
			again = append(again, r)
		case wire.ReportStale:
			w.config.Log.Info("the report came too late", "worker", w.config.ID, "token", short(token(r)))
			w.forget(token(r))
		default:
			w.forget(token(r))
		}
	}
	return again
}

// refused handles a report that the server will never take. A refused success becomes a failure, so that the execution
// learns of it; a refused failure can only be logged, and the task's time-out ends the attempt.
func (w *Worker) refused(ctx context.Context, route, token string, err error) {
	w.config.Log.Error("report refused", "worker", w.config.ID, "report", route, "token", token, "error", err)
	if route != "complete" {
		w.forget(token)
		return
	}
	refusal := reportOf(token, nil, Finalf(CodeOutput, "the output was refused: %v", err))
	deliver(ctx, w, "fail", []wire.Failure{*refusal.fail}, func(f wire.Failure) string { return f.Token },
		func(part []wire.Failure) any { return wire.FailRequest{Reports: part} }, nil)
}

// shownToken is how much of a token the log shows: enough to tell it from others, too little to use it.
const shownToken = 12

// short cuts a token for the log: whoever has all of it can report its task.
func short(token string) string {
	if len(token) <= 2*shownToken {
		return "..."
	}
	return token[:shownToken] + "..."
}
