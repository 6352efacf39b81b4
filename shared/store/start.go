package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/orrery-dev/orrery/shared/history"
)

var (
	startSQL            = query("start")
	executionsByNameSQL = query("executions_by_name")
)

// Start writes the first turn of a new execution from a process that owns nothing, in one round trip, and rings who
// waits. Item.Epoch and Item.Turn.Execution are not used.
func (s *Store) Start(ctx context.Context, it Item) (Started, error) {
	started, err := s.start(ctx, it)
	if errors.Is(err, ErrConflict) { // somebody else was taking the name
		return s.start(ctx, it)
	}
	return started, err
}

func (s *Store) start(ctx context.Context, it Item) (Started, error) {
	items := []Item{it}
	c := columnsOfItems(0, items)
	var bells Bells
	bells.Add(it)
	if it.Turn.WakeAt != 0 {
		bells.Inbox = []history.Partition{it.Partition} // the owner knows only the timers that it has read
	}
	p := s.pipeline()
	p.begin()
	w := c.write(p)
	p.commit()
	p.ring(bells)
	if err := p.run(ctx); err != nil {
		return Started{}, fmt.Errorf("store: start %s: %w", it.New.Name, translateWrite(err))
	}
	started, err := s.startedOf(ctx, items, c.starts.items, w.started)
	if err != nil {
		return Started{}, fmt.Errorf("store: start %s: %w", it.New.Name, err)
	}
	return started[0], nil
}

// startedRow is a new execution by its place among the starts, from 1; 0 for none.
type startedRow struct {
	Place     int64
	ID        int64 // zero for one that was refused
	MaxActive int32 // the limit that has refused it, else zero
	Debt      int64 // what the starts that owe are noted under, zero for none
}

// startedOf tells what became of the starts, by the indexes of their items. Names that were lost to others take a round trip
// more.
func (s *Store) startedOf(ctx context.Context, items []Item, starts []int, rows []startedRow) (map[int]Started, error) {
	out := make(map[int]Started, len(starts))
	for _, r := range rows {
		if r.Place > 0 {
			out[starts[r.Place-1]] = Started{Execution: history.ExecutionID(r.ID), MaxActive: int(r.MaxActive)}
		}
	}
	if len(out) == len(starts) {
		return out, nil
	}
	var namespaces []int32
	var names []string
	for _, i := range starts {
		if _, won := out[i]; !won {
			namespaces = append(namespaces, int32(items[i].New.Namespace))
			names = append(names, items[i].New.Name)
		}
	}
	existing, err := list[executionRow](ctx, s, "read executions by name", executionsByNameSQL, args{"namespaces": namespaces, "names": names})
	if err != nil {
		return nil, err
	}
	for _, i := range starts {
		if _, won := out[i]; won {
			continue
		}
		found := find(existing, items[i].New)
		if found == nil {
			return nil, fmt.Errorf("the name %s was taken by an execution that is gone: %w", items[i].New.Name, ErrConflict)
		}
		out[i] = Started{Execution: found.ID, Existing: found}
	}
	return out, nil
}

func find(rows []executionRow, n *NewExecution) *Execution {
	for i := range rows {
		if rows[i].Namespace == int32(n.Namespace) && rows[i].Name == n.Name {
			e := rows[i].execution()
			return &e
		}
	}
	return nil
}

type startColumns struct {
	items       []int // index of each start's item
	namespaces  []int32
	names       []string
	definitions []int64
	partitions  []int16
	hashes      [][]byte
	traces      []*string
	ats         []time.Time
	events      []*string
	wakes       []*time.Time
	statuses    []*int16
	parents     []int64 // zero for none
	occurrences []*int64
	tokens      []*int64
	attributes  attributeColumns
	offers      offerColumns
	owing       []int64 // places of those that leave something to be written
}

func (c *startColumns) add(index int, it *Item) {
	t, n := it.Turn, it.New
	status, wake := ended(t)
	c.items = append(c.items, index)
	c.namespaces = append(c.namespaces, int32(n.Namespace))
	c.names = append(c.names, n.Name)
	c.definitions = append(c.definitions, int64(n.Definition))
	c.partitions = append(c.partitions, int16(it.Partition))
	c.hashes = append(c.hashes, n.InputHash)
	c.traces = append(c.traces, optional(n.Trace))
	c.ats = append(c.ats, t.At.Time())
	c.events = append(c.events, encoded(t))
	if it.Owes {
		wake = nil
		c.owing = append(c.owing, int64(len(c.items)))
	}
	c.wakes = append(c.wakes, wake)
	c.statuses = append(c.statuses, status)
	c.parents = append(c.parents, int64(it.parent))
	c.attributes.add(int64(len(c.items)), n.Attributes)
	c.occurrences = append(c.occurrences, positive(int64(n.Occurrence)))
	c.tokens = append(c.tokens, positive(n.Token))
	for i := range t.Offers {
		c.offers.add(int64(len(c.items)), t.At, &t.Offers[i])
	}
}

func (c *startColumns) args(fence history.FenceNumber) args {
	a := c.offers.args(fence)
	a["namespaces"], a["names"], a["definitions"], a["partitions"] = c.namespaces, c.names, c.definitions, c.partitions
	a["input_hashes"], a["traces"], a["ats"], a["events"] = c.hashes, c.traces, c.ats, c.events
	a["wakes"], a["statuses"], a["parents"], a["owing"] = c.wakes, c.statuses, c.parents, c.owing
	a["occurrences"], a["tokens"] = c.occurrences, c.tokens
	a["attribute_places"], a["attribute_names"], a["attribute_values"] = c.attributes.places, c.attributes.names, c.attributes.values
	return a
}
