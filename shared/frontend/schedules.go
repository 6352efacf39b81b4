package frontend

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/orrery-dev/orrery/shared/auth"
	"github.com/orrery-dev/orrery/shared/cron"
	"github.com/orrery-dev/orrery/shared/history"
	"github.com/orrery-dev/orrery/shared/schedule"
	"github.com/orrery-dev/orrery/shared/store"
	"github.com/orrery-dev/orrery/shared/wire"
)

// CreateSchedule makes a schedule: its first instant is after now. The same id and definition answer the schedule that is
// there.
func (f *Frontend) CreateSchedule(ctx context.Context, c auth.Call, q wire.ScheduleDefinition) (wire.ScheduleDetail, bool, error) {
	ns, err := f.namespace(ctx, c)
	if err != nil {
		return wire.ScheduleDetail{}, false, err
	}
	name := scheduleName(c, q)
	for try := 1; ; try++ {
		old, now, err := f.store.Schedule(ctx, ns, name)
		if err == nil {
			d, err := sameSchedule(old, q)
			return d, false, err
		}
		if !errors.Is(err, store.ErrNotFound) {
			return wire.ScheduleDetail{}, false, failed("read schedule "+name, err)
		}
		x, warnings, err := f.newSchedule(name, q, now)
		if err != nil {
			return wire.ScheduleDetail{}, false, err
		}
		x.Namespace = ns
		created, err := f.store.CreateSchedule(ctx, x, by(c))
		if err == nil && created {
			d, err := f.scheduleDetail(ctx, ns, name)
			d.Warnings = warnings
			return d, true, err
		}
		// Where the name was taken meanwhile, or the outcome is unknown, the next look tells.
		if err != nil && !passing(err) || try == changeTries || !pause(ctx, time.Duration(try)*changePause) {
			return wire.ScheduleDetail{}, false, failed("create schedule "+name, orBusy(err))
		}
	}
}

// scheduleName is the id that was asked for; else one that follows from the idempotency key; else a new one.
func scheduleName(c auth.Call, q wire.ScheduleDefinition) string {
	switch {
	case q.ID != "":
		return q.ID
	case c.IdempotencyKey != "":
		sum := sha256.Sum256([]byte(c.IdempotencyKey))
		return "key-" + hex.EncodeToString(sum[:16])
	}
	return uuid.Must(uuid.NewV7()).String()
}

// sameSchedule answers a schedule that is there, if it is the one that was asked for.
func sameSchedule(old store.Schedule, q wire.ScheduleDefinition) (wire.ScheduleDetail, error) {
	text, err := document(q)
	if err != nil {
		return wire.ScheduleDetail{}, err
	}
	if old.State == store.ScheduleArchived || !bytes.Equal(text, old.Document) {
		return wire.ScheduleDetail{}, wire.Errorf(wire.ScheduleExists, "the id %q is taken by a schedule that is archived, or has another definition", old.Name)
	}
	return detailOf(old)
}

// newSchedule is the row of a definition that is accepted at now.
func (f *Frontend) newSchedule(name string, q wire.ScheduleDefinition, now time.Time) (store.Schedule, []wire.Detail, error) {
	d, warnings, err := cron.Check(name, q, now, f.maxPayload())
	if err != nil {
		return store.Schedule{}, nil, err
	}
	x := store.Schedule{Name: name, Version: 1, State: store.ScheduleActive, Cursor: schedule.Begin(now)}
	if x.Document, err = document(q); err != nil {
		return store.Schedule{}, nil, err
	}
	defined(&x, d, q)
	wake(&x, d, now)
	return x, warnings, nil
}

// defined fills in what follows from a definition alone.
func defined(x *store.Schedule, d *cron.Definition, q wire.ScheduleDefinition) {
	d.Row(x)
	if x.Title = q.Title; x.Title == "" {
		x.Title = x.Name
	}
}

// wake says when a schedule is to be planned again. What is due by its cursor is left to the planner, at once.
func wake(x *store.Schedule, d *cron.Definition, now time.Time) {
	p := d.PlanUpTo(x, now).Plan
	x.Next, x.Wake, x.Zones = p.Next, p.Wake, p.Zones
	switch {
	case decides(p):
		x.Next, x.Wake = time.Time{}, now
	case p.Over:
		x.State = store.ScheduleCompleted
	}
}

// decides tells whether a plan says something about any instant.
func decides(p schedule.Plan) bool { return len(p.Occurrences) > 0 || p.Skipped.Count > 0 }

// document is how a definition is kept. It is the same for equal definitions.
func document(q wire.ScheduleDefinition) ([]byte, error) {
	q.ID = ""
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(q); err != nil {
		return nil, fmt.Errorf("frontend: encode a definition: %w", err)
	}
	return bytes.TrimSpace(b.Bytes()), nil
}

// by tells people who has asked for something.
func by(c auth.Call) string {
	return fmt.Sprintf("by %s, request %s", principal(c), c.RequestID)
}

func principal(c auth.Call) string {
	if c.Principal.Name == "" {
		return "anonymous"
	}
	return c.Principal.Name
}

func (f *Frontend) maxPayload() int {
	if f.options.MaxPayload == 0 {
		return wire.MaxPayload
	}
	return f.options.MaxPayload
}

// GetSchedule reads a schedule with its definition.
func (f *Frontend) GetSchedule(ctx context.Context, c auth.Call, id string) (wire.ScheduleDetail, error) {
	ns, err := f.namespace(ctx, c)
	if err != nil {
		return wire.ScheduleDetail{}, err
	}
	return f.scheduleDetail(ctx, ns, id)
}

func (f *Frontend) scheduleDetail(ctx context.Context, ns history.NamespaceID, name string) (wire.ScheduleDetail, error) {
	s, _, err := f.store.Schedule(ctx, ns, name)
	if err != nil {
		return wire.ScheduleDetail{}, notFound(err, noSchedule, name)
	}
	return detailOf(s)
}

// ListSchedules lists schedules by id; the cursor is the last id of the page before.
func (f *Frontend) ListSchedules(ctx context.Context, c auth.Call, q wire.ScheduleQuery) (wire.ScheduleList, error) {
	ns, err := f.namespace(ctx, c)
	if err != nil {
		return wire.ScheduleList{}, err
	}
	list, err := f.store.Schedules(ctx, store.ScheduleQuery{
		Namespace: ns, State: store.ScheduleState(q.Status), After: q.Cursor, Limit: q.Limit + 1,
	})
	if err != nil {
		return wire.ScheduleList{}, failed("list schedules", err)
	}
	a := wire.ScheduleList{Schedules: []wire.Schedule{}}
	if len(list) > q.Limit {
		list = list[:q.Limit]
		a.Next = list[q.Limit-1].Name
	}
	for _, s := range list {
		a.Schedules = append(a.Schedules, scheduleOf(s))
	}
	return a, nil
}

// ScheduleEvents lists what has happened to a schedule, newest first.
func (f *Frontend) ScheduleEvents(ctx context.Context, c auth.Call, id string, q wire.EventQuery) (wire.ScheduleEventList, error) {
	s, err := f.schedule(ctx, c, id)
	if err != nil {
		return wire.ScheduleEventList{}, err
	}
	list, err := f.store.ScheduleEvents(ctx, s.ID, q.Limit)
	if err != nil {
		return wire.ScheduleEventList{}, failed("read the events of schedule "+id, err)
	}
	a := wire.ScheduleEventList{Events: make([]wire.ScheduleEvent, len(list))}
	for i, e := range list {
		a.Events[i] = wire.ScheduleEvent{At: e.At.Time(), Kind: e.Kind, Detail: e.Detail}
	}
	return a, nil
}

// schedule reads the row of a schedule.
func (f *Frontend) schedule(ctx context.Context, c auth.Call, id string) (store.Schedule, error) {
	ns, err := f.namespace(ctx, c)
	if err != nil {
		return store.Schedule{}, err
	}
	s, _, err := f.store.Schedule(ctx, ns, id)
	if err != nil {
		return store.Schedule{}, notFound(err, noSchedule, id)
	}
	return s, nil
}

// PreviewDefinition shows the instants of a definition that is not stored.
func (f *Frontend) PreviewDefinition(ctx context.Context, c auth.Call, q wire.PreviewRequest) (wire.Preview, error) {
	ns, err := f.namespace(ctx, c)
	if err != nil {
		return wire.Preview{}, err
	}
	name := q.Definition.ID
	if name == "" {
		name = "preview"
	}
	_, now, err := f.store.Schedule(ctx, ns, name)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return wire.Preview{}, failed("read the time", err)
	}
	d, warnings, err := cron.Check(name, q.Definition, now, f.maxPayload())
	if err != nil {
		return wire.Preview{}, err
	}
	a := previewOf(d, q.After, now, q.Count)
	a.Warnings = warnings
	return a, nil
}

// PreviewSchedule shows the instants of a schedule, whatever its status.
func (f *Frontend) PreviewSchedule(ctx context.Context, c auth.Call, id string, q wire.PreviewQuery) (wire.Preview, error) {
	ns, err := f.namespace(ctx, c)
	if err != nil {
		return wire.Preview{}, err
	}
	s, now, err := f.store.Schedule(ctx, ns, id)
	if err != nil {
		return wire.Preview{}, notFound(err, noSchedule, id)
	}
	d, err := readDefinition(&s)
	if err != nil {
		return wire.Preview{}, err
	}
	return previewOf(d, q.After, now, q.Count), nil
}

func previewOf(d *cron.Definition, after, now time.Time, count int) wire.Preview {
	if after.IsZero() {
		after = now
	}
	a := wire.Preview{Instants: []wire.PreviewInstant{}}
	for _, p := range d.Schedule.Preview(after, count) {
		zone, _ := p.Local.Zone()
		a.Instants = append(a.Instants, wire.PreviewInstant{
			Instant: p.Instant, Local: p.Local.Format("2006-01-02T15:04:05-07:00"), Zone: zone, DueAt: p.Due, Mark: string(p.Mark), Note: p.Note,
		})
	}
	return a
}

// readDefinition reads what a schedule's row has. One that a newer version has written is for a newer process.
func readDefinition(s *store.Schedule) (*cron.Definition, error) {
	if s.Level > cron.Level {
		return nil, wire.Errorf(wire.Unavailable, "the schedule %q was defined with a newer version of the server", s.Name)
	}
	return cron.Read(s.Name, s.Document)
}

func scheduleOf(s store.Schedule) wire.Schedule {
	return wire.Schedule{
		ID: s.Name, Title: s.Title, Status: wire.ScheduleStatus(s.State), Version: s.Version, NextAt: wireTime(s.Next),
		Runs: s.Cursor.Runs, Failures: s.Failures, PausedAt: s.PausedAt.Time(), PauseReason: s.PauseReason,
		CreatedAt: s.CreatedAt.Time(), UpdatedAt: s.UpdatedAt.Time(),
	}
}

func detailOf(s store.Schedule) (wire.ScheduleDetail, error) {
	d := wire.ScheduleDetail{Schedule: scheduleOf(s), PlannedTo: wireTime(s.Cursor.At), Zones: s.Zones}
	if err := json.Unmarshal(s.Document, &d.Definition); err != nil {
		return d, fmt.Errorf("frontend: definition of schedule %s: %w", s.Name, err)
	}
	d.Definition.ID = s.Name
	return d, nil
}

// wireTime is a time as the API shows it, to the millisecond; zero stays zero.
func wireTime(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return t.UTC().Truncate(time.Millisecond)
}
