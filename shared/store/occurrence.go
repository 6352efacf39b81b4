package store

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/orrery-dev/orrery/shared/history"
)

// Occurrence is one instant of a schedule that was to run, one trigger by hand, or a stretch of instants that were missed.
type Occurrence struct {
	ID              history.OccurrenceID
	Status          string
	Trigger         string // cron, manual or backfill
	Overlap         Overlap
	Instant         time.Time // the nominal one; of a stretch the last
	Due             time.Time
	Deadline        time.Time
	LookAt          time.Time // pending: may be claimed; under a lease: its end
	ClaimedAt       time.Time
	StartedAt       time.Time
	EndedAt         time.Time
	SkippedFrom     time.Time // the first of a stretch
	Skipped         int64     // instants of a stretch
	Token           int64     // fencing token
	Execution       string    // name
	ScheduleVersion int
	WorkflowVersion int
	Retry           int
	Attempt         int
	Slot            int
	Buffered        bool
	Title           string
	Key             string
	Claimant        string
	Trace           string // trace id
	Reason          string
	CancelledBy     string
	CancelReason    string
	Input           []byte // in place of the schedule's
	DeadLetter      bool   // its tries are used up, and nobody has looked
}

// Trace is one start of an occurrence, in the ledger.
type Trace struct {
	Claim     int
	Retry     int
	Attempt   int
	Status    string
	StartedAt history.Time
	EndedAt   history.Time
	Claimant  string
	Context   string // W3C traceparent
	Token     int64
	Execution string // name
	Error     string
	Result    []byte // JSON
}

var (
	occurrencesSQL      = query("occurrences")
	occurrenceSQL       = query("occurrence")
	tracesSQL           = query("traces")
	triggerSQL          = query("trigger")
	backfillSQL         = query("backfill")
	takenInstantsSQL    = query("taken_instants")
	cancelOccurrenceSQL = query("cancel_occurrence")
	retryOccurrenceSQL  = query("retry_occurrence")
	cronDepthsSQL       = query("cron_depths")
)

type occurrenceRow struct {
	Lowest          int64
	Full            bool
	ID              int64
	Status          string
	Trigger         string
	Overlap         string
	Instant         pgtype.Timestamptz
	DueAt           pgtype.Timestamptz
	DeadlineAt      pgtype.Timestamptz
	LookAt          pgtype.Timestamptz
	ClaimedAt       pgtype.Timestamptz
	StartedAt       pgtype.Timestamptz
	EndedAt         pgtype.Timestamptz
	SkippedFrom     pgtype.Timestamptz
	Skipped         int64
	Token           int64
	Execution       string
	ScheduleVersion int32
	WorkflowVersion int32
	Retry           int32
	Attempt         int32
	Slot            int16
	Buffered        bool
	Title           string
	Key             string
	Claimant        string
	Trace           string
	Reason          string
	CancelledBy     string
	CancelReason    string
	Input           *string
	DeadLetter      bool
}

func (r *occurrenceRow) occurrence() Occurrence {
	return Occurrence{
		ID: history.OccurrenceID(r.ID), Status: r.Status, Trigger: r.Trigger, Overlap: Overlap(r.Overlap), Instant: r.Instant.Time,
		Due: r.DueAt.Time, Deadline: r.DeadlineAt.Time, LookAt: r.LookAt.Time, ClaimedAt: r.ClaimedAt.Time,
		StartedAt: r.StartedAt.Time, EndedAt: r.EndedAt.Time, SkippedFrom: r.SkippedFrom.Time, Skipped: r.Skipped, Token: r.Token,
		Execution: r.Execution, ScheduleVersion: int(r.ScheduleVersion), WorkflowVersion: int(r.WorkflowVersion),
		Retry: int(r.Retry), Attempt: int(r.Attempt), Slot: int(r.Slot), Buffered: r.Buffered, Title: r.Title, Key: r.Key,
		Claimant: r.Claimant, Trace: r.Trace, Reason: r.Reason, CancelledBy: r.CancelledBy, CancelReason: r.CancelReason,
		Input: bytes(r.Input), DeadLetter: r.DeadLetter,
	}
}

// OccurrenceQuery lists the occurrences of a schedule, newest first. Zero fields do not narrow the list.
type OccurrenceQuery struct {
	Schedule history.ScheduleID
	Status   string
	Trigger  string
	From, To time.Time            // of the instant: From is included, To is not
	Before   history.OccurrenceID // the cursor: only lower numbers
	Limit    int                  // from 1
}

// OccurrencePage is one page of the list. Its cost is bounded whatever the filter: a page may be shorter than the limit, or
// empty, and still have a next one.
type OccurrencePage struct {
	Occurrences []Occurrence
	Next        history.OccurrenceID // zero on the last
}

// Occurrences reads one page.
func (s *Store) Occurrences(ctx context.Context, q OccurrenceQuery) (OccurrencePage, error) {
	before := int64(q.Before)
	if before == 0 {
		before = math.MaxInt64
	}
	rows, err := list[occurrenceRow](ctx, s, "list occurrences", occurrencesSQL, args{
		"schedule": int64(q.Schedule), "before": before, "window": listWindow, "status": q.Status, "trigger": q.Trigger,
		"instant_from": timePointer(q.From), "instant_to": timePointer(q.To), "limit": q.Limit,
	})
	if err != nil {
		return OccurrencePage{}, err
	}
	var page OccurrencePage
	for i := range rows {
		if rows[i].ID != 0 {
			page.Occurrences = append(page.Occurrences, rows[i].occurrence())
		}
	}
	if n := len(page.Occurrences); n == q.Limit {
		page.Next = page.Occurrences[n-1].ID
	} else if rows[0].Full {
		page.Next = history.OccurrenceID(rows[0].Lowest)
	}
	return page, nil
}

// Occurrence reads one of a named schedule. ErrNotFound when there is none.
func (s *Store) Occurrence(ctx context.Context, ns history.NamespaceID, schedule string, id history.OccurrenceID) (Occurrence, error) {
	r, err := one[occurrenceRow](ctx, s, fmt.Sprintf("read occurrence %d", id), occurrenceSQL, args{
		"namespace": int32(ns), "name": schedule, "occurrence": int64(id),
	})
	return r.occurrence(), err
}

// Traces lists the starts of an occurrence, in their order.
func (s *Store) Traces(ctx context.Context, id history.OccurrenceID, limit int) ([]Trace, error) {
	type row struct {
		Claim     int32
		Retry     int32
		Attempt   int32
		Status    string
		StartedAt pgtype.Timestamptz
		EndedAt   pgtype.Timestamptz
		Claimant  string
		Context   string
		Token     int64
		Execution string
		Error     string
		Result    *string
	}
	rows, err := list[row](ctx, s, "read the traces of an occurrence", tracesSQL, args{"occurrence": int64(id), "limit": limit})
	var out []Trace
	for _, r := range rows {
		out = append(out, Trace{
			Claim: int(r.Claim), Retry: int(r.Retry), Attempt: int(r.Attempt), Status: r.Status, StartedAt: instant(r.StartedAt),
			EndedAt: instant(r.EndedAt), Claimant: r.Claimant, Context: r.Context, Token: r.Token, Execution: r.Execution,
			Error: r.Error, Result: bytes(r.Result),
		})
	}
	return out, err
}

// Trigger makes an occurrence of a schedule by hand, due at once.
type Trigger struct {
	Namespace history.NamespaceID
	Schedule  string
	// Overlap is the policy in place of Own, which is the schedule's; empty for none.
	Overlap, Own Overlap
	Input        []byte // in place of the schedule's; nil for none
	// Key makes a repeat harmless; empty for none. KeyHash tells another request under the same key apart.
	Key     string
	KeyHash []byte
}

// TriggerOutcome is what became of a trigger.
type TriggerOutcome string

const (
	TriggerCreated   TriggerOutcome = "created"
	TriggerRepeated  TriggerOutcome = "repeated"   // the occurrence is there already
	TriggerKeyReused TriggerOutcome = "key reused" // by another request before
	TriggerArchived  TriggerOutcome = "archived"
	TriggerUnknown   TriggerOutcome = "unknown" // there is no such schedule
)

// Trigger makes the occurrence and rings those who run schedules.
func (s *Store) Trigger(ctx context.Context, q Trigger) (TriggerOutcome, history.OccurrenceID, error) {
	hash := q.KeyHash
	if hash == nil {
		hash = []byte{}
	}
	type row struct {
		Outcome string
		ID      int64
	}
	for range 2 {
		var rows []row
		p := s.pipeline()
		p.begin()
		collect(p, triggerSQL, args{
			"namespace": int32(q.Namespace), "name": q.Schedule, "overlap": optional(string(q.Overlap)),
			"own_overlap": string(q.Own), "key": q.Key, "key_hash": hash, "input": text(q.Input), "now": s.now(),
		}, &rows)
		p.commit()
		p.ring(Bells{Schedules: true})
		if err := p.run(ctx); err != nil {
			return "", 0, fmt.Errorf("store: trigger %s: %w", q.Schedule, translateWrite(err))
		}
		if rows[0].Outcome != "" {
			return TriggerOutcome(rows[0].Outcome), history.OccurrenceID(rows[0].ID), nil
		}
	}
	return "", 0, fmt.Errorf("store: trigger %s: %w", q.Schedule, ErrConflict)
}

// Backfill makes occurrences for instants of a schedule that have none.
type Backfill struct {
	Schedule history.ScheduleID
	Instants []time.Time // ascending
	// Key is the singleton key that they queue for: the schedule's, or, where its runs may overlap, one of their own, which is
	// given the Slots then.
	Key    string
	OwnKey bool
	Slots  int
}

// Backfill makes them, rings those who run schedules, and returns the instants that had none. Nothing is made for a schedule
// that is archived.
func (s *Store) Backfill(ctx context.Context, b Backfill) ([]time.Time, error) {
	var rows []struct{ Instant time.Time }
	p := s.pipeline()
	p.begin()
	collect(p, backfillSQL, args{
		"schedule": int64(b.Schedule), "instants": b.Instants, "key": b.Key, "own_key": b.OwnKey, "slots": int16(b.Slots),
	}, &rows)
	p.commit()
	p.ring(Bells{Schedules: true})
	if err := p.run(ctx); err != nil {
		return nil, fmt.Errorf("store: backfill: %w", translateWrite(err))
	}
	var out []time.Time
	for _, r := range rows {
		out = append(out, r.Instant.UTC())
	}
	return out, nil
}

// TakenInstants returns those of the instants of a schedule that have an occurrence.
func (s *Store) TakenInstants(ctx context.Context, id history.ScheduleID, instants []time.Time) ([]time.Time, error) {
	type row struct{ Instant time.Time }
	rows, err := list[row](ctx, s, "read which instants are taken", takenInstantsSQL, args{"schedule": int64(id), "instants": instants})
	var out []time.Time
	for _, r := range rows {
		out = append(out, r.Instant.UTC())
	}
	return out, err
}

// OperatorOutcome is what became of an operator's word on an occurrence.
type OperatorOutcome string

const (
	OperatorEnded     OperatorOutcome = "ended"     // cancel: it had not begun, and will not
	OperatorAsked     OperatorOutcome = "asked"     // cancel: its runner ends it
	OperatorExecution OperatorOutcome = "execution" // cancel: its execution is to be told
	OperatorPending   OperatorOutcome = "pending"   // retry: it is tried again
	OperatorFinished  OperatorOutcome = "finished"  // cancel: it has ended
	OperatorRefused   OperatorOutcome = "refused"   // retry: it has not ended without success
	OperatorArchived  OperatorOutcome = "archived"  // retry: its schedule is archived
	OperatorUnknown   OperatorOutcome = "unknown"   // there is no such occurrence
)

// OperatorWord is an operator's word on an occurrence of a named schedule.
type OperatorWord struct {
	Namespace  history.NamespaceID
	Schedule   string
	Occurrence history.OccurrenceID
	By, Reason string
}

// CancelOccurrence ends an occurrence, or asks for its end. The execution's name comes with OperatorExecution.
func (s *Store) CancelOccurrence(ctx context.Context, w OperatorWord) (OperatorOutcome, string, error) {
	type row struct{ Outcome, Execution string }
	rows, err := write[row](ctx, s, "cancel an occurrence", cancelOccurrenceSQL, args{
		"namespace": int32(w.Namespace), "name": w.Schedule, "occurrence": int64(w.Occurrence), "by": w.By, "reason": clip(w.Reason),
		"now": s.now(),
	})
	if err != nil {
		return "", "", err
	}
	return OperatorOutcome(rows[0].Outcome), rows[0].Execution, nil
}

// RetryOccurrence gives an occurrence that has ended without success another try, and rings those who run schedules.
func (s *Store) RetryOccurrence(ctx context.Context, w OperatorWord) (OperatorOutcome, error) {
	var rows []struct{ Outcome string }
	p := s.pipeline()
	p.begin()
	collect(p, retryOccurrenceSQL, args{
		"namespace": int32(w.Namespace), "name": w.Schedule, "occurrence": int64(w.Occurrence),
		"reason": clip("tried again by " + w.By + ": " + w.Reason), "now": s.now(),
	}, &rows)
	p.commit()
	p.ring(Bells{Schedules: true})
	if err := p.run(ctx); err != nil {
		return "", fmt.Errorf("store: retry an occurrence: %w", translateWrite(err))
	}
	return OperatorOutcome(rows[0].Outcome), nil
}

// CronDepths are the counts that health shows; each counts as far as 10,000.
type CronDepths struct {
	Due         int64         // occurrences that may start, and leases that are over
	OldestAge   time.Duration // of the oldest of them
	Buffered    int64         // occurrences that wait for their keys
	Pending     int64         // occurrences that have not started, without those
	DeadLetters int64
}

// CronDepths counts what waits.
func (s *Store) CronDepths(ctx context.Context) (CronDepths, error) {
	type row struct{ Due, OldestAge, Buffered, Pending, DeadLetters int64 }
	r, err := one[row](ctx, s, "read the depths of schedules", cronDepthsSQL, args{"window": listWindow, "now": s.now()})
	return CronDepths{r.Due, milliseconds(r.OldestAge), r.Buffered, r.Pending, r.DeadLetters}, err
}
