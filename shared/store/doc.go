// Package store is the database: SQL and nothing else. It decides nothing. What a process wants written comes as values of
// package history, and what it reads goes back as such.
//
//	a node                                      a function, or a node for what it does not own
//	  Join Heartbeat Leave                        Start                   a new execution's first turn
//	  Take Release TakeOwnFence                   Claim Report            tasks
//	  Load Inbox Unnoticed Due LostClaims         Send Reply              messages and their answers
//	  Commit  <- history.Turn                     Register Touch ...      sessions
//	        \                                    /
//	         +---- orrery.* (migrations/schema.sql) ----+
//
// Each statement is a file in query, named after what it does for a method, bound by name and scanned by name. What one
// method sends goes in one round trip; a transaction among it begins and commits there, see pipeline.
//
// # What holds
//
//  1. Checks raise. COMMIT travels in the same round trip as the statements that it depends on, so a check that only returned
//     no rows would not stop it. A guarded write goes through orrery.expect or orrery.forbid, which name the executions at
//     fault, so that a batch is sent again at once without them. A test reads every statement of a commit for that.
//  2. A commit is under the fence of its node's incarnation (I1): it locks it shared, and in a statement of its own, with a
//     snapshot younger than the lock, checks the incarnation and the epochs. Who takes a partition away holds that fence
//     exclusively. Lock and check in one statement read what was true before the wait; row locks instead of the fence starve
//     either the heartbeat or the taker.
//  3. Turns are compare-and-set on last_seq (I2), whatever made the second writer.
//  4. Locks are taken in this order (I12): fences by number, sessions, executions by id, tasks by id, inbox, keys. Rows that others
//     lock too are locked first, by a SELECT in that order: an UPDATE locks in the order of its plan. A commit waits for none
//     of them but names who is locked; a statement after the locks sees what they guard as it is.
//  5. An insert into an inbox holds the execution's row KEY SHARE and finds it running; a turn that ends it holds it FOR
//     UPDATE, and answers in a later statement what is in the inbox. So an entry is applied, or answered by the end, or refused.
//  6. A report marks its attempt's rows done in the transaction of its entry; a turn that would remove or give up such a row
//     raises unless it applies that entry (I6).
//  7. Times that are compared are the database's (I9). Arguments named now are for tests.
//  8. Bells are rung by a statement after the COMMIT, in the same round trip, and only to who has left a flag or owns what is
//     meant. NOTIFY inside the transaction holds a lock of the whole database through the flush; a flag read inside it
//     can be raised too late and be overlooked.
//
// Functions send nothing that needs a session: no named statements, no settings, no session locks, arrays instead of long texts.
package store
