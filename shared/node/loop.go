package node

import (
	"container/list"
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/orrery-dev/orrery/shared/history"
	"github.com/orrery-dev/orrery/shared/store"
)

// loop is the one goroutine that owns the executions of one incarnation. Everybody else sends it messages; it decides,
// hands batches to the committer, and has reads done by short goroutines that send back what they found. It never
// waits for the database.
type loop struct {
	node   *Node
	fence  history.FenceNumber
	log    *slog.Logger
	owners *owners // is asked to look when a partition seems to be gone

	pulses chan store.Pulse // capacity 1, the newest wins
	in     chan message     // everybody sends
	done   chan struct{}    // closed when the loop takes no more messages
	ended  chan struct{}    // closed when everybody has an answer
	batch  chan []*item     // to the committer; sent to only while it has none
	reads  sync.WaitGroup   // the goroutines of spawn
	ctx    context.Context  // the incarnation's

	// What follows is the loop goroutine's own.

	owned      map[history.Partition]history.Epoch
	executions map[history.ExecutionID]*execution
	names      map[name]*execution // loaded ones, for calls by name
	results    *results            // the same, for requests that wait; it has a lock of its own
	ready      []*execution        // in the order in which they became so
	toLoad     []*execution
	loads      int        // loads under way
	lazy       []lazyTurn // by time
	starts     []*start
	wakes      *wakes
	idle       *list.List // *execution, the longest idle first
	memory     int64      // sum of size
	located    located
	calls      map[uint64]*call // direct commands that have no answer yet, by Ref
	lastRef    uint64
	writing    bool          // the committer has a batch
	inFlight   []*item       // that batch
	draining   bool          // a clean stop: no more work is taken
	drained    chan struct{} // closed when nothing is left to write; nil then, and before

	pays        []lazyTurn      // when executions pay what they owe, by time
	debts       map[int64]*debt // by their numbers
	parked      map[history.ExecutionID]parked
	unclear     int     // commits with unknown outcomes, and searches for the children of some
	removed     []int64 // debts that are paid and still there
	removing    bool
	nextRemoval time.Time

	nextTrim time.Time
	entries  inHand[history.InboxID]
	claims   inHand[history.TaskID]
	held     map[history.ExecutionID]bool  // executions of whose tasks workers may hold some
	stuck    map[history.ExecutionID]stuck // not to be looked at
	looks    looks
	horizon  history.Time                       // wake-up times up to here are in wakes
	beat     struct{ now, wakeAt history.Time } // what the last heartbeat told
}

// message is something that the loop is told.
type message interface{ apply(l *loop) }

// nothing is told by goroutines that have nothing to tell.
type nothing struct{}

func (nothing) apply(*loop) {}

const (
	// inboxSize lets senders go on while the loop works.
	inboxSize = 256
	// greed bounds how many messages the loop takes before it forms a batch.
	greed = 512
)

func newLoop(ctx context.Context, n *Node, fence history.FenceNumber) *loop {
	return &loop{
		node: n, fence: fence, log: n.log, ctx: ctx,
		pulses: make(chan store.Pulse, 1), in: make(chan message, inboxSize), batch: make(chan []*item, 1),
		done: make(chan struct{}), ended: make(chan struct{}),
		owned:      map[history.Partition]history.Epoch{},
		executions: map[history.ExecutionID]*execution{},
		names:      map[name]*execution{},
		results:    newResults(),
		wakes:      newWakes(), idle: list.New(),
		calls: map[uint64]*call{},
		held:  map[history.ExecutionID]bool{},
		stuck: map[history.ExecutionID]stuck{},
		debts: map[int64]*debt{}, parked: map[history.ExecutionID]parked{},
	}
}

// run serves until the context ends. Calls that have no answer then get one.
func (l *loop) run(ctx context.Context) error {
	defer l.abandon()
	defer l.reads.Wait()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case m := <-l.in:
			m.apply(l)
			l.takeMore()
		case p := <-l.pulses:
			l.pulsed(p)
		case <-timer.C:
		case <-ctx.Done():
			close(l.done)
			return context.Cause(ctx)
		}
		l.pump()
		timer.Reset(l.sleep())
	}
}

// takeMore applies what has arrived meanwhile, so that it shares the next batch.
func (l *loop) takeMore() {
	for range greed {
		select {
		case m := <-l.in:
			m.apply(l)
		default:
			return
		}
	}
}

// send gives the loop a message; false when it takes no more.
func (l *loop) send(ctx context.Context, m message) bool {
	select {
	case l.in <- m:
		return true
	case <-l.done:
	case <-ctx.Done():
	}
	return false
}

// spawn reads from the database beside the loop and sends it what was found.
func (l *loop) spawn(read func(ctx context.Context) message) {
	l.reads.Go(func() { l.send(l.ctx, read(l.ctx)) })
}

// pump does whatever can be done now.
func (l *loop) pump() {
	l.fireWakes()
	l.fireLazy()
	l.firePays()
	l.trim()
	l.load()
	l.look()
	l.write()
	l.remove()
	l.node.gauges.set(l)
	if l.drained != nil && !l.writing && len(l.ready) == 0 && len(l.starts) == 0 {
		close(l.drained)
		l.drained = nil
	}
}

// sleep is how long nothing happens without a message.
func (l *loop) sleep() time.Duration {
	d := time.Second
	if at := l.wakes.next(); at != 0 {
		d = min(d, l.node.clock.until(at))
	}
	if len(l.lazy) > 0 {
		d = min(d, time.Until(l.lazy[0].at))
	}
	if len(l.pays) > 0 {
		d = min(d, time.Until(l.pays[0].at))
	}
	if len(l.removed) > 0 && !l.removing {
		d = min(d, time.Until(l.nextRemoval))
	}
	d = min(d, l.nextLook())
	if l.loads < maxLoads {
		for _, e := range l.toLoad {
			d = min(d, time.Until(e.notBefore))
		}
	}
	return max(d, time.Millisecond)
}

// now is the database's time, for decisions.
func (l *loop) now() history.Time { return l.node.clock.now() }

// entry finds an execution of an owned partition by number, or begins to know it.
func (l *loop) entry(id history.ExecutionID, p history.Partition) *execution {
	e := l.executions[id]
	if e == nil {
		e = &execution{id: id, partition: p}
		l.executions[id] = e
	}
	return e
}

// named lets calls and requests find a loaded execution by its name. One that was loaded because it may go on has ended until it does.
func (l *loop) named(e *execution) {
	l.names[e.key()] = e
	if !e.state.Status().Ended() {
		l.results.loaded(e.key())
	}
}

// need sees to it that the execution gets a turn as soon as it can have one.
func (l *loop) need(e *execution) {
	switch e.phase {
	case asleep:
		e.phase = loading
		l.toLoad = append(l.toLoad, e)
	case idle:
		l.unlist(e)
		e.phase = ready
		l.ready = append(l.ready, e)
	}
}

// give adds a command for the execution's next turn.
func (l *loop) give(e *execution, c history.Command) {
	e.waiting = append(e.waiting, c)
	l.need(e)
}

// rest ends a turn or a load: the execution goes on with what has come meanwhile, or is idle.
func (l *loop) rest(e *execution) {
	e.phase = idle
	if e.hasWork(time.Now()) {
		e.phase = ready
		l.ready = append(l.ready, e)
		return
	}
	if e.state.Status().Ended() { // it was loaded to go on, and does not
		l.setWake(e, 0)
		l.forget(e, errElsewhere)
		return
	}
	e.idleSince = time.Now()
	e.spot = l.idle.PushBack(e)
}

func (l *loop) unlist(e *execution) {
	if e.spot != nil {
		l.idle.Remove(e.spot)
		e.spot = nil
	}
}

// reload drops a state that is not what the database has, and loads the execution anew with the commands that no entry
// of the inbox and no row of the queue will bring again.
func (l *loop) reload(e *execution, again []history.Command) {
	l.unload(e)
	e.waiting = append(kept(again), kept(e.waiting)...)
	l.release(again)
	e.phase = asleep
	l.need(e)
}

// kept picks the commands that nothing would bring again: those that callers wait for, and tasks to be given back.
func kept(cmds []history.Command) []history.Command {
	var out []history.Command
	for _, c := range cmds {
		if c.Ref != 0 || c.Kind == history.KindLost && c.Inbox == 0 {
			out = append(out, c)
		}
	}
	return out
}

// unload takes the state out of memory, and with it what the next load brings again.
func (l *loop) unload(e *execution) {
	l.unlist(e)
	l.release(e.waiting)
	l.release(e.dispatched)
	e.dispatched = nil
	l.memory -= e.size
	e.size = 0
	if k := e.key(); l.names[k] == e {
		delete(l.names, k)
		l.results.left(k)
	}
	e.forgetState()
}

// release lets entries and claims be read again: no turn has them in hand any more.
func (l *loop) release(cmds []history.Command) {
	for _, c := range cmds {
		if c.Inbox != 0 {
			l.entries.release(c.Inbox)
		}
		if c.Kind == history.KindDispatched {
			l.claims.release(c.Claim.Task)
		}
	}
}

// spend notes what a committed turn has done with: a read that began before the commit may still bring it.
func (l *loop) spend(cmds []history.Command) {
	for _, c := range cmds {
		if c.Inbox != 0 {
			l.entries.spend(c.Inbox)
		}
		if c.Kind == history.KindDispatched {
			l.claims.spend(c.Claim.Task)
		}
	}
}

// forget drops the execution: it has ended, or is not this node's any more, or cannot be served here. Calls that wait
// for it are told why; those of a commit with an unknown outcome, that it is unknown.
func (l *loop) forget(e *execution, err error) {
	if e.unsure != nil {
		for _, c := range e.unsure.commands {
			l.answer(c.Ref, history.Reply{}, store.ErrOutcomeUnknown)
		}
		e.unsure = nil
		l.unclear--
	}
	for _, c := range e.waiting {
		if c.Ref != 0 {
			l.answer(c.Ref, history.Reply{}, err)
		}
	}
	l.unload(e)
	l.excuse(e)
	l.releaseDebts(e.debts)
	e.debts = nil
	e.waiting = nil
	e.phase = asleep
	if l.executions[e.id] == e {
		delete(l.executions, e.id)
	}
}
