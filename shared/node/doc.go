// Package node is what a process does that lives long: it is a member of the cluster, owns partitions, and drives the
// executions in them. Everything else that it serves, it serves as a function does, through package frontend.
//
//	         database
//	beats ^     ^ takes    ^ reads   ^ batches        ^ claims       | bells
//	      |     |          |         |                |              v
//	heartbeat  owners   (spawned)  committer       claimer        listener
//	      |      |         |         ^  |             |              |
//	      |      | gained, | found   |  | written     | claimed      |
//	      |      | left    |   batch |  |             |              |
//	      |      v         v         |  v             v              |
//	      +-----------------> loop <---------------------------------+
//	       pulses             ^  |
//	                   calls  |  | answers, tasks, after the commit
//	                          |  v
//	                 requests of the frontend
//
// Each goroutine owns what it changes, and the comment at each field says whose it is. What requests of all kinds share
// (polls, claims, contacts, waits, definitions) is a small struct with a mutex, which nobody holds during I/O.
//
// # What holds
//
//  1. The loop decides, and it alone knows executions. It never waits for the database.
//  2. Nothing is answered, delivered or rung before its commit (I5): that happens in committed.apply and nowhere else. What
//     is answered without a commit rests on committed state alone.
//  3. A loaded state is changed in place by the decider and never shown outside. So it is ahead of the database from the
//     decision until the commit; when the commit fails for any reason, the state is dropped and the execution loaded anew.
//     Deciding on a copy was rejected: it costs a copy of the whole state for every turn, to be rid of it in the rare
//     case; and a load is what an unknown outcome asks for anyway.
//  4. An execution has one turn on its way at most. What comes meanwhile waits for its next one, and is decided together.
//  5. One batch is being written at a time, and the next one gathers meanwhile. A batch never waits to fill.
//  6. A command comes back by itself, from the inbox or the queue, unless a caller waits for it. After a failed commit only
//     the callers' commands are kept; the load brings the others.
//  7. A direct call comes after the entries of the inbox that were committed before it. A load reads the inbox before it
//     lets calls go on, and for a client's call to a loaded execution it is read once more. A report needs no read: what it
//     could overrule is another report, and the two meet in the rows of the queue, where the commit finds out.
//  8. A task goes to a poll only after a place in it was reserved, so no poll gets more than it asked for. A task whose
//     poll is gone is given back.
//  9. After a commit with an unknown outcome the node takes its own fence, so that the transaction is over, and the number of
//     the last turn tells what it did (I2): nobody else can have written that number under the same epoch (I1).
//  10. What an incarnation holds dies with it. A node whose fence was taken begins anew as another one, with nothing.
//  11. Every wait has its own look again: a lost bell costs a second at most, because the heartbeat tells what it would have
//     told.
//
// A report for an execution that is neither loaded nor known to be here is not looked for: it goes to the inbox, where its
// owner finds it, this node or another.
package node
