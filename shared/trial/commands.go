package trial

import (
	"slices"
	"strings"

	"github.com/orrery-dev/orrery/shared/decide"
	"github.com/orrery-dev/orrery/shared/history"
)

// commandsOf finds the commands that a recorded turn was made of, which a history does not keep: each leaves an event that
// tells of it, and what the other events tell follows from those. S is the state before the turn, or in its place the same
// state of another version.
type commandsOf struct {
	s     *history.State
	turn  *Recorded
	cmds  []history.Command
	timer bool
	// follows is the index of an event that looks like a report and follows from the event before it; -1 for none.
	follows int
	// handed are the claims of units that the turn itself offered.
	handed map[history.UnitKey]history.Claim
}

// derive gives the commands of a turn, and the claims of what it handed over.
func derive(s *history.State, turn *Recorded, how try) ([]history.Command, map[history.UnitKey]history.Claim) {
	c := &commandsOf{s: s, turn: turn, follows: -1, handed: map[history.UnitKey]history.Claim{}}
	for i := range turn.Views {
		c.view(i)
	}
	if len(c.cmds) == 0 {
		c.clock()
	}
	for i := range c.cmds {
		c.cmds[i].Seed = how.seed + uint64(i)<<32
		if f := c.cmds[i].Failure; f != nil {
			f.NonRetryable = how.final
		}
	}
	return c.cmds, c.handed
}

func (c *commandsOf) view(i int) {
	v := &c.turn.Views[i]
	if what := unitEvent(v.Type); what != "" {
		c.unit(i, v, what)
		return
	}
	switch v.Type {
	case "ExecutionTimedOut":
		c.clock()
	case "SignalReceived":
		c.add(history.Command{
			Kind: history.KindSignal, Signal: textDetail(*v, "name"), Output: detail(*v, "input"), RequestID: textDetail(*v, "requestId"),
		})
	case "ExecutionCancelRequested":
		c.add(history.Command{Kind: history.KindCancel, Reason: textDetail(*v, "cause"), RequestID: textDetail(*v, "requestId")})
	case "ExecutionRedriven":
		c.add(history.Command{Kind: history.KindRedrive, Reason: textDetail(*v, "cause"), RequestID: textDetail(*v, "requestId")})
	case "TaskRedelivered", "TaskUncertain":
		c.report(i, v, history.Command{Kind: history.KindLost, Reason: textDetail(*v, "cause")})
		c.uncertain(i, v)
	case "TaskProgressed":
		c.report(i, v, history.Command{Kind: history.KindHeartbeat, Output: detail(*v, "progress")})
	case "TaskResolved":
		c.resolve(i, v)
	case "MapChildSucceeded", "MapChildFailed":
		c.iteration(v)
	case "ChildStopped":
		row := history.RowRef{Unit: v.Unit, Attempt: int(numberDetail(*v, "attempt"))}
		c.add(history.Command{Kind: history.KindChildEnded, Row: row, Status: history.Cancelled, At: c.turn.At})
	default:
		c.passed(v)
	}
}

// unitEvent is what an event of a unit tells, whatever the family of its type; empty for other events.
func unitEvent(kind string) string {
	for _, family := range []string{"Task", "Activity", "LambdaFunction", "CompensationTask", "ResultWriter"} {
		what, ok := strings.CutPrefix(kind, family)
		switch {
		case !ok:
		case what == "Scheduled", what == "Started", what == "Submitted", what == "Succeeded", what == "Failed", what == "TimedOut":
			return what
		}
	}
	return ""
}

func (c *commandsOf) unit(i int, v *history.View, what string) {
	if _, _, ok := c.child(v.Unit); ok && (what == "Succeeded" || what == "Failed") {
		c.ended(v, what == "Succeeded")
		return
	}
	switch what {
	case "Started":
		c.claim(i, v)
	case "Submitted":
		if _, offered := c.s.Row(v.Unit); offered {
			c.report(i, v, history.Command{Kind: history.KindComplete, Output: detail(*v, "output")})
		}
	case "Succeeded":
		c.report(i, v, history.Command{Kind: history.KindComplete, Output: detail(*v, "output")})
	case "Failed":
		c.report(i, v, history.Command{Kind: history.KindFail, Failure: failureDetail(*v)})
	case "TimedOut":
		c.clock()
	default:
		c.passed(v)
	}
}

func failureDetail(v history.View) *history.Failure {
	return &history.Failure{Code: textDetail(v, "error"), Message: textDetail(v, "cause"), Details: detail(v, "details")}
}

// claim is a dispatch, of a unit that was open before or that this turn has handed over.
func (c *commandsOf) claim(i int, v *history.View) {
	claim := history.Claim{Worker: textDetail(*v, "workerName"), At: c.turn.At}
	if c.turn.Events != nil {
		ev := &c.turn.Events[i]
		claim.Worker, claim.Session = ev.Worker, ev.Session
		if ev.At != 0 {
			claim.At = ev.At
		}
	}
	if row, ok := c.s.Row(v.Unit); ok && !c.offeredAnew(i, v.Unit) {
		c.add(history.Command{Kind: history.KindDispatched, Row: row, Claim: claim})
		return
	}
	c.handed[v.Unit] = claim
}

// offeredAnew tells whether the turn has offered the unit once more before its i-th event: who has it then got it by a hand-over,
// because claims of earlier offers come first.
func (c *commandsOf) offeredAnew(i int, unit history.UnitKey) bool {
	return slices.ContainsFunc(c.turn.Views[:i], func(v history.View) bool {
		return v.Unit == unit && (v.Type == "TaskRedelivered" || v.Type == "TaskResolved" || unitEvent(v.Type) == "Scheduled")
	})
}

// report adds a command about a unit that was open before; of others, such as signals that were taken, no report tells.
func (c *commandsOf) report(i int, v *history.View, cmd history.Command) {
	unit := c.s.Unit(v.Unit)
	if unit == nil || i == c.follows {
		return
	}
	token, waits := unit.TokenRow()
	switch {
	case waits && c.byToken(i, v, unit):
		cmd.Row = token
	case unit.HasRow():
		cmd.Row = unit.Row()
	default:
		return
	}
	c.add(cmd)
}

// byToken tells whether a report was made with the token of a task that waits for it, not by the worker that passes it on.
func (c *commandsOf) byToken(i int, v *history.View, unit *history.Visit) bool {
	if c.turn.Events != nil && unitEvent(v.Type) == "Failed" {
		return c.turn.Events[i].Unit == history.TokenUnit
	}
	return !unit.HasRow() || unitEvent(v.Type) == "Succeeded"
}

// uncertain looks whether the document fails a unit whose outcome nobody knows.
func (c *commandsOf) uncertain(i int, v *history.View) {
	next := c.after(i, v)
	if v.Type == "TaskUncertain" && unitEvent(next.Type) == "Failed" && textDetail(next, "error") == decide.OrreryUncertain {
		c.follows = i + 1
	}
}

// after is the event after the i-th where it is of the same unit; else an empty one.
func (c *commandsOf) after(i int, v *history.View) history.View {
	if i+1 < len(c.turn.Views) && c.turn.Views[i+1].Unit == v.Unit {
		return c.turn.Views[i+1]
	}
	return history.View{}
}

// resolve is an operator's word: what it gives the unit is in the event after it.
func (c *commandsOf) resolve(i int, v *history.View) {
	cmd := history.Command{
		Kind: history.KindResolve, Row: history.RowRef{Unit: v.Unit}, Resolution: textDetail(*v, "resolution"),
		RequestID: textDetail(*v, "requestId"),
	}
	next := c.after(i, v)
	switch cmd.Resolution {
	case history.ResolveCompleted:
		cmd.Output = detail(next, "output")
		c.follows = i + 1
	case history.ResolveFailed:
		cmd.Failure = failureDetail(next)
		c.follows = i + 1
	}
	c.add(cmd)
}

// passed looks whether an event follows from a time: the end of a wait, or of the pause before another try.
func (c *commandsOf) passed(v *history.View) {
	unit := c.s.Unit(v.Unit)
	if unit == nil || unit.HasRow() {
		return
	}
	if u, ok := unit.View(); ok && u.Deadline != 0 && u.Deadline <= c.turn.At {
		c.clock()
	}
}

// clock adds the timer command of the turn, once. Units that the turn does not say are over time were heard.
func (c *commandsOf) clock() {
	if c.timer {
		return
	}
	c.timer = true
	c.add(history.Command{Kind: history.KindTimer, Heard: heard(c.s, c.turn)})
}

// heard tells of the units whose heartbeat would be over time at the turn: those that the turn does not say so of were
// heard, which no event tells.
func heard(s *history.State, turn *Recorded) map[history.UnitKey]history.Time {
	late := map[history.UnitKey]bool{}
	for i := range turn.Views {
		if unitEvent(turn.Views[i].Type) == "TimedOut" {
			late[turn.Views[i].Unit] = true
		}
	}
	times := map[history.UnitKey]history.Time{}
	for _, u := range s.Silent(turn.At) {
		if !late[u.Key] {
			times[u.Key] = turn.At
		}
	}
	return times
}

func (c *commandsOf) add(cmd history.Command) { c.cmds = append(c.cmds, cmd) }
