package cron

import (
	"context"
	"errors"
	"time"

	"github.com/orrery-dev/orrery/shared/history"
	"github.com/orrery-dev/orrery/shared/store"
	"github.com/orrery-dev/orrery/shared/telemetry"
)

// contend does with occurrences that found their keys held what their policies say.
func (r *Runner) contend(ctx context.Context, list []*attempt) {
	r.health.contended(len(list))
	if err := r.replaceHolders(ctx, list); err != nil {
		// They find the key held once more, and try again.
		r.failedToStart(ctx, list, err)
		return
	}
	for tries := 1; len(list) > 0; tries++ {
		cs := make([]store.Contention, len(list))
		for i, a := range list {
			cs[i] = a.contention()
		}
		verdicts, err := r.store.Contend(ctx, cs)
		var lost *store.StartError
		switch {
		case err == nil:
			r.judged(list, verdicts)
			return
		case errors.As(err, &lost):
			list, _ = divide(list, lost.Occurrences)
		case !errors.Is(err, store.ErrConflict) || tries == startTries || !pause(ctx, restless):
			r.failedToStart(ctx, list, err)
			return
		}
	}
}

// contention is what the policy of the occurrence says. Those that end the other run wait for its end, the newest of them.
func (a *attempt) contention() store.Contention {
	c := store.Contention{ClaimRef: a.ClaimRef, Key: a.start.Key, Policy: store.WaitNot}
	switch a.Overlap {
	case store.OverlapQueue:
		c.Policy = store.WaitTurn
	case store.OverlapBufferAll:
		c.Policy, c.Limit = store.WaitAll, a.definition.Buffer
	case store.OverlapBufferOne:
		c.Policy, c.Oldest = store.WaitOne, a.definition.KeepOldest
	case store.OverlapCancelOther, store.OverlapTerminateOther:
		c.Policy = store.WaitOne
	}
	return c
}

func (r *Runner) judged(list []*attempt, verdicts map[history.OccurrenceID]store.Verdict) {
	for _, a := range list {
		v := verdicts[a.Occurrence]
		r.health.judged(v)
		if v == store.Overrun {
			r.log.Warn("the buffer of a schedule is full", telemetry.KeySchedule, a.Name, telemetry.KeyOccurrence, a.Occurrence,
				telemetry.KeyCount, a.definition.Buffer)
		}
	}
}

// replaceHolders ends the runs that hold the keys of those that replace them. It comes before they wait: whoever dies in
// between has its occurrence claimed again, and its successor does it once more.
func (r *Runner) replaceHolders(ctx context.Context, list []*attempt) error {
	replacing := map[store.KeyRef]*attempt{}
	for _, a := range list {
		if a.Overlap == store.OverlapCancelOther || a.Overlap == store.OverlapTerminateOther {
			replacing[a.start.Key] = a
		}
	}
	if len(replacing) == 0 {
		return nil
	}
	var keys []store.KeyRef
	for k := range replacing {
		keys = append(keys, k)
	}
	holders, err := r.store.Holders(ctx, keys)
	if err != nil {
		return err
	}
	for _, h := range holders {
		a := replacing[h.Key]
		if err := r.replace(ctx, h, a); err != nil {
			return err
		}
	}
	return nil
}

// replace ends one run: an execution is told; a run under a lease hears it at its next renewal, or, where it is to be
// terminated, loses its claim at once.
func (r *Runner) replace(ctx context.Context, h store.Holder, by *attempt) error {
	reason := "replaced by the occurrence of " + by.Instant.UTC().Format(time.RFC3339)
	terminate := by.Overlap == store.OverlapTerminateOther
	switch {
	case h.Execution != "":
		_, err := r.store.Send(ctx, store.Message{Namespace: h.Key.Namespace, Name: h.Execution, Command: history.Command{
			Kind: history.KindCancel, Awaited: true, Reason: reason, Terminate: terminate, RequestID: by.opening.requestID(),
		}})
		return err
	case terminate:
		_, err := r.settleOnce(ctx, []store.RunEnd{{ClaimRef: h.ClaimRef, Outcome: store.RunCancelled, Reason: reason}})
		return err
	}
	return r.store.AskCancel(ctx, []history.OccurrenceID{h.Occurrence}, "schedule "+by.Name, reason)
}

func (o *Opening) requestID() string {
	if o == nil {
		return ""
	}
	return o.Call.RequestID
}
