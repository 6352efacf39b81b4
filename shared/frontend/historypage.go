package frontend

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"

	"github.com/orrery-dev/orrery/shared/auth"
	"github.com/orrery-dev/orrery/shared/history"
	"github.com/orrery-dev/orrery/shared/store"
	"github.com/orrery-dev/orrery/shared/wire"
)

// turnsPerRead is how many turns of a history are read at once.
const turnsPerRead = 500

// History shows a page of events. The cursor is the number of the page's first event, in the page's order. What an event
// tells may be in the state before it, so a page is folded from the newest snapshot where that is early enough, else from
// the beginning.
func (f *Frontend) History(ctx context.Context, c auth.Call, id string, q wire.HistoryQuery) (wire.HistoryPage, error) {
	from, err := cursor(q.Cursor)
	if err != nil {
		return wire.HistoryPage{}, err
	}
	_, d, err := f.execution(ctx, c, id)
	if err != nil {
		return wire.HistoryPage{}, err
	}
	loaded, state, err := f.load(ctx, d.Execution)
	if err != nil {
		return wire.HistoryPage{}, err
	}
	p := pageOf(q, from, int64(state.Events()))
	a := wire.HistoryPage{Events: []wire.Event{}, Next: p.next()}
	if p.low > p.high {
		return a, nil
	}
	v := &viewer{f: f, execution: loaded.Execution, page: p, events: a.Events}
	if err := v.fold(ctx, loaded); err != nil {
		return wire.HistoryPage{}, err
	}
	a.Events = v.events
	if p.desc {
		slices.Reverse(a.Events)
	}
	return a, nil
}

// page is a stretch of events, both ends inclusive.
type page struct {
	low, high, last int64
	desc            bool
}

// pageOf is the page of a query: from is the cursor, zero for the first page; last is the number of the last event.
func pageOf(q wire.HistoryQuery, from, last int64) page {
	p := page{last: last, desc: q.Order == "desc"}
	if p.desc {
		if from == 0 {
			from = last
		}
		p.high = min(from, last)
		p.low = max(1, p.high-int64(q.Limit)+1)
		return p
	}
	p.low = max(1, from)
	p.high = min(last, p.low+int64(q.Limit)-1)
	return p
}

// next is the cursor of the page after, empty on the last one.
func (p page) next() string {
	switch {
	case p.desc && p.low > 1:
		return strconv.FormatInt(p.low-1, 10)
	case !p.desc && p.high < p.last:
		return strconv.FormatInt(p.high+1, 10)
	}
	return ""
}

// viewer folds turns and keeps what the page shows.
type viewer struct {
	f         *Frontend
	execution store.Execution
	page      page
	state     *history.State
	resource  func(string) string
	events    []wire.Event
}

// fold goes through the turns up to the end of the page.
func (v *viewer) fold(ctx context.Context, l store.Loaded) error {
	machine := v.f.machineOf(ctx, v.execution)
	v.resource = func(state string) string {
		if s := find(machine, state); s != nil && s.Resource != nil {
			return s.Resource.Text
		}
		return ""
	}
	if l.Snapshot != nil {
		state, err := history.Restore(l.Snapshot)
		if err == nil && int64(state.Events()) < v.page.low {
			v.state = state
			_, err := v.add(l.Turns)
			return err
		}
	}
	v.state = history.New()
	for done := false; !done; {
		rows, err := v.f.store.History(ctx, store.HistoryQuery{Execution: v.execution.ID, From: v.state.LastSeq() + 1, Limit: turnsPerRead})
		if err != nil {
			return failed("read the history of "+v.execution.Name, err)
		}
		if done, err = v.add(rows); err != nil {
			return err
		}
		done = done || len(rows) < turnsPerRead
	}
	return nil
}

// add folds turns; done tells that the page is full.
func (v *viewer) add(rows []store.Row) (done bool, err error) {
	for _, row := range rows {
		if int64(row.First) > v.page.high {
			return true, nil
		}
		events, err := history.DecodeEvents(row.Events)
		if err != nil {
			return false, unfolded(v.execution.Name, err)
		}
		if int64(row.First)+int64(len(events)) <= v.page.low {
			err = v.state.Apply(row.Seq, row.At, row.First, events)
		} else {
			err = v.show(row, events)
		}
		if err != nil {
			return false, unfolded(v.execution.Name, err)
		}
	}
	return false, nil
}

// show folds a turn and keeps those of its events that are on the page.
func (v *viewer) show(row store.Row, events []history.Event) error {
	views, err := history.Describe(v.state, row.Seq, row.At, row.First, events, v.resource)
	if err != nil {
		return err
	}
	for _, x := range views {
		if id := int64(x.ID); id >= v.page.low && id <= v.page.high {
			v.events = append(v.events, eventOf(row.Seq, x))
		}
	}
	return nil
}

func eventOf(seq history.Seq, v history.View) wire.Event {
	data := []byte{'{'}
	for i, d := range v.Details {
		if i > 0 {
			data = append(data, ',')
		}
		name, _ := json.Marshal(d.Name) // a string always encodes
		data = append(append(append(data, name...), ':'), d.Value...)
	}
	return wire.Event{
		ID: int64(v.ID), Turn: int64(seq), Previous: int64(v.Previous), At: v.At.Time(), Type: v.Type, Unit: string(v.Unit),
		Data: append(data, '}'),
	}
}
