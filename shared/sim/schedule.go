package sim

import (
	"fmt"
	"strings"
	"time"
)

// Schedule is everything that happens to the system from outside: what clients ask for, and what goes wrong. It follows
// from a seed, and a failing one is made shorter step by step.
type Schedule struct {
	Seed  uint64
	Shape Shape
	Steps []Step // by time
}

// Shape is what the system is made of.
type Shape struct {
	Nodes, Functions, Workers int
	Partitions                int
	// Workflows are those of the executions, by their number: execution e3 is of Workflows[2].
	Workflows []string
}

// Step is one thing that happens.
type Step struct {
	At time.Duration // since the beginning
	Do Action
	// Who is the process or the worker that it happens to, or through which a client asks.
	Who string
	// On is the execution of a client's request, the workflow that is published, or the method of the store whose next call by
	// Who goes wrong.
	On string
	// For is how long it lasts.
	For time.Duration
	// Net is what becomes of a client's request on the way.
	Net Fate
	// Key is the number of a signal, which is its payload. A signal with a positive one is sent under an idempotency key. Of a word
	// on an uncertain unit it is the place in words.
	Key int
}

// Action is what happens.
type Action string

// What clients ask for.
const (
	Start  Action = "start"
	Signal Action = "signal"
	Cancel Action = "cancel"
	Result Action = "result" // waits for the end, for For
	Read   Action = "read"   // the history

	Redrive Action = "redrive" // has an execution that ended without success go on
	Resolve Action = "resolve" // gives word on the units that are uncertain: Key is which
	Publish Action = "publish" // a new version of a workflow
)

// What happens to processes and workers. Killed and stopped ones begin again after For, under the same id.
const (
	Pause  Action = "pause"  // it is frozen
	Kill   Action = "kill"   // it is gone, with what it had on the way
	Stop   Action = "stop"   // it stops cleanly
	Cut    Action = "cut"    // it does not reach the database
	Outage Action = "outage" // nobody does
	Deaf   Action = "deaf"   // it hears no bells
)

// What happens to one call of a process to the database.
const (
	Refuse      Action = "is refused"                       // the database has no capacity; nothing is written
	Conflict    Action = "conflicts"                        // a deadlock; nothing is written
	Locked      Action = "meets locks"                      // a commit whose executions are all locked by others
	Drop        Action = "is lost on the way"               // nothing is written, and the caller cannot know
	Lose        Action = "loses its answer"                 // it is written, and the caller cannot know
	Late        Action = "is given up, and comes late"      // it is written For later, when the caller has given up
	Stall       Action = "stalls between check and write"   // a commit that holds its fence for For
	Slow        Action = "is slow"                          // it takes For
	CrashBefore Action = "is the last thing, and gets lost" // the process is killed, and the call does not arrive
	CrashAfter  Action = "is the last thing"                // the process is killed after it was written

	FreezeBefore Action = "freezes its process before it is sent"       // and is sent when that wakes
	FreezeWithin Action = "freezes its process between check and write" // a commit that holds its fence meanwhile
	FreezeAfter  Action = "freezes its process before the answer is there"
)

// Fate is what becomes of a request of a client.
type Fate string

const (
	Arrives      Fate = ""
	Doubled      Fate = "twice"
	RequestLost  Fate = "request lost"
	ResponseLost Fate = "answer lost"
)

// client tells whether the step is a request.
func (s Step) client() bool {
	switch s.Do {
	case Start, Signal, Cancel, Result, Read, Redrive, Resolve, Publish:
		return true
	}
	return false
}

// happens tells whether the step happens to a process or a worker.
func (s Step) happens() bool {
	switch s.Do {
	case Pause, Kill, Stop, Cut, Outage, Deaf:
		return true
	}
	return false
}

func (s Step) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%8.3fs  ", s.At.Seconds())
	switch {
	case s.client():
		fmt.Fprintf(&b, "%s %s", s.Do, s.On)
		if s.Do == Signal || s.Do == Resolve {
			fmt.Fprintf(&b, " %d", s.Key)
		}
		fmt.Fprintf(&b, " through %s", s.Who)
		if s.Net != Arrives {
			fmt.Fprintf(&b, ", %s", s.Net)
		}
	case s.Do == Outage:
		fmt.Fprintf(&b, "outage of the database")
	case s.happens():
		fmt.Fprintf(&b, "%s %s", s.Do, s.Who)
	default:
		fmt.Fprintf(&b, "%s: the next %s %s", s.Who, s.On, s.Do)
	}
	if s.For > 0 {
		fmt.Fprintf(&b, ", for %v", s.For)
	}
	return b.String()
}

func (s Schedule) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d: %d nodes, %d functions, %d workers, %d partitions", s.Seed, s.Shape.Nodes, s.Shape.Functions, s.Shape.Workers, s.Shape.Partitions)
	for i, w := range s.Shape.Workflows {
		fmt.Fprintf(&b, ", e%d is %s", i+1, w)
	}
	for _, x := range s.Steps {
		fmt.Fprintf(&b, "\n%v", x)
	}
	return b.String()
}
