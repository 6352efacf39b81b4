package node

import (
	"time"

	"github.com/orrery-dev/orrery/shared/frontend"
	"github.com/orrery-dev/orrery/shared/history"
	"github.com/orrery-dev/orrery/shared/store"
	"github.com/orrery-dev/orrery/shared/telemetry"
)

const (
	// maxFailures is after how many failures by its data an execution is blocked.
	maxFailures = 3
	// maxLockedEnds is after how many ending turns that met locks the execution's row says that it is about to end.
	maxLockedEnds = 3
	// mostReloadPause bounds the pause before an execution whose checks fail again and again is loaded.
	mostReloadPause = time.Second
)

// committed is a batch on its way back. Here, and only here, what was decided becomes what is: answers are given, tasks
// are delivered, waiters are woken (I5).
type committed struct{ items []*item }

func (m committed) apply(l *loop) {
	l.writing, l.inFlight = false, nil
	for _, it := range m.items {
		switch {
		case it.outcome == written:
			l.written(it)
		case it.start != nil:
			l.startFailed(it)
		default:
			l.failed(it)
		}
	}
}

// written makes a committed item true.
func (l *loop) written(it *item) {
	e := it.execution
	if it.start != nil && !l.begun(it) {
		return
	}
	if it.Ending {
		e.ending = true
		l.rest(e)
		return
	}
	l.node.metrics.turned(it)
	l.spend(it.commands)
	for _, r := range it.Turn.Replies {
		l.answer(r.Ref, r, nil)
	}
	l.ring(e, it.Turn)
	if l.executions[e.id] == e {
		l.goOn(e, it)
	}
	l.deliver(it)
	l.born(it)
	l.lookAtFamily(it.Turn)
}

// begun takes in a new execution; false when its name was taken, or it was one too many.
func (l *loop) begun(it *item) bool {
	e := it.execution
	if x := it.started.Existing; x != nil && it.start.unsure && x.StartedAt == it.Turn.At {
		it.started.Existing = nil // the earlier commit, whose answer was lost, has written it
		it.start.answer <- startAnswer{started: it.started}
		l.free(it)
		l.resume(x, it.start.lost)
		return false
	}
	it.start.answer <- startAnswer{started: it.started}
	if it.started.Existing != nil || it.started.MaxActive != 0 {
		l.free(it)
		return false
	}
	it.Turn.Execution = it.started.Execution
	l.adopt(e, it.started.Execution)
	return true
}

// adopt gives a new execution its number, and keeps it where it is in a partition of this node.
func (l *loop) adopt(e *execution, id history.ExecutionID) {
	e.id = id
	_, owned := l.owned[e.partition]
	// Others may have claimed one of its tasks already, so that the loop has begun to load it.
	if _, known := l.executions[e.id]; owned && !known {
		l.executions[e.id] = e
		l.named(e)
	}
}

// resume loads an execution whose start was written by a commit with an unknown outcome, for the rows of what that has
// handed over.
func (l *loop) resume(x *store.Execution, lost []handover) {
	if _, owned := l.owned[x.Partition]; owned && len(lost) > 0 {
		e := l.entry(x.ID, x.Partition)
		e.lost = append(e.lost, lost...)
		l.need(e)
	}
}

// goOn keeps a loaded execution after its turn.
func (l *loop) goOn(e *execution, it *item) {
	t := it.Turn
	e.failures, e.reloads, e.lockedEnds, e.taken, e.keyHeld = 0, 0, 0, nil, false
	l.setWake(e, t.WakeAt)
	l.paid(e, it)
	if t.End != nil {
		l.results.ended(e.key(), frontend.Ended{End: *t.End, At: t.At})
		delete(l.held, e.id)
		l.located.put(e.id, e.partition) // who waited for the end asks once more
		l.forget(e, errElsewhere)
		return
	}
	if t.Reopened {
		l.results.loaded(e.key())
	}
	for i := range t.Events {
		if t.Events[i].Type == history.EventDispatched {
			l.held[e.id] = true
		}
	}
	l.weigh(e, t)
	l.rest(e)
}

// ring wakes who waits in this process; the store has rung for others.
func (l *loop) ring(e *execution, t *history.Turn) {
	var queues []store.Queue
	for i := range t.Offers {
		if o := &t.Offers[i]; o.Claim == nil && !o.TokenTask {
			queues = append(queues, store.Queue{Namespace: e.namespace, Contract: o.Contract, Language: o.Language})
		}
	}
	l.node.claims.queued(queues)
	if t.End != nil {
		l.node.ends.rang(e.id)
	}
	for _, c := range t.Consumed {
		if c.Reply != nil {
			l.node.replies.rang(store.EntryRef{Execution: e.id, ID: c.ID})
		}
	}
}

// deliver gives what was handed over to its polls. A task whose poll is gone is offered again at once.
func (l *loop) deliver(it *item) {
	e := it.execution
	for _, h := range it.handed {
		if l.node.polls.deliver(h.poll, l.assignment(it, &h.Offer)) {
			continue
		}
		if l.executions[e.id] == e {
			l.give(e, history.Command{Kind: history.KindLost, Row: h.RowRef, Reason: "the poll was gone"})
		}
	}
}

// assignment tells a worker about an offer that was handed over.
func (l *loop) assignment(it *item, o *history.Offer) store.Assignment {
	a := store.Assignment{
		Partition: it.Partition, Execution: it.Turn.Execution, Name: it.opening.Name, Workflow: it.opening.Workflow,
		Version: it.opening.Version, Trace: it.opening.Trace, Row: o.RowRef, Contract: o.Contract, Work: o.Task, Claim: *o.Claim,
	}
	if held := it.opening.Occurrence; held != nil {
		a.Token = held.Token
	}
	if len(it.owing) > 0 && o.Task.Redelivery == 0 {
		a.Turn = it.Turn.Seq // it has no row
	}
	if o.Task.Timeout > 0 {
		a.Deadline = a.Claim.At.Add(time.Duration(o.Task.Timeout) * time.Millisecond)
	}
	return a
}

// free gives back the places that were reserved for an item that was not written.
func (l *loop) free(it *item) {
	for _, h := range it.handed {
		l.node.polls.release(h.poll, 1)
	}
	if len(it.handed) > 0 {
		l.node.claims.ring() // for those that look for what is claimed under their ids
	}
	it.handed = nil
	for _, c := range it.children {
		l.free(c)
	}
}

// recall has the polls that tasks were handed to look for what is claimed under their ids: nobody knows whether it is.
func (l *loop) recall(it *item) {
	for _, h := range it.handed {
		l.node.polls.recall(h.poll)
	}
	for _, c := range it.children {
		l.recall(c)
	}
}

// failed drops the state that the turn was decided on, and sees to it that its commands are decided again.
func (l *loop) failed(it *item) {
	e := it.execution
	l.freeFailed(it)
	if l.executions[e.id] != e {
		l.unowned(it)
		return
	}
	switch it.outcome {
	case ownerGone:
		l.owners.look()
		e.waiting = append(kept(it.commands), e.waiting...)
		l.release(it.commands)
		l.park(e)
		l.forget(e, errElsewhere)
		return
	case badData:
		l.fault(e, it.commands, it.err)
		return
	case nameTaken:
		l.askNames(it)
		return
	case keyHeld:
		e.keyHeld = true
	case unknown:
		e.unsure = it
		l.unclear++
	case reportFirst:
		e.first = withdrawn(it.Turn)
	case locked:
		if it.Turn != nil && it.Turn.End != nil {
			e.lockedEnds++
		}
	}
	l.slowDown(e)
	l.reload(e, it.commands)
}

// freeFailed frees the reserved places. After an unknown outcome their polls look for what is claimed under their ids.
func (l *loop) freeFailed(it *item) {
	if it.outcome == unknown {
		l.recall(it)
		it.keepHanded()
	}
	l.free(it)
}

// keepHanded remembers what was handed over, for the load that shows what became of it.
func (it *item) keepHanded() {
	it.lost = it.handed
	for _, c := range it.children {
		c.keepHanded()
	}
}

// unowned answers the callers of a turn whose execution has gone from here while it was being written.
func (l *loop) unowned(it *item) {
	err := errElsewhere
	if it.outcome == unknown || it.outcome == pending {
		err = store.ErrOutcomeUnknown
	}
	l.release(it.commands)
	for _, c := range it.commands {
		if c.Ref != 0 {
			l.answer(c.Ref, history.Reply{}, err)
		}
	}
}

// withdrawn are the units that the turn takes away without a report, or of which it gives up an offer as lost: a report
// of either comes first.
func withdrawn(t *history.Turn) map[history.UnitKey]bool {
	units := map[history.UnitKey]bool{}
	if t != nil {
		for _, r := range t.Resolved {
			units[r.Unit] = true
		}
		for _, row := range t.Lost {
			units[row.Unit] = true
		}
	}
	return units
}

// slowDown puts a growing pause before the load of an execution whose checks fail again and again.
func (l *loop) slowDown(e *execution) {
	e.reloads++
	if e.reloads > 2 {
		e.notBefore = time.Now().Add(min(10*time.Millisecond<<min(e.reloads, 10), mostReloadPause))
	}
}

// fault counts a turn that cannot be decided or written on account of its content. At the third, callers who brought
// part of it are refused; with none left, the execution is out of service until a human has looked at it.
func (l *loop) fault(e *execution, cmds []history.Command, err error) {
	e.failures++
	l.log.Error("a turn failed by its content", telemetry.KeyExecution, e.id, telemetry.KeyCount, e.failures, telemetry.KeyError, err)
	if e.failures < maxFailures {
		l.slowDown(e)
		l.reload(e, cmds)
		return
	}
	refused := false
	for _, c := range cmds {
		if c.Ref != 0 {
			l.answer(c.Ref, history.Reply{}, err)
			refused = true
		}
	}
	l.release(cmds)
	if refused {
		l.reload(e, nil)
		return
	}
	l.block(e, err)
}

// startFailed tries a start again, or tells its caller.
func (l *loop) startFailed(it *item) {
	s := it.start
	l.freeFailed(it)
	switch it.outcome {
	case badData:
		s.answer <- startAnswer{err: it.err}
	case pending:
		s.answer <- startAnswer{err: store.ErrOutcomeUnknown}
	default:
		s.unsure = s.unsure || it.outcome == unknown
		s.lost = append(s.lost, it.lost...)
		l.starts = append(l.starts, s)
	}
	if it.outcome == ownerGone {
		l.owners.look()
	}
}
