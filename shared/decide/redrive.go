package decide

import (
	"time"

	"github.com/orrery-dev/orrery/shared/history"
)

// redriveWithin is how long after its end an execution may go on, as in the reference service.
const redriveWithin = 14 * 24 * time.Hour

// redrive lets an execution go on that ended without success.
func (d *decider) redrive(cmd *history.Command) answer {
	parent := d.s.Start().Parent
	switch {
	case !d.s.Status().Ended():
		return refused("the execution has not ended")
	case d.s.Status() == history.Succeeded:
		return refused("the execution has succeeded")
	case d.s.Rewound():
		return refused("what the execution did has been undone")
	case d.noRoom():
		return refused("the execution has %d events, %d are allowed", d.s.Events(), d.limits.Events)
	case parent != nil && parent.Waits:
		return refused("execution %s has been told how this one ended", parent.Name)
	case d.now.Sub(d.s.At()) > redriveWithin:
		return refused("the execution ended more than %d days ago", redriveWithin/(24*time.Hour))
	}
	if d.world.KeyHeld {
		return refused("another run holds the key of the occurrence, or the occurrence goes on by itself")
	}
	d.t.Reopened = true
	return applied(d.emit(history.Event{
		Type: history.EventRedriven, Scope: history.MainScope, Cause: clip(cmd.Reason, maxCause), RequestID: clip(cmd.RequestID, maxCode),
	}))
}
