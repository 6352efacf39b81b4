package node

import (
	"context"
	"errors"
	"time"

	"github.com/orrery-dev/orrery/shared/history"
	"github.com/orrery-dev/orrery/shared/store"
	"github.com/orrery-dev/orrery/shared/wire"
)

var (
	// errElsewhere sends a call to the inbox: the execution is not this node's, or cannot be served here now. Nothing has
	// happened.
	errElsewhere = errors.New("node: the execution is not served here")
	// errNotReady refuses what a node that is not ready does not do.
	errNotReady = wire.Errorf(wire.NotReady, "this node is not ready").After(time.Second)
	// errFenced ends an incarnation whose partitions were taken.
	errFenced = errors.New("node: this incarnation is fenced")
	// errDuplicate ends an incarnation under whose id another one runs.
	errDuplicate = errors.New("node: another incarnation runs under this id")
)

// maxCalls bounds the calls that wait in the loop.
const maxCalls = 10_000

// call is a direct command for an execution of this node: it has no row in the inbox, and its caller waits for the commit.
type call struct {
	execution history.ExecutionID // zero: look the name up
	name      name
	command   history.Command
	answer    chan callAnswer // capacity 1
}

type callAnswer struct {
	reply history.Reply
	err   error
}

func (c *call) apply(l *loop) {
	e := l.find(c)
	switch {
	case e == nil || l.draining:
		c.answer <- callAnswer{err: errElsewhere}
	case len(l.calls) >= maxCalls:
		c.answer <- callAnswer{err: store.ErrUnavailable}
	case e.phase != loading && c.comesAfterInbox():
		l.spawn(func(ctx context.Context) message {
			list, err := l.node.store.InboxOf(ctx, []history.ExecutionID{e.id}, entriesLimit)
			return afterInbox{c, e, list, err}
		})
	default:
		l.admitCall(c, e)
	}
}

// comesAfterInbox tells whether the inbox is read before the command is decided: a call comes after the entries that were
// committed before it. For reports the commit finds out, because they meet in the rows of the queue; a load reads the
// inbox anyway.
func (c *call) comesAfterInbox() bool {
	return c.command.Kind != history.KindComplete && c.command.Kind != history.KindFail && c.command.Kind != history.KindUncertain
}

// find gives the execution that a call is for, nil when it is not served here.
func (l *loop) find(c *call) *execution {
	if c.execution == 0 {
		return l.names[c.name]
	}
	if e := l.executions[c.execution]; e != nil {
		return e
	}
	p, known := l.located.get(c.execution)
	_, owned := l.owned[p]
	_, stuck := l.stuck[c.execution]
	if !known || !owned || stuck {
		return nil
	}
	return l.entry(c.execution, p)
}

func (l *loop) admitCall(c *call, e *execution) {
	l.lastRef++
	l.calls[l.lastRef] = c
	cmd := c.command
	cmd.Ref = l.lastRef
	if cmd.Claim.Session != "" {
		cmd.Claim.At = l.now() // the best that is known of a claim that no turn has recorded
	}
	l.give(e, cmd)
}

// afterInbox is a call whose execution's inbox has been read.
type afterInbox struct {
	call      *call
	execution *execution
	list      []store.Entry
	err       error
}

func (m afterInbox) apply(l *loop) {
	if m.err != nil || l.executions[m.execution.id] != m.execution || l.draining {
		m.call.answer <- callAnswer{err: errElsewhere}
		return
	}
	l.admit(m.list)
	l.admitCall(m.call, m.execution)
}

// answer answers a direct call, once.
func (l *loop) answer(ref uint64, r history.Reply, err error) {
	if c := l.calls[ref]; c != nil {
		delete(l.calls, ref)
		c.answer <- callAnswer{r, err}
	}
}

// abandon answers whoever still waits when the loop ends, and frees what was reserved. Nobody knows what becomes of the
// batch that is being written.
func (l *loop) abandon() {
	for _, it := range l.inFlight {
		for _, c := range it.commands {
			l.answer(c.Ref, history.Reply{}, store.ErrOutcomeUnknown)
		}
		if it.start != nil {
			it.start.answer <- startAnswer{err: store.ErrOutcomeUnknown}
		}
		l.recall(it)
		l.free(it)
	}
	for ref := range l.calls {
		l.answer(ref, history.Reply{}, errElsewhere)
	}
	for _, s := range l.starts {
		s.answer <- startAnswer{err: errNotReady}
	}
	l.results.close()
	close(l.ended)
}

// call has the loop apply a command. The error is errElsewhere when nothing has happened and nothing will.
func (l *loop) call(ctx context.Context, c *call) (history.Reply, error) {
	c.answer = make(chan callAnswer, 1)
	if !l.send(ctx, c) {
		return history.Reply{}, errElsewhere
	}
	return l.await(ctx, c)
}

// calls are commands that come together, and share what they can: a load, a commit.
type calls []*call

func (cs calls) apply(l *loop) {
	for _, c := range cs {
		c.apply(l)
	}
}

// await waits for the answer to a call that was sent.
func (l *loop) await(ctx context.Context, c *call) (history.Reply, error) {
	select {
	case a := <-c.answer:
		return a.reply, a.err
	case <-l.ended:
		select {
		case a := <-c.answer:
			return a.reply, a.err
		default:
			return history.Reply{}, errElsewhere // it was in the channel still
		}
	case <-ctx.Done():
		return history.Reply{}, ctx.Err()
	}
}

// sentHere tells the loop that this node has put an entry into an inbox, perhaps its own.
type sentHere struct{}

func (sentHere) apply(l *loop) { l.looks.inbox.wanted = true }
