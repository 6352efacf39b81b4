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
//   - The tag check says what a field of a request must be; the server enforces it, and nothing else checks the form:
//     required; min=N and max=N (the value of a number, the characters of a string, the entries of a list); name (1 to 80
//     characters, no white space, no control character, none of < > { } [ ] ? * " # % \ ^ | ~ ` $ & , ; : /); label (1 to 128
//     characters without control characters); id (1 to 64 of A-Z, a-z, 0-9, '.', '_', '-'); language (1 to 40 of a-z, 0-9, '+',
//     '#', '.', '_', '-'); one=A B (one of the words); payload (at most the limit of payloads); default=X (what a field left out is taken as).
//     null is as good as left out, but for payloads.
//   - Of a member that is given twice in one object the last counts.
//   - New fields may be added to answers, so a client passes over what it does not know.
//
// The id of an execution in the API is its name, which is unique in its namespace.
package wire

// The headers that the API reads and writes besides the standard ones.
const (
	// HeaderNamespace names the namespace of a request. Without it the request is for the only namespace of its
	// bearer token, else for [DefaultNamespace].
	HeaderNamespace = "Orrery-Namespace"
	// HeaderRequestID is in every answer and in the log. A request may bring its own: 1 to 64 of A-Z, a-z,
	// 0-9, '.', '_' and '-'.
	HeaderRequestID = "Orrery-Request-Id"
	// HeaderIdempotencyKey makes a start, a signal or a cancel repeatable: the same key with the same request gets the
	// same answer within a day, with another request a 409. 1 to 128 printable ASCII characters.
	HeaderIdempotencyKey = "Idempotency-Key"
	// HeaderTraceParent is the W3C trace context of the caller; a started execution keeps it and hands it to workers.
	HeaderTraceParent = "Traceparent"
)

// DefaultNamespace is there from the start.
const DefaultNamespace = "default"

// The bounds of requests that the tags do not say. Sizes are in bytes of UTF-8.
const (
	// MaxBody bounds the body of a request, MaxPayload one payload in it, unless the server is set otherwise.
	MaxBody    = 1 << 20
	MaxPayload = 256 << 10
	// MaxPage bounds the limit of a list, DefaultPage is the limit of a list that names none.
	MaxPage     = 1000
	DefaultPage = 100
	// MaxReports, MaxPollTasks and MaxHeldTokens bound the lists of the worker protocol.
	MaxReports    = 100
	MaxPollTasks  = 100
	MaxHeldTokens = 1000
)
