package frontend

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/orrery-dev/orrery/shared/auth"
	"github.com/orrery-dev/orrery/shared/history"
	"github.com/orrery-dev/orrery/shared/store"
	"github.com/orrery-dev/orrery/shared/wire"
)

// TriggerSchedule makes an occurrence that is due now. With an idempotency key a repeat answers the one that is there.
func (f *Frontend) TriggerSchedule(ctx context.Context, c auth.Call, id string, q wire.TriggerRequest) (wire.Occurrence, bool, error) {
	if len(q.Input) > 0 && q.Input[0] != '{' {
		return wire.Occurrence{}, false, wire.Invalid(wire.Detail{Field: "input", Rule: "type=object", Message: "must be of type object"})
	}
	s, err := f.schedule(ctx, c, id)
	if err != nil {
		return wire.Occurrence{}, false, err
	}
	d, err := readDefinition(&s)
	if err != nil {
		return wire.Occurrence{}, false, err
	}
	t := store.Trigger{Namespace: s.Namespace, Schedule: id, Overlap: store.Overlap(q.Overlap), Own: d.Overlap, Input: q.Input}
	if c.IdempotencyKey != "" {
		sum := sha256.Sum256(append([]byte(q.Overlap+"\x00"), q.Input...))
		t.Key, t.KeyHash = c.IdempotencyKey, sum[:]
	}
	var outcome store.TriggerOutcome
	var number history.OccurrenceID
	// Without a key a repeat after an unknown outcome could trigger twice.
	err = retried(ctx, t.Key != "", func() (err error) { outcome, number, err = f.store.Trigger(ctx, t); return err })
	if err != nil {
		return wire.Occurrence{}, false, failed("trigger schedule "+id, err)
	}
	switch outcome {
	case store.TriggerKeyReused:
		return wire.Occurrence{}, false, wire.Errorf(wire.IdempotencyKeyReused, "the idempotency key came with another request before")
	case store.TriggerArchived:
		return wire.Occurrence{}, false, archived(id)
	case store.TriggerUnknown:
		return wire.Occurrence{}, false, wire.Errorf(wire.ScheduleNotFound, "there is no schedule %q", id)
	}
	o, err := f.occurrence(ctx, s.Namespace, id, number)
	return occurrenceOf(o), outcome == store.TriggerCreated, err
}

// maxBackfillSpan bounds the time that one backfill is about, so that its instants are counted in a moment.
const maxBackfillSpan = 366 * 24 * time.Hour

// BackfillSchedule makes occurrences for the instants of a range that have none, or tells which it would make.
func (f *Frontend) BackfillSchedule(ctx context.Context, c auth.Call, id string, q wire.BackfillRequest) (wire.BackfillResponse, error) {
	ns, err := f.namespace(ctx, c)
	if err != nil {
		return wire.BackfillResponse{}, err
	}
	s, now, err := f.store.Schedule(ctx, ns, id)
	if err != nil {
		return wire.BackfillResponse{}, notFound(err, noSchedule, id)
	}
	d, err := readDefinition(&s)
	if err != nil {
		return wire.BackfillResponse{}, err
	}
	if s.State == store.ScheduleArchived {
		return wire.BackfillResponse{}, archived(id)
	}
	if err := checkRange(q, now); err != nil {
		return wire.BackfillResponse{}, err
	}
	instants, all := d.Schedule.Backfill(q.From, q.To, wire.MaxBackfill)
	if all > wire.MaxBackfill {
		return wire.BackfillResponse{}, wire.Invalid(wire.Detail{
			Field: "to", Rule: "max=" + strconv.Itoa(wire.MaxBackfill), Message: fmt.Sprintf("the range has %d instants, more than %d", all, wire.MaxBackfill),
		})
	}
	a := wire.BackfillResponse{All: all}
	if q.Preview {
		a.Instants, err = f.free(ctx, s.ID, instants)
	} else {
		b := store.Backfill{Schedule: s.ID, Instants: instants, Key: d.Key, Slots: q.Slots}
		if d.Key == "" { // its runs may overlap: those of a backfill have a key of their own
			b.Key, b.OwnKey = "backfill of "+id, true
		}
		a.Instants, err = f.store.Backfill(ctx, b)
	}
	a.Instants = append([]time.Time{}, a.Instants...)
	return a, failed("backfill schedule "+id, err)
}

// checkRange checks the range of a backfill. What is to come is for the clock.
func checkRange(q wire.BackfillRequest, now time.Time) error {
	var faults []wire.Detail
	fault := func(rule, message string) {
		faults = append(faults, wire.Detail{Field: "to", Rule: rule, Message: message})
	}
	if !q.From.Before(q.To) {
		fault("after=from", "must be after from")
	}
	if q.To.Sub(q.From) > maxBackfillSpan {
		fault("span=366d", "must be at most 366 days after from")
	}
	if q.To.After(now) {
		fault("past", "must not be after now, "+now.UTC().Format(time.RFC3339))
	}
	if faults != nil {
		return wire.Invalid(faults...)
	}
	return nil
}

// free are those of the instants that have no occurrence.
func (f *Frontend) free(ctx context.Context, id history.ScheduleID, instants []time.Time) ([]time.Time, error) {
	taken, err := f.store.TakenInstants(ctx, id, instants)
	return slices.DeleteFunc(instants, func(t time.Time) bool {
		_, found := slices.BinarySearchFunc(taken, t, time.Time.Compare)
		return found
	}), err
}

// ListOccurrences lists the occurrences of a schedule, newest first; the cursor is the last number of the page before.
func (f *Frontend) ListOccurrences(ctx context.Context, c auth.Call, id string, q wire.OccurrenceQuery) (wire.OccurrenceList, error) {
	var before int64
	if q.Cursor != "" {
		n, err := strconv.ParseInt(q.Cursor, 10, 64)
		if err != nil || n < 1 {
			return wire.OccurrenceList{}, wire.Invalid(wire.Detail{Field: "query cursor", Rule: "cursor", Message: "must be the next of a page before"})
		}
		before = n
	}
	s, err := f.schedule(ctx, c, id)
	if err != nil {
		return wire.OccurrenceList{}, err
	}
	page, err := f.store.Occurrences(ctx, store.OccurrenceQuery{
		Schedule: s.ID, Status: string(q.Status), Trigger: q.Trigger, From: q.From, To: q.To, Before: history.OccurrenceID(before), Limit: q.Limit,
	})
	if err != nil {
		return wire.OccurrenceList{}, failed("list the occurrences of "+id, err)
	}
	a := wire.OccurrenceList{Occurrences: make([]wire.Occurrence, len(page.Occurrences))}
	for i, o := range page.Occurrences {
		a.Occurrences[i] = occurrenceOf(o)
	}
	if page.Next != 0 {
		a.Next = strconv.FormatInt(int64(page.Next), 10)
	}
	return a, nil
}

// mostAttempts bounds the starts that are shown of an occurrence.
const mostAttempts = 1000

// GetOccurrence reads an occurrence with its starts.
func (f *Frontend) GetOccurrence(ctx context.Context, c auth.Call, id string, number int64) (wire.OccurrenceDetail, error) {
	ns, err := f.namespace(ctx, c)
	if err != nil {
		return wire.OccurrenceDetail{}, err
	}
	o, err := f.occurrence(ctx, ns, id, history.OccurrenceID(number))
	if err != nil {
		return wire.OccurrenceDetail{}, err
	}
	traces, err := f.store.Traces(ctx, o.ID, mostAttempts)
	if err != nil {
		return wire.OccurrenceDetail{}, failed("read the starts of an occurrence", err)
	}
	a := wire.OccurrenceDetail{
		Occurrence: occurrenceOf(o), Overlap: string(o.Overlap), ScheduleVersion: o.ScheduleVersion, WorkflowVersion: o.WorkflowVersion,
		Title: o.Title, Key: o.Key, Slot: o.Slot, FencingToken: o.Token, DeadlineAt: wireTime(o.Deadline), LookAt: wireTime(o.LookAt),
		Claimant: o.Claimant, ClaimedAt: wireTime(o.ClaimedAt), TraceID: o.Trace, CancelledBy: o.CancelledBy, CancelReason: o.CancelReason,
		Input: o.Input, Attempts: make([]wire.OccurrenceAttempt, len(traces)),
	}
	for i, t := range traces {
		a.Attempts[i] = attemptOf(t)
	}
	return a, nil
}

func attemptOf(t store.Trace) wire.OccurrenceAttempt {
	return wire.OccurrenceAttempt{
		Retry: t.Retry, Attempt: t.Attempt, Status: t.Status, StartedAt: t.StartedAt.Time(), EndedAt: t.EndedAt.Time(), Claimant: t.Claimant,
		TraceParent: t.Context, FencingToken: t.Token, Execution: t.Execution, Error: t.Error, Result: t.Result,
	}
}

// occurrence reads one of a schedule, and tells which of the two is not there.
func (f *Frontend) occurrence(ctx context.Context, ns history.NamespaceID, id string, number history.OccurrenceID) (store.Occurrence, error) {
	o, err := f.store.Occurrence(ctx, ns, id, number)
	if !errors.Is(err, store.ErrNotFound) {
		return o, failed(fmt.Sprintf("read occurrence %d", number), err)
	}
	return o, f.noOccurrence(ctx, ns, id, int64(number))
}

// noOccurrence is the error where an occurrence is not there.
func (f *Frontend) noOccurrence(ctx context.Context, ns history.NamespaceID, id string, number int64) error {
	if _, _, err := f.store.Schedule(ctx, ns, id); err != nil {
		return notFound(err, noSchedule, id)
	}
	return wire.Errorf(wire.OccurrenceNotFound, "the schedule %q has no occurrence %d", id, number)
}

// CancelOccurrence ends an occurrence. What a runner does is asked to end, an execution is sent a cancel.
func (f *Frontend) CancelOccurrence(
	ctx context.Context, c auth.Call, id string, number int64, q wire.OccurrenceRequest,
) (wire.OccurrenceResponse, error) {
	ns, err := f.namespace(ctx, c)
	if err != nil {
		return wire.OccurrenceResponse{}, err
	}
	var outcome store.OperatorOutcome
	var execution string
	err = retried(ctx, true, func() (err error) {
		outcome, execution, err = f.store.CancelOccurrence(ctx, word(ns, c, id, number, q))
		return err
	})
	if err != nil {
		return wire.OccurrenceResponse{}, failed("cancel an occurrence", err)
	}
	confirmed := outcome == store.OperatorEnded
	switch outcome {
	case store.OperatorUnknown:
		return wire.OccurrenceResponse{}, f.noOccurrence(ctx, ns, id, number)
	case store.OperatorFinished:
		return wire.OccurrenceResponse{}, wire.Errorf(wire.ScheduleState, "the occurrence %d has ended", number)
	case store.OperatorExecution:
		if confirmed, err = f.cancelExecution(ctx, c, execution, q.Reason); err != nil {
			return wire.OccurrenceResponse{}, err
		}
	}
	o, err := f.occurrence(ctx, ns, id, history.OccurrenceID(number))
	return wire.OccurrenceResponse{Confirmed: confirmed, Occurrence: occurrenceOf(o)}, err
}

// cancelExecution tells the execution of an occurrence. That it has ended meanwhile is as good.
func (f *Frontend) cancelExecution(ctx context.Context, c auth.Call, execution, reason string) (confirmed bool, err error) {
	a, err := f.Cancel(ctx, c, execution, wire.CancelRequest{Reason: reason})
	if errors.Is(err, &wire.Error{Code: wire.ExecutionFinished}) {
		return true, nil
	}
	return a.Confirmed, err
}

// RetryOccurrence gives an occurrence that has ended without success another try.
func (f *Frontend) RetryOccurrence(
	ctx context.Context, c auth.Call, id string, number int64, q wire.OccurrenceRequest,
) (wire.OccurrenceResponse, error) {
	ns, err := f.namespace(ctx, c)
	if err != nil {
		return wire.OccurrenceResponse{}, err
	}
	var outcome store.OperatorOutcome
	// A repeat after an unknown outcome finds it pending, or under way: that is refused, and known.
	err = retried(ctx, false, func() (err error) {
		outcome, err = f.store.RetryOccurrence(ctx, word(ns, c, id, number, q))
		return err
	})
	switch {
	case err != nil:
		return wire.OccurrenceResponse{}, failed("retry an occurrence", err)
	case outcome == store.OperatorUnknown:
		return wire.OccurrenceResponse{}, f.noOccurrence(ctx, ns, id, number)
	case outcome == store.OperatorArchived:
		return wire.OccurrenceResponse{}, archived(id)
	case outcome == store.OperatorRefused:
		return wire.OccurrenceResponse{}, wire.Errorf(wire.ScheduleState, "the occurrence %d has not ended without success", number)
	}
	o, err := f.occurrence(ctx, ns, id, history.OccurrenceID(number))
	return wire.OccurrenceResponse{Confirmed: true, Occurrence: occurrenceOf(o)}, err
}

func word(ns history.NamespaceID, c auth.Call, id string, number int64, q wire.OccurrenceRequest) store.OperatorWord {
	return store.OperatorWord{
		Namespace: ns, Schedule: id, Occurrence: history.OccurrenceID(number), By: principal(c), Reason: q.Reason,
	}
}

func occurrenceOf(o store.Occurrence) wire.Occurrence {
	return wire.Occurrence{
		ID: int64(o.ID), Status: wire.OccurrenceStatus(o.Status), Trigger: o.Trigger, Instant: wireTime(o.Instant), DueAt: wireTime(o.Due),
		SkippedFrom: wireTime(o.SkippedFrom), Skipped: o.Skipped, StartedAt: wireTime(o.StartedAt), EndedAt: wireTime(o.EndedAt),
		Retry: o.Retry, Attempt: o.Attempt, Execution: o.Execution, Reason: o.Reason, Buffered: o.Buffered, DeadLetter: o.DeadLetter,
	}
}
