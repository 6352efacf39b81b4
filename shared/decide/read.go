package decide

import (
	"errors"
	"fmt"

	"github.com/orrery-dev/orrery/shared/definition"
	"github.com/orrery-dev/orrery/shared/expr"
	"github.com/orrery-dev/orrery/shared/history"
)

// MaxItemBytes is how large the items of a Map may be that are read from elsewhere, together, as JSON.
const MaxItemBytes = 4 << 20

// read has the server read the items of a Map.
func (d *decider) read(v *history.Visit, st *definition.State) {
	sc, entry, err := d.flow(d.placeOf(v), st, v.Input())
	if err != nil {
		d.fail(v, st, evaluation(v, err))
		return
	}
	work, f, err := d.reading(sc.With(entry.Input), st, entry.Effective)
	switch {
	case err != nil:
		d.fail(v, st, evaluation(v, err))
		return
	case f.code != "":
		d.failReading(v, st, sc.With(entry.Input), f)
		return
	}
	d.touch(v)
	d.emit(history.Event{Type: history.EventReading, Scope: v.Scope().ID(), Text: history.Text{Literal: expr.Marshal(work)}})
}

// reading is what the server is asked for; the failure says why it cannot be.
func (d *decider) reading(sc *expr.Scope, st *definition.State, given expr.Value) (*expr.Object, failure, error) {
	config := st.Reader.Config.Clone()
	if st.Reader.MaxItems != nil {
		most, err := st.Reader.MaxItems.Eval(sc)
		if e, ok := errors.AsType[*expr.Error](err); ok && e.Name == expr.StatesItemReaderFailed {
			return nil, failure{code: e.Name, cause: e.Cause}, nil
		}
		if err != nil {
			return nil, failure{}, err
		}
		config.Set("MaxItems", expr.NumberOf(most))
	}
	parameters := given
	if st.Reader.Parameters != nil {
		var err error
		if parameters, err = st.Reader.Parameters.Eval(sc); err != nil {
			return nil, failure{}, err
		}
	}
	return expr.NewObject(
		expr.Member{Name: "Resource", Value: st.Resource.Text}, expr.Member{Name: "Parameters", Value: parameters},
		expr.Member{Name: "ReaderConfig", Value: config},
	), failure{}, nil
}

// haveRead records what was read.
func (d *decider) haveRead(ev history.Event, items expr.Value) history.EventID {
	text := d.text(items)
	list, ok := items.([]expr.Value)
	fault := ""
	switch {
	case !ok:
		fault = "Attempting to map over non-iterable node."
	case len(text) > MaxItemBytes:
		fault = fmt.Sprintf("The items have %d bytes, %d are allowed.", len(text), MaxItemBytes)
	case len(list) > history.MaxBranches:
		fault = fmt.Sprintf("There are %d items, %d are allowed.", len(list), history.MaxBranches)
	default:
		ev.Text.Literal = text
		return d.emit(ev)
	}
	ev.Type, ev.Error, ev.Cause = history.EventUnread, expr.StatesItemReaderFailed, fault
	return d.emit(ev)
}

// fanRead begins a Map whose items were read, or fails it.
func (d *decider) fanRead(v *history.Visit, st *definition.State) {
	sc, entry, err := d.flow(d.placeOf(v), st, v.Input())
	if err != nil {
		d.fail(v, st, evaluation(v, err))
		return
	}
	inner := sc.With(entry.Input)
	if code, cause := v.Unread(); code != "" {
		d.failReading(v, st, inner, failure{code: code, cause: cause})
		return
	}
	items, _ := d.value(v.Value()).([]expr.Value)
	ev := history.Event{Type: history.EventFanned, Scope: v.Scope().ID(), Index: len(items)}
	if ev.Limit, err = concurrency(inner, st); err != nil {
		d.fail(v, st, evaluation(v, err))
		return
	}
	if f, ok := d.tooWide(len(items)); ok {
		d.fail(v, st, f)
		return
	}
	d.fanRun(v, st, ev, inner, items)
}

// failReading fails a Map without items, as the reference service does it: with a run that has begun.
func (d *decider) failReading(v *history.Visit, st *definition.State, sc *expr.Scope, f failure) {
	limit, err := concurrency(sc, st)
	if err != nil {
		d.fail(v, st, evaluation(v, err))
		return
	}
	ev := history.Event{Type: history.EventFanned, Scope: v.Scope().ID(), Limit: limit}
	ev.Text = d.s.Shorten(&ev, []byte("[]"))
	d.emit(ev)
	d.emit(history.Event{Type: history.EventRunBegun, Scope: v.Scope().ID(), Name: d.runID(st)})
	d.runFailed(v, st, f)
}
