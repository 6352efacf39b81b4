// Package decide says what an execution does next: a definition, the folded state, commands and the time go in, a turn
// comes out. It is pure: no I/O, no clock, no goroutine, no chance but the seed that a command brings (I4).
//
//	Handle:  for each command      Start, reports, timers, signals, cancel, ...
//	             events            each folded into the state at once, by State.Apply alone (I3)
//	             for each visit that is ready, until nothing is or the turn is full
//	                 begin         entered: evaluate, then schedule, fan out, leave or fail
//	                 leave         done: make the output, exit, enter the next state
//	                 spread        fanned: begin iterations, join what is complete
//	         effects               what was open before against what is open now: offers, withdrawals, losses
//	         wake-up, end
//
// A failure goes up until somebody handles it:
//
//	unit, evaluation, Fail state --Retry--> another attempt
//	          |                  --Catch--> Next
//	          v
//	the scope's parent (Parallel, Map): the other branches are stopped
//	          |                  --Retry--> another try of all
//	          |                  --Catch--> Next
//	          v
//	the main scope: the execution ends
//
// # What holds
//
//   - The same definition, state, commands and time give the same turn.
//   - Events are the only way in which the state changes, so whoever folds them has the same state.
//   - Effects on the task queue compare the beginning with the end of the turn: an offer that is made and resolved within
//     one turn never becomes a row.
//   - A turn ends, whatever the document: after maxEvents events, maxBytes of texts written, or maxWork of texts read, the
//     rest waits for the next turn, which is due at once.
//   - Every command is answered. One that does not fit is answered as stale, duplicate, finished or refused, and changes
//     nothing.
package decide
