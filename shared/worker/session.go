package worker

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/orrery-dev/orrery/shared/wire"
)

// heldTask is a task between its assignment and the final answer to its report. Worker.mu guards it.
type heldTask struct {
	stop    context.CancelCauseFunc
	details json.RawMessage
}

// open registers and keeps the session. It repeats what is temporary until ctx ends.
func (w *Worker) open(ctx context.Context) error {
	req := wire.RegisterRequest{WorkerID: w.config.ID, Language: w.config.Language}
	for c := range w.handlers {
		req.Contracts = append(req.Contracts, c)
	}
	var session wire.RegisterResponse
	err := w.repeat(ctx, "register", func() error {
		_, err := w.client.Call(ctx, http.MethodPost, wire.Path("workers", "register"), nil, req, &session)
		return err
	})
	if err != nil {
		return err
	}
	w.mu.Lock()
	w.session = session
	w.mu.Unlock()
	w.config.Log.Info("worker registered", "worker", w.config.ID, "session", session.SessionID)
	return nil
}

// reopen replaces the session that the server no longer knows, once however many calls have found that out.
func (w *Worker) reopen(ctx context.Context, lost string) error {
	if w.sessionID() != lost {
		return nil
	}
	w.config.Log.Warn("the session is lost; registering again", "worker", w.config.ID, "session", lost)
	return w.open(ctx)
}

func (w *Worker) sessionID() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.session.SessionID
}

// stops tells whether the worker takes nothing more.
func (w *Worker) stops() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.stopping
}

// close gives the session back: what it still holds is handed to others at once.
func (w *Worker) close(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, reportGrace)
	defer cancel()
	var answer wire.DeregisterResponse
	_, err := w.client.Call(ctx, http.MethodPost, wire.Path("workers", "deregister"), nil,
		wire.DeregisterRequest{SessionID: w.sessionID()}, &answer)
	if err != nil {
		w.config.Log.Warn("the session was not given back", "worker", w.config.ID, "error", err)
		return
	}
	w.config.Log.Info("worker deregistered", "worker", w.config.ID, "given_back", len(answer.Tokens))
}

// heartbeats lists what is held, each interval, until ctx ends. Beat numbers start anew with each session.
func (w *Worker) heartbeats(ctx context.Context) {
	session, beat, failing := "", int64(0), false
	for {
		w.mu.Lock()
		current := w.session
		w.mu.Unlock()
		if current.SessionID != session {
			session, beat = current.SessionID, 0
		}
		interval := time.Duration(current.HeartbeatIntervalMS) * time.Millisecond
		if !sleep(ctx, max(interval, 100*time.Millisecond)) {
			return
		}
		beat++
		err := w.beat(ctx, session, beat)
		if err != nil && !failing && ctx.Err() == nil {
			w.config.Log.Warn("heartbeats fail; trying on", "worker", w.config.ID, "error", err)
		}
		failing = err != nil
	}
}

func (w *Worker) beat(ctx context.Context, session string, beat int64) error {
	req := wire.HeartbeatRequest{SessionID: session, Beat: beat, Tokens: []wire.HeldToken{}}
	w.mu.Lock()
	for token, h := range w.held {
		req.Tokens = append(req.Tokens, wire.HeldToken{Token: token, Details: h.details})
	}
	w.mu.Unlock()
	var answer wire.HeartbeatResponse
	_, err := w.client.Call(ctx, http.MethodPost, wire.Path("workers", "heartbeat"), nil, req, &answer)
	if errors.Is(err, &wire.Error{Code: wire.SessionNotFound}) {
		return w.reopen(ctx, session)
	}
	if err != nil {
		return err
	}
	// A token of an older session is unknown to this one, and its report may still be the first: only a cancel stops work.
	for _, token := range answer.Cancelled {
		w.stopTask(token, ErrCancelled)
	}
	return nil
}

func (w *Worker) stopTask(token string, cause error) {
	w.mu.Lock()
	h := w.held[token]
	w.mu.Unlock()
	if h != nil {
		h.stop(cause)
	}
}

// repeat calls f until it succeeds, fails for good or ctx ends, with growing random pauses of at most 5 s, or what the
// server asks for.
func (w *Worker) repeat(ctx context.Context, what string, f func() error) error {
	for try := 0; ; try++ {
		err := f()
		if err == nil || !wire.Temporary(err) {
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		pause := min(5*time.Second, 50*time.Millisecond<<min(try, 7))
		pause = pause/2 + rand.N(pause/2)
		var refused *wire.Error
		if errors.As(err, &refused) && refused.RetryAfter > pause {
			pause = min(refused.RetryAfter, 30*time.Second)
		}
		if try == 3 {
			w.config.Log.Warn("the server can't be reached; trying on", "worker", w.config.ID, "call", what, "error", err)
		}
		if !sleep(ctx, pause) {
			return ctx.Err()
		}
	}
}

// sleep waits for d and tells whether ctx still holds.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
