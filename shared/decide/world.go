package decide

import (
	"github.com/orrery-dev/orrery/shared/definition"
	"github.com/orrery-dev/orrery/shared/history"
)

// World is what a decision may know besides its arguments. The zero World knows nothing. A decision that lacks something
// stops before the step that needs it, and says so in Turn.Stalled and Turn.Wants; the step and all that has not been
// done by then are left to the next turn, which is due at once. What a World tells ends up in events, so that another
// one never changes what was decided.
type World struct {
	// Execution is the number of the execution, zero where it has none yet: a first turn starts no children.
	Execution history.ExecutionID
	// Workflow finds a published workflow; nil finds nothing out.
	Workflow func(history.WorkflowRef) Answer
	// Taken tells that an execution of the name exists; nil for no name.
	Taken func(name string) bool
	// KeyHeld tells that the occurrence of a schedule that has started the execution cannot go on with it: its key is held, or
	// it was tried again, or is kept no more.
	KeyHeld bool
	// Contract gives the schemas of a contract; nil knows of none. What it says may change from turn to turn.
	Contract func(history.Contract) definition.Contract
	// Token makes the token of a task that ends by its token; nil makes none.
	Token func(history.RowRef) string
}

// Answer is what is known of a workflow that was asked for.
type Answer struct {
	// Known tells that the answer is final: without it, Workflow is not looked at.
	Known bool
	// Workflow is nil where there is no such workflow.
	Workflow *Workflow
	// Routes are the versions that an alias stands for; Workflow is nil with them.
	Routes history.Routes
}

// Workflow is a published version.
type Workflow struct {
	Name       string
	Version    int
	Hash       string
	Definition history.DefinitionID
	Machine    *definition.Machine
}

// contract gives the schemas of who does a Task; none where no worker does.
func (d *decider) contract(r *definition.Resource) definition.Contract {
	if r == nil || r.Kind != definition.ResourceWorker || d.world.Contract == nil {
		return definition.Contract{}
	}
	return d.world.Contract(r.Contract)
}

// stall stops the turn for want of something.
func (d *decider) stall() { d.t.Stalled = true }

// workflow finds the workflow of an execution of the name; false where the turn has to stop because nobody knows yet whether it
// exists.
func (d *decider) workflow(ref history.WorkflowRef, name string) (*Workflow, bool) {
	a, known := d.ask(ref)
	if known && a.Routes != nil {
		a, known = d.ask(history.WorkflowRef{Name: ref.Name, Version: a.Routes.Version(name)})
	}
	return a.Workflow, known
}

func (d *decider) ask(ref history.WorkflowRef) (Answer, bool) {
	if d.world.Execution == 0 || d.world.Workflow == nil {
		d.stall()
		return Answer{}, false
	}
	a := d.world.Workflow(ref)
	if !a.Known {
		d.stall()
		d.t.Wants = append(d.t.Wants, ref)
	}
	return a, a.Known
}

// token makes the token of the unit's next attempt, or of the open one.
func (d *decider) token(v *history.Visit) string {
	row, open := v.TokenRow()
	if !open {
		row = history.RowRef{Unit: v.Key(), Attempt: v.Attempt(), Offer: 1}
		if v.Phase() != history.PhaseDone {
			row.Attempt++
		}
	}
	return d.world.Token(row)
}
