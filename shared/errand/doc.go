// Package errand does the tasks that the server does itself: HTTP requests and Lambda functions. It is a worker like any
// other, inside of a node:
//
//	decider -> row in the queue, under a contract that no worker can name
//	                 |
//	          poll, heartbeat, report: package worker over a transport that leads into the process
//	                 |
//	          shared/builtin makes the call
//
// So a node that dies loses nothing: its session is lost, and another node is given the task, as the same attempt. What a
// call comes to is known to the document under the names that the reference service has:
//
//	Lambda   the function's errorType, or Lambda.Unknown      the function has failed
//	         Lambda.CODE                                      the service has refused, by its own code
//	         Lambda.SdkClientException                        no answer came
//	HTTP     States.Http.StatusCode.NNN                       the status is not 2xx
//	         States.Http.Socket                               no answer came, or none in MaxRequestTime
//	both     States.Permissions                               the settings do not allow the call
//	         States.DataLimitExceeded                         the answer is too large
//	         States.Timeout                                   TimeoutSeconds is over; the decider says so first
//
// # What holds
//
//   - Nothing is called that the settings do not allow.
//   - What a connection adds to a request goes to the hosts of that connection alone, and neither into the log nor into a
//     history.
//   - An answer becomes JSON that can be stored, or a failure.
package errand
