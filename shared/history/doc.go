// Package history is what an execution remembers: events, the state that they fold into, and the values that pass
// between the decider, the store and the node. It is pure and imports the standard library only.
//
//	command --decide--> Turn{Events, Offers, ...} --store--> one row of history per turn
//	                         |
//	                         v
//	                 State.Apply, the only writer of State (I3)
//	                         |
//	            State.Snapshot, Restore: a short cut for the fold
//
// What runs is a tree. A scope is a machine that runs, a visit is its stay in one state, and the visit of a Parallel or
// a Map has a scope per branch or iteration:
//
//	MainScope --visit "Ship" (Map)--+-- scope 2 = Ship[0] -- visit "Pack"  unit key "Ship[0]/Pack"
//	                                +-- scope 3 = Ship[1] -- visit "Label" unit key "Ship[1]/Label"
//
// A visit moves through phases, by events only:
//
//	           enter
//	             |
//	             v
//	+-------> entered --task--> open --done, take--> done --exit--> (gone)
//	|            |                |                    ^
//	|            +--fan--> fanned | fail, late         |
//	|            |           |    v                    |
//	|          again         +----|------join----------+
//	|            |         again  |
//	|            v           |    |
//	+--(task, fan)-- retrying <---+
//
//	A visit may be left by exit from every phase (a caught failure). A visit in phase "entered" is ready: the decider
//	goes on with it; only a Wait rests there until its time.
//
// # What holds
//
//   - Equal events give equal states, byte for byte in Snapshot.
//   - Apply is total for known events: an event that does not fit the state is counted and changes nothing else. An
//     event of an unknown type is an error, and the execution waits for a newer node.
//   - What was evaluated is in the events, so that folding evaluates nothing. A text that the state already holds is
//     not written again: the event says where it is (Text).
//   - The state is bounded by what runs, not by how long it has run: a loop leaves nothing behind but its visit count.
//   - After the end the tree stays as it was, so that the execution can go on from where it failed.
package history
