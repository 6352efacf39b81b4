// Package cron makes schedules happen: it turns due instants into occurrences, and occurrences into runs. It decides nothing
// about time, which is what package schedule is for, and nothing about executions.
//
//	          instants            occurrences                         executions, requests
//	schedule ---------> planner ------------> runner ---+--- workflow: first turn, trace, occurrence: one transaction
//	(cursor)            |  ^                  |  ^      |              its last turn ends the occurrence
//	                    v  |                  v  |      +--- direct: trace, occurrence; the work, under a lease; the end
//	                  DueSchedules, Plan    ClaimRuns, StartRuns, Contend, SettleRuns, Renew
//
// Both are loops over shared tables, and any number of processes may run them at once: a plan moves the cursor by
// compare-and-set, an occurrence is owned by the number of its claim. A node runs a [Runner] for as long as it lives, woken
// when something is due; the scheduled function calls Tick.
//
// # One attempt
//
// The order is the safety argument.
//
//  1. One version of the definition is read and held for the attempt.
//  2. The schedule is found by its number. One that is archived ends its occurrences, visibly.
//  3. Guards come first: what cannot be started now goes back with a growing delay and leaves no trace; what can never be
//     started fails for good. Then one transaction takes the key and makes the occurrence running. There is no instant at
//     which work runs without its key. Whoever finds the key held is skipped or waits, as its policy says.
//  4. The trace is written in that same transaction, before the work begins, so that nothing runs unseen.
//  5. A workflow needs nothing more: the execution's own durability is its lease. Direct work runs beside the renewals of its
//     lease, and is stopped before the lease can be over; it is stopped as well when a renewal finds that somebody else has the
//     occurrence. A renewal that fails is tried again with the next beat.
//  6. to 8. The end of the trace, of the occurrence and of the hold on the key are one transaction, which counts only under the
//     claim that has started the work. A process that wakes from a long pause therefore changes nothing.
//  9. Whoever ends a run rings the runner, which takes what waits for the key next, first by instant.
//
// # What holds
//
//   - Each instant is decided by one plan, and an occurrence of it is made once.
//   - A try of an occurrence starts at most one execution (I10): its name follows from schedule, instant and retry number, and
//     the start and the change of the occurrence are one transaction.
//   - With a key, no two runs overlap. What a lost process still does is held off by the fencing token, which only grows.
//   - All times that are compared are the database's (I9). This process's clock measures how long to wait, and when a lease
//     that was asked for then must be over at the latest.
//   - Nothing here waits for an execution.
package cron
