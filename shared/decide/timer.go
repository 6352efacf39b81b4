package decide

import (
	"strings"

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
		d.end(history.TimedOut, failure{code: expr.StatesTimeout})
		return applied(d.s.Events())
	}
	for unit, at := range cmd.Heard {
		d.s.Heard(unit, at)
	}
	var failed []expired
	for v := d.s.Due(d.now); v != nil && !d.full(); v = d.s.Due(d.now) {
		st := d.state(v)
		if st == nil {
			break
		}
		if expiry, overdue := v.Overdue(d.now); !overdue {
			d.due(v, st)
		} else if f, over := d.expire(v, st, expiry); over {
			failed = append(failed, expired{v, st, f})
		}
	}
	for _, x := range failed {
		if x.v.Scope().Runs() && !d.s.Status().Ended() {
			d.unhandled(x.v, x.st, x.f)
		}
	}
	return applied(0)
}

// expired is an attempt that ran out of time and is not tried again. What runs out at the same time is recorded as such
// before the first of it fails what is around it.
type expired struct {
	v  *history.Visit
	st *definition.State
	f  failure
}

// due does what the time of one visit asks for.
func (d *decider) due(v *history.Visit, st *definition.State) {
	switch {
	case v.Phase() == history.PhaseRetrying && v.Kind() == history.TaskState:
		d.schedule(v, st)
	case v.Phase() == history.PhaseRetrying:
		d.fanOut(v, st)
	default:
		d.leave(v, st)
	}
}

// expire records that an attempt ran out of time; over tells that it is not tried again.
func (d *decider) expire(v *history.Visit, st *definition.State, expiry history.Expiry) (f failure, over bool) {
	if v.HasRow() {
		d.touch(v).expired = expiry == history.QueueExpiry
	}
	f = failure{code: expr.StatesTimeout, heartbeat: expiry == history.HeartbeatExpiry}
	_, retrier := d.recordFailure(v, st, history.Event{Type: history.EventTimedOut, Expiry: expiry}, f)
	return f, retrier == 0
}

// clean makes text from outside fit to be recorded: what is no UTF-8 would not be read back as it was written.
func clean(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }
