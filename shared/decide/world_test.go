package decide_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/orrery-dev/orrery/shared/decide"
	"github.com/orrery-dev/orrery/shared/definition"
	"github.com/orrery-dev/orrery/shared/history"
)

// begin is the time at which executions of tests start.
const begin history.Time = 1_795_000_000_000

// tb is what a world needs of a test; a rapid.T has it as well.
type tb interface {
	Helper()
	Fatalf(format string, args ...any)
}

// world is one execution with everything around it that a turn touches: a task queue as the store keeps it, and a second
// state that is folded from nothing but the rows of the history. Every turn is checked against both.
type world struct {
	tb
	m      *definition.Machine
	s      *history.State
	folded *history.State
	rows   [][]byte // the history, a row per turn that has events
	turns  []history.Turn
	queue  map[history.RowRef]string // queued, claimed, done, lost, cancelled
	now    history.Time
	// workflows are those that are published, children the executions that were started and have not ended, by name.
	workflows map[history.WorkflowRef]*decide.Workflow
	children  map[string]*child
	contracts map[history.Contract]definition.Contract
	heard     map[history.UnitKey]history.Time // what sessions have told; no snapshot has it
}

// child is an execution that a turn has started.
type child struct {
	history.Child
	stopped bool
}

// knows is what a node would tell the decider.
func (w *world) knows() decide.World {
	known := knows(w.workflows, func(name string) bool { return w.children[name] != nil })
	known.Contract = w.contract
	return known
}

func (w *world) contract(c history.Contract) definition.Contract { return w.contracts[c] }

func knows(workflows map[history.WorkflowRef]*decide.Workflow, taken func(string) bool) decide.World {
	return decide.World{
		Execution: 1,
		Workflow: func(ref history.WorkflowRef) decide.Answer {
			if ref.Alias == "live" {
				return decide.Answer{Known: true, Routes: history.Routes{{Version: 1, Weight: 60}, {Version: 2, Weight: 40}}}
			}
			return decide.Answer{Known: true, Workflow: workflows[ref]}
		},
		Taken: taken,
		Token: func(row history.RowRef) string { return fmt.Sprintf("token of %s %d", row.Unit, row.Attempt) },
	}
}

func parse(t tb, text string) *definition.Machine {
	t.Helper()
	return parseDocument(t, text).Machine
}

func parseDocument(t tb, text string) *definition.Document {
	t.Helper()
	doc, problems := definition.Parse([]byte(text), definition.Options{})
	if doc == nil {
		t.Fatalf("definition: %v\n%s", problems.Err(), text)
	}
	return doc
}

func newWorld(t tb, m *definition.Machine) *world {
	return &world{
		tb: t, m: m, folded: history.New(), queue: map[history.RowRef]string{}, now: begin, heard: map[history.UnitKey]history.Time{},
		workflows: map[history.WorkflowRef]*decide.Workflow{}, children: map[string]*child{},
	}
}

func (w *world) start(start history.Start) history.Turn {
	w.Helper()
	s, t, err := decide.World{Contract: w.contract}.Start(w.m, 1, start, w.now)
	if err != nil {
		w.Fatalf("start: %v", err)
	}
	w.s = s
	_, again, _ := decide.World{Contract: w.contract}.Start(w.m, 1, start, w.now)
	w.same(t, again)
	w.commit(t)
	return t
}

func (w *world) handle(cmds ...history.Command) history.Turn {
	w.Helper()
	twin := w.copy()
	for _, cmd := range cmds {
		maps.Copy(w.heard, cmd.Heard)
	}
	t, err := w.knows().Handle(w.m, w.s, cmds, w.now)
	if err != nil {
		w.Fatalf("handle %v: %v", cmds, err)
	}
	again, err := w.knows().Handle(w.m, twin, cmds, w.now)
	if err != nil {
		w.Fatalf("handle %v again: %v", cmds, err)
	}
	w.same(t, again)
	w.commit(t)
	return t
}

// copy makes another state from a snapshot of this one.
func (w *world) copy() *history.State {
	w.Helper()
	data := w.s.Snapshot()
	twin, err := history.Restore(data)
	if err != nil {
		w.Fatalf("restore: %v", err)
	}
	if again := twin.Snapshot(); !bytes.Equal(data, again) {
		w.Fatalf("a restored state has another snapshot:\n%s\n%s", data, again)
	}
	if a, b := twin.VariableBytes(), w.s.VariableBytes(); a != b {
		w.Fatalf("a restored state has %d bytes of variables, was %d", a, b)
	}
	for unit, at := range w.heard {
		twin.Heard(unit, at)
	}
	return twin
}

// same checks that two turns are one.
func (w *world) same(a, b history.Turn) {
	w.Helper()
	if x, y := dump(a), dump(b); x != y {
		w.Fatalf("decided twice, got two turns:\n%s\n%s", x, y)
	}
}

func dump(t history.Turn) string {
	events := history.EncodeEvents(t.Events)
	t.Events = nil
	rest, err := json.Marshal(t)
	if err != nil {
		return err.Error()
	}
	return string(events) + "\n" + string(rest)
}

// commit does to the world what the store and the node do with a turn.
func (w *world) commit(t history.Turn) {
	w.Helper()
	w.turns = append(w.turns, t)
	w.fold(t)
	w.applyQueue(t)
	w.applyChildren(t)
	w.checkQueue()
	if t.WakeAt != w.s.WakeAt() {
		w.Fatalf("turn %d wakes at %d, the state at %d", t.Seq, t.WakeAt, w.s.WakeAt())
	}
	if w.s.Status().Ended() != (t.End != nil) && len(t.Events) > 0 {
		w.Fatalf("status %s, end %v", w.s.Status(), t.End)
	}
}

// fold takes the turn through its row of the history into the second state (I3).
func (w *world) fold(t history.Turn) {
	w.Helper()
	if len(t.Events) == 0 {
		return
	}
	row := history.EncodeEvents(t.Events)
	events, err := history.DecodeEvents(row)
	if err != nil {
		w.Fatalf("decode %s: %v", row, err)
	}
	if again := history.EncodeEvents(events); !bytes.Equal(row, again) {
		w.Fatalf("a row is not written as it was read:\n%s\n%s", row, again)
	}
	if err := w.folded.Apply(t.Seq, t.At, t.FirstEvent, events); err != nil {
		w.Fatalf("apply %s: %v", row, err)
	}
	if a, b := w.s.Snapshot(), w.folded.Snapshot(); !bytes.Equal(a, b) {
		w.Fatalf("after turn %d the fold differs from the state that decided it:\n%s\n%s\n%s", t.Seq, row, a, b)
	}
	w.rows = append(w.rows, row)
}

// applyQueue does what the statements of a commit do to the rows of the queue, and raises where they would.
func (w *world) applyQueue(t history.Turn) {
	w.Helper()
	for _, r := range t.Lost {
		if st := w.queue[r]; st != "claimed" && st != "queued" {
			w.Fatalf("turn %d loses row %v, which is %q", t.Seq, r, st)
		}
		w.queue[r] = "lost"
	}
	for _, r := range t.Resolved {
		w.resolve(t.Seq, r)
	}
	for _, o := range t.Offers {
		if st, ok := w.queue[o.RowRef]; ok {
			w.Fatalf("turn %d offers %v, which is there as %q", t.Seq, o.RowRef, st)
		}
		w.queue[o.RowRef] = "queued"
		if o.Claim != nil || o.TokenTask {
			w.queue[o.RowRef] = "claimed"
		}
	}
}

// applyChildren starts and stops executions, and raises where the store would.
func (w *world) applyChildren(t history.Turn) {
	w.Helper()
	if t.Reopened { // what was told to stop before the end is nobody's business any more
		maps.DeleteFunc(w.children, func(_ string, c *child) bool { return c.stopped })
	}
	for _, c := range t.Children {
		if w.children[c.Start.Name] != nil || c.Start.Name == "" {
			w.Fatalf("turn %d starts %q, whose name is taken", t.Seq, c.Start.Name)
		}
		if len(c.First.Events) == 0 || c.First.Events[0].Start == nil || len(c.First.Children) > 0 {
			w.Fatalf("the first turn of %s: %+v", c.Start.Name, c.First)
		}
		w.children[c.Start.Name] = &child{Child: c}
	}
	for _, stop := range t.Stops {
		c := w.children[stop.Name]
		if c == nil || c.stopped || !c.Start.Parent.Waits {
			w.Fatalf("turn %d stops %q: %+v", t.Seq, stop.Name, c)
		}
		c.stopped = true
	}
}

// ended makes the command that tells the end of a child, which then is gone.
func (w *world) ended(name string, cmd history.Command) history.Command {
	p := w.children[name].Start.Parent
	delete(w.children, name)
	cmd.Kind, cmd.Row, cmd.At = history.KindChildEnded, history.RowRef{Unit: p.Unit, Attempt: p.Attempt}, w.now
	return cmd
}

// waited gives the names of the children whose end the execution is to be told.
func (w *world) waited() []string {
	var names []string
	for name, c := range w.children {
		if c.Start.Parent.Waits {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// childOf gives the name of the child that was started for a unit and not told to stop, else of the first that was.
func (w *world) childOf(unit history.UnitKey) string {
	found := ""
	for _, name := range slices.Sorted(maps.Keys(w.children)) {
		if c := w.children[name]; c.Start.Parent.Unit == unit && (found == "" || !c.stopped) {
			found = name
		}
	}
	return found
}

func (w *world) resolve(seq history.Seq, r history.Resolved) {
	w.Helper()
	found := false
	for row, st := range w.queue {
		if row.Unit != r.Unit || row.Attempt > r.Attempt {
			continue
		}
		found = found || row.Attempt == r.Attempt
		switch {
		case st == "done" && !r.Reported:
			w.Fatalf("turn %d withdraws %v, whose report is durable", seq, row)
		case st == "claimed" && r.OnlyQueued:
			w.Fatalf("turn %d withdraws %v as queued, but it is claimed", seq, row)
		case st == "claimed" && r.CancelNotice:
			w.queue[row] = "cancelled"
		default:
			delete(w.queue, row)
		}
	}
	if !found {
		w.Fatalf("turn %d resolves %s attempt %d, which has no row", seq, r.Unit, r.Attempt)
	}
}

// checkQueue compares the open units with the rows: neither has what the other lacks.
func (w *world) checkQueue() {
	w.Helper()
	open := map[history.RowRef]bool{}
	for _, v := range w.s.OpenVisits() {
		if row, ok := v.TokenRow(); ok {
			open[row] = true
			if st := w.queue[row]; st != "claimed" {
				w.Fatalf("unit %s waits for its token, whose row %v is %q", v.Key(), row, st)
			}
		}
		w.checkChild(v)
		if !v.HasRow() {
			continue
		}
		row := v.Row()
		open[row] = true
		st, want := w.queue[row], []string{"queued", "claimed"}
		_, status := v.Unit()
		switch status {
		case history.UnitDispatched:
			want = []string{"claimed"}
		case history.UnitUncertain:
			want = []string{"lost"}
		}
		if !slices.Contains(want, st) {
			w.Fatalf("unit %s is %s, its row %v is %q", v.Key(), status, row, st)
		}
	}
	w.checkWaited()
	for row, st := range w.queue {
		if (st == "queued" || st == "claimed") && !open[row] {
			w.Fatalf("row %v is %s, and no unit is open for it", row, st)
		}
	}
}

// checkChild checks that the child which a unit waits for runs.
func (w *world) checkChild(v *history.Visit) {
	w.Helper()
	check := func(name string, unit history.UnitKey) {
		w.Helper()
		c := w.children[name]
		if c == nil || c.stopped || c.Start.Parent.Unit != unit || c.Start.Parent.Attempt != v.Attempt() || !c.Start.Parent.Waits {
			w.Fatalf("unit %s waits for child %s, which is %+v", unit, name, c)
		}
	}
	if name, _, ok := v.Child(); ok {
		check(name, v.Key())
	}
	for _, index := range v.Kids() {
		check(v.ChildName(index), v.ChildKey(index))
	}
}

// checkWaited checks that every child that believes to be waited for is, or was told to stop and is not forgotten.
func (w *world) checkWaited() {
	w.Helper()
	for name, c := range w.children {
		p := c.Start.Parent
		if !p.Waits || w.s.Status().Ended() {
			continue
		}
		waited := w.s.Stopping(p.Unit, p.Attempt)
		if v := w.s.Unit(p.Unit); v != nil && !waited {
			now, _, _ := v.Child()
			waited = now == name
		}
		if v, index, ok := w.s.Kid(p.Unit); ok && !waited {
			waited = v.ChildName(index) == name
		}
		if waited == false || w.s.Stopping(p.Unit, p.Attempt) != c.stopped {
			w.Fatalf("child %s of unit %s runs; stopped is %v", name, p.Unit, c.stopped)
		}
	}
}

// row names the current offer of a unit.
func (w *world) row(unit history.UnitKey) history.RowRef {
	w.Helper()
	row, ok := w.s.Row(unit)
	if !ok {
		w.Fatalf("unit %s has no row; open are %v", unit, w.s.OpenUnits())
	}
	return row
}

// reported names the row that a report for the unit is about: that of its token, or its current offer.
func (w *world) reported(unit history.UnitKey) (history.RowRef, bool) {
	if v := w.s.Unit(unit); v != nil && v.Key() == unit {
		if row, ok := v.TokenRow(); ok {
			return row, true
		}
	}
	return w.s.Row(unit)
}

// claim gives a row to a worker, and the command that tells of it.
func (w *world) claim(row history.RowRef, worker string) history.Command {
	w.queue[row] = "claimed"
	return history.Command{Kind: history.KindDispatched, Row: row, Claim: history.Claim{Worker: worker, Session: "s-" + worker, At: w.now}}
}

// report marks the rows of an attempt as done, as the insert of a complete or fail does.
func (w *world) report(cmd history.Command) history.Command {
	for row := range w.queue {
		if row.Unit == cmd.Row.Unit && row.Attempt == cmd.Row.Attempt && w.queue[row] != "cancelled" {
			w.queue[row] = "done"
		}
	}
	return cmd
}

func TestWorldRefuses(t *testing.T) {
	// The world itself must notice a turn that does not fit.
	w := newWorld(&recorder{}, parse(t, sequence(1)))
	w.start(history.Start{Name: "x", Input: []byte(`{}`)})
	row := w.row("S1")
	w.queue[row] = "done"
	fails := func(f func()) (failed bool) {
		defer func() { failed = recover() != nil }()
		f()
		return false
	}
	if !fails(func() { w.handle(history.Command{Kind: history.KindCancel}) }) {
		t.Error("a withdrawal of a row that is done went unnoticed")
	}
}

// recorder panics where a test would fail.
type recorder struct{}

func (*recorder) Helper()                           {}
func (*recorder) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }

// sequence is a document of n tasks in a row.
func sequence(n int) string {
	var b bytes.Buffer
	b.WriteString("StartAt: S1\nStates:\n")
	for i := 1; i <= n; i++ {
		fmt.Fprintf(&b, "  S%d: {Type: Task, Resource: 'task:work', ", i)
		if i < n {
			fmt.Fprintf(&b, "Next: S%d}\n", i+1)
		} else {
			b.WriteString("End: true}\n")
		}
	}
	return b.String()
}
