package expr

import (
	"fmt"
	"strings"
)

// The error names of the language. StatesALL and StatesTaskFailed also serve as
// patterns in Retry and Catch.
const (
	StatesALL                             = "States.ALL"
	StatesTaskFailed                      = "States.TaskFailed"
	StatesTimeout                         = "States.Timeout"
	StatesHeartbeatTimeout                = "States.HeartbeatTimeout"
	StatesDataLimitExceeded               = "States.DataLimitExceeded"
	StatesRuntime                         = "States.Runtime"
	StatesQueryEvaluationError            = "States.QueryEvaluationError"
	StatesNoChoiceMatched                 = "States.NoChoiceMatched"
	StatesPermissions                     = "States.Permissions"
	StatesBranchFailed                    = "States.BranchFailed"
	StatesParameterPathFailure            = "States.ParameterPathFailure"
	StatesResultPathMatchFailure          = "States.ResultPathMatchFailure"
	StatesIntrinsicFailure                = "States.IntrinsicFailure"
	StatesExceedToleratedFailureThreshold = "States.ExceedToleratedFailureThreshold"
	StatesItemReaderFailed                = "States.ItemReaderFailed"
	StatesResultWriterFailed              = "States.ResultWriterFailed"
)

// Error is a failed evaluation: the state that asked for it fails with Name and
// Cause, as if its work had failed.
type Error struct {
	// Name is what Retry and Catch match, such as [StatesRuntime].
	Name string
	// Cause says what failed, without the state; see InState.
	Cause string
	// Location is the slash path of the failed expression, such as
	// "Output/error", for the languages that report one; else empty.
	Location string
}

func (e *Error) Error() string { return e.Name + ": " + e.Cause }

// Limit tells that the evaluation was too much, not wrong.
func (e *Error) Limit() bool {
	return e.Name == StatesDataLimitExceeded || strings.HasPrefix(e.Cause, tooManySteps)
}

// tooManySteps begins the cause of an evaluation that was given up.
const tooManySteps = "The evaluation takes more than"

// InState is the cause as the history shows it: introduced by the state's name
// and the number of the event that entered it.
func (e *Error) InState(name string, entered int64) string {
	return fmt.Sprintf("An error occurred while executing the state '%s' (entered at the event id #%d). %s", name, entered, e.Cause)
}

// Problem is something wrong with a document, found before it runs.
type Problem struct {
	// Pointer is the RFC 6901 pointer of the place, relative to what was
	// parsed; empty for the whole of it.
	Pointer string
	// Rule names the rule that was broken, one of the Rule constants.
	Rule string
	// Message says in one sentence what is wrong.
	Message string
}

// The rules that parsing expressions can find broken.
const (
	RuleType      = "type"      // a value of another JSON type is needed
	RuleRange     = "range"     // a number outside its bounds
	RulePath      = "path"      // text that is not a path
	RuleReference = "reference" // a path where only a reference path may stand
	RuleIntrinsic = "intrinsic" // text that is not a call of an intrinsic function
	RuleTimestamp = "timestamp" // text that is not an RFC 3339 timestamp
	RuleVariable  = "variable"  // a name that no variable can have
	RuleCondition = "condition" // a comparison that does not exist or lacks a part
	RuleLanguage  = "language"  // a field of another query language
	RuleExclusive = "exclusive" // two fields of which only one may be there
	RuleRequired  = "required"  // a field that must be there
	RuleTooLarge  = "too-large" // more or deeper than evaluation allows
)

// ErrorOutput is what a catcher and the tools see of a failure: exactly Error
// and Cause, which are empty where there is none.
func ErrorOutput(name, cause string) *Object {
	return newObject([]Member{{"Error", name}, {"Cause", cause}})
}

// tooLarge is a result over a limit of bytes.
func tooLarge(what string, limit int) *Error {
	return &Error{Name: StatesDataLimitExceeded, Cause: fmt.Sprintf("%s larger than %d bytes.", what, limit)}
}

// runtimeError is a States.Runtime.
func runtimeError(cause string, args ...any) *Error {
	return &Error{Name: StatesRuntime, Cause: fmt.Sprintf(cause, args...)}
}
