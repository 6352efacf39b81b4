package worker

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/orrery-dev/orrery/shared/wire"
)

// poll takes tasks while ctx holds and starts each; handlers run under work.
// The end of ctx cuts an open poll. What was handed out with an answer that then goes unread is not listed in heartbeats
// and comes back by them, or with the deregistration.
func (w *Worker) poll(ctx, work context.Context) {
	for {
		free := w.acquire(ctx)
		if free == 0 {
			return
		}
		got, pause := w.fetch(ctx, free)
		w.begin(work, got, free)
		if ctx.Err() != nil || (pause > 0 && !sleep(ctx, pause)) {
			return
		}
	}
}

// pollers is how many polls a worker keeps open. While one of them is answered and sent anew, tasks come to the other.
const pollers = 2

// acquire waits for a free slot and takes more that are free, up to what one poll may ask for. Zero: ctx has ended.
func (w *Worker) acquire(ctx context.Context) int {
	if ctx.Err() != nil {
		return 0
	}
	select {
	case <-ctx.Done():
		return 0
	case w.slots <- struct{}{}:
	}
	n, most := 1, min(max(1, w.config.Concurrency/pollers), wire.MaxPollTasks)
	for n < most {
		select {
		case w.slots <- struct{}{}:
			n++
			continue
		default:
		}
		break
	}
	return n
}

// fetch makes one poll, repeated under the same poll id while no answer comes. It gives at most n assignments, and how
// long to leave an empty queue alone.
func (w *Worker) fetch(ctx context.Context, n int) ([]wire.Assignment, time.Duration) {
	session := w.sessionID()
	req := wire.PollRequest{SessionID: session, MaxTasks: n, WaitMS: w.config.Wait.Milliseconds(), PollID: rand.Text()}
	var answer wire.PollResponse
	err := w.repeat(ctx, "poll", func() error {
		answer = wire.PollResponse{}
		_, err := w.client.Call(ctx, http.MethodPost, wire.Path("workers", "poll"), nil, req, &answer)
		return err
	})
	switch {
	case err == nil:
		return answer.Assignments[:min(n, len(answer.Assignments))], answer.RetryAfter
	case ctx.Err() != nil:
		return nil, 0
	case errors.Is(err, &wire.Error{Code: wire.SessionNotFound}):
		if err = w.reopen(ctx, session); err == nil || ctx.Err() != nil {
			return nil, 0
		}
	}
	w.config.Log.Error("poll refused", "worker", w.config.ID, "error", err)
	return nil, 5 * time.Second
}

// begin starts what a poll for so many slots has brought, and frees the other slots.
func (w *Worker) begin(work context.Context, got []wire.Assignment, slots int) {
	w.free(slots - len(got))
	for _, a := range got {
		w.start(work, a)
	}
}

func (w *Worker) free(slots int) {
	for range slots {
		<-w.slots
	}
}

// start runs the handler of one assignment. Its slot is freed, or goes on with the report. When the worker stops nothing is
// started: the assignment comes back with the deregistration.
func (w *Worker) start(work context.Context, a wire.Assignment) {
	held := &heldTask{}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stopping {
		w.free(1)
		return
	}
	w.held[a.Token] = held
	w.tasks.Add(1)
	ctx, stop := context.WithCancelCause(work)
	held.stop = stop
	done := func() {}
	if a.TimeoutMS > 0 {
		// Counted from the receipt by this machine's clock: no two clocks are compared.
		ctx, done = context.WithTimeoutCause(ctx, time.Duration(a.TimeoutMS)*time.Millisecond, ErrTimedOut)
	}
	go func() {
		defer w.tasks.Done()
		defer stop(nil)
		defer done()
		w.do(ctx, a, held)
	}()
}

func (w *Worker) do(ctx context.Context, a wire.Assignment, held *heldTask) {
	t := Task{Assignment: a, progress: func(details json.RawMessage) {
		w.mu.Lock()
		held.details = details
		w.mu.Unlock()
	}}
	h, ok := w.handlers[wire.Contract{Task: a.Task, Version: a.ContractVersion}]
	if !ok {
		w.reports <- reportOf(a.Token, nil, Errorf(CodeError, "this worker has no handler for %s@%d", a.Task, a.ContractVersion))
		return
	}
	out, err := h.protect(ctx, t)
	if err != nil && errors.Is(context.Cause(ctx), ErrStopping) {
		// The handler was cut short by the end of the drain: the session gives the task back.
		w.forget(a.Token)
		w.free(1)
		return
	}
	w.reports <- reportOf(a.Token, out, err)
}

func (w *Worker) forget(token string) {
	w.mu.Lock()
	delete(w.held, token)
	w.mu.Unlock()
}
