// Package gateway is API Gateway and Lambda on a developer's machine: an http.Handler that turns requests into events of
// payload format 2.0, picks the function by the routes of template.yaml, and runs it.
//
//	request -> Gateway: event, route -> Pool: queue, instance -> in this process: the handler itself
//	                                                          -> emulator process -> the function's own binary
//
// What holds:
//
//   - Routes, environment and limits come from the template that is deployed, so that it and the code cannot drift apart.
//   - Nothing but the JSON of event and result passes between gateway and function, in this process too.
//   - An instance serves one call at a time, as in Lambda. Calls beyond the instances wait in a bounded queue for a bounded
//     time; what finds no place gets 503 with Retry-After and has not run.
//   - A call that has begun goes on when its client leaves, as in Lambda, and ends at the function's timeout.
//   - A process that fails is replaced. No process outlives the one that started it, however that ends.
package gateway
