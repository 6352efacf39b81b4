package decide

import (
	"errors"
	"time"

	"github.com/orrery-dev/orrery/shared/definition"
	"github.com/orrery-dev/orrery/shared/expr"
	"github.com/orrery-dev/orrery/shared/history"
)

var kinds = map[definition.StateType]history.StateKind{
	definition.Task: history.TaskState, definition.Pass: history.PassState, definition.Wait: history.WaitState,
	definition.Choice: history.ChoiceState, definition.Parallel: history.ParallelState, definition.Map: history.MapState,
	definition.Succeed: history.SucceedState, definition.Fail: history.FailState,
}

// enter takes a scope into a state of its machine. A Wait gets its end with the event; where that cannot be found, begin
// finds the same fault and fails the state.
func (d *decider) enter(c *history.Scope, m *definition.Machine, name string) {
	st := m.States[name]
	if st == nil {
		d.faultf("the definition has no state %q", name)
		return
	}
	ev := history.Event{Type: history.EventEntered, Scope: c.ID(), State: name, Kind: kinds[st.Type]}
	if st.Type == definition.Wait {
		if end, err := d.waitEnd(place{scope: c, state: name, at: d.now}, st, c.Data()); err == nil {
			ev.At = end
		}
	}
	d.emit(ev)
}

// begin does what a state does once it is entered.
func (d *decider) begin(v *history.Visit, st *definition.State) {
	p := d.placeOf(v)
	switch st.Type {
	case definition.Task:
		d.schedule(v, st)
	case definition.Parallel, definition.Map:
		d.fanOut(v, st)
	case definition.Choice:
		d.choose(v, st)
	case definition.Fail:
		d.failState(v, st)
	case definition.Wait:
		if _, err := d.waitEnd(p, st, v.Input()); err != nil {
			d.fail(v, st, evaluation(v, err))
			return
		}
		d.leave(v, st)
	default:
		d.leave(v, st)
	}
}

// flow evaluates how a state begins.
func (d *decider) flow(p place, st *definition.State, input []byte) (*expr.Scope, expr.Entry, error) {
	sc := d.exprScope(p, d.value(input))
	entry, err := st.Flow.Enter(sc)
	return sc, entry, err
}

// leave makes the output of a state whose work is done, and goes to the next one.
func (d *decider) leave(v *history.Visit, st *definition.State) {
	if v.Kind() == history.UndoState {
		d.emit(history.Event{Type: history.EventUndone, Scope: v.Scope().ID(), Status: history.Succeeded})
		return
	}
	p := d.placeOf(v)
	if st.Type == definition.Task && st.Resource.Token {
		if d.world.Token == nil {
			d.stall()
			return
		}
		p.token = d.token(v)
	}
	sc := d.exprScope(p, d.value(v.Input()))
	var result expr.Value
	if v.Phase() == history.PhaseDone {
		result = d.value(v.Value())
		if st.Type == definition.Map && st.Writer != nil && st.Writer.Transformation == definition.Flattened && st.Writer.Resource == nil {
			result = flattened(result)
		}
	} else {
		entry, err := st.Flow.Enter(sc)
		if err != nil {
			d.fail(v, st, evaluation(v, err))
			return
		}
		result = entry.Effective
	}
	exit, err := st.Flow.Leave(sc, result)
	if err != nil {
		d.fail(v, st, evaluation(v, err))
		return
	}
	d.exit(v, st, exit, st.Next, st.End || st.Type == definition.Succeed)
}

// tooLarge is the failure of a state that gives more than it may.
func tooLarge(state string) failure {
	return failure{
		code:  expr.StatesDataLimitExceeded,
		cause: "The state/task '" + state + "' returned a result with a size exceeding the maximum number of bytes service limit.",
	}
}

// exit leaves a state whose output may be too large, which fails it.
func (d *decider) exit(v *history.Visit, st *definition.State, x expr.Exit, next string, last bool) {
	output := d.text(x.Output)
	if len(output) > d.limits.PayloadBytes {
		d.fail(v, st, tooLarge(v.State()))
		return
	}
	if f, ok := d.tooManyVariables(v.Scope(), x.Assigned); ok {
		d.fail(v, st, f)
		return
	}
	if last && v.Scope().Role() == history.MainRole {
		if faults := misfit(d.m.Output, x.Output); faults != nil {
			d.fail(v, st, failure{code: OrreryInvalidOutput, cause: "The output of the execution " + faults.Error() + "."})
			return
		}
	}
	d.exited(v, st, x, output, next, last)
}

// exited records the output and goes to next, or ends the scope where the state is its last.
func (d *decider) exited(v *history.Visit, st *definition.State, x expr.Exit, output []byte, next string, last bool) {
	c := v.Scope()
	ev := history.Event{Type: history.EventExited, Scope: c.ID(), Last: last}
	ev.Text = d.s.Shorten(&ev, output)
	if x.Assigned != nil {
		for name, value := range x.Assigned.All() {
			text := d.s.ShortenVariable(&ev, output, expr.Marshal(value))
			ev.Assigned = append(ev.Assigned, history.Assignment{Name: name, Text: text})
		}
	}
	d.touchTree(v)
	d.emit(ev)
	d.keep(c.Data(), x.Output)
	if !last {
		d.enter(c, st.Machine, next)
		return
	}
	d.finished(c)
}

// finished records what it means that a scope has ended well.
func (d *decider) finished(c *history.Scope) {
	switch c.Role() {
	case history.MainRole, history.InstanceRole:
		if d.s.Instances() == 0 && !d.s.Scope(history.MainScope).Runs() {
			d.emit(history.Event{Type: history.EventEnded, Scope: history.MainScope, Status: history.Succeeded})
		}
	case history.CleanupRole:
		d.emit(history.Event{Type: history.EventCleaned, Scope: c.ID(), Status: history.Succeeded})
	case history.InnerRole:
		if p := c.Parent(); p.Kind() == history.MapState {
			d.emit(history.Event{Type: history.EventIterDone, Scope: p.Scope().ID(), Index: c.Index()})
		}
	}
}

// choose takes the first rule that holds.
func (d *decider) choose(v *history.Visit, st *definition.State) {
	sc, entry, err := d.flow(d.placeOf(v), st, v.Input())
	if err != nil {
		d.fail(v, st, evaluation(v, err))
		return
	}
	inner := sc.With(entry.Input)
	for _, rule := range st.Choices {
		holds, err := rule.Holds(inner)
		if err != nil {
			d.fail(v, st, evaluation(v, err))
			return
		}
		if holds {
			x, err := rule.Leave(sc, entry.Effective)
			d.chosen(v, st, x, err, rule.Next)
			return
		}
	}
	if st.Default == "" {
		d.fail(v, st, evaluation(v, &expr.Error{Name: expr.StatesNoChoiceMatched, Cause: "No choice rule matched and there is no Default."}))
		return
	}
	x, err := st.Flow.Leave(sc, entry.Effective)
	d.chosen(v, st, x, err, st.Default)
}

func (d *decider) chosen(v *history.Visit, st *definition.State, x expr.Exit, err error, next string) {
	if err != nil {
		d.fail(v, st, evaluation(v, err))
		return
	}
	d.exit(v, st, x, next, false)
}

// failState is the work of a Fail state.
func (d *decider) failState(v *history.Visit, st *definition.State) {
	sc, entry, err := d.flow(d.placeOf(v), st, v.Input())
	var f failure
	if err == nil {
		sc = sc.With(entry.Input)
		f.code, err = optional(st.Error, sc)
	}
	if err == nil {
		f.cause, err = optional(st.Cause, sc)
	}
	if err != nil {
		f = evaluation(v, err)
	}
	d.fail(v, st, f)
}

func optional(field expr.Field[string], sc *expr.Scope) (string, error) {
	if field == nil {
		return "", nil
	}
	return field.Eval(sc)
}

// waitEnd is when a Wait that begins now is over.
func (d *decider) waitEnd(p place, st *definition.State, input []byte) (history.Time, error) {
	sc, entry, err := d.flow(p, st, input)
	if err != nil {
		return 0, err
	}
	sc = sc.With(entry.Input)
	if st.Timestamp != nil {
		t, err := st.Timestamp.Eval(sc)
		if err != nil {
			return 0, err
		}
		return history.TimeOf(t.Add(time.Millisecond - time.Nanosecond)), expr.CheckWait(t.Sub(p.at.Time()))
	}
	n, err := st.Seconds.Eval(sc)
	if err != nil {
		return 0, err
	}
	return p.at.Add(seconds(n)), expr.CheckWait(seconds(n))
}

// evaluation is the failure of a state whose expressions did not evaluate.
func evaluation(v *history.Visit, err error) failure {
	var e *expr.Error
	if !errors.As(err, &e) {
		return failure{code: expr.StatesRuntime, cause: err.Error()}
	}
	return failure{code: e.Name, cause: e.InState(v.State(), int64(v.ID()))}
}
