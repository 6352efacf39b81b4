package decide

import (
	"fmt"

	"github.com/orrery-dev/orrery/shared/definition"
	"github.com/orrery-dev/orrery/shared/expr"
	"github.com/orrery-dev/orrery/shared/history"
)

// The errors by which a child execution cannot be started.
const (
	noWorkflow  = "StepFunctions.StateMachineDoesNotExistException"
	nameTaken   = "StepFunctions.ExecutionAlreadyExistsException"
	invalidName = "StepFunctions.InvalidNameException"
)

// maxDepth is how deep executions may start each other.
const maxDepth = 20

// childSpec says what is to be started.
type childSpec struct {
	of    history.WorkflowRef
	name  string // empty for a new one
	input expr.Value
}

// childUnit tells what a Task waits for that starts an execution.
func childUnit(r *definition.Resource) history.UnitKind {
	switch {
	case r.Token:
		return history.TokenChildUnit
	case r.Sync > 0 || r.Workflow.Name != "":
		return history.ChildUnit
	}
	return history.DetachedUnit
}

// startChild begins an attempt of a Task that starts an execution. ev is its event so far, work what it is given.
func (d *decider) startChild(v *history.Visit, st *definition.State, ev history.Event, work expr.Value) {
	ev.Unit = childUnit(st.Resource)
	spec, f := d.childSpec(st, work)
	if f.code == expr.StatesRuntime {
		d.fail(v, st, evaluation(v, &expr.Error{Name: f.code, Cause: f.cause}))
		return
	}
	var of *Workflow
	if f.code == "" {
		name, known := spec.name, false
		if name == "" {
			name = d.draw.UUID()
		}
		if of, known = d.workflow(spec.of, name); !known {
			return
		}
		ev.Name, f = d.childName(spec, of, name)
	}
	d.touch(v)
	ev.Text = d.s.Shorten(&ev, d.text(work))
	if of != nil {
		ev.Workflow, ev.Version = of.Name, of.Version
	}
	d.emit(ev)
	d.emit(history.Event{Type: history.EventDispatched, Scope: ev.Scope})
	var child history.Child
	if f.code == "" {
		child, f = d.child(v.Key(), v.Attempt(), of, ev.Name, spec.input, ev.Unit == history.ChildUnit)
		child.Named = spec.name != ""
	}
	if f.code != "" {
		d.failUnit(v, st, history.Event{Type: history.EventFailed, Last: true}, f)
		return
	}
	d.started(v, st, ev.Unit, child)
}

// started records that a child was started, and keeps it for the turn's effects: what waits for it may be given up yet.
func (d *decider) started(v *history.Visit, st *definition.State, kind history.UnitKind, child history.Child) {
	answer := expr.NewObject(
		expr.Member{Name: "ExecutionArn", Value: d.executionID(child.Start.Workflow, child.Start.Name)},
		expr.Member{Name: "StartDate", Value: expr.NumberOf(int64(d.now))},
	)
	if kind != history.ChildUnit {
		d.t.Children = append(d.t.Children, child)
	} else {
		if d.began == nil {
			d.began = map[history.UnitKey]history.Child{}
		}
		d.began[v.Key()] = child
	}
	ev := history.Event{Type: history.EventSubmitted, Scope: v.Scope().ID()}
	if kind == history.DetachedUnit {
		ev.Type, ev.Last = history.EventCompleted, true
		d.succeed(v, st, ev, answer)
		return
	}
	ev.Text.Literal = expr.Marshal(answer)
	d.emit(ev)
}

// childSpec reads what a Task starts; the failure says why it cannot.
func (d *decider) childSpec(st *definition.State, work expr.Value) (childSpec, failure) {
	if st.Resource.Workflow.Name != "" {
		return childSpec{of: st.Resource.Workflow, input: work}, failure{}
	}
	bad := func(fault string) (childSpec, failure) {
		return childSpec{}, failure{code: expr.StatesRuntime, cause: notStarted(d.text(work), fault).Cause}
	}
	o, _ := work.(*expr.Object)
	arn, ok := o.Get("StateMachineArn")
	if !ok {
		return bad("The field 'StateMachineArn' is required but was missing")
	}
	text, ok := arn.(string)
	if !ok {
		return bad("The field 'StateMachineArn' must be a String")
	}
	of, err := definition.ParseWorkflow(text)
	if err != nil {
		return childSpec{}, failure{code: noWorkflow, cause: "State Machine Does Not Exist: '" + text + "'"}
	}
	spec := childSpec{of: of, input: expr.NewObject()}
	if name, ok := o.Get("Name"); ok {
		if spec.name, ok = name.(string); !ok {
			return bad("The field 'Name' must be a String")
		}
	}
	if input, ok := o.Get("Input"); ok {
		spec.input = input
	}
	if text, ok := spec.input.(string); ok {
		if spec.input, err = expr.Parse([]byte(text)); err != nil {
			return bad("The field 'Input' must be a valid JSON")
		}
	}
	return spec, failure{}
}

// childName gives the name of a child again, or why it cannot be started.
func (d *decider) childName(spec childSpec, of *Workflow, name string) (string, failure) {
	switch {
	case of == nil:
		return "", failure{code: noWorkflow, cause: MissingWorkflow(spec.of)}
	case spec.name == "":
		return name, failure{}
	case definition.CheckName(name) != nil:
		return "", failure{code: invalidName, cause: "Invalid Name: '" + clip(name, maxCode) + "'"}
	case d.nameTaken(name):
		return "", failure{code: nameTaken, cause: TakenName(name)}
	}
	return name, failure{}
}

// MissingWorkflow is the cause of a Task's failure whose workflow is not there.
func MissingWorkflow(of history.WorkflowRef) string {
	return "State Machine Does Not Exist: '" + of.String() + "'"
}

// TakenName is the cause of a Task's failure whose execution has a name that another one has.
func TakenName(name string) string { return "Execution Already Exists: '" + name + "'" }

// nameTaken tells whether an execution has the name, or gets it with this very turn.
func (d *decider) nameTaken(name string) bool {
	if d.world.Taken != nil && d.world.Taken(name) {
		return true
	}
	for i := range d.t.Children {
		if d.t.Children[i].Start.Name == name {
			return true
		}
	}
	for _, c := range d.began {
		if c.Start.Name == name {
			return true
		}
	}
	return false
}

// child decides the first turn of a child. One without a definition of its own runs a part of its parent's document.
func (d *decider) child(unit history.UnitKey, attempt int, of *Workflow, name string, input expr.Value, waits bool) (history.Child, failure) {
	up := d.s.Start()
	p := history.Parent{
		Execution: d.world.Execution, Name: up.Name, Root: up.Name, Unit: unit, Attempt: attempt, Depth: 1, Waits: waits,
	}
	if up.Parent != nil {
		p.Root, p.Depth = up.Parent.Root, up.Parent.Depth+1
	}
	if p.Depth > maxDepth {
		return history.Child{}, failure{code: OrreryLimitExceeded, cause: fmt.Sprintf("Executions start each other at most %d deep.", maxDepth)}
	}
	text := d.text(input)
	start := history.Start{
		Namespace: up.Namespace, Name: name, Workflow: of.Name, Version: of.Version, Hash: of.Hash, Input: text,
		Behaviour: up.Behaviour, Trace: up.Trace, Parent: &p, Attributes: up.Attributes, Seed: d.draw.next(),
	}
	if m := of.Machine; m.Parent != nil {
		start.Processor = m.Parent.Name
	}
	if up.ContextID != "" {
		start.ContextID, start.MachineID = d.executionID(of.Name, name), d.machineID(of.Name)
	}
	_, first, err := World{Contract: d.world.Contract}.Start(of.Machine, 0, start, d.now)
	if f, ok := unfit(err); ok {
		return history.Child{}, f
	}
	if err != nil {
		d.faultf("the first turn of child %s: %w", name, err)
		return history.Child{}, failure{}
	}
	d.work += len(text)
	start.Attributes = first.Events[0].Start.Attributes
	start.Input, start.Seed = nil, 0
	return history.Child{Start: start, Definition: of.Definition, First: first}, failure{}
}

// childEnded takes the end of a child to what waits for it.
func (d *decider) childEnded(cmd *history.Command) answer {
	v := d.s.Unit(cmd.Row.Unit)
	if v != nil {
		if name, of, ok := v.Child(); ok && v.Attempt() == cmd.Row.Attempt {
			return d.childResult(v, cmd, name, of)
		}
	}
	if v, index, ok := d.s.Kid(cmd.Row.Unit); ok && v.Attempt() == cmd.Row.Attempt {
		return d.kidEnded(v, index, cmd)
	}
	if !d.s.Stopping(cmd.Row.Unit, cmd.Row.Attempt) {
		return stale
	}
	return applied(d.emit(history.Event{
		Type: history.EventStopped, Scope: history.MainScope, Key: string(cmd.Row.Unit), Index: cmd.Row.Attempt,
	}))
}

// childResult makes the result of a Task of the end of its child.
func (d *decider) childResult(v *history.Visit, cmd *history.Command, name string, of history.WorkflowRef) answer {
	st := d.state(v)
	if st == nil {
		return stale
	}
	d.touch(v).reported = true
	f, _, _ := d.reportedFailure(cmd.Failure)
	if cmd.Status == history.Succeeded {
		f = failure{}
	}
	var result expr.Value
	if st.Resource.Sync == 0 {
		result = d.parsed(cmd.Output)
	} else {
		result = d.description(v, st, cmd, name, of)
	}
	if cmd.Status == history.Succeeded {
		return applied(d.succeed(v, st, history.Event{Type: history.EventCompleted, Scope: v.Scope().ID()}, result))
	}
	if st.Resource.Sync > 0 {
		f = failure{code: expr.StatesTaskFailed, cause: describeFailure(result)}
	}
	return applied(d.failUnit(v, st, history.Event{Type: history.EventFailed}, f))
}

// parsed is the value of an output; null where there is none.
func (d *decider) parsed(text []byte) expr.Value {
	if len(text) == 0 {
		return nil
	}
	value, err := expr.Parse(text)
	if err != nil {
		d.faultf("the output of a child: %w", err)
	}
	return value
}

// statusNames are the reference service's.
var statusNames = map[history.Status]string{
	history.Succeeded: "SUCCEEDED", history.Failed: "FAILED", history.TimedOut: "TIMED_OUT", history.Cancelled: "ABORTED",
}

// describeFailure prints the description of a child that did not succeed as the cause of its parent's failure: what makes it
// longer than a cause may be is left out.
func describeFailure(result expr.Value) string {
	text := expr.Marshal(result)
	if o, ok := result.(*expr.Object); ok && len(text) > maxCause {
		o.Delete("Input")
		o.Set("InputDetails", expr.NewObject(expr.Member{Name: "Included", Value: false}))
		cause, _ := o.Get("Cause")
		s, _ := cause.(string)
		o.Set("Cause", clip(s, maxCause/2))
		text = expr.Marshal(o)
	}
	return clip(string(text), maxCause)
}

// description shows an ended child as the reference service does, its input and output as texts or as values.
func (d *decider) description(v *history.Visit, st *definition.State, cmd *history.Command, name string, of history.WorkflowRef) *expr.Object {
	shown := func(text []byte) expr.Value {
		if st.Resource.Sync == 2 {
			return d.parsed(text)
		}
		return string(text)
	}
	spec, _ := d.childSpec(st, d.value(v.Work()))
	included := expr.NewObject(expr.Member{Name: "Included", Value: true})
	o := expr.NewObject()
	if cmd.Failure != nil {
		o.Set("Cause", cmd.Failure.Message)
		o.Set("Error", cmd.Failure.Code)
	}
	o.Set("ExecutionArn", d.executionID(of.Name, name))
	o.Set("Input", shown(d.text(spec.input)))
	o.Set("InputDetails", included)
	o.Set("Name", name)
	if cmd.Status == history.Succeeded {
		o.Set("Output", shown(cmd.Output))
		o.Set("OutputDetails", included)
	}
	o.Set("StartDate", expr.NumberOf(int64(v.ScheduledAt())))
	o.Set("StateMachineArn", d.machineID(of.Name))
	o.Set("Status", statusNames[cmd.Status])
	o.Set("StopDate", expr.NumberOf(int64(cmd.At)))
	return o
}
