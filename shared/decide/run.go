package decide

import (
	"strings"

	"github.com/orrery-dev/orrery/shared/definition"
	"github.com/orrery-dev/orrery/shared/expr"
	"github.com/orrery-dev/orrery/shared/history"
)

const (
	// maxRunning is how many executions of a distributed Map run at once where it does not say.
	maxRunning = 10_000
	// maxBegun is how many a turn starts before it goes on in the next one.
	maxBegun = 100
)

// begun is an execution of a distributed Map that the turn starts, unless the Map fails before its end.
type begun struct {
	unit  history.UnitKey
	child history.Child
}

// fanRun begins a try of a Map whose iterations are executions. How many may fail is evaluated after the Map has begun, as the
// reference service does it.
func (d *decider) fanRun(v *history.Visit, st *definition.State, ev history.Event, sc *expr.Scope, items []expr.Value) {
	list := items
	if st.Batcher != nil {
		var err error
		if list, err = d.batches(sc, st, items); err != nil {
			d.fail(v, st, evaluation(v, err))
			return
		}
	}
	if ev.Limit == 0 || ev.Limit > maxRunning {
		ev.Limit = maxRunning
	}
	ev.Text = d.s.Shorten(&ev, expr.Marshal(list))
	d.emit(ev)
	most, err := tolerated(sc, st, len(items))
	if err != nil {
		d.fail(v, st, evaluation(v, err))
		return
	}
	d.emit(history.Event{Type: history.EventRunBegun, Scope: v.Scope().ID(), Name: d.runID(st), Tolerated: most})
}

// runID names a run: after its workflow, its label and a new id.
func (d *decider) runID(st *definition.State) string {
	label := st.Label
	if label == "" {
		label = d.draw.UUID()
	}
	machine := strings.Replace(d.machineID(d.s.Start().Workflow), ":stateMachine:", ":mapRun:", 1)
	return machine + "/" + label + ":" + d.draw.UUID()
}

// batches groups the items of a Map, each made by its ItemSelector, into the inputs of its executions.
func (d *decider) batches(sc *expr.Scope, st *definition.State, items []expr.Value) ([]expr.Value, error) {
	b := st.Batcher
	most, room := int64(len(items)), int64(d.limits.PayloadBytes)
	var err error
	if b.MaxItems != nil {
		if most, err = b.MaxItems.Eval(sc); err != nil {
			return nil, err
		}
	}
	if b.MaxBytes != nil {
		if room, err = b.MaxBytes.Eval(sc); err != nil {
			return nil, err
		}
	}
	input := expr.NewObject()
	if b.Input != nil {
		v, err := b.Input.Eval(sc)
		if err != nil {
			return nil, err
		}
		input.Set("BatchInput", v)
	}
	g := grouping{input: input, most: int(min(most, int64(len(items)))), room: int(min(room, int64(d.limits.PayloadBytes)))}
	for i, item := range items {
		if item, err = st.Flow.Item(sc, i, item); err != nil {
			return nil, err
		}
		g.add(item)
	}
	g.close()
	return g.batches, nil
}

// grouping fills batches. A batch takes one item at least.
type grouping struct {
	input      *expr.Object
	most, room int

	batches []expr.Value
	items   []expr.Value
	size    int
}

func (g *grouping) add(item expr.Value) {
	size := len(expr.Marshal(item)) + 1
	if len(g.items) > 0 && (len(g.items) >= g.most || g.size+size > g.room) {
		g.close()
	}
	if len(g.items) == 0 {
		g.size = len(expr.Marshal(g.input)) + len(`"Items":[],`)
	}
	g.items = append(g.items, item)
	g.size += size
}

func (g *grouping) close() {
	if len(g.items) == 0 {
		return
	}
	batch := expr.NewObject(expr.Member{Name: "Items", Value: g.items})
	for name, v := range g.input.All() {
		batch.Set(name, v)
	}
	g.batches, g.items = append(g.batches, batch), nil
}

// spreadRun starts the executions that may run, or ends the run when all have ended or too many failed.
func (d *decider) spreadRun(v *history.Visit, st *definition.State) {
	if code, cause := v.Fault(); code != "" {
		d.runFailed(v, st, failure{code: code, cause: cause})
		return
	}
	if v.Overrun() {
		d.failRun(v, st, overrun)
		return
	}
	if v.Run() == "" { // it goes on after an end
		d.emit(history.Event{Type: history.EventRunBegun, Scope: v.Scope().ID(), Name: d.runID(st), Tolerated: v.Tolerated()})
	}
	for v.Unfanned() && !d.full() {
		if !d.beget(v, st) {
			return
		}
	}
	if v.Complete() && st.Writer.ByServer() && !v.Wrote() {
		d.write(v, st, failure{})
		return
	}
	if v.Complete() {
		d.emit(history.Event{Type: history.EventRunDone, Scope: v.Scope().ID()})
		d.emit(history.Event{Type: history.EventJoined, Scope: v.Scope().ID()})
	}
}

// failRun ends a run that cannot go on, once what it gave is written.
func (d *decider) failRun(v *history.Visit, st *definition.State, f failure) {
	if st.Writer != nil && st.Writer.Resource != nil && !v.Wrote() {
		d.write(v, st, f)
		return
	}
	d.runFailed(v, st, f)
}

// runFailed fails a Map with its run.
func (d *decider) runFailed(v *history.Visit, st *definition.State, f failure) {
	d.touchTree(v)
	d.emit(d.failing(history.Event{Type: history.EventRunFailed, Scope: v.Scope().ID()}, f))
	d.broken(v, st, history.Event{}, f)
}

// beget starts the execution of the next iteration; false where it cannot, now or at all.
func (d *decider) beget(v *history.Visit, st *definition.State) bool {
	if d.world.Execution == 0 {
		d.stall()
		return false
	}
	index, item := v.Next()
	ev := history.Event{Type: history.EventChildBegun, Scope: v.Scope().ID(), Index: index}
	input := d.value(item)
	if st.Batcher == nil {
		sc, entry, err := d.flow(d.placeOf(v), st, v.Input())
		if err == nil {
			input, err = st.Flow.Item(sc.With(entry.Input), index, input)
		}
		if err != nil {
			d.failRun(v, st, evaluation(v, err))
			return false
		}
	}
	start := d.s.Start()
	of := &Workflow{Name: start.Workflow, Version: start.Version, Hash: start.Hash, Machine: st.Processor}
	child, f := d.child(v.ChildKey(index), v.Attempt(), of, v.ChildName(index), input, true)
	if f.code != "" {
		d.failRun(v, st, f)
		return false
	}
	child.Anywhere = true
	d.touchUnit(v.ChildKey(index))
	ev.Text = d.s.Shorten(&ev, d.text(input))
	d.emit(ev)
	d.begun = append(d.begun, begun{v.ChildKey(index), child})
	return true
}

// kidEnded takes the end of an execution to the Map whose iteration it is.
func (d *decider) kidEnded(v *history.Visit, index int, cmd *history.Command) answer {
	st := d.state(v)
	if st == nil {
		return stale
	}
	d.touchUnit(cmd.Row.Unit).reported = true
	ev := history.Event{Scope: v.Scope().ID(), Index: index}
	output := expr.Marshal(d.parsed(cmd.Output))
	switch {
	case cmd.Status == history.Succeeded && len(output) <= d.limits.PayloadBytes:
		ev.Type = history.EventChildDone
		ev.Text = d.s.Shorten(&ev, output)
		return applied(d.emit(ev))
	case cmd.Status == history.Succeeded:
		f := tooLarge(st.Name)
		ev.Error, ev.Cause = f.code, f.cause
	case cmd.Failure != nil:
		ev.Error, ev.Cause = clip(cmd.Failure.Code, maxCode), clip(cmd.Failure.Message, maxCause)
	}
	ev.Type, ev.Limit = history.EventChildFailed, 1
	if st.Batcher != nil {
		if items, ok := d.value(v.Item(index)).(*expr.Object).Get("Items"); ok {
			ev.Limit = len(items.([]expr.Value))
		}
	}
	return applied(d.emit(ev))
}
