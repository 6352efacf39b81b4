// Package memory is a database in memory that keeps the rules of package store: fences and epochs, compare and set, the
// inbox and its replies, queue rows and claims, sessions, debts, bells. It is for tests of what works on a store, in a bubble
// of time; one suite runs over both, so that it cannot drift from the real one.
//
//	call -> transaction: statements change tables, each change with its undo -> commit: bells -> answer
//	                     a check that fails undoes all
//
// What it does as PostgreSQL does:
//
//   - A transaction happens at one instant, whole or not at all. Commit alone takes time when it is told to: it holds its
//     fence, shared, from its check to its end, so a taker waits for it, and ends it after a second.
//   - Its clock is its own ([Options.Offset]): whoever compares its times with those of another clock is wrong by that much (I9).
//   - A bell goes to who listens at that moment, and is lost otherwise.
//
// What it does not know: locks of rows (callers have them injected as failures), schedules, retention, and the lists that only
// people read.
package memory
