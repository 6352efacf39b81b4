package errand

import (
	"encoding/json"

	"github.com/orrery-dev/orrery/shared/expr"
	"github.com/orrery-dev/orrery/shared/worker"
)

// The contracts of the server's own tasks, as package definition has them; a test compares the two.
const (
	HTTPTask     = "orrery:http"
	LambdaTask   = "orrery:lambda"
	FunctionTask = "orrery:function"
	ItemsTask    = "orrery:items"
	ResultsTask  = "orrery:results"
	version      = 1
)

// The errors that both kinds of call have.
const (
	codePermissions = "States.Permissions"
	codeDataLimit   = "States.DataLimitExceeded"
	codeTaskFailed  = "States.TaskFailed"
	codeRuntime     = "States.Runtime"
)

// value is the input or the output of a task: JSON with the order of its members.
type value struct{ expr.Value }

// UnmarshalJSON implements [json.Unmarshaler].
func (v *value) UnmarshalJSON(text []byte) (err error) {
	v.Value, err = expr.Parse(text)
	return err
}

// MarshalJSON implements [json.Marshaler].
func (v value) MarshalJSON() ([]byte, error) { return expr.Marshal(v.Value), nil }

var (
	_ json.Unmarshaler = (*value)(nil)
	_ json.Marshaler   = value{}
)

// object gives a member that is an object; nil, which has no members, for others.
func object(o *expr.Object, name string) *expr.Object {
	v, _ := o.Get(name)
	inner, _ := v.(*expr.Object)
	return inner
}

// text gives a member that is a text; empty for others.
func text(o *expr.Object, name string) string {
	v, _ := o.Get(name)
	s, _ := v.(string)
	return s
}

// flag gives a member that is true; false for others.
func flag(o *expr.Object, name string) bool {
	v, _ := o.Get(name)
	b, _ := v.(bool)
	return b
}

// whole gives a member that is a whole number; zero for others.
func whole(o *expr.Object, name string) int64 {
	v, _ := o.Get(name)
	number, _ := v.(expr.Number)
	n, _ := number.Int64()
	return n
}

// scalar prints a value as a header or a parameter has it: texts as they are, others as JSON.
func scalar(v expr.Value) string {
	if s, ok := v.(string); ok {
		return s
	}
	return string(expr.Marshal(v))
}

// storable makes a value of a text that came from outside; the error is a failure of the task.
func storable(s string) (expr.Value, error) {
	quoted, err := json.Marshal(s)
	if err != nil {
		return nil, unstorable(err)
	}
	v, err := expr.Parse(quoted)
	if err != nil {
		return nil, unstorable(err)
	}
	return v, nil
}

func unstorable(err error) error {
	return worker.Errorf(codeTaskFailed, "The answer cannot be stored: %v.", err)
}
