// Package builtin has the work that the server does itself: HTTP requests and Lambda functions. Whoever may write a
// definition may have the server call what that names, so both are off until an operator allows something.
//
// # What holds
//
//   - A host is called only if the settings name it, by itself or by a pattern; and so is each host that a redirect leads to.
//   - An address that is not public (loopback, private, link-local, and whatever else is special) is called only if the
//     settings name the address. It is looked at when the connection is made, after the name was resolved: what a name server
//     answers at another time does not matter.
//   - No proxy is used, as it would resolve the names itself.
//   - An answer is bounded in size, and every call in time, by its context.
//   - A call is made once: whoever wants it again says so.
package builtin
