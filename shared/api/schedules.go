package api

import (
	"context"

	"github.com/orrery-dev/orrery/shared/auth"
	"github.com/orrery-dev/orrery/shared/wire"
)

// in tells where a route has what it takes besides its path.
type in int

const (
	inQuery in = iota
	inBody
)

// ofSchedule makes the endpoint of a method that takes the id of a schedule and a query or a body, and answers 200.
func ofSchedule[Q, A any](where in, call func(Schedules, context.Context, auth.Call, string, Q) (A, error)) endpoint {
	return on(schedules, func(s Schedules, r *request) (answer, error) {
		var (
			p           wire.SchedulePath
			q           Q
			query, body any
		)
		if where == inQuery {
			query = &q
		} else {
			body = &q
		}
		if err := r.read(&p, query, body); err != nil {
			return answer{}, err
		}
		a, err := call(s, r.Context(), r.call, p.ID, q)
		return ok(a), err
	})
}

// ofOccurrence makes the endpoint of an operator's word on an occurrence.
func ofOccurrence(
	call func(Schedules, context.Context, auth.Call, string, int64, wire.OccurrenceRequest) (wire.OccurrenceResponse, error),
) endpoint {
	return on(schedules, func(s Schedules, r *request) (answer, error) {
		var (
			p wire.OccurrencePath
			q wire.OccurrenceRequest
		)
		if err := r.read(&p, nil, &q); err != nil {
			return answer{}, err
		}
		a, err := call(s, r.Context(), r.call, p.ID, p.Occurrence, q)
		return acceptedIf(!a.Confirmed, a), err
	})
}

func createSchedule(s Schedules, r *request) (answer, error) {
	var q wire.ScheduleDefinition
	if err := r.read(nil, nil, &q); err != nil {
		return answer{}, err
	}
	a, created, err := s.CreateSchedule(r.Context(), r.call, q)
	return createdIf(created, a), err
}

func replaceSchedule(s Schedules, r *request) (answer, error) {
	var (
		p    wire.SchedulePath
		opts wire.ReplaceQuery
		q    wire.ScheduleDefinition
	)
	if err := r.read(&p, &opts, &q); err != nil {
		return answer{}, err
	}
	a, err := s.ReplaceSchedule(r.Context(), r.call, p.ID, opts, q)
	return ok(a), err
}

func getSchedule(s Schedules, r *request) (answer, error) {
	var p wire.SchedulePath
	if err := r.read(&p, nil, nil); err != nil {
		return answer{}, err
	}
	a, err := s.GetSchedule(r.Context(), r.call, p.ID)
	return ok(a), err
}

func trigger(s Schedules, r *request) (answer, error) {
	var (
		p wire.SchedulePath
		q wire.TriggerRequest
	)
	if err := r.read(&p, nil, &q); err != nil {
		return answer{}, err
	}
	a, created, err := s.TriggerSchedule(r.Context(), r.call, p.ID, q)
	return createdIf(created, a), err
}

func getOccurrence(s Schedules, r *request) (answer, error) {
	var p wire.OccurrencePath
	if err := r.read(&p, nil, nil); err != nil {
		return answer{}, err
	}
	a, err := s.GetOccurrence(r.Context(), r.call, p.ID, p.Occurrence)
	return ok(a), err
}
