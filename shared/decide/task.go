package decide

import (
	"fmt"

	"github.com/orrery-dev/orrery/shared/definition"
	"github.com/orrery-dev/orrery/shared/expr"
	"github.com/orrery-dev/orrery/shared/history"
)

// noTimeout is the value of TimeoutSeconds that stands for none.
const noTimeout = 99_999_999

// schedule begins an attempt of a Task.
func (d *decider) schedule(v *history.Visit, st *definition.State) {
	if st.Resource.Token && d.world.Token == nil {
		d.stall()
		return
	}
	if st.Compensate != nil && d.s.Undos() >= maxUndos {
		d.fail(v, st, failure{code: OrreryLimitExceeded, cause: fmt.Sprintf("%d compensations are kept already.", maxUndos)})
		return
	}
	ev, effective, err := d.scheduled(v, st)
	if err != nil {
		d.fail(v, st, evaluation(v, err))
		return
	}
	if st.Resource.Kind == definition.ResourceChild {
		d.startChild(v, st, ev, effective)
		return
	}
	if err := checkRequest(st.Resource, effective); err != nil {
		d.fail(v, st, evaluation(v, err))
		return
	}
	if faults := misfit(d.contract(st.Resource).Input, effective); faults != nil {
		d.fail(v, st, failure{code: OrreryInvalidInput, cause: "The input of the task " + faults.Error() + "."})
		return
	}
	d.touch(v)
	if ev.Unit == history.TokenUnit {
		d.touchUnit(history.SubmitKey(v.Key()))
	}
	ev.Text = d.s.Shorten(&ev, d.text(effective))
	d.emit(ev)
	if ev.Unit == history.SignalUnit && d.s.HasSignal(ev.Name) {
		d.emit(history.Event{Type: history.EventTaken, Scope: ev.Scope})
	}
}

// scheduled evaluates what an attempt is given.
func (d *decider) scheduled(v *history.Visit, st *definition.State) (history.Event, expr.Value, error) {
	ev := history.Event{Type: history.EventScheduled, Scope: v.Scope().ID()}
	p := d.placeOf(v)
	if st.Resource.Token {
		p.token = d.token(v)
	}
	sc, entry, err := d.flow(p, st, v.Input())
	if err != nil {
		return ev, nil, err
	}
	inner := sc.With(entry.Input)
	if ev.Timeout, err = milliseconds(st.TimeoutSeconds, inner); err != nil {
		return ev, nil, err
	}
	if ev.Timeout == noTimeout*1000 {
		ev.Timeout = 0
	}
	if ev.Heartbeat, err = milliseconds(st.HeartbeatSeconds, inner); err != nil {
		return ev, nil, err
	}
	switch st.Resource.Kind {
	case definition.ResourceSignal:
		ev.Unit, ev.Name = history.SignalUnit, st.Resource.Signal
	case definition.ResourceWorker, definition.ResourceHTTP, definition.ResourceLambda:
		ev.Queue = int64(st.QueueTimeoutSeconds) * 1000
		if st.Resource.Token {
			ev.Unit = history.TokenUnit
		}
	case definition.ResourceChild:
	default:
		d.faultf("state %s: a resource of kind %s", st.Name, st.Resource.Kind)
	}
	if st.IdempotencyKey != nil && v.Attempt() == 0 {
		if ev.Key, err = st.IdempotencyKey.Eval(inner); err != nil {
			return ev, nil, err
		}
	}
	return ev, entry.Effective, nil
}

func milliseconds(field expr.Field[int64], sc *expr.Scope) (int64, error) {
	if field == nil {
		return 0, nil
	}
	n, err := field.Eval(sc)
	if err != nil {
		return 0, err
	}
	if n <= 0 || n > noTimeout {
		return 0, &expr.Error{Name: expr.StatesRuntime, Cause: "A time limit must be between 1 and 99999999 seconds."}
	}
	return n * 1000, nil
}

// dispatched records a claim of the current offer.
func (d *decider) dispatched(v *history.Visit, claim history.Claim) history.EventID {
	ev := history.Event{
		Type: history.EventDispatched, Scope: v.Scope().ID(), Worker: claim.Worker, Session: claim.Session,
	}
	if claim.At != d.now {
		ev.At = claim.At
	}
	return d.emit(ev)
}

// failed is a visit whose unit failed and is not tried again.
type failed struct {
	v  *history.Visit
	st *definition.State
	f  failure
}

// failUnit records that an attempt failed. Where it is not tried again, settle deals with it: what fails at the same time
// is recorded first.
func (d *decider) failUnit(v *history.Visit, st *definition.State, ev history.Event, f failure) history.EventID {
	ev.Retrier, ev.At = d.retry(v, st, f)
	ev.Scope, ev.Error, ev.Cause = v.Scope().ID(), f.code, f.cause
	if ev.Retrier == 0 {
		d.unsettled = append(d.unsettled, failed{v, st, f})
	}
	return d.emit(ev)
}
