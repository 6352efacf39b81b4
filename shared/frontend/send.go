package frontend

import (
	"context"
	"crypto/sha256"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/orrery-dev/orrery/shared/auth"
	"github.com/orrery-dev/orrery/shared/history"
	"github.com/orrery-dev/orrery/shared/store"
	"github.com/orrery-dev/orrery/shared/wire"
)

// replyTime is how long a sender waits for the owner's word before it answers "not confirmed".
const replyTime = 10 * time.Second

// Signal sends a signal to the owner of the execution, and waits for its word.
func (f *Frontend) Signal(ctx context.Context, c auth.Call, id, signal string, q wire.SignalRequest) (wire.SignalResponse, error) {
	reply, err := f.send(ctx, c, id, history.Command{Kind: history.KindSignal, Signal: signal, Output: q.Payload})
	if err != nil || reply == nil {
		return wire.SignalResponse{}, err
	}
	return wire.SignalResponse{Confirmed: true, Event: int64(reply.Event)}, nil
}

// Cancel sends a cancel to the owner of the execution, and waits for its word.
func (f *Frontend) Cancel(ctx context.Context, c auth.Call, id string, q wire.CancelRequest) (wire.CancelResponse, error) {
	reply, err := f.send(ctx, c, id, history.Command{Kind: history.KindCancel, Reason: q.Reason})
	if err != nil {
		return wire.CancelResponse{}, err
	}
	e, err := f.after(ctx, c, id)
	return wire.CancelResponse{Confirmed: reply != nil, Execution: e}, err
}

// Redrive lets an execution go on that has ended without success.
func (f *Frontend) Redrive(ctx context.Context, c auth.Call, id string, q wire.RedriveRequest) (wire.RedriveResponse, error) {
	reply, err := f.send(ctx, c, id, history.Command{Kind: history.KindRedrive, Reason: q.Reason})
	if err != nil {
		return wire.RedriveResponse{}, err
	}
	e, err := f.after(ctx, c, id)
	return wire.RedriveResponse{Confirmed: reply != nil, Execution: e}, err
}

// after shows how an execution stands after a command that was taken. A look that fails must not say that nothing has happened.
func (f *Frontend) after(ctx context.Context, c auth.Call, id string) (wire.Execution, error) {
	_, d, err := f.execution(ctx, c, id)
	if errors.Is(err, &wire.Error{Code: wire.Unavailable}) {
		err = wire.Errorf(wire.OutcomeUnknown, "the command was taken, and the execution %q cannot be read now", id).After(time.Second)
	}
	return executionOf(d.Execution), err
}

// Resolve sends an operator's word on an uncertain unit to the owner.
func (f *Frontend) Resolve(ctx context.Context, c auth.Call, id string, q wire.ResolveRequest) (wire.ResolveResponse, error) {
	cmd := history.Command{
		Kind: history.KindResolve, Row: history.RowRef{Unit: history.UnitKey(q.Unit)}, Resolution: q.Resolution, Output: q.Output,
	}
	if q.Error != nil {
		cmd.Failure = failureOf(*q.Error)
	}
	reply, err := f.send(ctx, c, id, cmd)
	if err != nil || reply == nil {
		return wire.ResolveResponse{}, err
	}
	return wire.ResolveResponse{Confirmed: true, Event: int64(reply.Event)}, nil
}

// send puts a command into the inbox of an execution and waits for the reply; nil is none in time. What the owner refuses
// is an error.
func (f *Frontend) send(ctx context.Context, c auth.Call, id string, cmd history.Command) (*history.Reply, error) {
	ns, err := f.namespace(ctx, c)
	if err != nil {
		return nil, err
	}
	cmd.Awaited, cmd.RequestID = true, c.RequestID
	m := store.Message{Namespace: ns, Name: id, Command: cmd}
	if c.IdempotencyKey != "" {
		m.Key, m.KeyHash = c.IdempotencyKey, requestHash(id, cmd)
	}
	var sent store.Sent
	// Without a key a repeat after an unknown outcome could send twice.
	unsure := false
	err = retried(ctx, m.Key != "", func() (err error) {
		sent, err = f.store.Send(ctx, m)
		unsure = unsure || errors.Is(err, store.ErrOutcomeUnknown)
		return err
	})
	if unsure && sent.Outcome == store.SendUnknown {
		err = store.ErrOutcomeUnknown // the earlier try may come late, and find an execution that was started meanwhile
	}
	if err != nil {
		return nil, failed("send "+string(cmd.Kind)+" to "+id, err)
	}
	if err := refusal(sent.Outcome, cmd.Kind, id); err != nil {
		return nil, err
	}
	reply := sent.Reply
	if reply == nil {
		var gone bool
		if reply, gone = f.await(ctx, sent.Entry); gone && m.Key != "" { // another request under the key has read it
			reply = f.kept(ctx, m)
		}
	}
	return reply, replyError(reply, id)
}

// refusal is the error of a message that was not taken.
func refusal(o store.SendOutcome, kind history.Kind, id string) error {
	switch o {
	case store.SendUnknown:
		return wire.Errorf(wire.ExecutionNotFound, "there is no execution %q", id)
	case store.SendFinished:
		if kind == history.KindRedrive {
			return wire.Errorf(wire.CommandRefused, "the execution %q has not ended", id)
		}
		return wire.Errorf(wire.ExecutionFinished, "the execution %q has ended", id)
	case store.SendKeyReused:
		return wire.Errorf(wire.IdempotencyKeyReused, "the idempotency key came with another request before")
	case store.SendRetry:
		return wire.Errorf(wire.Unavailable, "the execution %q is about to end", id).After(time.Second)
	}
	return nil
}

// replyError is the error of a command that the owner has answered without applying it; nil for no answer yet.
func replyError(r *history.Reply, id string) error {
	switch {
	case r == nil:
		return nil
	case r.Outcome == history.Finished:
		return wire.Errorf(wire.ExecutionFinished, "the execution %q has ended", id)
	case r.Outcome == history.Refused:
		return wire.Errorf(wire.CommandRefused, "%s", r.Message)
	}
	return nil
}

// kept is the answer that the idempotency key of a message keeps; nil for none.
func (f *Frontend) kept(ctx context.Context, m store.Message) *history.Reply {
	sent, err := f.store.Send(ctx, m)
	if err != nil || sent.Outcome != store.SendRepeated {
		return nil // the entry was durable and answered, and nobody can say how
	}
	return sent.Reply
}

// await reads the reply to an entry until it is there; nil is none in time, or, when it is gone, one that somebody else has
// read.
func (f *Frontend) await(ctx context.Context, e store.EntryRef) (reply *history.Reply, gone bool) {
	end := waitUntil(ctx, replyTime)
	pauses := f.pauses
	for {
		rung, forget := f.host.AwaitReply(e)
		reply, err := f.store.Reply(ctx, e)
		// The entry is durable: a database that cannot be read now is waited for like an owner.
		gone := errors.Is(err, store.ErrNotFound)
		done := reply != nil || gone || !pauses.waitFor(ctx, rung, end)
		forget()
		if done {
			return reply, gone
		}
	}
}

// requestHash tells requests under one idempotency key apart.
func requestHash(id string, cmd history.Command) []byte {
	parts := []string{id, string(cmd.Kind), cmd.Signal, cmd.Reason, string(cmd.Row.Unit), cmd.Resolution, string(cmd.Output)}
	if x := cmd.Failure; x != nil {
		parts = append(parts, x.Code, x.Message, strconv.FormatBool(x.NonRetryable), string(x.Details))
	}
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return sum[:]
}
