package frontend

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/orrery-dev/orrery/shared/store"
)

// queue is the store as the claimer sees it: claims take what was put in, after a time that each takes.
type queue struct {
	workerStore
	takes time.Duration

	mu    sync.Mutex
	tasks int
	err   error
	looks []store.ClaimRequest
}

func (q *queue) put(n int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.tasks += n
}

// seen are the looks so far.
func (q *queue) seen() []store.ClaimRequest {
	q.mu.Lock()
	defer q.mu.Unlock()
	return append([]store.ClaimRequest(nil), q.looks...)
}

// Claim decides at its beginning what it takes, and tells at its end.
func (q *queue) Claim(ctx context.Context, r store.ClaimRequest) (store.ClaimResult, error) {
	q.mu.Lock()
	q.looks = append(q.looks, store.ClaimRequest{Polls: append([]store.Poll(nil), r.Polls...)})
	var got store.ClaimResult
	err := q.err
	for i, p := range r.Polls {
		for n := 0; n < p.Max && q.tasks > 0 && err == nil; n++ {
			q.tasks--
			got.Tasks = append(got.Tasks, store.Claimed{Poll: i, Assignment: store.Assignment{Name: p.ID}})
		}
	}
	q.mu.Unlock()
	select {
	case <-time.After(q.takes):
	case <-ctx.Done():
		return store.ClaimResult{}, ctx.Err()
	}
	return got, err
}

func pollNamed(id string) store.Poll {
	return store.Poll{ID: id, Session: "s-" + id, Max: 1, Recall: true}
}

type polled struct {
	id    string
	tasks []store.Assignment
	err   error
	after time.Duration
}

// polls starts n polls that wait for the given time, and gathers their answers.
func polls(ctx context.Context, c *claimer, n int, wait time.Duration) <-chan polled {
	answers := make(chan polled, n)
	began := time.Now()
	for i := range n {
		id := fmt.Sprint(i)
		go func() {
			tasks, err := c.poll(ctx, pollNamed(id), began.Add(wait))
			answers <- polled{id, tasks, err, time.Since(began)}
		}()
	}
	return answers
}

func TestOneClaimForAllWaitingPolls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &queue{takes: 5 * time.Millisecond}
		answers := polls(t.Context(), newClaimer(q), 20, 20*time.Second)
		time.Sleep(10 * time.Second)
		before := len(q.seen())
		q.put(20)
		for range 20 {
			if a := <-answers; a.err != nil || len(a.tasks) != 1 || a.tasks[0].Name != a.id {
				t.Errorf("poll %s got %v, %v", a.id, a.tasks, a.err)
			}
		}
		looks := q.seen()
		if n := len(looks) - before; n != 1 {
			t.Errorf("20 tasks for 20 polls took %d claims, want 1", n)
		}
		if n := len(looks[len(looks)-1].Polls); n != 20 {
			t.Errorf("the last claim was for %d polls, want 20", n)
		}
	})
}

// TestIdleClaimerLooksSeldom counts looks: the pauses grow to a second, however many polls wait.
func TestIdleClaimerLooksSeldom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &queue{}
		answers := polls(t.Context(), newClaimer(q), 20, 20*time.Second)
		for range 20 {
			if a := <-answers; a.err != nil || len(a.tasks) != 0 || a.after != 20*time.Second {
				t.Errorf("poll %s got %v, %v after %v", a.id, a.tasks, a.err, a.after)
			}
		}
		looks := q.seen()
		if n := len(looks); n < 20 || n > 50 {
			t.Errorf("%d looks in 20 s, want one for each arrival, and one a second after the first few", n)
		}
		for i, l := range looks[1:] {
			for _, p := range l.Polls {
				if p.Recall && i > 20 {
					t.Errorf("look %d recalls poll %s again", i+1, p.ID)
				}
			}
		}
	})
}

func TestPollThatMayNotWaitLooksOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &queue{takes: 5 * time.Millisecond, tasks: 1}
		c := newClaimer(q)
		for _, want := range []int{1, 0} {
			tasks, err := c.poll(t.Context(), pollNamed("a"), time.Now())
			if err != nil || len(tasks) != want {
				t.Errorf("got %v, %v, want %d tasks", tasks, err, want)
			}
		}
		if n := len(q.seen()); n != 2 {
			t.Errorf("%d looks, want 2", n)
		}
	})
}

// TestArrivalIsLookedForAtOnce: a poll does not wait for the pause that others are in.
func TestArrivalIsLookedForAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &queue{takes: 5 * time.Millisecond}
		c := newClaimer(q)
		waiting := polls(t.Context(), c, 3, 20*time.Second)
		time.Sleep(10*time.Second + 300*time.Millisecond)
		q.put(1) // goes to the oldest poll with the arrival's look
		late := time.Now()
		if _, err := c.poll(t.Context(), pollNamed("late"), time.Now()); err != nil {
			t.Error(err)
		}
		if d := time.Since(late); d > 3*q.takes {
			t.Errorf("the arrival was answered after %v", d)
		}
		if a := <-waiting; len(a.tasks) != 1 {
			t.Errorf("poll %s got %v", a.id, a.tasks)
		}
	})
}

// TestTasksOfALeavingPoll: a poll whose time ends while a look is under way takes along what that look claims for it.
func TestTasksOfALeavingPoll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &queue{takes: time.Second, tasks: 1}
		tasks, err := newClaimer(q).poll(t.Context(), pollNamed("a"), time.Now().Add(100*time.Millisecond))
		if err != nil || len(tasks) != 1 {
			t.Errorf("got %v, %v: the task is stuck", tasks, err)
		}
	})
}

// TestLeaderGoesAway: the others are looked for when the poll that leads is cancelled.
func TestLeaderGoesAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &queue{takes: 50 * time.Millisecond}
		c := newClaimer(q)
		ctx, cancel := context.WithCancel(t.Context())
		gone := polls(ctx, c, 1, 20*time.Second)
		time.Sleep(10 * time.Millisecond) // it leads, and looks
		others := polls(t.Context(), c, 5, 20*time.Second)
		synctest.Wait()
		cancel()
		<-gone
		q.put(5)
		for range 5 {
			if a := <-others; a.err != nil || len(a.tasks) != 1 || a.after > time.Second {
				t.Errorf("poll %s got %v, %v after %v", a.id, a.tasks, a.err, a.after)
			}
		}
	})
}

func TestRepeatClosesTheOlderWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &queue{}
		c := newClaimer(q)
		older := polls(t.Context(), c, 1, 20*time.Second)
		time.Sleep(5 * time.Second)
		repeat := polls(t.Context(), c, 1, 20*time.Second)
		if a := <-older; len(a.tasks) != 0 || a.after != 5*time.Second {
			t.Errorf("the older wait ended after %v with %v", a.after, a.tasks)
		}
		q.put(1)
		if a := <-repeat; len(a.tasks) != 1 {
			t.Errorf("the repeat got %v", a.tasks)
		}
	})
}

func TestErrorGoesToAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &queue{err: store.ErrUnavailable}
		answers := polls(t.Context(), newClaimer(q), 3, 20*time.Second)
		for range 3 {
			if a := <-answers; !errors.Is(a.err, store.ErrUnavailable) {
				t.Errorf("poll %s got %v", a.id, a.err)
			}
		}
	})
}

// TestUnknownClaimIsRecalled: after a lost connection the claim may stand, so the next try asks for it.
func TestUnknownClaimIsRecalled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &queue{}
		c := newClaimer(q)
		answers := polls(t.Context(), c, 1, 20*time.Second)
		time.Sleep(5 * time.Second)
		q.mu.Lock()
		q.err = store.ErrOutcomeUnknown
		n := len(q.looks)
		q.mu.Unlock()
		if a := <-answers; !errors.Is(a.err, store.ErrOutcomeUnknown) {
			t.Errorf("got %v after all tries", a.err)
		}
		tries := q.seen()[n:]
		if len(tries) != conflictTries || tries[0].Polls[0].Recall || !tries[1].Polls[0].Recall {
			t.Errorf("tries %+v: the first of %d does not recall, the others do", tries, conflictTries)
		}
	})
}
