package decide

import (
	"math"
	"slices"
	"time"

	"github.com/orrery-dev/orrery/shared/definition"
	"github.com/orrery-dev/orrery/shared/expr"
	"github.com/orrery-dev/orrery/shared/history"
)

// OrreryUncertain is the error of a unit whose outcome nobody knows, where its document does not wait for an operator.
const OrreryUncertain = "Orrery.Uncertain"

// maxDelay bounds the pause before another try where the document does not.
const maxDelay = 99_999_999 * time.Second

// failure is what Retry and Catch look at.
type failure struct {
	code, cause string
	// heartbeat tells that a States.Timeout is also a States.HeartbeatTimeout.
	heartbeat bool
	// final forbids another try.
	final bool
}

// matches tells whether one of the names of a Retry or Catch means the failure.
func (f failure) matches(names []string) bool {
	if f.code == expr.StatesRuntime {
		return false
	}
	return slices.ContainsFunc(names, func(name string) bool {
		switch name {
		case f.code, expr.StatesALL:
			return true
		case expr.StatesTaskFailed:
			return f.code != expr.StatesTimeout
		case expr.StatesHeartbeatTimeout:
			return f.heartbeat
		}
		return false
	})
}

// retry finds out whether the failure is tried again: the number of the retrier, from 1, and when. The first retrier
// that matches decides, also when it is used up.
func (d *decider) retry(v *history.Visit, st *definition.State, f failure) (retrier int, at history.Time) {
	if f.final {
		return 0, 0
	}
	for i := range st.Retry {
		r := &st.Retry[i]
		if !f.matches(r.ErrorEquals) {
			continue
		}
		used := v.Retries(i + 1)
		if used >= r.MaxAttempts {
			return 0, 0
		}
		return i + 1, d.now.Add(d.pause(r, used))
	}
	return 0, 0
}

// pause is how long a retrier waits that has been used a number of times.
func (d *decider) pause(r *definition.Retrier, used int) time.Duration {
	most := maxDelay
	if r.MaxDelaySeconds > 0 {
		most = time.Duration(r.MaxDelaySeconds) * time.Second
	}
	delay := float64(r.IntervalSeconds) * math.Pow(r.BackoffRate, float64(used)) * float64(time.Second)
	if !(delay < float64(most)) {
		delay = float64(most)
	}
	if r.FullJitter {
		delay *= d.draw.Float64()
	}
	return time.Duration(delay)
}

// fail deals with the failure of a visit that has no open unit: of its expressions, or of a Fail state.
func (d *decider) fail(v *history.Visit, st *definition.State, f failure) {
	if retrier, at := d.retry(v, st, f); retrier > 0 {
		d.emit(history.Event{
			Type: history.EventAgain, Scope: v.Scope().ID(), Error: f.code, Cause: f.cause, Retrier: retrier, At: at,
		})
		return
	}
	d.unhandled(v, st, f)
}

// unhandled looks for a catcher, and passes the failure on where there is none.
func (d *decider) unhandled(v *history.Visit, st *definition.State, f failure) {
	for i := range st.Catch {
		c := &st.Catch[i]
		switch {
		case !f.matches(c.ErrorEquals):
			continue
		case c.Compensate && d.s.MayUndo(v.Scope()):
			d.touchTree(v)
			d.emit(d.failing(history.Event{Type: history.EventCaught, Scope: v.Scope().ID(), Index: i + 1}, f))
		default:
			d.caught(v, st, c, f)
		}
		return
	}
	d.propagate(v.Scope(), f)
}

// caught leaves a state whose failure is handled.
func (d *decider) caught(v *history.Visit, st *definition.State, c *definition.Catcher, f failure) {
	x, err := c.Leave(d.exprScope(d.placeOf(v), d.value(v.Input())), f.code, f.cause)
	if err != nil {
		d.propagate(v.Scope(), evaluation(v, err))
		return
	}
	output := d.text(x.Output)
	if len(output) > d.limits.PayloadBytes {
		d.propagate(v.Scope(), tooLarge(v.State()))
		return
	}
	if f, ok := d.tooManyVariables(v.Scope(), x.Assigned); ok {
		d.propagate(v.Scope(), f)
		return
	}
	d.exited(v, st, x, output, c.Next, false)
}

// failing writes a failure into an event, unless it is the one that was recorded last.
func (d *decider) failing(ev history.Event, f failure) history.Event {
	if code, cause := d.s.Failure(); code == f.code && cause == f.cause {
		ev.Last = true
		return ev
	}
	ev.Error, ev.Cause = f.code, f.cause
	return ev
}

// propagate hands the failure of a scope to what it is inside of.
func (d *decider) propagate(c *history.Scope, f failure) {
	p := c.Parent()
	if p == nil {
		d.failRoot(c, f)
		return
	}
	st := d.state(p)
	if st == nil {
		return
	}
	if p.Tolerates() {
		d.tolerate(c)
		return
	}
	d.touchTree(p)
	d.stopBranches(p, c)
	if st.ToleratedFailureCount != nil || st.ToleratedFailurePercentage != nil {
		f = overrun
	}
	d.broken(p, st, history.Event{Index: c.Index()}, f)
}

// broken deals with the failure of a state that is made of branches or iterations, all of which are stopped.
func (d *decider) broken(p *history.Visit, st *definition.State, ev history.Event, f failure) {
	ev.Scope = p.Scope().ID()
	ev = d.failing(ev, f)
	if retrier, at := d.retry(p, st, f); retrier > 0 {
		ev.Type, ev.Retrier, ev.At = history.EventAgain, retrier, at
		d.emit(ev)
		return
	}
	ev.Type = history.EventBroken
	d.emit(ev)
	d.unhandled(p, st, f)
}

// overrun is the failure of a Map of which more items failed than may.
var overrun = failure{
	code: expr.StatesExceedToleratedFailureThreshold, cause: "The specified tolerated failure threshold was exceeded",
}

// tolerate records that an iteration has failed and the Map goes on.
func (d *decider) tolerate(c *history.Scope) {
	if v := c.Visit(); v != nil {
		d.touchTree(v)
	}
	events := []history.Event{{Type: history.EventIterFailed, Scope: c.Parent().Scope().ID(), Index: c.Index(), Last: true}}
	for _, ev := range append(aborts(nil, c), events...) {
		d.emit(ev)
	}
}

// stopBranches records that a branch or iteration has failed, and that the others are stopped; failed is nil where the
// state fails by itself.
func (d *decider) stopBranches(p *history.Visit, failed *history.Scope) {
	var events []history.Event
	stop := func(c *history.Scope, iteration history.EventType) {
		if p.Kind() == history.MapState {
			events = append(events, history.Event{Type: iteration, Scope: p.Scope().ID(), Index: c.Index()})
		}
		events = aborts(events, c)
	}
	if failed != nil {
		stop(failed, history.EventIterFailed)
	}
	for _, c := range p.Branches() {
		if c != failed {
			stop(c, history.EventIterCut)
		}
	}
	for _, ev := range events {
		d.emit(ev)
	}
}

// aborts lists what tells that the states of a scope are stopped, from the outside in.
func aborts(events []history.Event, c *history.Scope) []history.Event {
	v := c.Visit()
	if v == nil || !v.HasWork() && (v.Kind() != history.TaskState || v.Phase() != history.PhaseFailed) {
		return events
	}
	events = append(events, history.Event{Type: history.EventAborted, Scope: c.ID()})
	for _, inner := range v.Branches() {
		if v.Kind() == history.MapState {
			events = append(events, history.Event{Type: history.EventIterCut, Scope: c.ID(), Index: inner.Index()})
		}
		events = aborts(events, inner)
	}
	return events
}

// end ends the execution without success: at once, or by unwinding it where there is something to undo or to clean up. The
// reason is empty where the status tells it.
func (d *decider) end(status history.Status, f failure, reason string) {
	ev := history.Event{Type: history.EventEnded, Scope: history.MainScope, Status: status}
	if d.m.Cleanup != nil || d.s.MayUndoAny() {
		ev.Type, ev.Name = history.EventUnwinding, reason
	}
	d.stop(d.failing(ev, f))
}

// terminate ends the execution at once, whatever there is to undo or to clean up, and its children with it.
func (d *decider) terminate(reason string) {
	d.terminating = true
	d.stop(history.Event{Type: history.EventEnded, Scope: history.MainScope, Status: history.Cancelled, Cause: reason})
}

// stop takes away what workers have in hand.
func (d *decider) stop(ev history.Event) {
	for _, v := range d.s.OpenVisits() {
		d.touch(v)
	}
	d.emit(ev)
}
