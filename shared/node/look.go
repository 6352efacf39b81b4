package node

import (
	"context"
	"slices"
	"time"

	"github.com/orrery-dev/orrery/shared/history"
	"github.com/orrery-dev/orrery/shared/store"
	"github.com/orrery-dev/orrery/shared/telemetry"
)

// looks are the reads by which the loop finds work that nobody brings it. Each has at most one run under way; a wish that
// comes meanwhile is served by another one after it, so that nothing written after the wish is missed.
type looks struct {
	inbox, claims, lost look
	debts, blocked      look // at what came with partitions
	due                 dueLooks
	walk                walk
	// belled is set when a bell, and not this node itself, has asked for the look at the inbox.
	belled bool
	// inboxFrom and claimsFrom are low-water keys.
	inboxFrom  lowWater[history.InboxID]
	claimsFrom lowWater[history.TaskID]
	lastLost   time.Time // when lost claims were looked for
	// lostUntil is until when lost claims are looked for every second, because partitions have come from a dead node.
	lostUntil time.Time
	// retry is when the reads that failed are tried again.
	retry time.Time
}

type look struct{ wanted, running bool }

// begin tells whether a run is wanted and can start, and starts it.
func (k *look) begin() bool {
	if !k.wanted || k.running {
		return false
	}
	k.wanted, k.running = false, true
	return true
}

const (
	// lookLimit bounds the rows of one look. A full one is followed by another when its rows are done with.
	lookLimit = 1000
	// dueLimit bounds the wake-up times of one look.
	dueLimit = 5000
	// lostEvery is the time between two looks for lost claims while workers hold tasks, lostRarely while none is known to.
	// A session is called lost at most a second after its time.
	lostEvery  = 700 * time.Millisecond
	lostRarely = 10 * time.Second
	// lookPause is the pause after a read that failed.
	lookPause = 200 * time.Millisecond
)

// looking tells whether the loop looks for work at all.
func (l *loop) looking() bool { return len(l.owned) > 0 && !l.draining }

// nextLook is the time until a look that only waits for its time.
func (l *loop) nextLook() time.Duration {
	d := time.Second
	if !l.looking() {
		return d
	}
	k := &l.looks
	if !k.lost.running {
		d = l.lostPause() - time.Since(k.lastLost)
	}
	if wait := time.Until(k.retry); wait > 0 {
		d = min(d, wait)
	}
	if k.due.near && !k.due.running {
		d = min(d, time.Until(k.due.nextNear))
	}
	return d
}

// look begins the reads that are wanted.
func (l *loop) look() {
	if !l.looking() || time.Now().Before(l.looks.retry) {
		return
	}
	k := &l.looks
	ps := l.partitions
	if k.inbox.begin() {
		q := store.InboxQuery{Partitions: ps(), From: k.inboxFrom.from(time.Now()), Except: l.stuckOnes(), Limit: lookLimit}
		l.spawn(func(ctx context.Context) message {
			list, err := l.node.store.Inbox(ctx, q)
			return seenEntries{list, err}
		})
	}
	if k.claims.begin() {
		owned, from := ps(), k.claimsFrom.from(time.Now())
		l.spawn(func(ctx context.Context) message {
			list, err := l.node.store.Unnoticed(ctx, owned, from, lookLimit)
			return seenClaims{list, err}
		})
	}
	l.lookDue()
	l.lookLost()
	l.lookDebts()
	l.lookBlocked()
	l.lookRowless()
}

// partitions lists the owned ones, in order.
func (l *loop) partitions() []history.Partition {
	ps := make([]history.Partition, 0, len(l.owned))
	for p := range l.owned {
		ps = append(ps, p)
	}
	slices.Sort(ps)
	return ps
}

// stuckOnes lists the executions that reads leave out.
func (l *loop) stuckOnes() []history.ExecutionID {
	now := time.Now()
	var out []history.ExecutionID
	for id, s := range l.stuck {
		switch {
		case now.After(s.until):
			delete(l.stuck, id)
		case !s.ended: // what has ended has no entry but a redrive
			out = append(out, id)
		}
	}
	return out
}

// wantAll looks at everything: bells may have been lost, or partitions have come.
func (l *loop) wantAll() {
	k := &l.looks
	k.inbox.wanted, k.claims.wanted, k.due.wanted = true, true, true
}

// failedLook notes a read that failed.
func (l *loop) failedLook(k *look, what string, err error) {
	k.wanted = true
	l.looks.retry = time.Now().Add(lookPause)
	l.log.Warn("a look at the database failed", telemetry.KeyReason, what, telemetry.KeyError, err)
}

type seenEntries struct {
	list []store.Entry
	err  error
}

func (m seenEntries) apply(l *loop) {
	k := &l.looks.inbox
	k.running = false
	if m.err != nil {
		l.failedLook(k, "inbox", m.err)
		return
	}
	if l.admit(m.list) == 0 && l.looks.belled {
		l.owners.look() // the bell was about something else: perhaps a partition has come
	}
	l.looks.belled = false
	if len(m.list) == lookLimit {
		l.looks.retry = time.Now().Add(10 * time.Millisecond) // what is in hand is being written meanwhile
		k.wanted = true
	}
	if n := len(m.list); n > 0 {
		l.looks.inboxFrom.saw(m.list[0].ID, time.Now())
	}
}

// admit gives entries of the inbox to their executions, in the order of their numbers, and tells how many were new.
func (l *loop) admit(list []store.Entry) int {
	n := 0
	for i := range list {
		x := &list[i]
		_, owned := l.owned[x.Partition]
		if !owned || !l.unstick(x) || !l.entries.take(x.ID) {
			continue
		}
		l.give(l.entry(x.Execution, x.Partition), x.Command)
		n++
	}
	return n
}

type seenClaims struct {
	list []store.UnnoticedClaim
	err  error
}

func (m seenClaims) apply(l *loop) {
	k := &l.looks.claims
	k.running = false
	if m.err != nil {
		l.failedLook(k, "claims", m.err)
		return
	}
	l.note(m.list)
	if len(m.list) == lookLimit {
		l.looks.retry = time.Now().Add(10 * time.Millisecond)
		k.wanted = true
	}
	if n := len(m.list); n > 0 {
		l.looks.claimsFrom.saw(m.list[0].Task, time.Now())
	}
}

// unnoticedLate is the age at which a claim should long have been recorded: bells, heartbeats and full looks have had their turns.
const unnoticedLate = 30 * time.Second

// noteDelay is how long a claim waits for a turn that it can ride on.
const noteDelay = time.Second

// note has claims recorded with the next turns of their executions, at the latest in noteDelay.
func (l *loop) note(list []store.UnnoticedClaim) {
	for i := range list {
		x := &list[i]
		_, owned := l.owned[x.Partition]
		if _, stuck := l.stuck[x.Execution]; !owned || stuck || !l.claims.take(x.Task) {
			continue
		}
		if l.now().Sub(x.Claim.At) > unnoticedLate {
			l.node.metrics.unnoticed.Inc()
		}
		// The same poll may wait here still, when its worker has sent it again elsewhere and been served there.
		l.node.polls.served(x.Claim.Session, x.Claim.PollID)
		e := l.entry(x.Execution, x.Partition)
		c := history.Command{Kind: history.KindDispatched, Row: x.Row, Claim: x.Claim}
		c.Claim.Task = x.Task
		if len(e.dispatched) == 0 {
			e.lazyAt = time.Now().Add(noteDelay)
			l.lazy = append(l.lazy, lazyTurn{e, e.lazyAt})
		}
		e.dispatched = append(e.dispatched, c)
		if e.phase == asleep {
			l.need(e) // for the report, which is on its way, or for a turn of its own
		}
	}
}

// fireLazy gives a turn to executions with claims that nothing else has come along to record.
func (l *loop) fireLazy() {
	now := time.Now()
	for len(l.lazy) > 0 && !now.Before(l.lazy[0].at) {
		e := l.lazy[0].execution
		if len(e.dispatched) > 0 && e.lazyAt.Equal(l.lazy[0].at) && l.executions[e.id] == e {
			l.need(e)
		}
		l.lazy = l.lazy[1:]
	}
}

// lazyTurn is a turn that an execution gets when nothing else has given it one by then.
type lazyTurn struct {
	execution *execution
	at        time.Time
}

// lookLost begins the search for claims whose holder is gone. Only a node that has been heard of itself for a whole
// session timeout may call a session lost.
func (l *loop) lookLost() {
	k, now := &l.looks, time.Now()
	timeout := l.node.config.SessionTimeout
	if k.lost.running || now.Sub(k.lastLost) < l.lostPause() {
		return
	}
	k.lastLost = now
	if !l.node.standing.steady(timeout) {
		return
	}
	k.lost.running = true
	q := store.LostQuery{
		Partitions: l.partitions(), SessionTimeout: timeout, NodeTimeout: l.node.config.NodeTimeout, Limit: lookLimit,
	}
	l.spawn(func(ctx context.Context) message {
		list, err := l.node.store.LostClaims(ctx, q)
		return seenLost{list, err}
	})
}

// lostPause is the time between two looks for lost claims.
func (l *loop) lostPause() time.Duration {
	if len(l.held) > 0 || time.Now().Before(l.looks.lostUntil) {
		return lostEvery
	}
	return lostRarely
}

type seenLost struct {
	list []store.LostClaim
	err  error
}

func (m seenLost) apply(l *loop) {
	l.looks.lost.running = false
	if m.err != nil {
		l.log.Warn("a look at the database failed", telemetry.KeyReason, "lost claims", telemetry.KeyError, m.err)
		return
	}
	for _, x := range m.list {
		_, owned := l.owned[x.Partition]
		if _, stuck := l.stuck[x.Execution]; !owned || stuck {
			continue
		}
		e := l.entry(x.Execution, x.Partition)
		c := history.Command{Kind: history.KindLost, Row: x.Row, Claim: history.Claim{Session: x.Session}, Reason: lostReasons[x.Reason]}
		if !e.hasLost(c.Row) {
			l.node.metrics.lost.Of(x.Reason).Inc()
			l.give(e, c)
		}
	}
	// A claim that was lost before its dispatch was recorded: the record comes first.
	l.looks.claims.wanted = l.looks.claims.wanted || len(m.list) > 0
}

// lostReasons are told to people, in the history.
var lostReasons = map[string]string{
	"session":     "the worker's session had no contact for the session timeout",
	"incarnation": "the node that handed it out died, and the worker was not heard of since",
}

// hasLost tells whether a command to give the row up waits already.
func (e *execution) hasLost(row history.RowRef) bool {
	return slices.ContainsFunc(e.waiting, func(c history.Command) bool {
		return c.Kind == history.KindLost && c.Row == row
	})
}
