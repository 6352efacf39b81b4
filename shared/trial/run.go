package trial

import (
	"container/heap"
	"fmt"
	"strings"
	"time"

	"github.com/orrery-dev/orrery/shared/decide"
	"github.com/orrery-dev/orrery/shared/definition"
	"github.com/orrery-dev/orrery/shared/history"
)

// Options say how a document is run.
type Options struct {
	// Start opens the execution; its Seed feeds everything that the run draws.
	Start history.Start
	// At is the time on the clock at the start.
	At history.Time
	// Worker is the name of the worker that claims offers.
	Worker string
	// Comings come from outside at their times.
	Comings []Coming
	// Resource gives what events tell of the Resource of a Task, by the name of its state; nil for the document's own.
	Resource func(state string) string
	Limits   Limits
	// Check is asked between turns whether to go on; its error ends the run. Nil goes on.
	Check func() error
}

// Run is an execution that was tried.
type Run struct {
	// State is how the execution stands at the end of the run.
	State *history.State
	// Start is when it was started, Now what its clock shows.
	Start, Now history.Time
	// Turns are those that have events.
	Turns []Turn
	// Notes tell of what had no effect, such as a signal after the end.
	Notes []string

	events, bytes int
}

// Turn is one decision of a run.
type Turn struct {
	Seq    history.Seq
	At     history.Time
	Events []history.Event
	Views  []history.View
}

// Clock is how long the execution has run by its clock.
func (r *Run) Clock() time.Duration { return r.Now.Sub(r.Start) }

// Execute runs a document from its start to its end. Where the run does not come to an end, the error says why, and the
// Run shows how far it came; it is nil where the execution could not be started.
func Execute(m *definition.Machine, world World, o Options) (*Run, error) {
	x := &runner{m: m, world: world, o: o, beats: map[history.RowRef]history.Time{}, shown: history.New()}
	x.o.Limits = o.Limits.withDefaults()
	if o.Resource == nil {
		x.o.Resource = func(name string) string { return resourceOf(m, name) }
	}
	x.r = &Run{Start: o.At, Now: o.At}
	s, t, err := decide.Start(m, 1, o.Start, o.At)
	if err != nil {
		return nil, err
	}
	x.r.State = s
	for _, c := range o.Comings {
		x.agenda.file(o.At.Add(c.After), comings, c.Command)
	}
	if err := x.show(t); err != nil {
		return nil, err
	}
	err = x.toTheEnd()
	x.leftOver()
	return x.r, err
}

// resourceOf is the Resource of a Task as written, empty for others.
func resourceOf(m *definition.Machine, state string) string {
	if st := m.Find(state); st != nil && st.Resource != nil {
		return st.Resource.Text
	}
	return ""
}

// taskOf is the Task whose unit a visit is: its state, or the compensation of that.
func taskOf(m *definition.Machine, v *history.Visit) *definition.State {
	st := m.Find(v.State())
	if v.Kind() == history.UndoState && st != nil && st.Compensate != nil {
		return st.Compensate.Task
	}
	return st
}

// runner drives one execution.
type runner struct {
	m      *definition.Machine
	world  World
	o      Options
	r      *Run
	agenda agenda
	offers []history.Offer                 // of the last turn
	beats  map[history.RowRef]history.Time // until when the worker of an offer will be heard
	shown  *history.State                  // folded along to describe the events
	handed int                             // commands so far, for their seeds
}

func (x *runner) toTheEnd() error {
	for !x.r.State.Status().Ended() {
		if err := x.o.Limits.check(x.r); err != nil {
			return err
		}
		if x.o.Check != nil {
			if err := x.o.Check(); err != nil {
				return err
			}
		}
		if err := x.step(); err != nil {
			return err
		}
	}
	return nil
}

// step makes one turn.
func (x *runner) step() error {
	if err := x.ask(); err != nil {
		return err
	}
	if cmds := x.agenda.take(x.r.Now); len(cmds) > 0 {
		return x.handle(cmds)
	}
	next, filed := x.agenda.next()
	wake := x.r.State.WakeAt()
	switch {
	case wake != 0 && (!filed || wake < next):
		if err := x.jump(wake); err != nil {
			return err
		}
		return x.handle([]history.Command{{Kind: history.KindTimer}})
	case filed:
		return x.jump(next)
	}
	return x.stuck()
}

func (x *runner) jump(to history.Time) error {
	if err := x.o.Limits.jump(x.r, to); err != nil {
		return err
	}
	x.r.Now = max(x.r.Now, to)
	return nil
}

// ask files what becomes of the offers of the last turn.
func (x *runner) ask() error {
	for _, o := range x.offers {
		v := x.r.State.Unit(o.Unit)
		if v == nil {
			continue
		}
		a, err := x.world.Answer(Offer{
			RowRef: o.RowRef, State: taskOf(x.m, v), Input: o.Task.Input, Redelivery: o.Task.Redelivery,
		})
		if err != nil {
			return err
		}
		x.file(o.RowRef, a)
	}
	x.offers = nil
	return nil
}

func (x *runner) file(row history.RowRef, a Answer) {
	if a.Kind == Absent {
		return
	}
	now := x.r.Now
	claim := history.Claim{At: now, Worker: x.o.Worker}
	x.agenda.file(now, claims, history.Command{Kind: history.KindDispatched, Row: row, Claim: claim})
	cmd := history.Command{Row: row, Claim: claim}
	switch a.Kind {
	case Completes:
		cmd.Kind, cmd.Output = history.KindComplete, a.Output
	case Fails:
		cmd.Kind, cmd.Failure = history.KindFail, &a.Failure
	case Uncertain:
		cmd.Kind, cmd.Reason = history.KindUncertain, a.Reason
	case Lost:
		cmd.Kind, cmd.Reason = history.KindLost, a.Reason
	default:
		return
	}
	x.beats[row] = now.Add(a.After)
	x.agenda.file(now.Add(a.After), reports, cmd)
}

// handle makes a turn of commands.
func (x *runner) handle(cmds []history.Command) error {
	for i := range cmds {
		x.handed++
		cmds[i].Ref = uint64(x.handed)
		cmds[i].Seed = x.o.Start.Seed + uint64(x.handed)<<32
	}
	t, err := decide.Handle(x.m, x.r.State, cmds, x.r.Now)
	if err != nil {
		return err
	}
	for i, reply := range t.Replies {
		x.beat(cmds[i])
		if reply.Outcome == history.Refused {
			x.note("%s was refused: %s", title(cmds[i]), reply.Message)
		}
	}
	return x.show(t)
}

// beat lets the worker of a new claim be heard until it answers: its heartbeats are not turns of their own.
func (x *runner) beat(cmd history.Command) {
	if until, ok := x.beats[cmd.Row]; ok && cmd.Kind == history.KindDispatched {
		x.r.State.Heard(cmd.Row.Unit, until)
		delete(x.beats, cmd.Row)
	}
}

// show adds a turn to the run.
func (x *runner) show(t history.Turn) error {
	x.offers = t.Offers
	if len(t.Events) == 0 {
		return nil
	}
	views, err := history.Describe(x.shown, t.Seq, t.At, t.FirstEvent, t.Events, x.o.Resource)
	if err != nil {
		return err
	}
	x.r.Turns = append(x.r.Turns, Turn{t.Seq, t.At, t.Events, views})
	x.r.events += len(views)
	for i := range views {
		for _, d := range views[i].Details {
			x.r.bytes += len(d.Value)
		}
	}
	return nil
}

func (x *runner) note(format string, args ...any) {
	x.r.Notes = append(x.r.Notes, fmt.Sprintf(format, args...))
}

// leftOver notes what was to come from outside when the run was over.
func (x *runner) leftOver() {
	for len(x.agenda.list) > 0 {
		h := heap.Pop(&x.agenda).(happening)
		if h.rank == comings {
			x.note("%s, %s after the start, had no effect: the run was over after %s", title(h.cmd), h.at.Sub(x.r.Start), x.r.Clock())
		}
	}
}

// title names a command from outside.
func title(cmd history.Command) string {
	switch cmd.Kind {
	case history.KindSignal:
		return "the signal " + cmd.Signal
	case history.KindResolve:
		return "the word on unit " + string(cmd.Row.Unit)
	}
	return "the " + string(cmd.Kind)
}

// maxListed is how many units an error lists.
const maxListed = 5

// stuck is the error of an execution that waits for what never comes.
func (x *runner) stuck() error {
	var waits []string
	for _, v := range x.r.State.OpenVisits() {
		if len(waits) == maxListed {
			waits = append(waits, "and more")
			break
		}
		_, status := v.Unit()
		what := "an operator's word"
		if st := taskOf(x.m, v); status != history.UnitUncertain && st != nil && st.Resource != nil {
			what = st.Resource.Text
		}
		waits = append(waits, fmt.Sprintf("%s for %s (%s)", v.Key(), what, status))
	}
	return fmt.Errorf("the execution waits for what does not come: %s", strings.Join(waits, ", "))
}
