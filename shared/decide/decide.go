package decide

import (
	"fmt"
	"slices"

	"github.com/orrery-dev/orrery/shared/definition"
	"github.com/orrery-dev/orrery/shared/expr"
	"github.com/orrery-dev/orrery/shared/history"
)

const (
	// usualEvents is about how many events a turn has.
	usualEvents = 8
	// maxEvents is how many events a turn may have before it goes on in the next one. Commands are applied nevertheless.
	maxEvents = 1000
	// maxBytes is the same for the texts that the events of a turn write out, and maxWork for those that it reads and makes.
	maxBytes = 1 << 20
	maxWork  = 16 << 20
	// firstEvents is the same for the first turn of an execution, and firstBranches is how wide a Parallel may be that it enters:
	// that turn is written without a snapshot.
	firstEvents, firstBranches = 200, 100
	// snapshotEvery is after how many events a snapshot is due: it goes with the turn that reaches them. A load folds at most
	// 500: fewer than these, or those of a first turn.
	snapshotEvery = 300
)

// Start opens an execution and decides as far as it goes by itself and knows. The error is that of an input that is no
// JSON, an [*InputError] or an [*AttributesError].
func Start(m *definition.Machine, id history.ExecutionID, start history.Start, now history.Time) (*history.State, history.Turn, error) {
	return World{}.Start(m, id, start, now)
}

// Start is Start of one who knows something.
func (w World) Start(m *definition.Machine, id history.ExecutionID, start history.Start, now history.Time) (*history.State, history.Turn, error) {
	input, err := expr.Parse(start.Input)
	if err != nil {
		return nil, history.Turn{}, fmt.Errorf("start execution %s: input: %w", start.Name, err)
	}
	if err := checkInput(m, start.Name, input); err != nil {
		return nil, history.Turn{}, err
	}
	if start.Attributes, err = attributes(m, &start, input); err != nil {
		return nil, history.Turn{}, err
	}
	s := history.New()
	t := history.Turn{Execution: id, Seq: 1, At: now, FirstEvent: 1}
	d := &decider{m: m, s: s, t: &t, now: now, draw: newDraw(start.Seed), world: w, limits: m.Limits(), first: true}
	d.open(start, expr.Marshal(input))
	d.proceed()
	d.finish()
	return s, t, d.err
}

// Handle decides commands, in order, into one turn, and folds the turn into s. Reports that follow each other are all
// recorded before any of them has consequences: two that are durable may each fail what the other one belongs to, and a
// turn that withdrew either of them could never be committed. The caller drops s when the turn is not
// committed. The error is a definition that does not have what the state needs, or a kind of command that nobody knows;
// s is then of no use any more.
func Handle(m *definition.Machine, s *history.State, cmds []history.Command, now history.Time) (history.Turn, error) {
	return World{}.Handle(m, s, cmds, now)
}

// Handle is Handle of one who knows something.
func (w World) Handle(m *definition.Machine, s *history.State, cmds []history.Command, now history.Time) (history.Turn, error) {
	now = max(now, s.At())
	t := history.Turn{Seq: s.LastSeq() + 1, At: now, FirstEvent: s.Events() + 1}
	t.Events = make([]history.Event, 0, usualEvents)
	d := &decider{m: m, s: s, t: &t, now: now, world: w, limits: m.Limits()}
	for i := range cmds {
		d.draw = newDraw(cmds[i].Seed)
		d.command(&cmds[i])
		if i+1 == len(cmds) || !isReport(cmds[i].Kind) || !isReport(cmds[i+1].Kind) {
			d.settle()
		}
	}
	d.finish()
	return t, d.err
}

// HandOver records in the turn, before it is committed, that a waiting poll takes the i-th of its offers.
func HandOver(m *definition.Machine, s *history.State, t *history.Turn, i int, claim history.Claim) error {
	if i < 0 || i >= len(t.Offers) || t.Offers[i].Claim != nil || t.Offers[i].TokenTask {
		return fmt.Errorf("hand over offer %d of turn %d: there is no such offer", i, t.Seq)
	}
	d := &decider{m: m, s: s, t: t, now: t.At, limits: m.Limits()}
	v := s.Unit(t.Offers[i].Unit)
	if v == nil || !v.HasRow() || v.Row() != t.Offers[i].RowRef {
		return fmt.Errorf("hand over %s of turn %d: it is not open", t.Offers[i].Unit, t.Seq)
	}
	d.dispatched(v, claim)
	t.Offers[i].Claim = &claim
	t.WakeAt = s.WakeAt()
	return d.err
}

// SnapshotDue tells whether the turn that s has just been through should carry a snapshot.
func SnapshotDue(s *history.State) bool { return s.SinceSnapshot() >= snapshotEvery }

// decider makes one turn.
type decider struct {
	m      *definition.Machine
	limits definition.Limits
	s      *history.State
	t      *history.Turn
	now    history.Time
	draw   *draw
	err    error // the first fault that ends the turn

	first       bool // the turn is an execution's first
	terminating bool // children that are stopped are terminated

	world World
	began map[history.UnitKey]history.Child // by the units that wait for them
	begun []begun                           // of distributed Maps

	size      int // bytes of the texts written so far
	work      int // bytes of the texts read and made so far
	unsettled []failed
	touched   []touched
	touchedAt map[history.UnitKey]int // by unit, once there are many
	claims    []claimed

	pairs [4]pair // the texts that were parsed or made, the last used first
}

// emit records an event and folds it.
func (d *decider) emit(ev history.Event) history.EventID {
	d.size += len(ev.Text.Literal)
	for _, a := range ev.Assigned {
		d.size += len(a.Text.Literal)
	}
	d.t.Events = append(d.t.Events, ev)
	n := len(d.t.Events)
	id := d.s.Events() + 1
	if err := d.s.Apply(d.t.Seq, d.t.At, id, d.t.Events[n-1:]); err != nil {
		d.fault(err)
	}
	return id
}

// fault keeps the first error.
func (d *decider) fault(err error) {
	if d.err == nil {
		d.err = err
	}
}

func (d *decider) faultf(format string, args ...any) { d.fault(fmt.Errorf(format, args...)) }

// full tells that the turn must not go on by itself.
func (d *decider) full() bool {
	return d.first && len(d.t.Events) >= firstEvents || d.err != nil || d.t.Stalled || len(d.begun) >= maxBegun || len(d.t.Events) >= maxEvents || d.size >= maxBytes || d.work >= maxWork
}

// open records the start and enters the first state.
func (d *decider) open(start history.Start, input []byte) {
	if start.Behaviour == 0 {
		start.Behaviour = history.BehaviourLevel
	}
	if start.Timeout == 0 {
		start.Timeout = int64(d.m.TimeoutSeconds) * 1000
	}
	start.Input, start.Seed = nil, 0
	ev := history.Event{Type: history.EventStarted, Scope: history.MainScope, Start: &start, Text: history.Text{Literal: input}}
	d.emit(ev)
	d.enter(d.s.Scope(history.MainScope), d.m, d.m.StartAt)
}

// settle draws the consequences of what the commands so far have recorded.
func (d *decider) settle() {
	d.passOn()
	d.proceed()
}

// passOn hands on the failures of units that are not tried again.
func (d *decider) passOn() {
	for _, x := range d.unsettled {
		if x.v.Scope().Runs() && !d.s.Status().Ended() {
			d.unhandled(x.v, x.st, x.f)
		}
	}
	d.unsettled = d.unsettled[:0]
}

// proceed goes on with what is ready, and then with the execution as a whole where it is unwound.
func (d *decider) proceed() {
	for !d.full() {
		if d.exhausted() {
			d.exhaust()
			continue
		}
		before := d.s.Events()
		v := d.s.Ready()
		switch {
		case v != nil && d.first && d.wide(v):
			return
		case v != nil:
			d.step(v)
			d.passOn()
		case d.s.MustUnwind():
			d.unwind()
		default:
			return
		}
		if d.s.Events() == before && !d.t.Stalled {
			d.faultf("nothing goes on, and yet something is ready: %v", v)
		}
	}
}

// wide tells whether the step of a visit is too much for a first turn.
func (d *decider) wide(v *history.Visit) bool {
	st := d.state(v)
	return st != nil && v.Phase() == history.PhaseEntered && len(st.Branches) > firstBranches
}

func (d *decider) step(v *history.Visit) {
	st := d.state(v)
	if st == nil {
		return
	}
	switch v.Phase() {
	case history.PhaseEntered:
		d.begin(v, st)
	case history.PhaseDone:
		d.leave(v, st)
	case history.PhaseRead:
		d.fanRead(v, st)
	case history.PhaseFanned:
		d.spread(v, st)
	case history.PhaseUndoing:
		d.undoScope(v, st)
	}
}

// state finds what the document says about the state of a visit, or about its compensation.
func (d *decider) state(v *history.Visit) *definition.State {
	st := d.m.Find(v.State())
	switch {
	case st == nil:
		d.faultf("the definition has no state %q", v.State())
	case v.Kind() == history.UndoState && st.Compensate == nil:
		d.faultf("the definition does not say how state %q is undone", v.State())
		return nil
	case v.Kind() == history.UndoState:
		return st.Compensate.Task
	}
	return st
}

// finish fills in what the turn means outside of the history.
func (d *decider) finish() {
	d.effects()
	d.t.WakeAt = d.s.WakeAt()
	if d.s.Status().Ended() && len(d.t.Events) > 0 {
		d.t.End = d.s.End()
		if p := d.s.Start().Parent; p != nil && p.Waits {
			d.t.Told = p
		}
		if o := d.s.Start().Occurrence; o != nil {
			d.t.Settles = o.ID
		}
	}
	if o := d.s.Start().Occurrence; o != nil && d.t.Reopened {
		d.t.Retakes = o.ID
	}
	d.t.Events = slices.Clip(d.t.Events)
}
