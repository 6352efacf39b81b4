package decide

import (
	"strings"
	"time"

	"github.com/orrery-dev/orrery/shared/expr"
	"github.com/orrery-dev/orrery/shared/history"
)

// place is where something is evaluated: a state of a scope, entered or about to be.
type place struct {
	scope *history.Scope
	state string
	at    history.Time // entered
	// retries counts the tries after the first, where the state is of a kind that has them.
	retries  int
	hasTries bool
	token    string // of a task that ends by it
}

func (d *decider) placeOf(v *history.Visit) place {
	return place{
		scope: v.Scope(), state: v.State(), at: v.EnteredAt(), retries: v.Retries(0),
		hasTries: v.Kind() == history.TaskState || v.Kind() == history.ParallelState || v.Kind() == history.MapState,
	}
}

// exprScope is what expressions at the place can see, with input as `$`.
func (d *decider) exprScope(p place, input expr.Value) *expr.Scope {
	return &expr.Scope{
		Input:     input,
		Context:   func() *expr.Object { return d.contextObject(p) },
		Variables: func(name string) (expr.Value, bool) { return d.variable(p.scope, name) },
		Draw:      d.draw,
	}
}

func (d *decider) variable(c *history.Scope, name string) (expr.Value, bool) {
	text, ok := c.Variable(name)
	if !ok {
		return nil, false
	}
	return d.value(text), true
}

// contextObject is what `$$` means at the place.
func (d *decider) contextObject(p place) *expr.Object {
	start := d.s.Start()
	redrives, redrivenAt := d.s.Redrives()
	execution := expr.NewObject(
		expr.Member{Name: "Id", Value: d.executionID(start.Workflow, start.Name)},
		expr.Member{Name: "Input", Value: d.value(d.s.Input())},
		expr.Member{Name: "StartTime", Value: timestamp(d.s.StartedAt())},
		expr.Member{Name: "Name", Value: start.Name},
		expr.Member{Name: "RoleArn", Value: ""},
		expr.Member{Name: "RedriveCount", Value: expr.NumberOf(int64(redrives))},
	)
	if redrives > 0 {
		execution.Set("RedriveTime", timestamp(redrivenAt))
	}
	o := expr.NewObject(
		expr.Member{Name: "Execution", Value: execution},
		expr.Member{Name: "StateMachine", Value: expr.NewObject(
			expr.Member{Name: "Id", Value: d.machineID(start.Workflow)},
			expr.Member{Name: "Name", Value: start.Workflow},
		)},
	)
	if start.Occurrence != nil {
		o.Set("Schedule", scheduleObject(start.Occurrence))
	}
	state := expr.NewObject(
		expr.Member{Name: "Name", Value: p.state},
		expr.Member{Name: "EnteredTime", Value: timestamp(p.at)},
	)
	if p.hasTries {
		state.Set("RetryCount", expr.NumberOf(int64(p.retries)))
	}
	o.Set("State", state)
	if item := d.itemObject(p.scope); item != nil {
		o.Set("Map", expr.NewObject(expr.Member{Name: "Item", Value: item}))
	}
	if p.token != "" {
		o.Set("Task", expr.NewObject(expr.Member{Name: "Token", Value: p.token}))
	}
	return o
}

// executionID is how documents see an execution, and machineID how they see a workflow: in the form of the execution's own
// ids, which may be ARNs.
func (d *decider) executionID(workflow, name string) string {
	start := d.s.Start()
	if name == start.Name && start.ContextID != "" {
		return start.ContextID
	}
	if head, _, ok := strings.Cut(start.ContextID, ":execution:"); ok {
		return head + ":execution:" + workflow + ":" + name
	}
	return start.Namespace + "/" + name
}

func (d *decider) machineID(workflow string) string {
	start := d.s.Start()
	if workflow == start.Workflow && start.MachineID != "" {
		return start.MachineID
	}
	if head, _, ok := strings.Cut(start.MachineID, ":stateMachine:"); ok {
		return head + ":stateMachine:" + workflow
	}
	return start.Namespace + "/" + workflow
}

// scheduleObject shows what a schedule has started the execution for. The fencing token is there where a key is held, so
// that the work can fence what it writes to.
func scheduleObject(o *history.Occurrence) *expr.Object {
	object := expr.NewObject(
		expr.Member{Name: "Id", Value: o.Schedule},
		expr.Member{Name: "Instant", Value: timestamp(o.Instant)},
		expr.Member{Name: "Trigger", Value: o.Trigger},
		expr.Member{Name: "Retry", Value: expr.NumberOf(int64(o.Retry))},
	)
	if o.Token != 0 {
		object.Set("FencingToken", expr.NumberOf(o.Token))
	}
	return object
}

// itemObject shows the innermost iteration around a scope; nil where there is none.
func (d *decider) itemObject(c *history.Scope) *expr.Object {
	for ; c.Parent() != nil; c = c.Parent().Scope() {
		if item := c.Parent().Item(c.Index()); item != nil {
			return expr.NewObject(
				expr.Member{Name: "Index", Value: expr.NumberOf(int64(c.Index()))},
				expr.Member{Name: "Value", Value: d.value(item)},
			)
		}
	}
	return nil
}

func timestamp(t history.Time) string { return t.Time().Format("2006-01-02T15:04:05.000Z07:00") }

// seconds converts a number of seconds that may be too large for a time.Duration.
func seconds(n int64) time.Duration {
	const most = int64(1<<63-1) / int64(time.Second)
	return time.Duration(min(n, most)) * time.Second
}
