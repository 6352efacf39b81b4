// Package trial tries documents without a database, workers or a clock: it drives the pure core by itself. Four things can be
// tried:
//
//	Run     a whole document, against a World that says what its tasks give and what comes from outside
//	State   one state alone
//	Replay  a recorded history, decided again by another version of its document
//	Script  a World that is read from a file
//
// A run is a loop over one execution and those of its distributed Maps. Its clock stands still while something can happen at
// once, and jumps to the next time at which something does:
//
//	+--> offers: ask the World what each comes to; file it
//	|       |
//	|       v
//	|    what is filed for now?  --yes--> decide.Handle --+
//	|       | no                                          |
//	|       v                                             |
//	|    jump to what is filed next, or to the            |
//	|    next time of the execution  -------------------->+
//	+-----------------------------------------------------+
//
// # What holds
//
//   - The same document, options and World give the same run.
//   - A run ends, whatever the document: turns, events, bytes and the clock are bounded (see Limits), and each bound that is
//     reached is an error that says where the execution stood.
//   - Nothing happens that the World did not say: an offer without an answer, or an execution that waits for what never comes,
//     is an error, never a guess.
package trial
