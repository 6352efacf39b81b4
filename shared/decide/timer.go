package decide

import (
	"github.com/orrery-dev/orrery/shared/definition"
	"github.com/orrery-dev/orrery/shared/expr"
	"github.com/orrery-dev/orrery/shared/history"
)

// timer does what is due. What a full turn leaves is still due in the next one.
func (d *decider) timer(cmd *history.Command) answer {
	if d.s.Status().Ended() {
		return applied(0)
	}
	if limit := d.s.Deadline(); limit != 0 && limit <= d.now {
		d.end(history.TimedOut, failure{code: expr.StatesTimeout}, "")
		return applied(d.s.Events())
	}
	for unit, at := range cmd.Heard {
		d.s.Heard(unit, at)
	}
	for v := d.s.Due(d.now); v != nil && !d.full(); v = d.s.Due(d.now) {
		st := d.state(v)
		if st == nil {
			break
		}
		d.due(v, st)
	}
	return applied(0)
}

// due does what the time of one visit asks for.
func (d *decider) due(v *history.Visit, st *definition.State) {
	expiry, overdue := v.Overdue(d.now)
	switch {
	case overdue:
		d.expire(v, st, expiry)
	case v.Phase() == history.PhaseRetrying && st.Type == definition.Task:
		d.schedule(v, st)
	case v.Phase() == history.PhaseRetrying:
		d.fanOut(v, st)
	default:
		d.leave(v, st)
	}
}

// expire records that an attempt ran out of time.
func (d *decider) expire(v *history.Visit, st *definition.State, expiry history.Expiry) {
	d.touch(v)
	if v.HasRow() {
		d.touchUnit(v.Row().Unit).expired = expiry == history.QueueExpiry
	}
	f := failure{code: expr.StatesTimeout, heartbeat: expiry == history.HeartbeatExpiry}
	d.failUnit(v, st, history.Event{Type: history.EventTimedOut, Expiry: expiry}, f)
}
