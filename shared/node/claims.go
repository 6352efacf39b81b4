package node

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/orrery-dev/orrery/shared/history"
	"github.com/orrery-dev/orrery/shared/store"
	"github.com/orrery-dev/orrery/shared/telemetry"
)

// claims knows which queues may have tasks for the polls that wait here, so that a poll which finds its queues empty costs
// nothing. A queue is looked into when it is new to the process, when a bell or a heartbeat says that it has a row, when
// a look had its fill, and not otherwise.
//
//	                    first poll, bell, heartbeat, own commit, look that had its fill
//	                   +---------------------------------------------------------------+
//	                   v                                                               |
//	(unknown) -----> maybe --look begins--> looked into --nothing more--> empty -------+
//
// Of its own commits the node knows how many rows they have queued. A look for those alone asks for so many polls and no
// more: a poll that a look asks for takes no hand-over meanwhile, and so one row in the queue would bring the next one there.
//
// A bell that comes during a look sets the queue to maybe again, so nothing is missed. Others ring because the process has
// left its flag at the queue: the first look leaves it, heartbeats renew it.
type claims struct {
	mu     sync.Mutex
	queues map[store.Queue]*queue
	bell   chan struct{} // capacity 1: the claimer has something to do
}

type queue struct {
	maybe   bool      // rows may be waiting, nobody here knows how many
	rows    int       // rows that this node has queued itself
	sought  int       // those of them that the look under way is for
	waited  time.Time // when a poll last waited for it
	flagged time.Time // until when others ring for sure
}

const (
	// flagGood is how long a flag holds at least, counted from when it was sent for; the database keeps it longer.
	flagGood = 35 * time.Second
	// waitedGrace is how long after its last poll a queue stays on the heartbeat.
	waitedGrace = 5 * time.Second
)

func newClaims() *claims {
	return &claims{queues: map[store.Queue]*queue{}, bell: make(chan struct{}, 1)}
}

// queuesOf lists the queues that a poll looks into.
func queuesOf(p *store.Poll) []store.Queue {
	var out []store.Queue
	for _, c := range p.Contracts {
		out = append(out, store.Queue{Namespace: p.Namespace, Contract: c})
		if p.Language != "" {
			out = append(out, store.Queue{Namespace: p.Namespace, Contract: c, Language: p.Language})
		}
	}
	return out
}

// arrived notes a poll, and rings when there may be something for it; recall has it look in any case. It tells whether a
// look will come.
func (c *claims) arrived(p *poll, recall bool) bool {
	now := time.Now()
	c.mu.Lock()
	ring := recall
	for _, k := range queuesOf(&p.Poll) {
		q := c.queues[k]
		if q == nil {
			q = &queue{maybe: true}
			c.queues[k] = q
		}
		q.waited = now
		ring = ring || q.maybe || q.rows > 0 || now.After(q.flagged)
	}
	c.mu.Unlock()
	if ring {
		c.ring()
	}
	return ring
}

func (c *claims) ring() {
	select {
	case c.bell <- struct{}{}:
	default:
	}
}

// queued notes rows of this node's own, a queue for each.
func (c *claims) queued(queues []store.Queue) {
	c.mu.Lock()
	known := false
	for _, k := range queues {
		if q := c.queues[k]; q != nil {
			q.rows, known = min(q.rows+1, maxPlaces), true
		}
	}
	c.mu.Unlock()
	if known {
		c.ring()
	}
}

// rang notes that queues have new rows.
func (c *claims) rang(queues []store.Queue) {
	c.mu.Lock()
	known := false
	for _, k := range queues {
		if q := c.queues[k]; q != nil {
			q.maybe, known = true, true
		}
	}
	c.mu.Unlock()
	if known {
		c.ring()
	}
}

// rangAll notes that any queue may have new rows.
func (c *claims) rangAll() {
	c.mu.Lock()
	for _, q := range c.queues {
		q.maybe = true
	}
	c.mu.Unlock()
	c.ring()
}

// waitedFor lists the queues for the heartbeat: those with polls, or with some a moment ago. Others are forgotten once
// their flag may be gone.
func (c *claims) waitedFor(now time.Time, open []store.Queue) []store.Queue {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, k := range open {
		if q := c.queues[k]; q != nil {
			q.waited = now
		}
	}
	var out []store.Queue
	for k, q := range c.queues {
		switch {
		case now.Sub(q.waited) < waitedGrace:
			out = append(out, k)
		case now.After(q.flagged):
			delete(c.queues, k)
		}
	}
	return out
}

// beaten notes what a heartbeat has done and found.
func (c *claims) beaten(waiting []store.Queue, queued []int, sent time.Time) {
	c.mu.Lock()
	for _, k := range waiting {
		if q := c.queues[k]; q != nil {
			q.flagged = sent.Add(flagGood)
		}
	}
	c.mu.Unlock()
	var found []store.Queue
	for _, i := range queued {
		found = append(found, waiting[i])
	}
	c.rang(found)
}

// scope is what one look is for.
type scope struct {
	flag   bool // a queue needs the flag
	open   bool // there may be any number of rows
	rows   int  // else so many
	counts map[store.Queue]bool
}

// limit is how many places the look asks for.
func (s *scope) limit() int {
	if s.open {
		return maxPlaces
	}
	return min(s.rows, maxPlaces)
}

// interested tells whether the poll has a queue to look into, and widens the scope by it. It is called under the mutex of
// the polls.
func (c *claims) interested(p *poll, now time.Time, s *scope) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	open, rows := p.Recall, false
	for _, k := range queuesOf(&p.Poll) {
		q := c.queues[k]
		unflagged := q == nil || now.After(q.flagged)
		s.flag = s.flag || unflagged
		open = open || unflagged || q.maybe
		if q != nil && q.rows > 0 {
			rows = true
			if !s.counts[k] {
				s.counts[k] = true
				s.rows += q.rows
			}
		}
	}
	s.open = s.open || open
	return open || rows
}

// looking begins a look: what rings from now on is newer than it.
func (c *claims) looking(places []place) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, pl := range places {
		for _, k := range queuesOf(&pl.ask) {
			if q := c.queues[k]; q != nil {
				q.maybe = false
				q.sought, q.rows = q.sought+q.rows, 0
			}
		}
	}
}

// looked ends a look, and rings for another one where there may be more: in the queues of polls that had their fill, or of
// a counted look, what is left. A poll that has come meanwhile has not rung.
func (c *claims) looked(places []place, got []int, s *scope, sent time.Time) {
	c.mu.Lock()
	more := false
	for i, pl := range places {
		full := got[i] == pl.n
		left := got[i]
		for _, k := range queuesOf(&pl.ask) {
			q := c.queues[k]
			if q == nil {
				continue
			}
			taken := min(left, q.sought)
			q.sought, left = q.sought-taken, left-taken
			if !full {
				q.sought = 0
			}
			q.maybe = q.maybe || full && s.open
			more = more || q.maybe
			if s.flag {
				q.flagged = sent.Add(flagGood)
			}
		}
	}
	for _, q := range c.queues {
		q.rows, q.sought = min(q.rows+q.sought, maxPlaces), 0
		more = more || q.rows > 0
	}
	c.mu.Unlock()
	if more {
		c.ring()
	}
}

// claimer is the one goroutine that claims for all polls of the process.
type claimer struct {
	node  *Node
	fence history.FenceNumber
	loop  *loop
	log   *slog.Logger
	marks store.Marks // the goroutine's own
}

const (
	// claimTime bounds one claim.
	claimTime = 5 * time.Second
	// maxPlaces bounds the tasks of one claim.
	maxPlaces = 400
	// morePause lets the claimers finish that hold what was seen and not got.
	morePause = 2 * time.Millisecond
)

// run claims whenever there may be something, until the context ends. A claim that has begun is finished and dealt out.
func (c *claimer) run(ctx context.Context) error {
	pause := backoff{next: 10 * time.Millisecond, most: time.Second}
	for {
		select {
		case <-c.node.claims.bell:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if c.node.notReady() != "" {
			continue // a node that is not ready claims nothing; its polls are answered empty
		}
		more, err := c.claim(ctx)
		switch {
		case err != nil:
			c.log.Warn("a claim failed", telemetry.KeyError, err)
			if !pause.wait(ctx) {
				return context.Cause(ctx)
			}
		case more:
			sleep(ctx, morePause)
			c.node.claims.ring()
			fallthrough
		default:
			pause = backoff{next: 10 * time.Millisecond, most: time.Second}
		}
	}
}

// claim claims once for all polls that have something to look into.
func (c *claimer) claim(ctx context.Context) (more bool, err error) {
	now := time.Now()
	s := scope{counts: map[store.Queue]bool{}}
	places, left := c.node.polls.reserveAll(s.limit, func(p *poll) bool {
		return c.node.claims.interested(p, now, &s)
	})
	if len(places) == 0 {
		return false, nil
	}
	c.node.claims.looking(places)
	q := store.ClaimRequest{Fence: c.fence, Marks: &c.marks, Flag: s.flag}
	recalled := map[string]bool{}
	for _, pl := range places {
		q.Polls = append(q.Polls, pl.ask)
		if pl.ask.Recall {
			recalled[pl.ask.Session] = true
		}
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), claimTime)
	defer cancel()
	c.loop.payFor(ctx, recalled)
	r, err := c.node.store.Claim(ctx, q)
	if err != nil {
		// It may have claimed all the same: the polls look for that first when it is tried again.
		for _, pl := range places {
			c.node.polls.recall(pl.poll)
			c.node.claims.rang(queuesOf(&pl.ask))
		}
		c.deal(places, nil)
		return false, err
	}
	got := c.deal(places, r.Tasks)
	for _, pl := range places {
		c.node.polls.excuse(pl.poll)
	}
	c.node.claims.looked(places, got, &s, now)
	return r.More || left, nil
}

// deal gives the claimed tasks to their polls, and what is left of the places back. It tells how many each poll got.
func (c *claimer) deal(places []place, tasks []store.Claimed) []int {
	got := make([]int, len(places))
	m := claimedHere{}
	for i := range tasks {
		t := &tasks[i]
		got[t.Poll]++
		m.tasks = append(m.tasks, t.Assignment)
		if !c.node.polls.deliver(places[t.Poll].poll, t.Assignment) {
			m.back = append(m.back, t.Assignment)
		}
	}
	if len(tasks) > 0 {
		c.loop.send(c.loop.ctx, m)
	}
	for i, pl := range places {
		c.node.polls.release(pl.poll, max(0, pl.n-got[i]))
	}
	return got
}

// claimedHere are tasks that the claimer has dealt out, and those of them whose polls were gone.
type claimedHere struct{ tasks, back []store.Assignment }

// apply notes the claims of this node's executions, remembers where the others are, for the reports that will come, and
// gives back at once what nobody has got. What another node owns comes back by the heartbeats of the worker, which do
// not list it.
func (m claimedHere) apply(l *loop) {
	var own []store.UnnoticedClaim
	for i := range m.tasks {
		a := &m.tasks[i]
		if _, owned := l.owned[a.Partition]; !owned {
			l.located.put(a.Execution, a.Partition)
			continue
		}
		if a.Task != 0 { // what was handed over is recorded already
			own = append(own, store.UnnoticedClaim{
				Task: a.Task, Partition: a.Partition, Execution: a.Execution, Row: a.Row, Claim: a.Claim,
			})
		}
	}
	l.note(own)
	for i := range m.back {
		a := &m.back[i]
		if _, owned := l.owned[a.Partition]; owned {
			l.give(l.entry(a.Execution, a.Partition), history.Command{Kind: history.KindLost, Row: a.Row, Reason: "the poll was gone"})
		}
	}
}
