package decide

import (
	"fmt"
	"strings"

	"github.com/orrery-dev/orrery/shared/definition"
	"github.com/orrery-dev/orrery/shared/expr"
)

// checkRequest tells what keeps a Task from starting whose work the server does itself: all fields at fault.
func checkRequest(r *definition.Resource, work expr.Value) error {
	if faults := r.Faults(work); faults != nil {
		return notStarted(expr.Marshal(work), faults...)
	}
	return nil
}

// notStarted is the error of a Task that its parameters keep from starting.
func notStarted(parameters []byte, faults ...string) *expr.Error {
	cause := fmt.Sprintf("The Parameters '%s' could not be used to start the Task: [%s]", parameters, strings.Join(faults, ", "))
	return &expr.Error{Name: expr.StatesRuntime, Cause: clip(cause, maxCause)}
}

// workOf is what the queue gives for a unit: what the unit was given, and for a function that the document names, that name
// with it.
func workOf(r *definition.Resource, work []byte) []byte {
	if r.Kind != definition.ResourceLambda || r.Target == "" {
		return work
	}
	text := append([]byte(`{"FunctionName":`), expr.Marshal(r.Target)...)
	text = append(append(text, `,"Payload":`...), work...)
	return append(text, '}')
}
