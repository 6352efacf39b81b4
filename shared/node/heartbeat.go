package node

import (
	"context"
	"log/slog"
	"time"

	"github.com/orrery-dev/orrery/shared/history"
	"github.com/orrery-dev/orrery/shared/store"
	"github.com/orrery-dev/orrery/shared/telemetry"
)

// heartbeat is the goroutine that keeps a node alive in the eyes of others. It has a connection of its own and does
// nothing else: no work may delay it. Its one statement also tells what an idle node must know.
type heartbeat struct {
	node   *Node
	store  Membership
	fence  history.FenceNumber
	log    *slog.Logger
	pulsed func(p store.Pulse, read bool) // is told every pulse, and whether it has its reads

	// What follows is the goroutine's own.

	marks     store.Marks
	inbox     lowWater[history.InboxID]
	unnoticed lowWater[history.TaskID]
	wakeFull  time.Time // when a beat last looked at all wake-up times
	owners    int64     // generation that the keys are of
	bare      bool      // the last beat was slow
	failures  int       // beats that were not confirmed, in a row
}

const (
	// slowBeat is how long a heartbeat may take before the next ones go without their reads.
	slowBeat = 100 * time.Millisecond
	// mostPatience bounds how long a heartbeat may take that nothing rests on.
	mostPatience = 15 * time.Second
	// wakeBehind is how far back a beat looks for wake-up times; those that are older are found by a full look.
	wakeBehind = 30 * time.Second
)

// run beats until the context ends or the incarnation may go on no more. Beats are counted from before they are sent.
func (h *heartbeat) run(ctx context.Context) error {
	for {
		sent := time.Now()
		if err := h.beat(ctx, sent); err != nil {
			return err
		}
		if !sleep(ctx, h.node.config.Heartbeat-time.Since(sent)) {
			return context.Cause(ctx)
		}
	}
}

// beat sends one heartbeat. A database that does not answer is no error: the node stops being ready by itself when its last
// confirmed beat is too old.
func (h *heartbeat) beat(ctx context.Context, sent time.Time) error {
	b := h.compose(sent)
	timed, cancel := context.WithTimeout(ctx, h.patience())
	pulse, err := h.store.Heartbeat(timed, b)
	cancel()
	confirmed := time.Now()
	if err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		h.failures = min(h.failures+1, 10)
		h.node.contacts.putBack(b.Touched)
		h.node.metrics.heartbeats.Of(beatFailed).Inc()
		h.log.Warn("a heartbeat was not confirmed", telemetry.KeyError, err)
		return nil
	}
	switch pulse.Standing {
	case store.Fenced:
		return errFenced
	case store.Duplicate:
		return errDuplicate
	}
	h.failures = 0
	h.node.metrics.heartbeats.Of(beatConfirmed).Inc()
	h.node.metrics.heartbeatSeconds.Observe(confirmed.Sub(sent).Seconds())
	h.node.standing.confirm(sent, confirmed)
	h.node.clock.set(pulse.Now, confirmed)
	h.node.contacts.lost(pulse.Gone)
	h.node.definitions.beaten(pulse.Definitions)
	h.node.renewContracts(ctx, h.node.config.Heartbeat/2)
	if b.Bare {
		h.lookBeside(ctx, b, pulse, sent)
	} else {
		h.read(b, pulse, sent)
	}
	h.bare = confirmed.Sub(sent) > slowBeat
	return nil
}

// patience is how long the next beat may take. One that hangs is given up while there is time for another on a new connection.
// When the last one is too old anyway, and before the first, each may take longer than the one before: on a machine that is so
// slow that no connection is made in the usual time, the node would else never be heard of.
func (h *heartbeat) patience() time.Duration {
	usual := h.node.config.NodeTimeout / 2
	switch age, confirmed := h.node.standing.age(); {
	case !confirmed:
		return max(usual, mostPatience)
	case age >= h.node.config.NodeTimeout:
		return max(usual, min(usual<<h.failures, mostPatience))
	}
	return usual
}

// compose makes the statement's parameters.
func (h *heartbeat) compose(now time.Time) store.Beat {
	b := store.Beat{
		Fence: h.fence, Node: h.node.config.ID, Bare: h.bare, Touched: h.node.contacts.take(now), Waiting: h.node.claims.waitedFor(now, h.node.polls.queues()),
		Marks: &h.marks, InboxFrom: h.inbox.from(now), UnnoticedFrom: h.unnoticed.from(now),
		ScheduleLevel: h.node.scheduler.Level(),
	}
	if now.Sub(h.wakeFull) < fullEvery {
		b.WakeFrom = max(h.node.clock.now().Add(-wakeBehind), 0)
	} else {
		h.wakeFull = now
	}
	return b
}

// read passes on what a beat has found.
func (h *heartbeat) read(b store.Beat, pulse store.Pulse, sent time.Time) {
	if pulse.Owners != h.owners {
		h.owners = pulse.Owners
		h.inbox.reset()
		h.unnoticed.reset()
	}
	if pulse.Inbox != 0 {
		h.inbox.saw(pulse.Inbox, sent)
	}
	if pulse.Unnoticed != 0 {
		h.unnoticed.saw(pulse.Unnoticed, sent)
	}
	h.node.claims.beaten(b.Waiting, pulse.Queued, sent)
	h.pulsed(pulse, true)
}

// lookBeside reads over the pool what a bare beat leaves out, so that a slow read does not delay the next beat. One that
// takes longer than the time between two beats is given up.
func (h *heartbeat) lookBeside(ctx context.Context, b store.Beat, pulse store.Pulse, sent time.Time) {
	timed, cancel := context.WithTimeout(ctx, h.node.config.Heartbeat/2)
	defer cancel()
	seen, err := h.node.store.Look(timed, b)
	if err != nil {
		h.pulsed(pulse, false)
		return
	}
	seen.Now = pulse.Now
	h.read(b, seen, sent)
}

// pulsed is what the loop makes of a heartbeat.
func (l *loop) pulsed(m store.Pulse) {
	l.beat.now, l.beat.wakeAt = m.Now, m.WakeAt
	k := &l.looks
	k.inbox.wanted = k.inbox.wanted || m.Inbox != 0
	k.claims.wanted = k.claims.wanted || m.Unnoticed != 0
	if next := l.wakes.next(); m.WakeAt != 0 && m.WakeAt <= l.horizon && (next == 0 || m.WakeAt < next) {
		k.due.wanted = true
	}
}
