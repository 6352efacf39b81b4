package node

import (
	"container/list"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/orrery-dev/orrery/shared/decide"
	"github.com/orrery-dev/orrery/shared/definition"
	"github.com/orrery-dev/orrery/shared/history"
)

// execution is what the loop knows of one execution of its partitions. Only the loop's goroutine touches it; a load
// builds its state and machine elsewhere and hands them over whole.
//
//	asleep --need--> loading --loaded--> idle --need--> ready --decided--> writing
//	  ^                 ^                 | ^                                |  |
//	  |                 |                 | +-----------committed------------+  |
//	  |                 +-----------------|-------------failed------------------+
//	  +----------------dropped------------+
//
//	ended, or its partition is gone: forgotten.
type execution struct {
	id        history.ExecutionID // zero until its first turn is committed
	partition history.Partition
	epoch     history.Epoch // under which the state was loaded; its commits must name this one (I1)
	namespace history.NamespaceID
	name      string

	definition history.DefinitionID

	phase   phase
	state   *history.State // nil unless idle, ready or writing
	machine *definition.Machine
	size    int64 // estimate of what state takes, in bytes

	// waiting are commands for the next turn, in order. While a turn is written, more may come.
	waiting []history.Command
	// dispatched are claims that no turn has recorded. They ride on the next turn; lazyAt is when they want one of their own.
	dispatched []history.Command
	lazyAt     time.Time
	// timer is set when the execution's wake-up time has come.
	timer bool
	// wakeAt is the wake-up time of the state, and rowWake that on the execution's row, which may be owed.
	wakeAt, rowWake history.Time
	// owed are hand-overs without rows; payAt is when some are to be written, zero for nothing to write. debts name the execution.
	owed  map[history.UnitKey]owed
	payAt time.Time
	debts []*debt
	// rowless are offers whose rows were missing in the queue; the next turn writes them.
	rowless []history.RowRef
	// origin is whose hand-overs the next load finds without rows, zero for this incarnation's.
	origin history.FenceNumber
	// lost are hand-overs of a commit with an unknown outcome, doubted that the last commit had one. recalls are polls, and
	// payers others, that wait for rows.
	lost    []handover
	doubted bool
	recalls []*poll
	payers  []*payNow
	// heard is what sessions say of units whose heartbeat time-out is due, nil before they were asked; asking while they are.
	heard  map[history.UnitKey]history.Time
	asking bool
	asked  int // numbers the questions, so that the answer to an old one is known as such
	// first are units whose reports go before everything else: a decision to withdraw them met a report (I6).
	first map[history.UnitKey]bool
	// supplied is what was read because the last decision lacked it, for the next one; supplying while that is read.
	supplied  map[history.WorkflowRef]decide.Answer
	supplying bool
	// taken are names that children of the last turn could not get.
	taken map[string]bool
	// keyHeld tells that the last turn let the execution go on after its end, and its occurrence could not.
	keyHeld bool
	// unsure is the turn whose commit had an unknown outcome; the next load tells.
	unsure *item

	failures   int       // data errors and faults of the decider, one after the other
	reloads    int       // failed checks, one after the other
	notBefore  time.Time // no load before this
	lockedEnds int       // how often the ending turn was left out because of locks
	ending     bool      // its row says that it is about to end

	spot      *list.Element // place among the idle ones
	idleSince time.Time
}

// phase is what the execution is doing; the diagram is at execution.
type phase byte

const (
	asleep phase = iota
	loading
	idle
	ready
	writing
)

// name identifies an execution for clients.
type name struct {
	namespace history.NamespaceID
	name      string
}

func (e *execution) key() name { return name{e.namespace, e.name} }

// maxCommands bounds the commands of one turn.
const maxCommands = 500

// hasWork tells whether the execution wants a turn now.
func (e *execution) hasWork(now time.Time) bool {
	return len(e.waiting) > 0 || e.timer && !e.asking || len(e.dispatched) > 0 && !now.Before(e.lazyAt) || e.mustPay(now) ||
		len(e.rowless) > 0
}

// take gives the commands of the next turn: claims first, because everything else is later than they are; then what
// waits, in order, but for reports of units in first; then the timer, so that what was sent before a time-out counts. Each has
// a seed of its own.
func (e *execution) take() []history.Command {
	cmds := e.dispatched
	e.dispatched = nil
	if len(e.first) > 0 {
		slices.SortStableFunc(e.waiting, func(a, b history.Command) int { return e.rank(a) - e.rank(b) })
		e.first = nil
	}
	n := together(e.waiting[:min(len(e.waiting), maxCommands)])
	cmds = append(cmds, e.waiting[:n]...)
	e.waiting = slices.Clone(e.waiting[n:])
	if e.timer && !e.asking && len(e.waiting) == 0 {
		cmds = append(cmds, history.Command{Kind: history.KindTimer, Heard: e.heard})
		e.timer, e.heard = false, nil
	}
	for i := range cmds {
		cmds[i].Seed = rand.Uint64()
	}
	return cmds
}

// together is how many of the commands one turn may take: those before the first acknowledged report that comes behind a
// command which may take its unit away. The commit finds that a report is durable which such a turn does not apply, and
// has it go first; of one that the turn applies, too late, it would say nothing (I6).
func together(cmds []history.Command) int {
	withdraws := false
	for i := range cmds {
		switch c := &cmds[i]; {
		case isResult(c) && withdraws && c.Inbox != 0:
			return i
		case isResult(c), c.Kind == history.KindDispatched, c.Kind == history.KindHeartbeat:
		default:
			withdraws = true
		}
	}
	return len(cmds)
}

// isResult tells whether the command is a worker's last word on an attempt.
func isResult(c *history.Command) bool {
	return c.Kind == history.KindComplete || c.Kind == history.KindFail
}

func (e *execution) rank(c history.Command) int {
	if isResult(&c) && e.first[c.Row.Unit] {
		return 0
	}
	return 1
}

// forgetState makes the execution one that must be loaded: its state is not what the database has.
func (e *execution) forgetState() {
	e.state, e.machine = nil, nil
	e.timer, e.heard, e.asking = false, nil, false
	e.asked++
	e.owed, e.payAt, e.rowless = nil, time.Time{}, nil
}

// holds tells whether a worker has one of its tasks, as far as the state knows.
func (e *execution) holds() bool {
	return e.state != nil && slices.ContainsFunc(e.state.OpenUnits(), func(u history.UnitView) bool {
		return u.Status == history.UnitDispatched
	})
}
