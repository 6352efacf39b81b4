package decide

import (
	"fmt"

	"github.com/orrery-dev/orrery/shared/definition"
	"github.com/orrery-dev/orrery/shared/expr"
	"github.com/orrery-dev/orrery/shared/history"
)

// OrreryLimitExceeded is the error of what goes beyond a limit of the document or of this version; OrreryInvalidInput and
// OrreryInvalidOutput are those of what does not fit the document's schemas.
const (
	OrreryLimitExceeded = "Orrery.LimitExceeded"
	OrreryInvalidInput  = "Orrery.InvalidInput"
	OrreryInvalidOutput = "Orrery.InvalidOutput"
)

// reasonLimit is why an execution is unwound that has as many events as it may.
const reasonLimit = "limit"

// maxVariables is how large the variables of an execution are together, in bytes of JSON.
const maxVariables = 10 << 20

// tooManyVariables is the failure of a state that would assign more than there is room for.
func (d *decider) tooManyVariables(c *history.Scope, assigned *expr.Object) (failure, bool) {
	if assigned == nil {
		return failure{}, false
	}
	size := d.s.VariableBytes()
	for name, value := range assigned.All() {
		size += len(expr.Marshal(value)) - len(c.Assigned(name))
	}
	return failure{
		code: expr.StatesDataLimitExceeded, cause: fmt.Sprintf("The variables of the execution are larger than %d bytes.", maxVariables),
	}, size > maxVariables
}

// maxUndos is how many compensations an execution keeps.
const maxUndos = 10_000

// InputError is an input that does not fit the schema of the workflow.
type InputError struct {
	Name   string // of the execution
	Faults definition.FaultList
}

func (e *InputError) Error() string {
	return fmt.Sprintf("start execution %s: the input %v", e.Name, e.Faults)
}

func checkInput(m *definition.Machine, name string, input expr.Value) error {
	if faults := misfit(m.Input, input); faults != nil {
		return &InputError{name, faults}
	}
	return nil
}

// misfit says where a value does not fit a schema; nil where it does, or where there is none.
func misfit(s *definition.Schema, v expr.Value) definition.FaultList {
	if s == nil {
		return nil
	}
	faults, _ := s.Check(v).(definition.FaultList)
	return faults
}

// noRoom tells that the history has no room for another step, which often has two events, and the end.
func (d *decider) noRoom() bool { return d.limits.Events > 0 && int(d.s.Events())+2 >= d.limits.Events }

// exhausted tells that the execution must end for want of room. Compensations and Cleanup have as much as they need.
func (d *decider) exhausted() bool { return d.noRoom() && !d.s.Status().Ended() && !d.s.Unwinding() }

// exhaust ends an execution that is exhausted.
func (d *decider) exhaust() {
	f := failure{
		code: OrreryLimitExceeded, cause: fmt.Sprintf("The execution reached the maximum number of history events (%d).", d.limits.Events),
	}
	if d.m.Strict() {
		f.code = expr.StatesRuntime
	}
	d.end(history.Failed, f, reasonLimit)
}

// tooWide is the failure of a state with more branches or iterations than it may have.
func (d *decider) tooWide(n int) (failure, bool) {
	most := d.limits.FanOut
	if most == 0 || n <= most {
		return failure{}, false
	}
	return failure{code: OrreryLimitExceeded, cause: fmt.Sprintf("%d branches or iterations would run, %d are allowed.", n, most)}, true
}
