// Package lambdahttp turns Lambda events into HTTP requests and answers back into results, so that one http.Handler
// serves in a node and in a function. It also has the reverse, for a gateway on a developer's machine.
//
//	                 EventFromRequest                Handler
//	HTTP request ----------------------> event ------------------> http.Handler
//	HTTP answer  <---------------------- result <-----------------
//	                  WriteResponse
//
// Events are those of API Gateway HTTP APIs in payload format 2.0 and of Lambda function URLs, which have the same
// shape. They differ in one thing that matters: a function URL passes the path as it was sent, an HTTP API passes it
// decoded. What holds:
//
//   - A handler cannot tell a function from a node, but for the time that it has: the context of its request ends when
//     Lambda ends the function, and Remaining says how long that is.
//   - A function never fails because of what a request says or a handler does. A bad event, a panic and an answer that
//     Lambda cannot carry become answers with the error envelope of the API.
//   - What HTTP carries comes through unchanged, but for what the format itself cannot say: the values of a header that
//     is given several times are joined by commas, and a header is UTF-8.
package lambdahttp

// MaxPayload is how many bytes Lambda carries, in an event and in a result.
const MaxPayload = 6 << 20

// requestIDHeader is the header under which the API takes the id of a request; see package wire.
const requestIDHeader = "Orrery-Request-Id"
