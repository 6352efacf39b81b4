package sim

import (
	"bytes"
	"fmt"
	"hash"
	"hash/fnv"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/orrery-dev/orrery/shared/definition"
	"github.com/orrery-dev/orrery/shared/history"
	"github.com/orrery-dev/orrery/shared/sim/memory"
	"github.com/orrery-dev/orrery/shared/store"
)

// audit watches the database, and is told of every transaction before anybody sees it. It keeps a state of its own of every
// execution, folded from what was written, and trusts no check of the database.
type audit struct {
	world *world

	mu       sync.Mutex
	known    map[history.ExecutionID]*dossier
	epochs   map[history.Partition]history.Epoch
	consumed map[history.InboxID]bool
	done     map[attempt][]string // the effects of workers, by whom
	machines map[history.DefinitionID]*definition.Machine
	turns    int
	commits  map[string][]time.Duration // when a node has written turns
	taken    int                        // partitions that have moved
	trace    hash.Hash64
}

// attempt names one try of a unit.
type attempt struct {
	execution string
	unit      history.UnitKey
	number    int
}

// dossier is what is known of one execution.
type dossier struct {
	name       string
	definition history.DefinitionID
	state      *history.State
	signals    []string
	ends       []history.Status
	redrives   int
	rulings    []history.EventID // of words on what was uncertain
	// By attempt: how it was reported, how often its outcome was unknown, and who was ever given it.
	reported map[attempt]string
	lost     map[attempt]int
	given    map[attempt]map[string]bool
}

func newAudit(w *world) *audit {
	return &audit{
		world: w, known: map[history.ExecutionID]*dossier{}, epochs: map[history.Partition]history.Epoch{},
		consumed: map[history.InboxID]bool{}, done: map[attempt][]string{}, machines: map[history.DefinitionID]*definition.Machine{}, commits: map[string][]time.Duration{}, trace: fnv.New64a(),
	}
}

// committed checks a transaction.
func (a *audit) committed(v memory.View, c memory.Change) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.epochsRise(v, c)
	if by := v.Name(c.By); len(c.Turns) > 0 && by != "" {
		a.commits[by] = append(a.commits[by], a.world.since())
	}
	a.taken += len(c.Taken)
	for _, t := range c.Turns {
		a.written(v, c, t)
	}
	for _, id := range c.Executions {
		a.rows(v, id)
	}
}

// epochsRise checks that a partition that has another owner has a higher epoch (I1).
func (a *audit) epochsRise(v memory.View, c memory.Change) {
	for _, p := range c.Taken {
		o := v.Owner(p)
		if o.Epoch <= a.epochs[p] {
			a.world.fail("I1: partition %d went to %s without a new epoch", p, v.Name(o.Fence))
		}
		a.epochs[p] = o.Epoch
	}
}

// written checks one turn.
func (a *audit) written(v memory.View, c memory.Change, t memory.Written) {
	row, turns := v.Execution(t.Execution)
	d := a.known[t.Execution]
	if d == nil {
		d = &dossier{
			name: row.Name, state: history.New(), reported: map[attempt]string{}, lost: map[attempt]int{}, given: map[attempt]map[string]bool{},
		}
		for _, other := range a.known {
			if other.name == d.name {
				a.world.fail("two executions are named %s", d.name)
			}
		}
		a.known[t.Execution] = d
	}
	a.turns++
	fmt.Fprintln(a.trace, t.Execution, t.Turn.Seq, v.Name(c.By), a.world.since())
	a.world.note("commit by %s: %s turn %d: %s", v.Name(c.By), d.name, t.Turn.Seq, eventTypes(t.Turn))
	if !t.New {
		a.byOwner(v, c, row)
	}
	if len(turns) > 1 && turns[len(turns)-1].Seq != turns[len(turns)-2].Seq+1 {
		a.world.fail("I2: the turns of %s are not numbered one after the other", d.name)
	}
	a.fold(v, d, row, turns[len(turns)-1])
	a.again(v, d, row, turns)
	for _, x := range t.Turn.Consumed {
		if a.consumed[x.ID] {
			a.world.fail("I6: entry %d is applied twice, the second time to %s", x.ID, d.name)
		}
		a.consumed[x.ID] = true
	}
}

func eventTypes(t *history.Turn) (list []history.EventType) {
	for _, ev := range t.Events {
		list = append(list, ev.Type)
	}
	return list
}

// byOwner checks that the turn was written by the owner of its partition, under the epoch of now (I1).
func (a *audit) byOwner(v memory.View, c memory.Change, row store.Execution) {
	o := v.Owner(row.Partition)
	switch held := (store.Held{Partition: row.Partition, Epoch: o.Epoch}); {
	case !v.Member(c.By):
		a.world.fail("I1: %s is written by an incarnation of %s that is fenced or gone", row.Name, v.Name(c.By))
	case o.Fence != c.By:
		a.world.fail("I1: %s is written by %s, its partition is owned by %s", row.Name, v.Name(c.By), v.Name(o.Fence))
	case !slices.Contains(c.Held, held):
		a.world.fail("I1: %s is written under another epoch than %d", row.Name, o.Epoch)
	}
}

// fold applies the stored turn to the state, and compares what the row says (I2, I3).
func (a *audit) fold(v memory.View, d *dossier, row store.Execution, turn store.Row) {
	events, err := history.DecodeEvents(turn.Events)
	if err != nil {
		a.world.fail("I3: turn %d of %s: %v", turn.Seq, d.name, err)
		return
	}
	for i := range events {
		a.event(d, turn.First+history.EventID(i), &events[i])
		if err := d.state.Apply(turn.Seq, turn.At, turn.First+history.EventID(i), events[i:i+1]); err != nil {
			a.world.fail("I2: %s: %v", d.name, err)
			return
		}
	}
	if row.Seq != d.state.LastSeq() || row.Status != d.state.Status() {
		a.world.fail("I3: the row of %s says turn %d and %v, its history %d and %v", d.name, row.Seq, row.Status, d.state.LastSeq(), d.state.Status())
	}
	if snapshot, seq := v.Snapshot(row.ID); seq == turn.Seq && snapshot != nil && !bytes.Equal(snapshot, d.state.Snapshot()) {
		a.world.fail("I3: the snapshot of %s after turn %d is not the fold of its history", d.name, seq)
	}
}

// event takes note of an event that is about to be folded.
func (a *audit) event(d *dossier, id history.EventID, ev *history.Event) {
	switch ev.Type {
	case history.EventSignalled:
		payload := string(ev.Text.Literal)
		if slices.Contains(d.signals, payload) {
			a.world.fail("I6: the signal %s of %s is recorded twice", payload, d.name)
		}
		d.signals = append(d.signals, payload)
	case history.EventRedriven:
		d.redrives++
	case history.EventRuled:
		d.rulings = append(d.rulings, id)
	case history.EventEnded:
		if d.ends = append(d.ends, ev.Status); len(d.ends) > 1+d.redrives {
			a.world.fail("%s has ended %d times, and was redriven %d times", d.name, len(d.ends), d.redrives)
		}
	}
	c := d.state.Scope(ev.Scope)
	if c == nil || c.Visit() == nil {
		return
	}
	x := attemptIn(d.name, c.Visit(), ev)
	switch ev.Type {
	case history.EventCompleted, history.EventFailed, history.EventSubmitted:
		kind, _ := c.Visit().Unit()
		if ev.Last || ev.Type == history.EventSubmitted && kind != history.TokenUnit {
			return // by an operator's word, or by nobody's
		}
		if old, again := d.reported[x]; again {
			a.world.fail("I8: attempt %d of %s in %s is resolved twice: %s, %s", x.number, x.unit, x.execution, old, ev.Type)
		}
		d.reported[x] = string(ev.Type)
	case history.EventLost:
		d.lost[x]++
	case history.EventDispatched:
		d.give(x, ev.Session)
	}
}

// attemptIn is the attempt that an event is about. One that waits for a token is delivered under a key of its own: a worker
// reports that, and whoever has the token reports the unit.
func attemptIn(execution string, v *history.Visit, ev *history.Event) attempt {
	x := attempt{execution, v.Row().Unit, v.Attempt()}
	if ev.Type == history.EventCompleted || ev.Unit == history.TokenUnit {
		x.unit = v.Key()
	}
	return x
}

func (d *dossier) give(x attempt, session string) {
	if d.given[x] == nil {
		d.given[x] = map[string]bool{}
	}
	d.given[x][session] = true
}

// rows checks the rows of an execution in the queue (I7), and takes note of who was given what.
func (a *audit) rows(v memory.View, id history.ExecutionID) {
	d := a.known[id]
	seen := map[history.RowRef]bool{}
	for _, r := range v.Rows(id) {
		if seen[r.Row] {
			a.world.fail("I7: two rows for %+v of %s", r.Row, d.name)
		}
		seen[r.Row] = true
		if r.Claim.Session != "" {
			d.give(attempt{d.name, r.Row.Unit, r.Row.Attempt}, r.Claim.Session)
		}
	}
}

// dossierOf finds an execution by name, nil where there is none.
func (a *audit) dossierOf(name string) *dossier {
	for _, d := range a.known {
		if d.name == name {
			return d
		}
	}
	return nil
}

// waiting lists the executions that have not ended, with what they wait for.
func (a *audit) waiting() (out []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, d := range a.known {
		if !d.state.Status().Ended() {
			out = append(out, fmt.Sprintf("%s waits for %+v", d.name, d.state.OpenUnits()))
		}
	}
	slices.Sort(out)
	return out
}

// left lists what should not be there once everything has ended.
func (a *audit) left() (out []string) {
	a.world.db.View(func(v memory.View) {
		for _, r := range v.Rows(0) {
			if r.State != "cancelled" || v.Holds(r.Claim.Session) && a.world.employed(r.Claim.Session) {
				out = append(out, fmt.Sprintf("a row of %s %+v, %s", r.Name, r.Row, r.State))
			}
		}
		for _, e := range v.Waiting() {
			out = append(out, fmt.Sprintf("an entry of execution %d, %s", e.Execution, e.Command.Kind))
		}
		for _, o := range v.Owners() {
			if !v.Member(o.Fence) {
				out = append(out, "partition "+strconv.Itoa(int(o.Partition))+" without an owner")
			}
		}
		for _, e := range v.Executions() {
			if e.WakeAt != 0 {
				out = append(out, "a timer of "+e.Name)
			}
		}
	})
	return out
}

func (a *audit) ended() (n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, d := range a.known {
		n += len(d.ends)
	}
	return n
}

func (a *audit) effects() (n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, list := range a.done {
		n += len(list)
	}
	return n
}

// held lists the executions in which a unit waits for an operator's word, by name.
func (a *audit) held() (out []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, d := range a.known {
		if slices.ContainsFunc(d.state.OpenUnits(), func(u history.UnitView) bool { return u.Status == history.UnitUncertain }) {
			out = append(out, d.name)
		}
	}
	slices.Sort(out)
	return out
}

// deaf lists the executions that wait for a signal, by name; of a child it is never one.
func (a *audit) deaf() (out []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, d := range a.known {
		for _, u := range d.state.OpenUnits() {
			if u.Signal != "" && !slices.Contains(out, d.name) {
				out = append(out, d.name)
			}
		}
	}
	slices.Sort(out)
	return out
}
