package wire

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Code names an error. The list is closed: a client may switch over it.
type Code string

// The codes, by status.
const (
	MalformedJSON     Code = "MALFORMED_JSON"     // the body is not one JSON value, or has NUL or a lone surrogate
	MalformedToken    Code = "MALFORMED_TOKEN"    // a task token that no server has made
	MalformedEvent    Code = "MALFORMED_EVENT"    // a function was invoked with what is no HTTP request
	NamespaceRequired Code = "NAMESPACE_REQUIRED" // the bearer token has several namespaces and none was named

	Unauthenticated Code = "UNAUTHENTICATED" // no credentials, or none that are known

	Forbidden    Code = "FORBIDDEN"     // the caller's roles do not allow it
	ForeignToken Code = "FOREIGN_TOKEN" // a task token that was issued to another worker

	RouteNotFound      Code = "ROUTE_NOT_FOUND"      // no route has this path
	NamespaceNotFound  Code = "NAMESPACE_NOT_FOUND"  // there is none of this name, or the caller may not see it
	WorkflowNotFound   Code = "WORKFLOW_NOT_FOUND"   // the workflow, or the version of it, is not published
	ContractNotFound   Code = "CONTRACT_NOT_FOUND"   // the version of the contract is not registered
	AliasNotFound      Code = "ALIAS_NOT_FOUND"      // the workflow has no alias of this name
	ExecutionNotFound  Code = "EXECUTION_NOT_FOUND"  // there is none of this name, or it was kept for its time and is gone
	ScheduleNotFound   Code = "SCHEDULE_NOT_FOUND"   // there is none of this id
	OccurrenceNotFound Code = "OCCURRENCE_NOT_FOUND" // the schedule has none of this number, or it was kept for its time and is gone
	SessionNotFound    Code = "SESSION_NOT_FOUND"    // unknown, lost or deregistered: the worker registers again
	TokenNotFound      Code = "TOKEN_NOT_FOUND"      // a task token with a wrong signature

	MethodNotAllowed Code = "METHOD_NOT_ALLOWED" // the path has other methods

	ExecutionExists      Code = "EXECUTION_EXISTS"       // the name is taken by an execution with other workflow or input
	ExecutionFinished    Code = "EXECUTION_FINISHED"     // nothing can be sent to an execution that has ended
	VersionExists        Code = "VERSION_EXISTS"         // the version is published or registered with other content
	IdempotencyKeyReused Code = "IDEMPOTENCY_KEY_REUSED" // the same key came with another request
	CommandRefused       Code = "COMMAND_REFUSED"        // the execution's state does not allow it
	ScheduleExists       Code = "SCHEDULE_EXISTS"        // the id is taken by a schedule with another definition
	ScheduleChanged      Code = "SCHEDULE_CHANGED"       // it is not the version that the request is about
	ScheduleState        Code = "SCHEDULE_STATE"         // the state of the schedule or the occurrence does not allow it
	KeyShared            Code = "KEY_SHARED"             // schedules share the singleton key that say another number of slots

	BodyTooLarge    Code = "BODY_TOO_LARGE"    // the body has more bytes than ORRERY_MAX_BODY
	PayloadTooLarge Code = "PAYLOAD_TOO_LARGE" // an input, output or signal has more bytes than ORRERY_MAX_PAYLOAD

	InvalidRequest  Code = "INVALID_REQUEST"  // fields that break a rule; details has every one
	InvalidWorkflow Code = "INVALID_WORKFLOW" // problems of a document; details has every one with its JSON pointer
	InvalidSchedule Code = "INVALID_SCHEDULE" // problems of a schedule; details has every one with its field and code

	TooManyExecutions Code = "TOO_MANY_EXECUTIONS" // the limit of active executions is reached
	TooManyRequests   Code = "TOO_MANY_REQUESTS"   // come again later

	Internal         Code = "INTERNAL"           // a fault of the server; the request id finds it in the log
	ResponseTooLarge Code = "RESPONSE_TOO_LARGE" // the answer is larger than a function can give; ask for less, or ask a node

	Unavailable Code = "UNAVAILABLE" // cannot be done now; nothing was changed
	NotReady    Code = "NOT_READY"   // this node is not ready; another one is
	// OutcomeUnknown: the database was lost on the way. It may have happened; a repeat with the same name, token, poll id or
	// idempotency key is safe.
	OutcomeUnknown Code = "OUTCOME_UNKNOWN"
)

// statuses is the one table from code to HTTP status.
var statuses = map[Code]int{
	MalformedJSON:     http.StatusBadRequest,
	MalformedToken:    http.StatusBadRequest,
	MalformedEvent:    http.StatusBadRequest,
	NamespaceRequired: http.StatusBadRequest,

	Unauthenticated: http.StatusUnauthorized,

	Forbidden:    http.StatusForbidden,
	ForeignToken: http.StatusForbidden,

	RouteNotFound:      http.StatusNotFound,
	NamespaceNotFound:  http.StatusNotFound,
	WorkflowNotFound:   http.StatusNotFound,
	ContractNotFound:   http.StatusNotFound,
	AliasNotFound:      http.StatusNotFound,
	ExecutionNotFound:  http.StatusNotFound,
	ScheduleNotFound:   http.StatusNotFound,
	OccurrenceNotFound: http.StatusNotFound,
	SessionNotFound:    http.StatusNotFound,
	TokenNotFound:      http.StatusNotFound,

	MethodNotAllowed: http.StatusMethodNotAllowed,

	ExecutionExists:      http.StatusConflict,
	ExecutionFinished:    http.StatusConflict,
	VersionExists:        http.StatusConflict,
	IdempotencyKeyReused: http.StatusConflict,
	CommandRefused:       http.StatusConflict,
	ScheduleExists:       http.StatusConflict,
	ScheduleChanged:      http.StatusConflict,
	ScheduleState:        http.StatusConflict,
	KeyShared:            http.StatusConflict,

	BodyTooLarge:    http.StatusRequestEntityTooLarge,
	PayloadTooLarge: http.StatusRequestEntityTooLarge,

	InvalidRequest:  http.StatusUnprocessableEntity,
	InvalidWorkflow: http.StatusUnprocessableEntity,
	InvalidSchedule: http.StatusUnprocessableEntity,

	TooManyExecutions: http.StatusTooManyRequests,
	TooManyRequests:   http.StatusTooManyRequests,

	Internal:         http.StatusInternalServerError,
	ResponseTooLarge: http.StatusInternalServerError,

	Unavailable:    http.StatusServiceUnavailable,
	NotReady:       http.StatusServiceUnavailable,
	OutcomeUnknown: http.StatusServiceUnavailable,
}

// Status is the HTTP status of the code; 500 for a code that is not in the list.
func (c Code) Status() int {
	if s, ok := statuses[c]; ok {
		return s
	}
	return http.StatusInternalServerError
}

// Codes lists every code in alphabetical order.
func Codes() []Code {
	all := make([]Code, 0, len(statuses))
	for c := range statuses {
		all = append(all, c)
	}
	slices.Sort(all)
	return all
}

// Error is a refused or failed request: the inside of the envelope, and the error value of whoever serves or calls
// the API.
type Error struct {
	Code    Code     `json:"code"`
	Message string   `json:"message"`
	Details []Detail `json:"details,omitempty"`
	// RetryAfter is the header of the same name: the least wait before a repeat, zero for none given.
	RetryAfter time.Duration `json:"-"`
}

// Detail is one fault of a request.
type Detail struct {
	// Field is the path of a field (reports[2].token), "query NAME", "path NAME" or "header NAME"; for the problems of a
	// document the JSON pointer (RFC 6901) of its place.
	Field string `json:"field"`
	// Rule names the rule that was broken, such as "required", "integer" or "1..100".
	Rule string `json:"rule"`
	// Message says it for people, where field and rule do not say all.
	Message string `json:"message,omitempty"`
}

// ErrorEnvelope is the body of every answer with a status of 400 or above.
type ErrorEnvelope struct {
	Error Error `json:"error"`
}

// Errorf makes an error of a code with a message.
func Errorf(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// Invalid makes the error for fields that break rules.
func Invalid(details ...Detail) *Error {
	return &Error{Code: InvalidRequest, Message: "the request breaks " + count(len(details), "rule"), Details: details}
}

// After is the same error with a wait for the caller.
func (e *Error) After(wait time.Duration) *Error {
	c := *e
	c.RetryAfter = wait
	return &c
}

// Error gives code, message and the first details in one line.
func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s", e.Code, e.Message)
	for i, d := range e.Details {
		if i == 3 {
			fmt.Fprintf(&b, "; %d more", len(e.Details)-i)
			break
		}
		fmt.Fprintf(&b, "; %s: %s", d.Field, d.Rule)
	}
	return b.String()
}

// Is matches an error of the same code, so that errors.Is(err, &Error{Code: c}) works.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Code == e.Code
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
