package trial

import (
	"container/heap"
	"fmt"
	"slices"
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
	// Name is that of the execution.
	Name string
	// State is how the execution stands at the end of the run.
	State *history.State
	// Start is when it was started, Now what its clock shows.
	Start, Now history.Time
	// Turns are those that have events.
	Turns []Turn
	// Notes tell of what had no effect, such as a signal after the end.
	Notes []string
	// Children are the executions of its distributed Maps, and of those inside of them, in the order in which they were
	// started.
	Children []*Run

	turns, events, bytes int // of the children too
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
	x := &runner{m: m, world: world, o: o}
	x.o.Limits = o.Limits.withDefaults()
	if o.Resource == nil {
		x.o.Resource = func(name string) string { return resourceOf(m, name) }
	}
	x.r = &Run{Name: o.Start.Name, Start: o.At, Now: o.At}
	s, t, err := decide.Start(m, 1, o.Start, o.At)
	if err != nil {
		return nil, err
	}
	root := x.add(m, x.r, "", s)
	for _, c := range o.Comings {
		x.agenda.file(o.At.Add(c.After), comings, root, c.Command)
	}
	if err := x.apply(root, t); err != nil {
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

// taskOf is the Task whose unit a visit is: its state, or the compensation of that. For a Map that writes its results it is the Map,
// with the Resource of that.
func taskOf(m *definition.Machine, v *history.Visit) *definition.State {
	st := m.Find(v.State())
	if v.Kind() == history.UndoState && st != nil && st.Compensate != nil {
		return st.Compensate.Task
	}
	if v.Writes() && st != nil {
		writing := *st
		writing.Resource = decide.ResourceOf(v, st)
		return &writing
	}
	return st
}

// runner drives one execution and those of its distributed Maps, on one clock.
type runner struct {
	m       *definition.Machine
	world   World
	o       Options
	r       *Run
	agenda  agenda
	members []*member
	handed  int // commands so far, for their seeds
}

// member is one of the executions.
type member struct {
	m      *definition.Machine
	r      *Run
	within history.UnitKey                 // the iteration that it is of, empty for the document's own
	offers []history.Offer                 // of the last turn
	beats  map[history.RowRef]history.Time // until when the worker of an offer will be heard
	shown  *history.State                  // folded along to describe the events
}

func (x *runner) add(m *definition.Machine, r *Run, within history.UnitKey, s *history.State) *member {
	r.State = s
	e := &member{m: m, r: r, within: within, beats: map[history.RowRef]history.Time{}, shown: history.New()}
	x.members = append(x.members, e)
	return e
}

func (x *runner) toTheEnd() error {
	for slices.ContainsFunc(x.members, func(e *member) bool { return !e.r.State.Status().Ended() }) {
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
	for _, e := range x.members {
		if err := x.ask(e); err != nil {
			return err
		}
	}
	if to, cmds := x.agenda.take(x.r.Now); len(cmds) > 0 {
		return x.handle(to, cmds)
	}
	next, filed := x.agenda.next()
	e, wake := x.earliest()
	switch {
	case e != nil && (!filed || wake < next):
		if err := x.jump(wake); err != nil {
			return err
		}
		return x.handle(e, []history.Command{{Kind: history.KindTimer}})
	case filed:
		return x.jump(next)
	}
	return x.stuck()
}

// earliest is the member that wakes up first, nil where none does.
func (x *runner) earliest() (*member, history.Time) {
	var first *member
	var at history.Time
	for _, e := range x.members {
		if wake := e.r.State.WakeAt(); wake != 0 && (first == nil || wake < at) {
			first, at = e, wake
		}
	}
	return first, at
}

func (x *runner) jump(to history.Time) error {
	if err := x.o.Limits.jump(x.r, to); err != nil {
		return err
	}
	x.r.Now = max(x.r.Now, to)
	return nil
}

// ask files what becomes of the offers of a member's last turn.
func (x *runner) ask(e *member) error {
	for _, o := range e.offers {
		v := e.r.State.Unit(o.Unit)
		if v == nil {
			continue
		}
		if _, waits := v.TokenRow(); waits && !o.TokenTask {
			x.file(e, o.RowRef, Answer{Kind: Completes, Output: []byte("null")}, false) // whoever passes the token on
			continue
		}
		a, err := x.world.Answer(Offer{
			RowRef: o.RowRef, State: taskOf(e.m, v), Input: v.Work(), Redelivery: o.Task.Redelivery, Within: e.within,
		})
		if err != nil {
			return err
		}
		x.file(e, o.RowRef, a, o.TokenTask)
	}
	e.offers = nil
	return nil
}

// file files what an answer comes to. Nobody claims the row of a token.
func (x *runner) file(e *member, row history.RowRef, a Answer, token bool) {
	if a.Kind == Absent {
		return
	}
	now := x.r.Now
	cmd := history.Command{Row: row}
	if !token {
		cmd.Claim = history.Claim{At: now, Worker: x.o.Worker}
		x.agenda.file(now, claims, e, history.Command{Kind: history.KindDispatched, Row: row, Claim: cmd.Claim})
	}
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
	if !token {
		e.beats[row] = now.Add(a.After)
	}
	x.agenda.file(now.Add(a.After), reports, e, cmd)
}

// handle makes a turn of commands.
func (x *runner) handle(e *member, cmds []history.Command) error {
	for i := range cmds {
		x.handed++
		cmds[i].Ref = uint64(x.handed)
		cmds[i].Seed = x.o.Start.Seed + uint64(x.handed)<<32
	}
	t, err := known(x.o.Start.Seed).Handle(e.m, e.r.State, cmds, x.r.Now)
	if err != nil {
		return err
	}
	for i, reply := range t.Replies {
		e.beat(cmds[i])
		if reply.Outcome == history.Refused {
			x.note("%s was refused: %s", title(cmds[i]), reply.Message)
		}
	}
	return x.apply(e, t)
}

// beat lets the worker of a new claim be heard until it answers: its heartbeats are not turns of their own.
func (e *member) beat(cmd history.Command) {
	if until, ok := e.beats[cmd.Row]; ok && cmd.Kind == history.KindDispatched {
		e.r.State.Heard(cmd.Row.Unit, until)
		delete(e.beats, cmd.Row)
	}
}

// apply adds a turn to the run of its member, and does what it asks for.
func (x *runner) apply(e *member, t history.Turn) error {
	e.offers, e.r.Now = t.Offers, x.r.Now
	if err := x.show(e, t); err != nil {
		return err
	}
	return x.family(e, t)
}

// show adds what a turn has recorded.
func (x *runner) show(e *member, t history.Turn) error {
	if len(t.Events) == 0 {
		return nil
	}
	views, err := history.Describe(e.shown, t.Seq, t.At, t.FirstEvent, t.Events, x.o.Resource)
	if err != nil {
		return err
	}
	e.r.Turns = append(e.r.Turns, Turn{t.Seq, t.At, t.Events, views})
	x.r.turns++
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
	for _, e := range x.members {
		for _, v := range e.r.State.OpenVisits() {
			if len(waits) == maxListed {
				waits = append(waits, "and more")
			}
			if len(waits) < maxListed {
				waits = append(waits, waitsFor(e, v))
			}
		}
	}
	return fmt.Errorf("the execution waits for what does not come: %s", strings.Join(waits, ", "))
}

func waitsFor(e *member, v *history.Visit) string {
	u, _ := v.View()
	what := "an operator's word"
	if st := taskOf(e.m, v); u.Status != history.UnitUncertain && st != nil && st.Resource != nil {
		what = st.Resource.Text
	} else if u.Kind == "map" {
		what = "its executions"
	}
	return fmt.Sprintf("%s for %s (%s)", inside(e.within, v.Key()), what, u.Status)
}
