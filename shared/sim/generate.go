package sim

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

// active is how long clients ask and things go wrong; then everything must come to its end.
const active = 12 * time.Second

// generator draws a schedule.
type generator struct {
	*rand.Rand
	Schedule
}

// Generate makes the schedule of a seed.
func Generate(seed uint64) Schedule {
	g := generator{rand.New(rand.NewPCG(seed, 0)), Schedule{Seed: seed}}
	g.Shape = Shape{Nodes: 2 + g.IntN(3), Functions: 1 + g.IntN(2), Workers: 2 + g.IntN(2), Partitions: 8}
	names := workflowNames()
	for range 4 + g.IntN(5) {
		g.Shape.Workflows = append(g.Shape.Workflows, names[g.IntN(len(names))])
	}
	for i := range g.Shape.Workflows {
		g.requests(fmt.Sprintf("e%d", i+1))
	}
	for range 1 + g.IntN(6) {
		g.happen()
	}
	for range 4 + g.IntN(17) {
		g.spoil()
	}
	slices.SortStableFunc(g.Steps, func(a, b Step) int { return cmp.Compare(a.At, b.At) })
	return g.Schedule
}

// at draws a time, to the millisecond.
func (g *generator) at(from, to time.Duration) time.Duration {
	return from + time.Duration(g.Int64N(int64((to-from)/time.Millisecond)))*time.Millisecond
}

func (g *generator) add(s Step) { g.Steps = append(g.Steps, s) }

// requests draws what clients ask about one execution.
func (g *generator) requests(name string) {
	begin := g.at(500*time.Millisecond, active/2)
	g.add(Step{At: begin, Do: Start, On: name, Who: g.process(), Net: g.fate()})
	if g.IntN(4) == 0 {
		g.add(Step{At: g.at(begin, active), Do: Start, On: name, Who: g.process(), Net: g.fate()})
	}
	for i := range g.IntN(5) {
		key := i + 1
		if g.IntN(4) == 0 {
			key = -key
		}
		s := Step{At: g.at(begin, active), Do: Signal, On: name, Who: g.process(), Key: key}
		if s.Net = g.fate(); key < 0 && s.Net == Doubled {
			s.Net = Arrives // without a key it would be two signals
		}
		g.add(s)
	}
	if g.IntN(5) == 0 {
		g.add(Step{At: g.at(begin, active), Do: Cancel, On: name, Who: g.process(), Net: g.lossy()}) // a copy could cancel again after a redrive
	}
	g.operate(name, begin)
	for range 1 + g.IntN(3) {
		g.add(Step{At: g.at(begin, active), Do: Result, On: name, Who: g.process(), For: g.at(0, 2*time.Second)})
	}
	for range 1 + g.IntN(2) {
		g.add(Step{At: g.at(begin, active), Do: Read, On: name, Who: g.process()})
	}
}

// operate draws what people do about an execution. It is asked for once, whatever becomes of the answer.
func (g *generator) operate(name string, begin time.Duration) {
	workflow := g.workflowOf(name)
	for range 3 {
		if workflow == "falls" || g.IntN(12) == 0 {
			g.add(Step{At: g.at(begin, active), Do: Redrive, On: name, Who: g.process(), Net: g.lossy()})
		}
		if workflow == "holds" {
			g.add(Step{At: g.at(begin, active), Do: Resolve, On: name, Who: g.process(), Net: g.lossy(), Key: g.IntN(len(words))})
		}
	}
	if g.IntN(6) == 0 {
		g.add(Step{At: g.at(0, active), Do: Publish, On: workflow, Who: g.process()})
	}
}

// lossy is the fate of a request that must not come twice.
func (g *generator) lossy() Fate {
	if f := g.fate(); f != Doubled {
		return f
	}
	return Arrives
}

func (g *generator) fate() Fate {
	fates := []Fate{Arrives, Arrives, Arrives, Arrives, Arrives, Doubled, RequestLost, ResponseLost}
	return fates[g.IntN(len(fates))]
}

// process draws one, a node more often than not.
func (g *generator) process() string {
	if g.IntN(3) == 0 {
		return functionName(g.IntN(g.Shape.Functions))
	}
	return g.node()
}

func (g *generator) node() string { return nodeName(g.IntN(g.Shape.Nodes)) }

// happen draws what happens to a process or a worker.
func (g *generator) happen() {
	s := Step{At: g.at(time.Second, active-time.Second), Who: g.node()}
	switch g.IntN(10) {
	case 0, 1, 2:
		s.Do, s.For = Pause, g.at(200*time.Millisecond, 5*time.Second)
	case 3, 4:
		s.Do, s.For = Kill, g.at(10*time.Millisecond, 3*time.Second)
	case 5:
		s.Do, s.For = Stop, g.at(10*time.Millisecond, 2*time.Second)
	case 6:
		s.Do, s.For, s.Who = Cut, g.at(100*time.Millisecond, 4*time.Second), g.process()
	case 7:
		s.Do, s.For, s.Who = Outage, g.at(100*time.Millisecond, 3*time.Second), ""
	case 8:
		s.Do, s.For = Deaf, g.at(500*time.Millisecond, 4*time.Second)
	default:
		s.Who = workerName(g.IntN(g.Shape.Workers))
		s.Do, s.For = []Action{Pause, Kill, Stop}[g.IntN(3)], g.at(500*time.Millisecond, 6*time.Second)
	}
	g.add(s)
}

// The methods of the store that go wrong, the often called ones more often.
var (
	nodeWrites = []string{
		"Commit", "Commit", "Commit", "Commit", "Commit", "Report", "Report", "Send", "Claim", "Claim", "Take", "Release", "WorkerBeat",
		"Register", "Deregister", "Heartbeat", "TakeOwnFence", "Paid", "Reply",
	}
	nodeReads = []string{
		"Load", "Load", "Pending", "Pending", "Inbox", "InboxOf", "Unnoticed", "Due", "LostClaims", "Debts", "Execution", "Partitions", "Definition", "Heard",
	}
	functionWrites = []string{"Start", "Start", "Report", "Report", "Send", "Send", "Claim", "Claim", "WorkerBeat", "Register", "Reply", "Touch"}
	functionReads  = []string{"Load", "Execution", "Definition", "Session", "History"}
)

// spoil draws what goes wrong with a call to the database.
func (g *generator) spoil() {
	s := Step{At: g.at(500*time.Millisecond, active), Who: g.process()}
	writes, reads := nodeWrites, nodeReads
	if s.Who[0] == 'f' {
		writes, reads = functionWrites, functionReads
	}
	if g.IntN(6) == 0 {
		s.On = reads[g.IntN(len(reads))]
		s.Do = []Action{Refuse, Slow}[g.IntN(2)]
	} else {
		s.On = writes[g.IntN(len(writes))]
		s.Do = []Action{Refuse, Conflict, Drop, Lose, Lose, Late, Slow, CrashBefore, CrashAfter}[g.IntN(9)]
	}
	if s.On == "Commit" && g.IntN(4) == 0 {
		s.Do = []Action{Stall, Stall, Locked}[g.IntN(3)]
	}
	if (s.Do == CrashBefore || s.Do == CrashAfter) && s.Who[0] != 'f' && g.IntN(2) == 0 {
		s.On = "Commit"
	}
	switch s.Do {
	case Late, Stall, Slow:
		s.For = g.at(5*time.Millisecond, 4*time.Second)
	case CrashBefore, CrashAfter:
		s.For = g.at(10*time.Millisecond, 3*time.Second)
	}
	g.add(s)
}

func nodeName(i int) string     { return string(rune('a' + i)) }
func functionName(i int) string { return fmt.Sprintf("f%d", i+1) }
func workerName(i int) string   { return fmt.Sprintf("w%d", i+1) }
