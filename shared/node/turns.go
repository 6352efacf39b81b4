package node

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/orrery-dev/orrery/shared/decide"
	"github.com/orrery-dev/orrery/shared/definition"
	"github.com/orrery-dev/orrery/shared/history"
	"github.com/orrery-dev/orrery/shared/store"
	"github.com/orrery-dev/orrery/shared/telemetry"
)

// item is a turn on its way to the database, with what must happen once it is there.
type item struct {
	store.Item
	execution *execution
	commands  []history.Command // what the turn answers to
	handed    []handover
	lost      []handover    // handed, after an unknown outcome
	opening   history.Start // of the execution, when something is handed over
	start     *start        // who waits for the first turn of a new execution
	children  []*item       // in the order of Children
	owing     []store.HandOut
	paid      []history.UnitKey // whose hand-overs are owed no more

	outcome outcome
	err     error
	started store.Started
	born    []history.ExecutionID // the numbers of the children
	debts   []int64               // under which is noted what it owes
}

// handover is an offer that goes to a waiting poll with the commit that makes it.
type handover struct {
	history.Offer
	poll *poll
}

const (
	// maxTurns bounds a batch by the number of turns, batchBytes by the size of what they write.
	maxTurns   = 200
	batchBytes = 4 << 20
)

// write forms a batch and hands it to the committer, if that is free. Nothing waits for a batch to fill: an idle node
// writes at once, and while a batch is being written the next one gathers.
func (l *loop) write() {
	if l.writing {
		return
	}
	var batch []*item
	size := 0
	names := map[name]bool{} // that the batch gives to new executions
	add := func(it *item) {
		if it != nil {
			batch = append(batch, it)
			size += it.size()
		}
	}
	l.takeStarts(names, func() bool { return len(batch) < maxTurns && size < batchBytes }, add)
	for len(batch) < maxTurns && size < batchBytes && len(l.ready) > 0 {
		e := l.ready[0]
		l.ready = l.ready[1:]
		if e.phase == ready {
			add(l.alone(l.turn(e), names))
		}
	}
	if len(batch) > 0 {
		l.writing, l.inFlight = true, batch
		l.batch <- batch
	}
}

// size estimates what the item writes, in bytes.
func (it *item) size() int {
	n := 200
	if it.Turn == nil {
		return n
	}
	n += len(it.Turn.Snapshot)
	for i := range it.Turn.Events {
		n += 50 + len(it.Turn.Events[i].Text.Literal)
	}
	for i := range it.Turn.Offers {
		n += 200 + len(it.Turn.Offers[i].Task.Input)
	}
	for i := range it.Owed {
		n += 200 + len(it.Owed[i].Task.Input)
	}
	for _, c := range it.children {
		n += c.size()
	}
	return n
}

// turn decides the execution's waiting commands. It gives nil when there is nothing to write: what the commands are
// answered with then rests on what is committed already.
func (l *loop) turn(e *execution) *item {
	if e.lockedEnds >= maxLockedEnds && !e.ending {
		e.phase = writing
		return &item{execution: e, Item: store.Item{Partition: e.partition, Epoch: e.epoch, Ending: true, Execution: e.id}}
	}
	l.askSessions(e)
	cmds := e.take()
	if len(cmds) == 0 && !e.mustPay(time.Now()) && len(e.rowless) == 0 {
		l.rest(e)
		return nil
	}
	turn, err := l.world(e).Handle(e.machine, e.state, cmds, l.now())
	e.supplied = nil
	it := &item{execution: e, commands: cmds}
	if err == nil {
		err = e.offerRowless(&turn)
	}
	if err == nil {
		turn.Execution = e.id
		it.Item = store.Item{Partition: e.partition, Epoch: e.epoch, Turn: &turn}
		err = l.birth(e, it)
	}
	if err != nil {
		l.free(it)
		l.fault(e, cmds, fmt.Errorf("node: decide execution %d: %w", e.id, err))
		return nil
	}
	if turn.Stalled {
		l.supply(e, turn.Wants)
	}
	l.handOver(e, it)
	l.owe(e, it)
	if nothingToWrite(&turn) && len(it.Owed) == 0 && (it.Owes || turn.WakeAt == e.rowWake) {
		l.settled(e, it)
		return nil
	}
	if decide.SnapshotDue(e.state) {
		turn.Snapshot = e.state.Snapshot()
	}
	e.phase = writing
	return it
}

func nothingToWrite(t *history.Turn) bool {
	return len(t.Events) == 0 && len(t.Offers) == 0 && len(t.Resolved) == 0 && len(t.Noticed) == 0 && len(t.Lost) == 0 &&
		len(t.Consumed) == 0
}

// settled ends a turn that writes nothing. That something is recorded already is a fact. That a command has no effect is true
// only for who owns the execution, and no commit has shown that this node does still: the database is asked.
func (l *loop) settled(e *execution, it *item) {
	for _, r := range it.Turn.Replies {
		if r.Outcome == history.Applied || r.Outcome == history.Duplicate {
			l.answer(r.Ref, r, nil)
		} else {
			l.answer(r.Ref, history.Reply{}, errElsewhere)
		}
	}
	l.release(it.commands)
	// A timer that does nothing must not come back at once.
	l.setWake(e, it.Turn.WakeAt)
	l.schedulePay(e)
	if soonest := l.now().Add(time.Second); e.wakeAt != 0 && e.wakeAt < soonest {
		l.wakes.set(e.id, e.partition, soonest)
	}
	l.rest(e)
}

// handOver gives the turn's offers to polls that wait for such tasks. The places are reserved now and filled after the
// commit, or freed when it fails.
func (l *loop) handOver(e *execution, it *item) {
	t := it.Turn
	for i := range t.Offers {
		o := &t.Offers[i]
		if o.TokenTask || o.Claim != nil {
			continue
		}
		p := l.node.polls.reserve(e.namespace, o.Contract, o.Language)
		if p == nil {
			continue
		}
		claim := history.Claim{Session: p.Session, Worker: p.Worker, PollID: p.ID, At: t.At}
		if err := decide.HandOver(e.machine, e.state, t, i, claim); err != nil {
			l.log.Error("an offer could not be handed over", telemetry.KeyExecution, e.id, telemetry.KeyError, err)
			l.node.polls.release(p, 1)
			continue
		}
		it.handed = append(it.handed, handover{*o, p})
	}
	if len(it.handed) > 0 {
		it.opening = e.state.Start()
	}
}

// start is a new execution on its way.
type start struct {
	machine *definition.Machine
	item    store.Item
	answer  chan startAnswer // capacity 1
	unsure  bool             // a commit of it had an unknown outcome
	lost    []handover       // of that commit
}

type startAnswer struct {
	started store.Started
	err     error
}

func (s *start) apply(l *loop) {
	switch {
	case l.draining:
		s.answer <- startAnswer{err: errNotReady}
	case len(l.calls)+len(l.starts) >= maxCalls:
		s.answer <- startAnswer{err: store.ErrUnavailable}
	default:
		l.starts = append(l.starts, s)
	}
}

// takeStarts makes items of the starts that wait, one per name.
func (l *loop) takeStarts(names map[name]bool, more func() bool, add func(*item)) {
	var later []*start
	for len(l.starts) > 0 && more() {
		s := l.starts[0]
		l.starts = l.starts[1:]
		n := name{s.item.New.Namespace, s.item.New.Name}
		if names[n] {
			later = append(later, s)
			continue
		}
		names[n] = true
		it, err := l.first(s)
		if err != nil {
			s.answer <- startAnswer{err: err}
			continue
		}
		add(it)
	}
	l.starts = append(later, l.starts...)
}

// first makes the first turn of a new execution this node's: it gets an owned partition, and its state is folded from
// the events (I3).
func (l *loop) first(s *start) (*item, error) {
	p, ok := l.anyOwned()
	switch {
	case !ok && s.unsure:
		return nil, store.ErrOutcomeUnknown
	case !ok:
		return nil, errElsewhere
	}
	turn := *s.item.Turn
	turn.Offers = slices.Clone(turn.Offers) // claims are written into them, and the start may have to be tried again
	e := &execution{
		partition: p, epoch: l.owned[p], namespace: s.item.New.Namespace, name: s.item.New.Name, phase: writing,
		state: history.New(), machine: s.machine, definition: s.item.New.Definition,
	}
	if err := e.state.Apply(turn.Seq, turn.At, turn.FirstEvent, turn.Events); err != nil {
		return nil, fmt.Errorf("node: start execution %s: %w", e.name, err)
	}
	it := &item{execution: e, start: s}
	it.Item = store.Item{Partition: p, Epoch: e.epoch, Turn: &turn, New: s.item.New}
	l.handOver(e, it)
	l.owe(e, it)
	return it, nil
}

// anyOwned picks one of the owned partitions, each as likely as the others.
func (l *loop) anyOwned() (history.Partition, bool) {
	n := len(l.owned)
	if n == 0 {
		return 0, false
	}
	skip := rand.IntN(n)
	for p := range l.owned {
		if skip == 0 {
			return p, true
		}
		skip--
	}
	return 0, false
}
