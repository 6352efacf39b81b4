package decide

import (
	"github.com/orrery-dev/orrery/shared/definition"
	"github.com/orrery-dev/orrery/shared/expr"
	"github.com/orrery-dev/orrery/shared/history"
)

// undoable makes the input of the compensation of a unit that has just succeeded; nil where it has none.
func (d *decider) undoable(v *history.Visit, st *definition.State, result expr.Value) ([]byte, error) {
	c := st.Compensate
	if c == nil {
		return nil, nil
	}
	var input expr.Value = expr.NewObject(
		expr.Member{Name: "Input", Value: d.value(v.Input())},
		expr.Member{Name: "Result", Value: result},
	)
	if c.Arguments != nil {
		var err error
		if input, err = c.Arguments.Eval(d.exprScope(d.placeOf(v), input)); err != nil {
			return nil, err
		}
	}
	return d.text(input), nil
}

// undoScope goes on with a state whose catcher compensates: the next compensation, and after the last one the way out.
func (d *decider) undoScope(v *history.Visit, st *definition.State) {
	if unit, ok := d.s.Undo(v.Scope()); ok {
		d.emit(history.Event{Type: history.EventUndoing, Scope: v.Scope().ID(), Key: string(unit)})
		return
	}
	n, code, cause := v.Caught()
	if n > len(st.Catch) {
		d.faultf("state %s has no catcher %d", st.Name, n)
		return
	}
	d.caught(v, st, &st.Catch[n-1], failure{code: code, cause: cause})
}

// unwind takes the next step of an execution that ends without success: the next compensation, then Cleanup, then the end.
func (d *decider) unwind() {
	if unit, ok := d.s.LastUndo(); ok {
		d.emit(history.Event{Type: history.EventUndoing, Scope: history.MainScope, Key: string(unit)})
		return
	}
	if d.m.Cleanup != nil && !d.s.Cleaned() {
		d.emit(history.Event{Type: history.EventCleaning, Scope: history.MainScope, Text: history.Text{Literal: expr.Marshal(d.cleanupInput())}})
		d.enter(d.s.Newest(), d.m.Cleanup, d.m.Cleanup.StartAt)
		return
	}
	d.emit(history.Event{Type: history.EventEnded, Scope: history.MainScope, Status: d.s.Ending().Status, Last: true})
}

// reasons is how the input of Cleanup calls the ends that are not success.
var reasons = map[history.Status]string{
	history.Failed: "failed", history.TimedOut: "timed out", history.Cancelled: "cancelled",
}

func (d *decider) cleanupInput() *expr.Object {
	end, reason := d.s.Ending(), d.s.Reason()
	if reason == "" {
		reason = reasons[end.Status]
	}
	return expr.NewObject(
		expr.Member{Name: "Reason", Value: reason},
		expr.Member{Name: "Error", Value: end.Error},
		expr.Member{Name: "Cause", Value: end.Cause},
		expr.Member{Name: "Input", Value: d.value(d.s.Input())},
	)
}

// failRoot deals with a failure that nothing has handled.
func (d *decider) failRoot(c *history.Scope, f failure) {
	switch c.Role() {
	case history.UndoRole:
		d.emit(d.failing(history.Event{Type: history.EventUndone, Scope: c.ID(), Status: history.Failed}, f))
	case history.CleanupRole:
		d.emit(d.failing(history.Event{Type: history.EventCleaned, Scope: c.ID(), Status: history.Failed}, f))
	default:
		d.end(history.Failed, f, "")
	}
}
