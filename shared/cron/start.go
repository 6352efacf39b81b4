package cron

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/orrery-dev/orrery/shared/auth"
	"github.com/orrery-dev/orrery/shared/history"
	"github.com/orrery-dev/orrery/shared/store"
	"github.com/orrery-dev/orrery/shared/telemetry"
	"github.com/orrery-dev/orrery/shared/wire"
)

const (
	// startsAtOnce bounds the workflows of one claim, and batch the occurrences of one transaction.
	startsAtOnce = 200
	batch        = 100
	// writeTime bounds what must be written though the process stops.
	writeTime = 10 * time.Second
)

// attempt is a claimed occurrence on its way to a run.
type attempt struct {
	store.ClaimedRun
	definition *Definition
	opening    *Opening // nil for a direct target
	start      store.RunStart
	sent       time.Time // before the claim was asked for: its lease holds for that long at least
}

// Opening is an execution that an occurrence is to start.
type Opening struct {
	Call       auth.Call
	Request    wire.StartRequest
	Occurrence history.Occurrence
	// Rollout decides which side of an alias the execution is on: the same for all tries of an occurrence.
	Rollout string

	// Item is the first turn, and Version that of the workflow. Err is a *wire.Error where the request or the state of things is
	// at fault.
	Item    store.Item
	Version int
	Err     error
}

// start brings claimed occurrences to their runs, or to where their guards and policies want them.
func (r *Runner) start(ctx context.Context, list []store.ClaimedRun, sent time.Time) {
	if len(list) == 0 {
		return
	}
	// What was claimed is seen through, also when the process stops meanwhile.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTime)
	defer cancel()
	attempts, ends := r.resolve(ctx, list, sent)
	admitted, refused := r.admit(ctx, attempts)
	r.settle(ctx, append(ends, refused...))
	for part := range slices.Chunk(admitted, batch) {
		r.startBatch(ctx, part)
	}
}

// resolve is the second step: it finds the definitions, and ends what has no start.
func (r *Runner) resolve(ctx context.Context, list []store.ClaimedRun, sent time.Time) ([]*attempt, []store.RunEnd) {
	want := make([]wanted, len(list))
	for i, x := range list {
		want[i] = wanted{x.Schedule, x.Version}
	}
	known, err := r.definitions.get(ctx, want)
	var attempts []*attempt
	var ends []store.RunEnd
	for _, x := range list {
		k := known[x.Schedule]
		if err != nil {
			k.err = err
		}
		switch {
		case x.CancelledBy != "":
			ends = append(ends, store.RunEnd{ClaimRef: x.ClaimRef, Outcome: store.RunCancelled})
		case x.State == store.ScheduleArchived:
			ends = append(ends, archived(x.ClaimRef))
		case k.err != nil:
			r.health.unreadable(k.err)
			ends = append(ends, deferred(x, "the definition cannot be read: "+k.err.Error()))
		default:
			attempts = append(attempts, &attempt{ClaimedRun: x, definition: k.definition, sent: sent})
		}
	}
	return attempts, ends
}

// admit is the third step's first half: what can be started gets its first turn, what cannot now goes back, and what never
// can is refused.
func (r *Runner) admit(ctx context.Context, attempts []*attempt) (admitted []*attempt, ends []store.RunEnd) {
	var openings []*Opening
	for _, a := range attempts {
		a.start = store.RunStart{ClaimRef: a.ClaimRef, Key: store.KeyRef{Namespace: a.Namespace, Key: a.Key}, Context: r.options.Traces.Begin("")}
		if !a.definition.Direct() {
			a.opening = a.open()
			openings = append(openings, a.opening)
		}
	}
	if len(openings) > 0 {
		r.opener.Open(ctx, openings)
	}
	places := r.runs.free()
	for _, a := range attempts {
		switch end := r.guard(a, &places); end {
		case nil:
			admitted = append(admitted, a)
		default:
			ends = append(ends, *end)
		}
	}
	return admitted, ends
}

// guard tells why the attempt has no start, nil where it has one. places are those for direct targets.
func (r *Runner) guard(a *attempt, places *int) *store.RunEnd {
	if o := a.opening; o != nil {
		if o.Err != nil {
			return refusal(a.ClaimedRun, o.Err)
		}
		a.start.Item, a.start.WorkflowVersion = &o.Item, o.Version
		return nil
	}
	t := a.definition.Target
	switch {
	case t.HTTP != nil && r.options.HTTP == nil:
		return refused(a.ClaimRef, "HTTP requests are off on this server")
	case t.Lambda != nil && r.options.Lambda == nil:
		return refused(a.ClaimRef, "Lambda functions are off on this server")
	case *places == 0: // it was claimed for a workflow, before its schedule was changed
		end := deferred(a.ClaimedRun, "there is no place for it now")
		return &end
	}
	*places--
	return nil
}

// refusal is what becomes of an occurrence whose execution cannot be opened: what is temporary is waited for.
func refusal(x store.ClaimedRun, err error) *store.RunEnd {
	var own *wire.Error
	temporary := !errors.As(err, &own)
	if own != nil {
		s := own.Code.Status()
		temporary = s == http.StatusTooManyRequests || s == http.StatusServiceUnavailable
	}
	if temporary {
		end := deferred(x, err.Error())
		return &end
	}
	return refused(x.ClaimRef, err.Error())
}

func refused(c store.ClaimRef, reason string) *store.RunEnd {
	return &store.RunEnd{ClaimRef: c, Outcome: store.RunRefused, Reason: "guard_refused: " + reason}
}

func archived(c store.ClaimRef) store.RunEnd {
	return store.RunEnd{ClaimRef: c, Outcome: store.RunArchived, Reason: "the schedule was archived"}
}

const mostDeferral = time.Minute

// deferred gives an occurrence back. The delay doubles from one time to the next.
func deferred(x store.ClaimedRun, reason string) store.RunEnd {
	delay := min(time.Second<<min(x.Deferrals, 10), mostDeferral)
	return store.RunEnd{ClaimRef: x.ClaimRef, Outcome: store.RunDeferred, Reason: "deferred: " + reason, Delay: delay}
}

// open asks for the execution of a workflow target.
func (a *attempt) open() *Opening {
	t := a.definition.Target.Workflow
	version, alias := int(t.Version), t.Alias
	if version == 0 && a.WorkflowVersion != 0 { // a retry runs what the first try ran
		version, alias = a.WorkflowVersion, ""
	}
	return &Opening{
		Call: auth.Call{
			Namespace: a.NamespaceName, Principal: auth.Principal{Name: "schedule " + a.Name},
			RequestID: "occurrence-" + strconv.FormatInt(int64(a.Occurrence), 10), TraceParent: a.start.Context,
		},
		Request: wire.StartRequest{
			Workflow: t.Name, Version: version, Alias: alias, Input: a.input(), Name: a.executionName(), TimeoutMS: a.definition.Timeout.Milliseconds(),
		},
		Occurrence: history.Occurrence{
			ID: a.Occurrence, Schedule: a.Name, Instant: history.TimeOf(a.Instant), Trigger: a.Trigger, Retry: a.Retry, Token: a.Token,
		},
		Rollout: a.firstName(),
	}
}

func (a *attempt) input() []byte {
	if a.Input != nil {
		return a.Input
	}
	return a.definition.Input
}

// executionName follows from the schedule, the instant and the retry number (I10).
func (a *attempt) executionName() string {
	if a.Retry > 0 {
		return a.firstName() + "-r" + strconv.Itoa(a.Retry)
	}
	return a.firstName()
}

// firstName is the name of the first try. What was triggered by hand has no instant of its own, but its number.
func (a *attempt) firstName() string {
	if a.Trigger == "manual" {
		return fmt.Sprintf("%s-m%d", a.Name, a.Occurrence)
	}
	return a.Name + "-" + a.Instant.UTC().Format("20060102T150405Z")
}

// startBatch starts occurrences in one transaction. Those that a check names are dealt with by themselves, and the others go
// again at once.
func (r *Runner) startBatch(ctx context.Context, list []*attempt) {
	for tries := 0; len(list) > 0; tries++ {
		starts := make([]store.RunStart, len(list))
		for i, a := range list {
			starts[i] = a.start
		}
		sent := time.Now()
		err := r.store.StartRuns(ctx, starts, r.options.Lease)
		var at *store.StartError
		switch {
		case err == nil:
			r.started(list, sent)
			return
		case errors.As(err, &at):
			var culprits []*attempt
			list, culprits = divide(list, at.Occurrences)
			r.notStarted(ctx, at.Kind, culprits)
		case (errors.Is(err, store.ErrConflict) || errors.Is(err, store.ErrOutcomeUnknown)) && tries < startTries:
			pause(ctx, time.Duration(tries+1)*restless)
		case len(list) > 1 && !errors.Is(err, store.ErrUnavailable) && ctx.Err() == nil:
			half := len(list) / 2
			r.startBatch(ctx, list[:half])
			r.startBatch(ctx, list[half:])
			return
		default:
			r.failedToStart(ctx, list, err)
			return
		}
	}
}

// mostRefusals is how often an occurrence that the database refuses is tried again. It need not be the occurrence's fault.
const mostRefusals = 10

// startTries bounds the tries of a transaction that meets others, or whose outcome is unknown.
const startTries = 5

// divide takes out the named ones.
func divide(list []*attempt, ids []history.OccurrenceID) (rest, named []*attempt) {
	for _, a := range list {
		if slices.Contains(ids, a.Occurrence) {
			named = append(named, a)
		} else {
			rest = append(rest, a)
		}
	}
	return rest, named
}

// started lets direct targets run, and counts.
func (r *Runner) started(list []*attempt, sent time.Time) {
	for _, a := range list {
		r.health.started()
		r.metrics.startLag.Observe(max(r.now.Add(time.Since(r.at)).Sub(a.Due), 0).Seconds())
		r.log.Debug("an occurrence was started", telemetry.KeySchedule, a.Name, telemetry.KeyOccurrence, a.Occurrence,
			telemetry.KeyInstant, a.Instant, telemetry.KeyAttempt, a.Attempt, telemetry.KeyToken, a.Token)
		if a.opening == nil {
			r.runs.begin(a, sent)
			continue
		}
		r.traced(a, "started", "") // the execution has spans of its own
	}
}

// notStarted deals with those that a check has named.
func (r *Runner) notStarted(ctx context.Context, kind store.StartErrorKind, list []*attempt) {
	var ends []store.RunEnd
	for _, a := range list {
		switch kind {
		case store.StartTaken:
			ends = append(ends, *refused(a.ClaimRef, "an execution has the name "+a.executionName()))
		case store.StartArchived:
			ends = append(ends, archived(a.ClaimRef))
		case store.StartLimited:
			ends = append(ends, deferred(a.ClaimedRun, "the namespace has its limit of active executions"))
		case store.StartStale:
			ends = append(ends, store.RunEnd{ClaimRef: a.ClaimRef, Outcome: store.RunDeferred, Reason: "deferred: others were faster"})
		}
	}
	r.settle(ctx, ends)
	if kind == store.StartBusy {
		r.contend(ctx, list)
	}
}

// failedToStart gives back what could not be started for a reason outside of it. Where that fails too, the leases end.
func (r *Runner) failedToStart(ctx context.Context, list []*attempt, err error) {
	r.health.notStarted(err)
	r.log.Warn("occurrences could not be started", telemetry.KeyCount, len(list), telemetry.KeyError, err)
	ends := make([]store.RunEnd, len(list))
	for i, a := range list {
		ends[i] = deferred(a.ClaimedRun, err.Error())
		if errors.Is(err, store.ErrRefused) && a.Deferrals >= mostRefusals {
			ends[i] = *refused(a.ClaimRef, err.Error())
		}
	}
	r.settle(ctx, ends)
}

// settle writes ends of claims that have no run. What cannot be written is left to its lease.
func (r *Runner) settle(ctx context.Context, ends []store.RunEnd) {
	for part := range slices.Chunk(ends, batch) {
		if _, err := r.settleOnce(ctx, part); err != nil {
			r.log.Warn("occurrences could not be settled", telemetry.KeyCount, len(part), telemetry.KeyError, err)
		}
	}
}

// settleOnce writes ends, again while rows are locked or the outcome is unknown.
func (r *Runner) settleOnce(ctx context.Context, ends []store.RunEnd) (store.Settled, error) {
	for tries := 1; ; tries++ {
		settled, err := r.store.SettleRuns(ctx, ends)
		if err == nil {
			r.settled(ends, settled)
			return settled, nil
		}
		again := errors.Is(err, store.ErrConflict) || errors.Is(err, store.ErrOutcomeUnknown)
		if !again || tries == settleTries || !pause(ctx, time.Duration(tries)*restless/2) {
			return store.Settled{}, err
		}
	}
}

// settleTries bounds the tries of a transaction that meets others.
const settleTries = 8

// settled counts, and tells of what people must know.
func (r *Runner) settled(ends []store.RunEnd, s store.Settled) {
	for _, e := range ends {
		if slices.Contains(s.Ended, e.Occurrence) {
			r.health.ended(e.Outcome)
		}
	}
	for _, id := range s.Paused {
		r.log.Warn("a schedule was paused after failures in a row", telemetry.KeySchedule, int64(id))
	}
}

func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
