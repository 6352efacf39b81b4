// Package expr holds the values that flow through a workflow and the query
// languages that read and shape them.
//
// It is pure: values in, values out. It has no clock, no goroutine and no
// source of chance but the [Drawer] that the caller hands in, and it imports
// the standard library only. What an expression gave is recorded by the
// caller, so nothing is evaluated a second time.
//
//	document text --Parse--> Value --Append--> compact text
//
//	state of a document --Language--> Flow, Rule, Catcher, Field
//
//	            raw input (Scope.Input)
//	                |  InputPath
//	                v
//	          Entry.Input -----> Fields and Conditions of the state read this
//	                |  Parameters (ItemSelector for each item of a Map)
//	                v
//	         Entry.Effective --> the work --> result
//	                                            |  ResultSelector
//	                                            v
//	            raw input <----ResultPath---- selected
//	                |  OutputPath
//	                v
//	            Exit.Output          Exit.Assigned (variables, from the result)
//
// The diagram is that of JSONPath. Another query language has other steps
// between the same stations, and only this package knows which: everybody else
// holds the interfaces [Language], [Flow], [Rule], [Catcher] and [Field].
//
// # What holds
//
//   - A value that was handed out is never changed again. Whoever needs another
//     one makes a copy, which may share what did not change.
//   - The text of a number is kept as it came; 1 and 1.0 are equal values with
//     different texts.
//   - The members of an object keep the order in which they were first set.
//   - What [Parse] accepts, [Append] prints and Parse reads back as an equal
//     value. The result of every evaluation can be printed and parsed again: it
//     is bounded by [Limits] in depth and in bytes.
//   - Evaluation ends: the time is bounded by Limits.Steps, whatever the
//     document and the input are.
//   - A failed evaluation is an [*Error] with the name that Retry and Catch
//     match. A document that cannot be right is a list of [Problem].
package expr
