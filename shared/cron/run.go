package cron

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/orrery-dev/orrery/shared/history"
	"github.com/orrery-dev/orrery/shared/store"
	"github.com/orrery-dev/orrery/shared/telemetry"
)

// runs are the direct targets of a process that are under way, each under a lease:
//
//	begin ---> work -----------------------------> end: trace, occurrence and key, in one transaction
//	            |  ^ renewals, one for all at a time   ^
//	            |  |                                   | cancelled by somebody, or drained: the end is seen
//	            v  |                                   |
//	        the lease is about to end, or another claim has it: the work is stopped, and nothing is written
type runs struct {
	runner *Runner
	all    sync.WaitGroup // the runs, and the keeper of their leases

	mu    sync.Mutex
	under map[store.ClaimRef]*run
	none  chan struct{} // closed when the last run ends, nil while there are none; the keeper lives until then
}

// run is one direct target under way.
type run struct {
	*attempt
	ctx    context.Context
	cancel context.CancelCauseFunc
	began  time.Time
	fuse   *time.Timer // stops the work before the lease is over

	mu    sync.Mutex
	until time.Time // when the lease is over, by the monotonic clock from before it was asked for
	over  bool      // the work has ended, and its end is being written: the lease is renewed no more
}

// Why the work of a run is stopped.
var (
	errLost      = errors.New("another claim has the occurrence")
	errLeaseOver = errors.New("the lease could not be renewed")
	errCancelled = errors.New("cancelled")
	errStopping  = errors.New("the process stops")
	errTimedOut  = errors.New("timed out")
)

func newRuns(r *Runner) *runs { return &runs{runner: r, under: map[store.ClaimRef]*run{}} }

// free is how many more may begin.
func (rs *runs) free() int {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	return max(rs.runner.options.Workers-len(rs.under), 0)
}

// begin lets a started occurrence run. Its lease was asked for at sent.
func (rs *runs) begin(a *attempt, sent time.Time) {
	x := &run{attempt: a, began: time.Now()}
	x.ctx, x.cancel = context.WithCancelCause(context.Background())
	x.fuse = time.AfterFunc(time.Hour, func() { x.cancel(errLeaseOver) })
	x.renewed(sent, &rs.runner.options)
	rs.mu.Lock()
	defer rs.mu.Unlock()
	rs.under[a.ClaimRef] = x
	if rs.none == nil {
		none := make(chan struct{})
		rs.none = none
		rs.all.Go(func() { rs.keep(none) })
	}
	rs.all.Go(func() {
		rs.runner.do(x)
		rs.done(x)
		rs.runner.Ring()
	})
}

func (rs *runs) done(x *run) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	delete(rs.under, x.ClaimRef)
	if len(rs.under) == 0 {
		close(rs.none)
		rs.none = nil
	}
}

// renewed sets the fuse anew: the lease holds from when it was asked for.
func (x *run) renewed(sent time.Time, o *Options) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.until = sent.Add(o.Lease)
	x.fuse.Reset(time.Until(x.until.Add(-o.margin())))
}

// leaseEnd is when the lease is over.
func (x *run) leaseEnd() time.Time {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.until
}

// keep renews the leases of all runs, with one statement at a time, until there are none. It never waits for work, and no
// work waits for it.
func (rs *runs) keep(none <-chan struct{}) {
	r := rs.runner
	beat := time.NewTicker(r.options.Heartbeat)
	defer beat.Stop()
	for {
		select {
		case <-beat.C:
		case <-none:
			return
		}
		list := rs.renewable()
		refs := make([]store.ClaimRef, len(list))
		for i, x := range list {
			refs[i] = x.ClaimRef
		}
		if len(refs) == 0 {
			continue
		}
		sent := time.Now()
		ctx, cancel := context.WithTimeout(context.Background(), r.options.Lease)
		renewed, err := r.store.Renew(ctx, refs, r.options.Lease)
		cancel()
		if err != nil {
			// A failed call is not a lost lease. It is tried again with the next beat, until the fuse burns down.
			r.health.notRenewed()
			r.log.Warn("leases could not be renewed", telemetry.KeyCount, len(refs), telemetry.KeyError, err)
			continue
		}
		rs.heard(list, renewed, sent)
	}
}

func (rs *runs) list() []*run {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	return slices.Collect(maps.Values(rs.under))
}

// renewable are those whose work goes on.
func (rs *runs) renewable() []*run {
	return slices.DeleteFunc(rs.list(), func(x *run) bool {
		x.mu.Lock()
		defer x.mu.Unlock()
		return x.over
	})
}

// heard makes of a renewal what it says.
func (rs *runs) heard(list []*run, renewed []store.Renewed, sent time.Time) {
	answers := map[history.OccurrenceID]store.Renewed{}
	for _, a := range renewed {
		answers[a.Occurrence] = a
	}
	for _, x := range list {
		switch a := answers[x.Occurrence]; {
		case !a.Held:
			x.cancel(errLost)
		case a.CancelledBy != "":
			x.renewed(sent, &rs.runner.options)
			x.cancel(errCancelled)
		default:
			x.renewed(sent, &rs.runner.options)
		}
	}
}

// wait waits until nothing is under way.
func (rs *runs) wait() { rs.all.Wait() }

// drain waits for the runs, then ends them, and waits a moment for their ends.
func (rs *runs) drain(patience time.Duration) int {
	ended := make(chan struct{})
	go func() { rs.all.Wait(); close(ended) }()
	for _, wait := range []time.Duration{patience, drainEnd} {
		select {
		case <-ended:
			return 0
		case <-time.After(wait):
		}
		for _, x := range rs.list() {
			x.cancel(errStopping)
		}
	}
	return len(rs.list())
}

// drainEnd is how long work has to end that was told to.
const drainEnd = time.Second

// do does the work of a run and writes its end.
func (r *Runner) do(x *run) {
	defer x.cancel(nil)
	defer x.fuse.Stop()
	ctx, cancel := context.WithTimeoutCause(x.ctx, x.definition.Timeout, errTimedOut)
	result, err := r.work(ctx, x)
	cause := context.Cause(ctx)
	cancel()
	end, counts := ending(x, result, err, cause)
	r.metrics.runSeconds.Observe(time.Since(x.began).Seconds())
	r.log.Log(context.Background(), levelOf(end), "a run has ended", telemetry.KeySchedule, x.Name, telemetry.KeyOccurrence, x.Occurrence,
		telemetry.KeyInstant, x.Instant, telemetry.KeyAttempt, x.Attempt, telemetry.KeyToken, x.Token,
		telemetry.KeyStatus, string(end.Outcome), telemetry.KeyReason, end.Reason, telemetry.KeyDuration, time.Since(x.began))
	if !counts {
		r.health.lost()
		r.traced(x.attempt, "lost", end.Reason)
		return
	}
	if !r.settleRun(x, end) {
		r.traced(x.attempt, "lost", "its end does not count")
		return
	}
	r.traced(x.attempt, string(end.Outcome), end.Reason)
}

// ending is what the end of the work means. It does not count where somebody else has the occurrence, or may have it.
func ending(x *run, result []byte, err, cause error) (end store.RunEnd, counts bool) {
	end = store.RunEnd{ClaimRef: x.ClaimRef, Outcome: store.RunCompleted, Result: result}
	switch {
	case errors.Is(cause, errLost), errors.Is(cause, errLeaseOver):
		end.Outcome, end.Reason = store.RunReleased, cause.Error()
		return end, false
	case err == nil:
		return end, true
	case errors.Is(cause, errCancelled):
		end.Outcome = store.RunCancelled
	case errors.Is(cause, errStopping):
		end.Outcome, end.Reason = store.RunReleased, cause.Error()
	case errors.Is(cause, errTimedOut):
		end.Outcome, end.Reason = store.RunFailed, fmt.Sprintf("timed out after %v", x.definition.Timeout)
	default:
		end.Outcome, end.Reason = store.RunFailed, err.Error()
	}
	return end, true
}

// levelOf is the level at which the end of a run is told.
func levelOf(end store.RunEnd) slog.Level {
	switch end.Outcome {
	case store.RunCompleted:
		return slog.LevelDebug
	case store.RunFailed:
		return slog.LevelWarn
	}
	return slog.LevelInfo
}

// settleRun writes the end of a run, again and again while the lease holds: the work is not done twice for an end that could
// not be written at once. What cannot be written at all does not keep its place for ever: the lease is renewed no more. It
// tells whether the end counts.
func (r *Runner) settleRun(x *run, end store.RunEnd) bool {
	x.mu.Lock()
	x.over = true
	x.mu.Unlock()
	for wait := restless; time.Now().Before(x.leaseEnd()); wait = min(2*wait, mostRestless) {
		ctx, cancel := context.WithDeadline(context.Background(), x.leaseEnd())
		settled, err := r.settleOnce(ctx, []store.RunEnd{end})
		cancel()
		if err == nil {
			if len(settled.Ended) == 0 { // another claim has it
				r.health.lost()
			}
			return len(settled.Ended) > 0
		}
		r.health.notSettled()
		r.log.Warn("the end of a run could not be written", telemetry.KeyOccurrence, x.Occurrence, telemetry.KeyError, err)
		time.Sleep(wait)
	}
	r.health.lost()
	return false
}

// work calls the target. Its error is what people are told.
func (r *Runner) work(ctx context.Context, x *run) ([]byte, error) {
	t := x.definition.Target
	if t.Lambda != nil {
		answer, err := r.options.Lambda.Invoke(ctx, t.Lambda.Function, t.Lambda.Qualifier, x.facts(), x.input())
		return jsonOf(answer), err
	}
	header := http.Header{}
	for _, h := range t.HTTP.Headers {
		header.Add(h.Name, h.Value)
	}
	header.Set("Content-Type", or(header.Get("Content-Type"), "application/json"))
	header.Set("Traceparent", x.start.Context)
	header.Set("Idempotency-Key", x.idempotencyKey())
	for name, value := range x.facts() {
		header.Set("Orrery-"+name, value)
	}
	method := or(t.HTTP.Method, http.MethodPost)
	body := x.input()
	if method == http.MethodGet {
		body = nil
	}
	status, answer, err := r.options.HTTP.Call(ctx, method, t.HTTP.URL, header, body)
	switch {
	case err != nil:
		return nil, err
	case status < 200 || status > 299:
		return nil, fmt.Errorf("the answer has status %d: %.200s", status, printable(answer))
	}
	return jsonOf(answer), nil
}

// facts are what the work is told of its occurrence: the token, so that it can fence what it writes to.
func (x *run) facts() map[string]string {
	f := map[string]string{
		"Schedule": x.Name, "Occurrence": strconv.FormatInt(int64(x.Occurrence), 10), "Instant": x.Instant.UTC().Format(time.RFC3339Nano),
		"Trigger": x.Trigger, "Retry": strconv.Itoa(x.Retry), "Attempt": strconv.Itoa(x.Attempt),
	}
	if x.Token != 0 {
		f["Fencing-Token"] = strconv.FormatInt(x.Token, 10)
	}
	return f
}

// idempotencyKey is the same for all attempts of one try.
func (x *run) idempotencyKey() string {
	return fmt.Sprintf("%s/%s/%d/%d", x.NamespaceName, x.Name, x.Occurrence, x.Retry)
}

// maxResult bounds what is kept of an answer, in bytes.
const maxResult = 64 << 10

// jsonOf is the answer as it is kept: JSON as it came, a text as a JSON string, what is long or no text not at all.
func jsonOf(answer []byte) []byte {
	switch {
	case len(answer) == 0 || len(answer) > maxResult || !utf8.Valid(answer):
		return nil
	case json.Valid(answer):
		return answer
	}
	text, err := json.Marshal(string(answer))
	if err != nil {
		return nil
	}
	return text
}

func printable(answer []byte) string {
	if !utf8.Valid(answer) {
		return "(no text)"
	}
	return string(answer)
}
