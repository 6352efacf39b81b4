package frontend

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/orrery-dev/orrery/shared/auth"
	"github.com/orrery-dev/orrery/shared/cron"
	"github.com/orrery-dev/orrery/shared/history"
	"github.com/orrery-dev/orrery/shared/schedule"
	"github.com/orrery-dev/orrery/shared/store"
	"github.com/orrery-dev/orrery/shared/wire"
)

// Every change of a schedule is one transaction on what was read before, and repeating it has no second effect. What is due
// by then is planned in it as the schedule was, so that no instant is lost, and none is decided by a definition or a pause
// that comes after it.

const (
	// changeTries bounds the tries of a change that others come between, changePause the first pause between them.
	changeTries = 10
	changePause = 5 * time.Millisecond
	// mostPlans bounds the plans before a change.
	mostPlans = 50
)

// standing is a schedule as a change finds it.
type standing struct {
	store.Schedule
	definition *cron.Definition
	now        time.Time
	due        *store.Planned // what is due; nil for nothing
}

// edit is the change of a schedule that stays as it is otherwise, with what is due planned before it.
func (s *standing) edit(kind, detail string) *store.ScheduleEdit {
	e := &store.ScheduleEdit{Before: s.Schedule, After: s.Schedule, Planned: s.due, Failures: true, Event: store.ScheduleEvent{Kind: kind, Detail: detail}}
	if s.due != nil {
		e.After.Cursor, e.After.Next, e.After.Wake = s.due.Plan.Cursor, s.due.Plan.Next, s.due.Plan.Wake
	}
	return e
}

// change makes a change on a schedule as it stands; how gives it, nil where there is nothing to change.
func (f *Frontend) change(
	ctx context.Context, c auth.Call, id string, how func(*standing) (*store.ScheduleEdit, error),
) (wire.ScheduleDetail, error) {
	ns, err := f.namespace(ctx, c)
	if err != nil {
		return wire.ScheduleDetail{}, err
	}
	for try := 1; ; try++ {
		s, err := f.standing(ctx, ns, id)
		if err != nil {
			return wire.ScheduleDetail{}, err
		}
		e, err := how(s)
		if err != nil {
			return wire.ScheduleDetail{}, err
		}
		if e == nil {
			return detailOf(s.Schedule)
		}
		err = f.store.EditSchedule(ctx, *e)
		if err == nil {
			return f.scheduleDetail(ctx, ns, id)
		}
		if !passing(err) || try == changeTries || !pause(ctx, time.Duration(try)*changePause) {
			return wire.ScheduleDetail{}, failed("change schedule "+id, err)
		}
	}
}

// passing tells whether another look and another try may do.
func passing(err error) bool {
	return errors.Is(err, store.ErrChanged) || errors.Is(err, store.ErrConflict) || errors.Is(err, store.ErrOutcomeUnknown)
}

// orBusy is the error of tries that others came between.
func orBusy(err error) error {
	if err == nil {
		return store.ErrConflict
	}
	return err
}

// standing reads a schedule and plans what is due. What does not fit into one plan, and a plan that ends the schedule, are
// written here: the planner would do the same.
func (f *Frontend) standing(ctx context.Context, ns history.NamespaceID, id string) (*standing, error) {
	for range mostPlans {
		row, now, err := f.store.Schedule(ctx, ns, id)
		if err != nil {
			return nil, notFound(err, noSchedule, id)
		}
		s := &standing{Schedule: row, now: now}
		if s.definition, err = readDefinition(&s.Schedule); err != nil {
			return nil, err
		}
		if s.State != store.ScheduleActive {
			return s, nil
		}
		p := s.definition.PlanUpTo(&s.Schedule, now)
		if !decides(p.Plan) {
			return s, nil
		}
		if !p.Plan.More && !p.Plan.Over {
			s.due = &p
			return s, nil
		}
		if _, err := f.store.Plan(ctx, []store.Planned{p}); err != nil && !passing(err) {
			return nil, failed("plan schedule "+id, err)
		}
	}
	return nil, failed("plan schedule "+id, store.ErrConflict)
}

// ReplaceSchedule gives a schedule another definition. While its timing stays the same, no instant is lost; with another
// timing only instants after now count.
func (f *Frontend) ReplaceSchedule(
	ctx context.Context, c auth.Call, id string, opts wire.ReplaceQuery, q wire.ScheduleDefinition,
) (wire.ScheduleDetail, error) {
	if q.ID != "" && q.ID != id {
		return wire.ScheduleDetail{}, wire.Invalid(wire.Detail{Field: "id", Rule: "same", Message: "must be the id of the path, or left out"})
	}
	text, err := document(q)
	if err != nil {
		return wire.ScheduleDetail{}, err
	}
	var warnings []wire.Detail
	d, err := f.change(ctx, c, id, func(s *standing) (e *store.ScheduleEdit, err error) {
		switch {
		case s.State == store.ScheduleArchived:
			return nil, archived(id)
		case bytes.Equal(text, s.Document):
			return nil, nil
		case opts.Version != 0 && opts.Version != s.Version:
			return nil, wire.Errorf(wire.ScheduleChanged, "the schedule %q has version %d of its definition, not %d", id, s.Version, opts.Version)
		}
		e, warnings, err = f.replacement(s, q, by(c))
		return e, err
	})
	d.Warnings = warnings
	return d, err
}

func (f *Frontend) replacement(s *standing, q wire.ScheduleDefinition, detail string) (*store.ScheduleEdit, []wire.Detail, error) {
	d, warnings, err := cron.Check(s.Name, q, s.now, f.maxPayload())
	if err != nil {
		return nil, nil, err
	}
	e := s.edit("replaced", fmt.Sprintf("version %d, %s", s.Version+1, detail))
	after := &e.After
	if after.Document, err = document(q); err != nil {
		return nil, nil, err
	}
	after.Version++
	defined(after, d, q)
	after.Cursor = schedule.Revise(after.Cursor, s.definition.Timing, d.Timing, s.now)
	if after.State == store.SchedulePaused {
		return e, warnings, nil
	}
	after.State = store.ScheduleActive
	wake(after, d, s.now)
	return e, warnings, nil
}

// PauseSchedule stops a schedule from making occurrences. Those that are there go on.
func (f *Frontend) PauseSchedule(ctx context.Context, c auth.Call, id string, q wire.PauseRequest) (wire.ScheduleDetail, error) {
	return f.change(ctx, c, id, func(s *standing) (*store.ScheduleEdit, error) {
		switch s.State {
		case store.SchedulePaused:
			return nil, nil
		case store.ScheduleActive:
			e := s.edit("paused", reasoned(q.Reason, c))
			e.After.State, e.After.Next, e.After.Wake = store.SchedulePaused, time.Time{}, time.Time{}
			if e.After.PauseReason = q.Reason; q.Reason == "" {
				e.After.PauseReason = "paused " + by(c)
			}
			return e, nil
		}
		return nil, wrongState(id, s.State)
	})
}

// ResumeSchedule ends a pause. Nothing of it counts as missed.
func (f *Frontend) ResumeSchedule(ctx context.Context, c auth.Call, id string, q wire.ResumeRequest) (wire.ScheduleDetail, error) {
	return f.change(ctx, c, id, func(s *standing) (*store.ScheduleEdit, error) {
		switch s.State {
		case store.ScheduleActive:
			return nil, nil
		case store.SchedulePaused:
			return resumption(s, schedule.Resume(q.Instants), by(c)), nil
		}
		return nil, wrongState(id, s.State)
	})
}

// resumption sets the schedule going at now, and has the plan of the pause's end say when it goes on.
func resumption(s *standing, how schedule.Resume, detail string) *store.ScheduleEdit {
	if how == "" {
		how = s.definition.OnResume
	}
	e := s.edit("resumed", string(how)+", "+detail)
	e.Failures = false
	e.After.State, e.After.PauseReason, e.After.Wake = store.ScheduleActive, "", s.now
	p := s.definition.PlanResume(&e.After, s.now, how)
	e.Resumed = &p
	return e
}

// ArchiveSchedule ends a schedule for ever: what has not begun does not, what runs goes on.
func (f *Frontend) ArchiveSchedule(ctx context.Context, c auth.Call, id string, q wire.ArchiveRequest) (wire.ScheduleDetail, error) {
	return f.change(ctx, c, id, func(s *standing) (*store.ScheduleEdit, error) {
		if s.State == store.ScheduleArchived {
			return nil, nil
		}
		e := s.edit("archived", reasoned(q.Reason, c))
		e.After.State, e.After.Next, e.After.Wake, e.After.PauseReason = store.ScheduleArchived, time.Time{}, time.Time{}, ""
		return e, nil
	})
}

func reasoned(reason string, c auth.Call) string {
	if reason == "" {
		return by(c)
	}
	return reason + ", " + by(c)
}

func archived(id string) error { return wrongState(id, store.ScheduleArchived) }

func wrongState(id string, s store.ScheduleState) error {
	return wire.Errorf(wire.ScheduleState, "the schedule %q is %s", id, s)
}
