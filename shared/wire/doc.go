// Package wire holds the JSON of the HTTP API: a type for the body and the answer of every route, the error envelope
// and the closed list of error codes. It imports the standard library only, so that a worker or a client in Go can use
// it without the rest of the engine; a client in another language finds here what to send.
//
// What holds for all of it:
//
//   - Field names are snake_case. Spans of time are whole milliseconds in fields that end in _ms; instants are RFC 3339
//     in UTC with at most three digits of fraction.
//   - A field without omitempty or omitzero is always in an answer; a list is then [] when empty, never null.
//   - The server refuses a field that it does not know, and a request that breaks a rule, and then changes nothing.
//   - A payload (input, output, a signal's payload) is any JSON value without NUL characters and lone surrogates.
//   - New fields may be added to answers, so a client passes over what it does not know.
//
// The id of an execution in the API is its name, which is unique in its namespace.
package wire

// The headers that the API reads and writes besides the standard ones.
const (
	// HeaderNamespace names the namespace of a request. Without it the request is for the only namespace of its
	// bearer token, else for [DefaultNamespace].
	HeaderNamespace = "Orrery-Namespace"
	// HeaderRequestID is in every answer and in the log. A request may bring its own: up to [MaxRequestID] characters
	// of A-Z, a-z, 0-9, '.', '_' and '-'.
	HeaderRequestID = "Orrery-Request-Id"
	// HeaderIdempotencyKey makes a start, a signal or a cancel repeatable: the same key with the same request gets the
	// same answer within a day, with another request a 409.
	HeaderIdempotencyKey = "Idempotency-Key"
	// HeaderTraceParent is the W3C trace context of the caller; a started execution keeps it and hands it to workers.
	HeaderTraceParent = "Traceparent"
)

// DefaultNamespace is there from the start.
const DefaultNamespace = "default"

// The bounds of requests. Sizes are in bytes of UTF-8, lengths in characters.
const (
	// MaxBody bounds the body of a request unless the server is set otherwise.
	MaxBody = 1 << 20
	// MaxPayload bounds one payload unless the server is set otherwise.
	MaxPayload = 256 << 10
	// MaxPollTasks bounds max_tasks, MaxPollWaitMS wait_ms of a poll.
	MaxPollTasks  = 100
	MaxPollWaitMS = 20_000
	// MaxReports bounds the reports of one request.
	MaxReports = 100
	// MaxHeldTokens bounds the tokens that a heartbeat lists.
	MaxHeldTokens = 1000
	// MaxContracts bounds the contracts that a worker announces.
	MaxContracts = 200
	// MaxResultWaitMS bounds wait_ms of a result.
	MaxResultWaitMS = 20_000
	// MaxName bounds the names of workflows, executions, signals, tasks, workers and namespaces.
	MaxName = 128
	// MaxRequestID, MaxIdempotencyKey and MaxPollID bound what a caller chooses to name its requests.
	MaxRequestID      = 64
	MaxIdempotencyKey = 128
	MaxPollID         = 64
	// MaxErrorCode and MaxErrorMessage bound a worker's error; MaxReason bounds the reason of a cancel.
	MaxErrorCode    = 256
	MaxErrorMessage = 32_768
	MaxReason       = 1024
	// MaxPage bounds the limit of a list, DefaultPage is the limit of a list that names none.
	MaxPage     = 1000
	DefaultPage = 100
)
