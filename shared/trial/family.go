package trial

import (
	"fmt"

	"github.com/orrery-dev/orrery/shared/decide"
	"github.com/orrery-dev/orrery/shared/definition"
	"github.com/orrery-dev/orrery/shared/history"
)

// known is what a decision is told in a trial. Every workflow exists; what a Task starts of another one is not run, because its
// document is not there: an answer stands in for it. The executions of distributed Maps are run.
func known(seed uint64) decide.World {
	return decide.World{
		Execution: 1,
		Workflow:  standsFor,
		Token:     func(row history.RowRef) string { return fmt.Sprintf("token-%d-%s-%d", seed, row.Unit, row.Attempt) },
	}
}

// standsFor is a workflow in whose place an answer ends the execution.
func standsFor(ref history.WorkflowRef) decide.Answer {
	w := decide.Workflow{Name: ref.Name, Version: max(ref.Version, 1), Machine: definition.NewMachine(last("End"))}
	return decide.Answer{Known: true, Workflow: &w}
}

// family starts and stops what a turn asks for, and tells a parent of an end.
func (x *runner) family(e *member, t history.Turn) error {
	for i := range t.Children {
		if err := x.child(e, &t.Children[i]); err != nil {
			return err
		}
	}
	for _, s := range t.Stops {
		x.stop(e, s)
	}
	if t.End != nil && t.Told != nil {
		x.tell(e.r, t)
	}
	return nil
}

func (x *runner) child(e *member, c *history.Child) error {
	if c.Start.Processor == "" {
		return x.standIn(e, c)
	}
	s := history.New()
	if err := s.Apply(c.First.Seq, c.First.At, c.First.FirstEvent, c.First.Events); err != nil {
		return err
	}
	r := &Run{Name: c.Start.Name, Start: x.r.Now, Now: x.r.Now}
	x.r.Children = append(x.r.Children, r)
	within := inside(e.within, c.Start.Parent.Unit)
	return x.apply(x.add(x.m.Run(c.Start.Processor), r, within, s), c.First)
}

// standIn files how the execution of another workflow ends, if somebody waits for that.
func (x *runner) standIn(e *member, c *history.Child) error {
	p := c.Start.Parent
	v := e.r.State.Unit(p.Unit)
	if !p.Waits || v == nil {
		return nil
	}
	a, err := x.world.Answer(Offer{
		RowRef: history.RowRef{Unit: p.Unit, Attempt: p.Attempt, Offer: 1}, State: taskOf(e.m, v), Input: c.First.Events[0].Text.Literal,
		Within: e.within,
	})
	if err != nil {
		return err
	}
	cmd := history.Command{Kind: history.KindChildEnded, Row: history.RowRef{Unit: p.Unit, Attempt: p.Attempt}, At: x.r.Now.Add(a.After)}
	switch a.Kind {
	case Completes:
		cmd.Status, cmd.Output = history.Succeeded, a.Output
	case Fails:
		cmd.Status, cmd.Failure = history.Failed, &a.Failure
	case Silent, Absent:
		return nil
	default:
		return fmt.Errorf("the execution that %s has started cannot be %s", p.Unit, a.Kind)
	}
	x.agenda.file(cmd.At, reports, e, cmd)
	return nil
}

// stop cancels an execution of a distributed Map; what stands in for one of another workflow is cancelled at once.
func (x *runner) stop(e *member, s history.Stop) {
	for _, m := range x.members {
		if m.r.Name == s.Name {
			x.agenda.file(x.r.Now, comings, m, history.Command{Kind: history.KindCancel, Reason: s.Reason})
			return
		}
	}
	x.agenda.file(x.r.Now, reports, e, history.Command{
		Kind: history.KindChildEnded, Row: history.RowRef{Unit: s.Unit, Attempt: s.Attempt}, Status: history.Cancelled, At: x.r.Now,
		Failure: &history.Failure{Message: s.Reason},
	})
}

// tell files the end of an execution for its parent.
func (x *runner) tell(r *Run, t history.Turn) {
	cmd := history.Command{
		Kind: history.KindChildEnded, Row: history.RowRef{Unit: t.Told.Unit, Attempt: t.Told.Attempt}, Status: t.End.Status, At: t.At,
		Output: t.End.Output,
	}
	if t.End.Status != history.Succeeded {
		cmd.Failure = &history.Failure{Code: t.End.Error, Message: t.End.Cause}
	}
	for _, m := range x.members {
		if m.r.Name == t.Told.Name {
			x.agenda.file(x.r.Now, reports, m, cmd)
		}
	}
}
