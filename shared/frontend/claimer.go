package frontend

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/orrery-dev/orrery/shared/store"
)

// claimer claims for all waiting polls of the process together, never for each by itself: batches are what makes claims
// cheap, and one connection is enough.
//
// It has no goroutine of its own, because a function is frozen between its requests. One of the waiting polls leads:
//
//	arrive -> waiting --(the lead is free)--> pause, look for all, deal out, free the lead --+
//	             ^                                                                           |
//	             +------------------------ not answered, and time is left ------------------+
//
// A poll leaves with its tasks, when its time is over, or when a repeat of it arrives; but not while a look is under way
// that may claim for it: what was claimed and not taken along would be stuck until heartbeats miss it.
type claimer struct {
	store workerStore
	// lead holds one token: whoever took it out leads.
	lead chan struct{}
	// nudge ends the leader's pause: a poll has arrived.
	nudge chan struct{}

	mu      sync.Mutex
	waiting []*waiter
	pauses  pauses
	next    time.Time // of the next look; zero for now
}

// waiter is one waiting poll. All but the channels is under claimer.mu; answer is also readable once answered is closed.
// Poll.Recall is set until the first look.
type waiter struct {
	store.Poll
	seen     chan struct{} // closed after the first look
	answered chan struct{} // closed with the answer
	answer   claimAnswer
	looking  bool // a look is under way that includes the poll
	leaving  bool // it goes after that look
}

type claimAnswer struct {
	tasks []store.Assignment
	err   error
}

const (
	firstPause = 20 * time.Millisecond
	mostPause  = time.Second
	// morePause lets the claimers finish that hold what was seen and not got.
	morePause = 2 * time.Millisecond
	// lookTime bounds one look at the queues.
	lookTime = 5 * time.Second
)

func newClaimer(s workerStore) *claimer {
	c := &claimer{store: s, lead: make(chan struct{}, 1), nudge: make(chan struct{}, 1)}
	c.lead <- struct{}{}
	return c
}

// poll waits for tasks until end, and looks once at least. No tasks and no error is an empty queue.
func (c *claimer) poll(ctx context.Context, p store.Poll, end time.Time) ([]store.Assignment, error) {
	ctx, cancel := context.WithDeadline(ctx, end.Add(lookTime))
	defer cancel()
	wait, stop := context.WithDeadline(ctx, end)
	defer stop()
	w := c.arrive(p)
	seen, over := w.seen, (<-chan struct{})(nil)
	for {
		select {
		case <-w.answered:
			return w.answer.tasks, w.answer.err
		case <-seen:
			seen, over = nil, wait.Done()
		case <-over:
			return c.leave(w)
		case <-ctx.Done():
			return c.leave(w)
		case <-c.lead:
			c.rest(wait, w)
			c.look(ctx)
			c.lead <- struct{}{}
		}
	}
}

// arrive adds a poll. An older one under the same id is answered as empty: its caller has sent it again.
func (c *claimer) arrive(p store.Poll) *waiter {
	w := &waiter{Poll: p, seen: make(chan struct{}), answered: make(chan struct{})}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, old := range slices.Clone(c.waiting) {
		if old.ID == p.ID && old.Session == p.Session && !old.looking {
			c.finish(old, claimAnswer{})
		}
	}
	c.waiting = append(c.waiting, w)
	c.pauses, c.next = pauses{firstPause, mostPause}, time.Time{}
	select {
	case c.nudge <- struct{}{}:
	default:
	}
	return w
}

// leave takes a poll out whose time is over.
func (c *claimer) leave(w *waiter) ([]store.Assignment, error) {
	c.mu.Lock()
	w.leaving = true
	if !w.looking && slices.Contains(c.waiting, w) {
		c.finish(w, claimAnswer{})
	}
	c.mu.Unlock()
	<-w.answered
	return w.answer.tasks, w.answer.err
}

// finish answers a poll and takes it out. It needs c.mu.
func (c *claimer) finish(w *waiter, a claimAnswer) {
	c.waiting = slices.DeleteFunc(c.waiting, func(x *waiter) bool { return x == w })
	w.answer = a
	close(w.answered)
}

// rest is the leader's pause before the next look.
func (c *claimer) rest(wait context.Context, w *waiter) {
	c.mu.Lock()
	d := time.Until(c.next)
	c.mu.Unlock()
	if d <= 0 {
		return
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-c.nudge:
	case <-w.answered:
	case <-wait.Done():
	}
}

// look claims for all waiting polls and deals out what it got.
func (c *claimer) look(ctx context.Context) {
	batch, polls := c.begin()
	if len(batch) == 0 {
		return
	}
	// The leader's caller may go away; the look is for all.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookTime)
	defer cancel()
	var r store.ClaimResult
	first := true
	err := retried(ctx, true, func() (err error) {
		for i := range polls {
			polls[i].Recall = polls[i].Recall || !first // the try before may have claimed
		}
		first = false
		r, err = c.store.Claim(ctx, store.ClaimRequest{Polls: polls})
		return err
	})
	c.end(batch, r, err)
}

// begin takes all waiting polls for a look that is due.
func (c *claimer) begin() ([]*waiter, []store.Poll) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Now().Before(c.next) {
		return nil, nil // the leader's pause was cut short by the end of its own wait
	}
	select {
	case <-c.nudge: // whoever has nudged is in the batch
	default:
	}
	batch := slices.Clone(c.waiting)
	polls := make([]store.Poll, len(batch))
	for i, w := range batch {
		w.looking = true
		polls[i] = w.Poll
	}
	return batch, polls
}

// end answers the polls of a look that got tasks, that leave, or all of them with the error.
func (c *claimer) end(batch []*waiter, r store.ClaimResult, err error) {
	tasks := make([][]store.Assignment, len(batch))
	for _, t := range r.Tasks {
		tasks[t.Poll] = append(tasks[t.Poll], t.Assignment)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, w := range batch {
		w.looking = false
		if w.Recall {
			w.Recall = false
			close(w.seen)
		}
		if len(tasks[i]) > 0 || err != nil || w.leaving {
			c.finish(w, claimAnswer{tasks[i], err})
		}
	}
	switch {
	case slices.ContainsFunc(c.waiting, func(w *waiter) bool { return w.Recall }):
		c.next = time.Time{} // somebody arrived during the look
	case r.More:
		c.next = time.Now().Add(morePause)
	default:
		c.next = time.Now().Add(c.pauses.take())
	}
}
