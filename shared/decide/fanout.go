package decide

import (
	"github.com/orrery-dev/orrery/shared/definition"
	"github.com/orrery-dev/orrery/shared/expr"
	"github.com/orrery-dev/orrery/shared/history"
)

// fanOut begins a try of a Parallel or a Map; one that reads its items begins by that.
func (d *decider) fanOut(v *history.Visit, st *definition.State) {
	if st.Reader != nil {
		d.read(v, st)
		return
	}
	ev := history.Event{Type: history.EventFanned, Scope: v.Scope().ID()}
	sc, entry, err := d.flow(d.placeOf(v), st, v.Input())
	if err != nil {
		d.fail(v, st, evaluation(v, err))
		return
	}
	if st.Type == definition.Parallel {
		if f, ok := d.tooWide(len(st.Branches)); ok {
			d.fail(v, st, f)
			return
		}
		ev.Index = len(st.Branches)
		ev.Text = d.s.Shorten(&ev, d.text(entry.Effective))
		d.emit(ev)
		for _, c := range v.Branches() {
			m := st.Branches[c.Index()]
			d.enter(c, m, m.StartAt)
		}
		return
	}
	items, limit, err := d.items(sc, entry, st)
	if err != nil {
		d.fail(v, st, evaluation(v, err))
		return
	}
	if f, ok := d.tooWide(len(items)); ok {
		d.fail(v, st, f)
		return
	}
	ev.Index, ev.Limit = len(items), limit
	if st.Distributed {
		d.fanRun(v, st, ev, sc.With(entry.Input), items)
		return
	}
	if ev.Tolerated, err = tolerated(sc.With(entry.Input), st, len(items)); err != nil {
		d.fail(v, st, evaluation(v, err))
		return
	}
	ev.Text = d.s.Shorten(&ev, expr.Marshal(items))
	d.emit(ev)
}

// tolerated is how many of n items may fail before their Map does.
func tolerated(sc *expr.Scope, st *definition.State, n int) (int, error) {
	most := int64(n)
	if st.ToleratedFailureCount == nil && st.ToleratedFailurePercentage == nil {
		return 0, nil
	}
	if st.ToleratedFailureCount != nil {
		count, err := st.ToleratedFailureCount.Eval(sc)
		if err != nil {
			return 0, err
		}
		most = min(most, count)
	}
	if st.ToleratedFailurePercentage != nil {
		percentage, err := st.ToleratedFailurePercentage.Eval(sc)
		if err != nil {
			return 0, err
		}
		most = min(most, int64(percentage*float64(n)/100))
	}
	return int(most), nil
}

// items evaluates what a Map iterates over, and how many iterations may run at once.
func (d *decider) items(sc *expr.Scope, entry expr.Entry, st *definition.State) ([]expr.Value, int, error) {
	inner := sc.With(entry.Input)
	limit, err := concurrency(inner, st)
	if err != nil {
		return nil, 0, err
	}
	var items []expr.Value
	if st.Items != nil {
		items, err = st.Items.Eval(inner)
	} else if list, ok := entry.Effective.([]expr.Value); ok {
		items = list
	} else {
		err = &expr.Error{Name: expr.StatesRuntime, Cause: "The input of a Map must be an array."}
	}
	if err == nil && len(items) > history.MaxBranches {
		err = &expr.Error{Name: expr.StatesRuntime, Cause: "A Map has too many items."}
	}
	return items, limit, err
}

// concurrency evaluates how many iterations of a Map may run at once; zero for any number.
func concurrency(sc *expr.Scope, st *definition.State) (int, error) {
	if st.MaxConcurrency == nil {
		return 0, nil
	}
	limit, err := st.MaxConcurrency.Eval(sc)
	if err == nil && limit < 0 {
		err = &expr.Error{Name: expr.StatesRuntime, Cause: "MaxConcurrency must not be negative."}
	}
	return int(min(limit, history.MaxBranches)), err
}

// spread begins the iterations that may run, or joins the branches or iterations when all have ended.
func (d *decider) spread(v *history.Visit, st *definition.State) {
	if st.Distributed {
		d.spreadRun(v, st)
		return
	}
	for v.Unfanned() && !d.full() {
		if !d.iterate(v, st) {
			return
		}
	}
	if v.Complete() {
		d.emit(history.Event{Type: history.EventJoined, Scope: v.Scope().ID()})
	}
}

// iterate begins the next iteration; false where its input cannot be made, and the Map has failed.
func (d *decider) iterate(v *history.Visit, st *definition.State) bool {
	index, item := v.Next()
	ev := history.Event{Type: history.EventIterBegun, Scope: v.Scope().ID(), Index: index}
	sc, entry, err := d.flow(d.placeOf(v), st, v.Input())
	var input expr.Value
	if err == nil {
		input, err = st.Flow.Item(sc.With(entry.Input), index, d.value(item))
	}
	if err != nil {
		d.touchTree(v)
		d.stopBranches(v, nil)
		d.fail(v, st, evaluation(v, err))
		return false
	}
	ev.Text = d.s.Shorten(&ev, d.text(input))
	d.emit(ev)
	d.enter(v.Branch(index), st.Processor, st.Processor.StartAt)
	return true
}
