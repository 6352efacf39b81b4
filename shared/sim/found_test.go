package sim

import (
	"testing"
	"time"
)

const ms = time.Millisecond

// found are schedules that have failed once, made as short as they get.
var found = map[string]Schedule{
	// The commit that begins a child hands its task over, and loses its answer: the child is loaded all the same, so that its
	// row and its timer are written.
	"child of an unknown commit": {Seed: 792, Shape: Shape{Nodes: 4, Functions: 2, Workers: 2, Partitions: 8, Workflows: []string{"naps", "one", "fans", "parent"}}, Steps: []Step{
		{At: 5064 * ms, Who: "c", On: "Commit", Do: Lose},
		{At: 5123 * ms, Do: Start, On: "e4", Who: "f2"},
	}},
	// A cancel that was taken is not called undone because the execution cannot be read afterwards.
	"cancel without a look": {Seed: 1427, Shape: Shape{Nodes: 3, Functions: 2, Workers: 3, Partitions: 8, Workflows: []string{"one", "fans", "hears", "hears", "two", "one", "naps", "fans"}}, Steps: []Step{
		{At: 3201 * ms, Do: Start, On: "e8", Who: "f1"},
		{At: 4878 * ms, Who: "f1", On: "Execution", Do: Refuse},
		{At: 5476 * ms, Do: Cancel, On: "e8", Who: "f1"},
		{At: 7485 * ms, Do: Result, On: "e8", Who: "a", For: 1031 * ms},
	}},
	// A node that was cut off does not say of an execution that it runs, which another has taken and ended.
	"result of a node that was cut off": {Seed: 2019, Shape: Shape{Nodes: 3, Functions: 2, Workers: 2, Partitions: 8, Workflows: []string{"fans", "hears", "fans", "fans"}}, Steps: []Step{
		{At: 4897 * ms, Do: Start, On: "e4", Who: "f2"},
		{At: 6380 * ms, Do: Signal, On: "e4", Who: "a", Key: 1},
		{At: 7125 * ms, Do: Cut, Who: "a", For: 3474 * ms},
		{At: 10061 * ms, Do: Signal, On: "e4", Who: "b", Key: -2},
		{At: 10380 * ms, Do: Result, On: "e4", Who: "a", For: 16 * ms},
	}},
	// A signal of which an earlier try may still arrive is not answered as one to nobody.
	"signal that comes late": {Seed: 1089, Shape: Shape{Nodes: 2, Functions: 2, Workers: 2, Partitions: 8, Workflows: []string{"two", "two", "fans", "two", "hears", "fans", "naps"}}, Steps: []Step{
		{At: 3930 * ms, Do: Outage, For: 1999 * ms},
		{At: 4796 * ms, Who: "f1", On: "Send", Do: Late, For: 839 * ms},
		{At: 5522 * ms, Do: Start, On: "e2", Who: "f2"},
		{At: 5624 * ms, Do: Start, On: "e1", Who: "b", Net: Doubled},
		{At: 5642 * ms, Do: Signal, On: "e1", Who: "f2", Key: 1},
		{At: 5693 * ms, Who: "a", On: "Commit", Do: CrashBefore, For: 499 * ms},
		{At: 6096 * ms, Who: "b", On: "Commit", Do: CrashBefore, For: 52 * ms},
		{At: 10457 * ms, Do: Read, On: "e1", Who: "b"},
	}},
	// A node that was cut off, and knows nothing of a newer hand-out, does not call the report of that stale.
	"report of what another owner has handed out": {Seed: 110, Shape: Shape{Nodes: 4, Functions: 2, Workers: 3, Partitions: 8, Workflows: []string{"hears", "naps", "parent", "two", "two", "two", "fans"}}, Steps: []Step{
		{At: 527 * ms, Do: Start, On: "e6", Who: "d", Net: ResponseLost},
		{At: 1113 * ms, Do: Kill, Who: "b", For: 1817 * ms},
		{At: 1705 * ms, Do: Start, On: "e7", Who: "a"},
		{At: 2701 * ms, Do: Start, On: "e3", Who: "c"},
		{At: 3392 * ms, Do: Start, On: "e5", Who: "a"},
		{At: 3712 * ms, Do: Cut, Who: "c", For: 1217 * ms},
	}},
	// An owner that has found an execution ended takes a redrive of it all the same.
	"redrive of what was found ended": {Seed: 127, Shape: Shape{Nodes: 4, Functions: 1, Workers: 3, Partitions: 8, Workflows: []string{"two", "fans", "asks", "asks", "one", "falls", "parent", "fans"}}, Steps: []Step{
		{At: 3293 * ms, Do: Start, On: "e5", Who: "f1"},
		{At: 3322 * ms, Do: Start, On: "e3", Who: "b"},
		{At: 10392 * ms, Do: Redrive, On: "e5", Who: "b"},
	}},
	// An execution that has ended is not said to run because its owner looks whether it may go on.
	"result while a redrive is refused": {Seed: 723, Shape: Shape{Nodes: 2, Functions: 1, Workers: 3, Partitions: 8, Workflows: []string{"fans", "holds", "fans", "naps", "two", "hears", "falls"}}, Steps: []Step{
		{At: 2747 * ms, Do: Start, On: "e5", Who: "f1"},
		{At: 5897 * ms, Do: Result, On: "e5", Who: "a", For: 1293 * ms},
		{At: 7611 * ms, Who: "a", On: "Commit", Do: Stall, For: 3827 * ms},
		{At: 9587 * ms, Do: Redrive, On: "e5", Who: "a"},
		{At: 10257 * ms, Do: Result, On: "e5", Who: "a", For: 592 * ms},
	}},
	// A node that was cut off does not tell the end of an execution that another has let go on.
	"end that a redrive elsewhere has undone": {Seed: 2768, Shape: Shape{Nodes: 2, Functions: 2, Workers: 3, Partitions: 8, Workflows: []string{"parent", "falls", "parent", "parent", "two"}}, Steps: []Step{
		{At: 3953 * ms, Do: Start, On: "e2", Who: "f1", Net: Doubled},
		{At: 6613 * ms, Do: Cut, Who: "a", For: 2696 * ms},
		{At: 8236 * ms, Do: Redrive, On: "e2", Who: "b"},
		{At: 8806 * ms, Do: Result, On: "e2", Who: "a", For: 1279 * ms},
		{At: 9984 * ms, Do: Result, On: "e2", Who: "a", For: 1780 * ms},
	}},
	// What is owed in a partition that goes to another is not called paid before that one has inherited it.
	"debt of a partition that is given away": {Seed: 9, Shape: Shape{Nodes: 3, Functions: 2, Workers: 3, Partitions: 8, Workflows: []string{"spreads", "one", "fans", "asks", "one", "one", "two"}}, Steps: []Step{
		{At: 4897 * ms, Do: Start, On: "e4", Who: "c"},
		{At: 5948 * ms, Do: Stop, Who: "c", For: 304 * ms},
	}},
	// A debt that is read before the answer which brings its partition is not called paid.
	"debt of a partition that is on its way": {Seed: 58, Shape: Shape{Nodes: 3, Functions: 1, Workers: 3, Partitions: 8, Workflows: []string{"parent", "naps", "fans", "spreads", "parent", "two"}}, Steps: []Step{
		{At: 705 * ms, Do: Start, On: "e3", Who: "c", Net: Doubled},
		{At: 786 * ms, Do: Start, On: "e6", Who: "f1", Net: RequestLost},
		{At: 2741 * ms, Do: Pause, Who: "c", For: 2462 * ms},
		{At: 3646 * ms, Do: Pause, Who: "b", For: 2594 * ms},
	}},
}

// TestFound runs the schedules that have found faults.
func TestFound(t *testing.T) {
	for name, s := range found {
		t.Run(name, func(t *testing.T) {
			for _, f := range Run(t, s, Options{}).Failures {
				t.Error(f)
			}
		})
	}
}
