package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/orrery-dev/orrery/shared/history"
	"github.com/orrery-dev/orrery/shared/schedule"
)

// ScheduleState is how a schedule stands.
type ScheduleState string

const (
	ScheduleActive    ScheduleState = "active"
	SchedulePaused    ScheduleState = "paused"
	ScheduleCompleted ScheduleState = "completed" // there will be no more instants
	ScheduleArchived  ScheduleState = "archived"
)

// Schedule is a schedule's row with its newest definition.
type Schedule struct {
	ID        history.ScheduleID
	Namespace history.NamespaceID
	Name      string // its id for clients
	Title     string
	Version   int // of the definition
	Level     int // what a process must know to read it
	State     ScheduleState
	Document  []byte // JSON

	// Cursor is how far it has been planned. Next is the instant that is planned for Wake, found with a time zone database of
	// the version Zones; the times are zero for none.
	Cursor     schedule.Cursor
	Next, Wake time.Time
	Zones      string

	// What statements need of the definition. Key is empty where runs may overlap.
	Key                  string
	Slots                int
	Direct               bool
	Timeout              time.Duration // of one run
	Retention            time.Duration // of occurrences that have ended
	Retries              int
	Backoff, BackoffMost time.Duration
	PauseAfter           int // failures in a row, 0 for never

	Failures             int // in a row
	CreatedAt, UpdatedAt history.Time
	PausedAt             history.Time
	PauseReason          string
}

// ScheduleEvent is one thing that has happened to a schedule.
type ScheduleEvent struct {
	At     history.Time
	Kind   string // created, replaced, paused, resumed, completed, archived, replanned or overrun
	Detail string
}

var (
	scheduleSQL          = query("schedule")
	schedulesSQL         = query("schedules")
	scheduleDocumentsSQL = query("schedule_documents")
	scheduleEventsSQL    = query("schedule_events")
	createScheduleSQL    = query("create_schedule")
	editScheduleSQL      = query("edit_schedule")
	shareKeySQL          = query("share_key")
	wantKeySQL           = query("want_key")
	cancelPendingSQL     = query("cancel_pending")
)

type scheduleRow struct {
	Now           pgtype.Timestamptz
	ID            int64
	Namespace     *int32
	Name          *string
	Title         *string
	Version       *int32
	Level         *int32
	State         *string
	CursorAt      pgtype.Timestamptz
	Runs          *int64
	CaughtUp      *int32
	NextInstant   pgtype.Timestamptz
	NextAt        pgtype.Timestamptz
	Zones         *string
	Key           *string
	Slots         *int16
	Direct        *bool
	TimeoutMs     *int64
	RetentionMs   *int64
	Retries       *int32
	BackoffMs     *int64
	BackoffMostMs *int64
	PauseAfter    *int32
	Failures      *int32
	CreatedAt     pgtype.Timestamptz
	UpdatedAt     pgtype.Timestamptz
	PausedAt      pgtype.Timestamptz
	PauseReason   *string
	Document      *string
}

func (r *scheduleRow) schedule() Schedule {
	return Schedule{
		ID: history.ScheduleID(r.ID), Namespace: history.NamespaceID(value(r.Namespace)), Name: value(r.Name), Title: value(r.Title),
		Version: int(value(r.Version)), Level: int(value(r.Level)), State: ScheduleState(value(r.State)), Document: bytes(r.Document),
		Cursor: schedule.Cursor{At: r.CursorAt.Time, Runs: value(r.Runs), CaughtUp: int(value(r.CaughtUp))},
		Next:   r.NextInstant.Time, Wake: r.NextAt.Time, Zones: value(r.Zones),
		Key: value(r.Key), Slots: int(value(r.Slots)), Direct: value(r.Direct), Timeout: milliseconds(value(r.TimeoutMs)),
		Retention: milliseconds(value(r.RetentionMs)), Retries: int(value(r.Retries)), Backoff: milliseconds(value(r.BackoffMs)),
		BackoffMost: milliseconds(value(r.BackoffMostMs)), PauseAfter: int(value(r.PauseAfter)), Failures: int(value(r.Failures)),
		CreatedAt: instant(r.CreatedAt), UpdatedAt: instant(r.UpdatedAt), PausedAt: instant(r.PausedAt),
		PauseReason: value(r.PauseReason),
	}
}

// Schedule reads one by its name, with the database's time, to the microsecond. Where there is none, the time comes with
// ErrNotFound.
func (s *Store) Schedule(ctx context.Context, ns history.NamespaceID, name string) (Schedule, time.Time, error) {
	r, err := one[scheduleRow](ctx, s, "read schedule "+name, scheduleSQL, args{"namespace": int32(ns), "name": name, "now": s.now()})
	if err == nil && r.ID == 0 {
		err = fmt.Errorf("store: read schedule %s: %w", name, ErrNotFound)
	}
	return r.schedule(), r.Now.Time, err
}

// ScheduleQuery lists schedules by name. Without a state the archived ones are left out.
type ScheduleQuery struct {
	Namespace history.NamespaceID
	State     ScheduleState
	After     string // only names that are greater
	Limit     int
}

// Schedules reads one page.
func (s *Store) Schedules(ctx context.Context, q ScheduleQuery) ([]Schedule, error) {
	rows, err := list[scheduleRow](ctx, s, "list schedules", schedulesSQL, args{
		"namespace": int32(q.Namespace), "after": q.After, "state": string(q.State), "limit": q.Limit, "now": s.now(),
	})
	var out []Schedule
	for i := range rows {
		out = append(out, rows[i].schedule())
	}
	return out, err
}

// ScheduleDocument is the newest definition of a schedule.
type ScheduleDocument struct {
	ID        history.ScheduleID
	Version   int
	Namespace history.NamespaceID
	Name      string
	Document  []byte
}

// ScheduleDocuments reads the newest definitions of schedules; those that do not exist are missing.
func (s *Store) ScheduleDocuments(ctx context.Context, ids []history.ScheduleID) ([]ScheduleDocument, error) {
	type row struct {
		ID        int64
		Version   int32
		Name      string
		Namespace int32
		Document  string
	}
	rows, err := list[row](ctx, s, "read definitions of schedules", scheduleDocumentsSQL, args{"schedules": int64s(ids)})
	var out []ScheduleDocument
	for _, r := range rows {
		out = append(out, ScheduleDocument{
			ID: history.ScheduleID(r.ID), Version: int(r.Version), Namespace: history.NamespaceID(r.Namespace), Name: r.Name,
			Document: []byte(r.Document),
		})
	}
	return out, err
}

// ScheduleEvents lists what has happened to a schedule, newest first.
func (s *Store) ScheduleEvents(ctx context.Context, id history.ScheduleID, limit int) ([]ScheduleEvent, error) {
	type row struct {
		At     pgtype.Timestamptz
		Kind   string
		Detail string
	}
	rows, err := list[row](ctx, s, "read the events of a schedule", scheduleEventsSQL, args{"schedule": int64(id), "limit": limit})
	var out []ScheduleEvent
	for _, r := range rows {
		out = append(out, ScheduleEvent{instant(r.At), r.Kind, r.Detail})
	}
	return out, err
}

// columns are what both statements write of a schedule.
func (x *Schedule) columns(s *Store) args {
	return args{
		"namespace": int32(x.Namespace), "name": x.Name, "title": x.Title, "level": int32(x.Level), "next": timePointer(x.Next),
		"wake": timePointer(x.Wake), "zones": x.Zones, "key": optional(x.Key), "direct": x.Direct,
		"timeout": x.Timeout.Milliseconds(), "retention": x.Retention.Milliseconds(), "retries": int32(x.Retries),
		"backoff": x.Backoff.Milliseconds(), "backoff_most": x.BackoffMost.Milliseconds(), "pause_after": int32(x.PauseAfter),
		"document": string(x.Document), "now": s.now(),
	}
}

func timePointer(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// CreateSchedule makes a schedule, and rings those who run schedules. It is false where the name is taken. ErrKeySlots tells
// that schedules share its key that say another number of slots. by is told to people.
func (s *Store) CreateSchedule(ctx context.Context, x Schedule, by string) (created bool, err error) {
	var rows []struct{ ID int64 }
	p := s.pipeline()
	p.begin()
	a := x.columns(s)
	a["cursor"], a["state"], a["detail"] = x.Cursor.At, string(x.State), by
	collect(p, createScheduleSQL, a, &rows)
	p.shareKey(x)
	p.commit()
	p.ring(Bells{Schedules: true})
	if err := p.run(ctx); err != nil {
		return false, fmt.Errorf("store: create schedule %s: %w", x.Name, scheduleError(err))
	}
	return len(rows) == 1, nil
}

// shareKey adds the statement that makes the key of a schedule.
func (p *pipeline) shareKey(x Schedule) {
	if x.Key != "" {
		p.exec(shareKeySQL, args{"namespace": int32(x.Namespace), "name": x.Name, "key": x.Key, "slots": int16(x.Slots)})
	}
}

// ScheduleEdit changes a schedule in one transaction.
type ScheduleEdit struct {
	// Before is the schedule as it was read, and After as it is to be.
	Before, After Schedule
	// Planned is what was due before the change, planned as Before says: it moves the cursor of Before. Resumed is what is due by
	// the change, planned as After says. Both are nil for nothing.
	Planned, Resumed *Planned
	// Failures keeps the count of failures in a row.
	Failures bool
	Event    ScheduleEvent // At is not used
}

// EditSchedule makes the change, and rings those who run schedules. ErrChanged tells that the schedule is not what Before says
// any more: read it and try again. ErrKeySlots is as for CreateSchedule.
func (s *Store) EditSchedule(ctx context.Context, e ScheduleEdit) error {
	known := e.Before
	p := s.pipeline()
	p.begin()
	if e.Planned != nil {
		p.plan([]Planned{*e.Planned}, true)
		known.Cursor.At = e.Planned.Plan.Cursor.At
		if e.Planned.Plan.Over {
			known.State = ScheduleCompleted
		}
	}
	a := e.After.columns(s)
	a["schedule"], a["version"], a["cursor"], a["state"] = int64(known.ID), int32(known.Version), known.Cursor.At, string(known.State)
	a["new_version"], a["new_cursor"], a["new_state"] = int32(e.After.Version), e.After.Cursor.At, string(e.After.State)
	a["runs"], a["caught_up"], a["keep_failures"] = e.After.Cursor.Runs, int32(e.After.Cursor.CaughtUp), e.Failures
	a["pause_reason"], a["event"], a["detail"] = optional(e.After.PauseReason), e.Event.Kind, e.Event.Detail
	delete(a, "namespace")
	delete(a, "name")
	p.exec(editScheduleSQL, a)
	if e.After.State == ScheduleArchived {
		p.exec(cancelPendingSQL, args{"schedule": int64(known.ID), "now": s.now()})
	} else {
		p.shareKey(e.After)
	}
	if e.Resumed != nil {
		p.plan([]Planned{*e.Resumed}, true)
	}
	if e.Before.State == SchedulePaused && e.After.Key != "" {
		p.exec(wantKeySQL, args{"namespace": int32(e.After.Namespace), "key": e.After.Key})
	}
	p.commit()
	p.ring(Bells{Schedules: true})
	if err := p.run(ctx); err != nil {
		return fmt.Errorf("store: change schedule %s: %w", e.Before.Name, scheduleError(err))
	}
	return nil
}

// scheduleError is translateWrite for what checks say about schedules.
func scheduleError(err error) error {
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		switch pg.Code {
		case "OR006":
			return fmt.Errorf("%w: %w", ErrChanged, err)
		case "OR011":
			return fmt.Errorf("%w: %s", ErrKeySlots, pg.Detail)
		}
	}
	return translateWrite(err)
}
