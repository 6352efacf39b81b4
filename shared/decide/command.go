package decide

import (
	"bytes"
	"fmt"

	"github.com/orrery-dev/orrery/shared/definition"
	"github.com/orrery-dev/orrery/shared/expr"
	"github.com/orrery-dev/orrery/shared/history"
)

const (
	// The most that an execution keeps of signals that nobody has taken.
	maxSignals     = 1000
	maxSignalBytes = 8 << 20
	// maxInstances is the most machines that signals have begun and that run at once.
	maxInstances = 1000
	// The most of a failure that is kept, in characters.
	maxCode  = 256
	maxCause = 32_768
)

// answer is what a command comes to.
type answer struct {
	outcome history.Outcome
	event   history.EventID
	message string
}

func applied(id history.EventID) answer { return answer{outcome: history.Applied, event: id} }
func refused(format string, args ...any) answer {
	return answer{outcome: history.Refused, message: fmt.Sprintf(format, args...)}
}

var stale = answer{outcome: history.Stale}

// command applies one command and files its answer.
func (d *decider) command(cmd *history.Command) {
	if d.err != nil {
		return
	}
	a, ok := d.apply(cmd)
	if !ok {
		d.faultf("a command of unknown kind %q", cmd.Kind)
		return
	}
	reply := history.Reply{Ref: cmd.Ref, Outcome: a.outcome, Event: a.event, Message: a.message}
	if cmd.Inbox != 0 {
		c := history.Consumed{ID: cmd.Inbox}
		if cmd.Awaited {
			c.Reply = &reply
		}
		d.t.Consumed = append(d.t.Consumed, c)
	}
	if cmd.Ref != 0 {
		d.t.Replies = append(d.t.Replies, reply)
	}
}

func (d *decider) apply(cmd *history.Command) (answer, bool) {
	if isReport(cmd.Kind) {
		return d.report(cmd), true
	}
	switch cmd.Kind {
	case history.KindTimer:
		return d.timer(cmd), true
	case history.KindSignal, history.KindCancel, history.KindResolve:
		if d.s.Status().Ended() {
			return answer{outcome: history.Finished}, true
		}
	case history.KindRedrive:
		return d.redrive(cmd), true
	default:
		return answer{}, false
	}
	switch cmd.Kind {
	case history.KindSignal:
		return d.signal(cmd), true
	case history.KindCancel:
		return d.cancel(cmd), true
	}
	return d.resolve(cmd), true
}

// isReport tells whether a command is about one row of the queue, or about one child.
func isReport(kind history.Kind) bool {
	switch kind {
	case history.KindDispatched, history.KindComplete, history.KindFail, history.KindUncertain, history.KindHeartbeat,
		history.KindLost, history.KindChildEnded:
		return true
	}
	return false
}

// report covers what workers, sessions and children tell.
func (d *decider) report(cmd *history.Command) answer {
	if cmd.Kind == history.KindChildEnded {
		return d.childEnded(cmd)
	}
	if cmd.Kind == history.KindDispatched && cmd.Claim.Task != 0 {
		d.claims = append(d.claims, claimed{task: cmd.Claim.Task, row: cmd.Row})
	}
	v := d.s.Unit(cmd.Row.Unit)
	if v != nil {
		if row, ok := v.TokenRow(); ok && cmd.Row.Unit == row.Unit {
			return d.tokenReport(v, row, cmd)
		}
	}
	if v == nil || !v.HasRow() || cmd.Row.Unit != v.Row().Unit || cmd.Row.Attempt != v.Attempt() || cmd.Row.Offer > v.Row().Offer {
		return d.lateReport(cmd)
	}
	st := d.state(v)
	if st == nil {
		return stale
	}
	current := cmd.Row.Offer == v.Row().Offer
	switch cmd.Kind {
	case history.KindDispatched:
		return d.claim(v, cmd, current)
	case history.KindHeartbeat:
		return d.progress(v, cmd)
	case history.KindLost, history.KindUncertain:
		return d.lost(v, st, cmd, current)
	}
	if current {
		d.noticeClaim(v, cmd)
	}
	d.touch(v)
	d.touchUnit(cmd.Row.Unit).reported = true
	if cmd.Kind == history.KindFail {
		return d.failed(v, st, cmd, current)
	}
	return d.completed(v, st, cmd, current)
}

// lateReport answers a report that changes nothing. Where this turn takes away the row that it has made done, it is applied
// with that.
func (d *decider) lateReport(cmd *history.Command) answer {
	t := d.findTouched(cmd.Row.Unit)
	if t != nil && t.row.Attempt == cmd.Row.Attempt && (cmd.Kind == history.KindComplete || cmd.Kind == history.KindFail) {
		t.reported = true
	}
	if d.s.Reported(cmd.Row) {
		return answer{outcome: history.Duplicate}
	}
	return stale
}

// noticeClaim records the dispatch that a report is older than.
func (d *decider) noticeClaim(v *history.Visit, cmd *history.Command) {
	if _, status := v.Unit(); status != history.UnitQueued || cmd.Claim.At == 0 {
		return
	}
	if cmd.Claim.Task != 0 {
		d.claims = append(d.claims, claimed{task: cmd.Claim.Task, row: cmd.Row})
	}
	d.dispatched(v, cmd.Claim)
}

func (d *decider) claim(v *history.Visit, cmd *history.Command, current bool) answer {
	_, status := v.Unit()
	if !current || status != history.UnitQueued {
		return answer{outcome: history.Duplicate}
	}
	d.touch(v)
	return applied(d.dispatched(v, cmd.Claim))
}

func (d *decider) completed(v *history.Visit, st *definition.State, cmd *history.Command, current bool) answer {
	ev := history.Event{Type: history.EventCompleted, Scope: v.Scope().ID()}
	if !current {
		ev.Offer = cmd.Row.Offer
	}
	output, err := expr.Parse(cmd.Output)
	if err != nil {
		return refused("the output is no JSON: %v", err)
	}
	switch {
	case v.Writes():
		return applied(d.haveWritten(ev, v, st, output))
	case st.Reader != nil:
		return applied(d.haveRead(ev, output))
	}
	if kind, _ := v.Unit(); kind == history.TokenUnit {
		ev.Type = history.EventSubmitted
		if text := d.text(output); len(text) <= d.limits.PayloadBytes {
			ev.Text.Literal = text
		}
		return applied(d.emit(ev))
	}
	return applied(d.succeed(v, st, ev, output))
}

// tokenReport covers what is told with the token of a task that ends by it.
func (d *decider) tokenReport(v *history.Visit, row history.RowRef, cmd *history.Command) answer {
	if cmd.Row != row {
		return d.lateReport(cmd)
	}
	st := d.state(v)
	if st == nil {
		return stale
	}
	ev := history.Event{Scope: v.Scope().ID(), Unit: history.TokenUnit}
	switch cmd.Kind {
	case history.KindHeartbeat:
		return d.progress(v, cmd)
	case history.KindComplete:
		output, err := expr.Parse(cmd.Output)
		if err != nil {
			return refused("the output is no JSON: %v", err)
		}
		d.touch(v)
		d.touchUnit(row.Unit).reported = true
		ev.Type, ev.Unit = history.EventCompleted, 0
		return applied(d.succeed(v, st, ev, output))
	case history.KindFail:
		f, details, err := d.reportedFailure(cmd.Failure)
		if err != nil {
			return refused("the details of the failure are no JSON: %v", err)
		}
		d.touch(v)
		d.touchUnit(row.Unit).reported = true
		ev.Type, ev.Text.Literal = history.EventFailed, details
		return applied(d.failUnit(v, st, ev, f))
	}
	return stale
}

// succeed records the result of a unit. One that cannot be used fails the attempt.
func (d *decider) succeed(v *history.Visit, st *definition.State, ev history.Event, result expr.Value) history.EventID {
	fails := history.Event{Type: history.EventFailed, Offer: ev.Offer, Last: ev.Last}
	if _, ok := v.TokenRow(); ok {
		fails.Unit = history.TokenUnit
	}
	if faults := misfit(d.contract(st.Resource).Output, result); faults != nil {
		return d.failUnit(v, st, fails, failure{code: OrreryInvalidOutput, cause: "The output of the task " + faults.Error() + "."})
	}
	text := d.text(result)
	undo, err := d.undoable(v, st, result)
	switch {
	case err != nil:
		return d.failUnit(v, st, fails, evaluation(v, err))
	case len(text) > d.limits.PayloadBytes || len(undo) > d.limits.PayloadBytes:
		return d.failUnit(v, st, fails, tooLarge(v.State()))
	}
	ev.Text = d.s.Shorten(&ev, text)
	id := d.emit(ev)
	if undo != nil {
		ev := history.Event{Type: history.EventUndoable, Scope: v.Scope().ID()}
		ev.Text = d.s.Shorten(&ev, undo)
		d.emit(ev)
	}
	return id
}

func (d *decider) failed(v *history.Visit, st *definition.State, cmd *history.Command, current bool) answer {
	f, details, err := d.reportedFailure(cmd.Failure)
	if err != nil {
		return refused("the details of the failure are no JSON: %v", err)
	}
	ev := history.Event{Type: history.EventFailed, Scope: v.Scope().ID()}
	if !current {
		ev.Offer = cmd.Row.Offer
	}
	switch {
	case v.Writes():
		return applied(d.notWritten(ev, f))
	case st.Reader != nil:
		ev.Type, ev.Error, ev.Cause = history.EventUnread, f.code, f.cause
		return applied(d.emit(ev))
	}
	ev.Text.Literal = details
	return applied(d.failUnit(v, st, ev, f))
}

// reportedFailure is what a worker or an operator says. Details that are too large are left out: a failure is not lost for
// their sake.
func (d *decider) reportedFailure(r *history.Failure) (failure, []byte, error) {
	if r == nil {
		r = &history.Failure{}
	}
	f := failure{code: clip(r.Code, maxCode), cause: clip(r.Message, maxCause), final: r.NonRetryable}
	if f.code == "" {
		f.code = expr.StatesTaskFailed
	}
	if len(r.Details) == 0 || len(r.Details) > d.limits.PayloadBytes {
		return f, nil, nil
	}
	details, err := expr.Parse(r.Details)
	if err != nil {
		return f, nil, err
	}
	return f, expr.Marshal(details), nil
}

// progress keeps changed details of an attempt.
func (d *decider) progress(v *history.Visit, cmd *history.Command) answer {
	if len(cmd.Output) == 0 {
		return applied(0)
	}
	details, err := expr.Parse(cmd.Output)
	if err != nil {
		return refused("the details are no JSON: %v", err)
	}
	text := expr.Marshal(details)
	if len(text) > d.limits.PayloadBytes {
		return refused("the details have %d bytes, %d are allowed", len(text), d.limits.PayloadBytes)
	}
	if u, _ := v.View(); bytes.Equal(u.Progress, text) && v.HasRow() {
		return answer{outcome: history.Duplicate}
	}
	ev := history.Event{Type: history.EventProgressed, Scope: v.Scope().ID(), Text: history.Text{Literal: text}}
	return applied(d.emit(ev))
}

// lost gives up the current offer: its outcome is unknown.
func (d *decider) lost(v *history.Visit, st *definition.State, cmd *history.Command, current bool) answer {
	if _, status := v.Unit(); !current || status == history.UnitUncertain {
		return stale
	}
	d.noticeClaim(v, cmd)
	d.touch(v)
	ev := history.Event{Type: history.EventLost, Scope: v.Scope().ID(), Cause: clip(cmd.Reason, maxCause)}
	ev.Last = v.Redelivery() >= st.MaxRedeliveries
	id := d.emit(ev)
	if ev.Last && st.WhenUncertain == definition.UncertainFails {
		f := failure{code: OrreryUncertain, cause: fmt.Sprintf("The outcome is unknown after %d deliveries.", v.Redelivery())}
		d.failUnit(v, st, history.Event{Type: history.EventFailed, Last: true}, f)
	}
	return applied(id)
}

// signal keeps a signal, and gives it to whoever has waited longest for it, or begins a machine with it.
func (d *decider) signal(cmd *history.Command) answer {
	payload := []byte("null")
	if len(cmd.Output) > 0 {
		value, err := expr.Parse(cmd.Output)
		if err != nil {
			return refused("the payload is no JSON: %v", err)
		}
		payload = d.text(value)
	}
	if len(payload) > d.limits.PayloadBytes {
		return refused("the payload has %d bytes, %d are allowed", len(payload), d.limits.PayloadBytes)
	}
	name := clip(cmd.Signal, maxCode)
	handler := d.m.OnSignal[name]
	switch {
	case handler == nil:
	case d.s.Unwinding():
		return refused("the execution is about to end")
	case d.s.Instances() >= maxInstances:
		return refused("%d signals are being handled already", maxInstances)
	}
	if n, held := d.s.Signals(); n >= maxSignals || held+len(payload) > maxSignalBytes {
		return refused("%d signals are waiting to be taken already", n)
	}
	id := d.emit(history.Event{
		Type: history.EventSignalled, Scope: history.MainScope, Name: name, Text: history.Text{Literal: payload},
		RequestID: clip(cmd.RequestID, maxCode),
	})
	if handler != nil {
		d.emit(history.Event{Type: history.EventInstance, Scope: history.MainScope, Name: name})
		d.enter(d.s.Newest(), handler, handler.StartAt)
	} else if v := d.s.Waiter(name); v != nil {
		d.emit(history.Event{Type: history.EventTaken, Scope: v.Scope().ID()})
	}
	return applied(id)
}

// cancel ends the execution. One that is being unwound ends anyway, and is only hurried.
func (d *decider) cancel(cmd *history.Command) answer {
	if d.s.Unwinding() && !cmd.Terminate {
		return answer{outcome: history.Duplicate}
	}
	reason := clip(cmd.Reason, maxCause)
	id := d.emit(history.Event{
		Type: history.EventCancelling, Scope: history.MainScope, Cause: reason, RequestID: clip(cmd.RequestID, maxCode),
	})
	if cmd.Terminate {
		d.terminate(reason)
		return applied(id)
	}
	d.end(history.Cancelled, failure{cause: reason}, "")
	return applied(id)
}

// resolve applies an operator's word on an uncertain unit.
func (d *decider) resolve(cmd *history.Command) answer {
	v := d.s.Unit(cmd.Row.Unit)
	if v == nil {
		return refused("there is no open unit %s", cmd.Row.Unit)
	}
	if _, status := v.Unit(); !v.HasRow() || status != history.UnitUncertain {
		return refused("unit %s is not uncertain", cmd.Row.Unit)
	}
	st := d.state(v)
	if st == nil {
		return stale
	}
	d.touch(v)
	rule := history.Event{
		Type: history.EventRuled, Scope: v.Scope().ID(), Name: cmd.Resolution, RequestID: clip(cmd.RequestID, maxCode),
	}
	switch cmd.Resolution {
	case history.ResolveCompleted:
		return d.ruleCompleted(rule, v, st, cmd)
	case history.ResolveFailed:
		return d.ruleFailed(rule, v, st, cmd)
	case history.ResolveRetry:
		return applied(d.emit(rule))
	}
	return refused("%q is no resolution", cmd.Resolution)
}

func (d *decider) ruleCompleted(rule history.Event, v *history.Visit, st *definition.State, cmd *history.Command) answer {
	output, err := expr.Parse(cmd.Output)
	if err != nil {
		return refused("the output is no JSON: %v", err)
	}
	id := d.emit(rule)
	ev := history.Event{Type: history.EventCompleted, Scope: rule.Scope, Last: true}
	switch {
	case v.Writes():
		d.haveWritten(ev, v, st, output)
	case st.Reader != nil:
		d.haveRead(ev, output)
	default:
		d.succeed(v, st, ev, output)
	}
	return applied(id)
}

func (d *decider) ruleFailed(rule history.Event, v *history.Visit, st *definition.State, cmd *history.Command) answer {
	f, details, err := d.reportedFailure(cmd.Failure)
	if err != nil {
		return refused("the details of the failure are no JSON: %v", err)
	}
	id := d.emit(rule)
	if v.Writes() {
		d.notWritten(history.Event{Scope: rule.Scope, Last: true}, f)
		return applied(id)
	}
	d.failUnit(v, st, history.Event{Type: history.EventFailed, Last: true, Text: history.Text{Literal: details}}, f)
	return applied(id)
}
