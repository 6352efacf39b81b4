package trial

import (
	"time"

	"github.com/orrery-dev/orrery/shared/expr"
	"github.com/orrery-dev/orrery/shared/history"
)

// child is the execution that a unit waits for.
func (c *commandsOf) child(unit history.UnitKey) (v *history.Visit, of history.WorkflowRef, ok bool) {
	if v = c.s.Unit(unit); v == nil {
		return nil, of, false
	}
	_, of, ok = v.Child()
	return v, of, ok
}

// ended is the end of an execution that a Task waits for. Where the Task gives a description of it, the end is in there.
func (c *commandsOf) ended(v *history.View, well bool) {
	unit, _, _ := c.child(v.Unit)
	cmd := history.Command{
		Kind: history.KindChildEnded, Row: history.RowRef{Unit: v.Unit, Attempt: unit.Attempt()}, At: c.turn.At, Status: history.Succeeded,
		Output: detail(*v, "output"),
	}
	if !well {
		cmd.Status, cmd.Output, cmd.Failure = history.Failed, nil, failureDetail(*v)
	}
	if o := described(*v); o != nil {
		c.described(&cmd, o)
	}
	c.add(cmd)
}

// described is the description of an execution that an event has as its output, or in its cause; nil for none.
func described(v history.View) *expr.Object {
	text := detail(v, "output")
	if text == nil {
		text = []byte(textDetail(v, "cause"))
	}
	value, err := expr.Parse(text)
	o, ok := value.(*expr.Object)
	if err != nil || !ok {
		return nil
	}
	if _, ok := o.Get("ExecutionArn"); !ok {
		return nil
	}
	return o
}

// described takes the end of an execution from its description.
func (c *commandsOf) described(cmd *history.Command, o *expr.Object) {
	if stop, ok := o.Get("StopDate"); ok {
		n, _ := stop.(expr.Number)
		ms, _ := n.Int64()
		cmd.At = history.TimeOf(time.UnixMilli(ms))
	}
	if cmd.Status != history.Succeeded {
		text := func(name string) string {
			v, _ := o.Get(name)
			s, _ := v.(string)
			return s
		}
		cmd.Failure = &history.Failure{Code: text("Error"), Message: text("Cause")}
		cmd.Status, _ = history.ParseStatus(text("Status"))
		if cmd.Status == 0 { // the reference service has a name of its own
			cmd.Status = history.Cancelled
		}
		return
	}
	output, _ := o.Get("Output")
	if text, ok := output.(string); ok {
		cmd.Output = []byte(text)
		return
	}
	cmd.Output = expr.Marshal(output)
}

// iteration is the end of an execution of a distributed Map.
func (c *commandsOf) iteration(v *history.View) {
	m := c.s.Unit(v.Unit)
	if m == nil {
		return
	}
	cmd := history.Command{
		Kind: history.KindChildEnded, At: c.turn.At, Status: history.Succeeded, Output: detail(*v, "output"),
		Row: history.RowRef{Unit: m.ChildKey(int(numberDetail(*v, "index"))), Attempt: m.Attempt()},
	}
	if v.Type == "MapChildFailed" {
		cmd.Status, cmd.Failure = history.Failed, failureDetail(*v)
	}
	c.add(cmd)
}
