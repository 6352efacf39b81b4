package node

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/orrery-dev/orrery/shared/history"
	"github.com/orrery-dev/orrery/shared/store"
)

const (
	// deliveryGrace is how long a poll whose time is up waits for a task that is on its way: a hand-over or a claim that is
	// being committed, or the first look into its queues.
	deliveryGrace = time.Second
	// pollGap is the longest pause between two polls of a session in which it cannot have polled elsewhere and lost the
	// answer.
	pollGap = time.Second
	// recentPolls is how many ids of answered polls are remembered per session, and recentFor for how long.
	recentPolls = 8
	recentFor   = time.Minute
	// maxPolls bounds the polls that are open.
	maxPolls = 20_000
)

// polls is the registry of the polls that this process holds open. Whoever has a task for one reserves a place first:
// the loop for a hand-over (before the commit), the claimer for what it is about to claim. So no poll gets more than it
// asked for, and a task goes to a poll only while that can still take it.
//
//	open --reserve--> place taken --deliver--> in the answer
//	  ^                   |
//	  +------release------+        closed: deliver says no, and the task is given back
//
// The mutex guards everything here and in each poll, and is never held during I/O.
type polls struct {
	mu       sync.Mutex
	waiting  map[lane][]*poll // polls with a free place only: those that come first, then by arrival
	open     map[pollID]*poll
	sessions map[string]*pollSession
	arrivals uint64
	closing  bool // every poll is answered at once; set for good at a clean stop
}

// lane is one contract in one namespace.
type lane struct {
	namespace history.NamespaceID
	contract  history.Contract
}

// pollID names a poll; ids are the workers' own, so they count per session.
type pollID struct{ session, id string }

// pollSession is what is known of a session that polls here.
type pollSession struct {
	open   int
	ended  time.Time // when its last poll was answered
	recent []string  // ids of its last polls that got tasks, newest last
}

// poll is one open request for tasks. Its mutable fields are guarded by polls.mu.
type poll struct {
	store.Poll
	first   bool // takes tasks before those that wait
	arrival uint64
	free    int                // places that nobody has reserved
	coming  int                // reserved places
	got     []store.Assignment // delivered
	owed    bool               // no look into its queues has ended since it arrived, and one is to come
	closed  bool               // answered or given up; nothing is delivered any more
	changed chan struct{}      // capacity 1: something above changed
}

// speaks tells whether the poll's worker may take a task that asks for the language.
func (p *poll) speaks(language string) bool {
	return language == "" || language == p.Language
}

func newPolls() *polls {
	return &polls{waiting: map[lane][]*poll{}, open: map[pollID]*poll{}, sessions: map[string]*pollSession{}}
}

// add opens a poll. One that is open under the same id is answered: its worker has sent it again.
//
// Recall is set where an earlier answer to the poll may have been lost: its id was answered here, or its session has been
// away for so long that it may have polled another process meanwhile.
func (ps *polls) add(q store.Poll, first bool) (p *poll, recall bool) {
	p = &poll{Poll: q, first: first, free: q.Max, owed: true, changed: make(chan struct{}, 1)}
	ps.mu.Lock()
	defer ps.mu.Unlock()
	older := ps.open[pollID{q.Session, q.ID}]
	if older != nil {
		ps.closeLocked(older)
		older.signal()
	}
	s := ps.sessions[q.Session]
	if s == nil {
		s = &pollSession{}
		ps.sessions[q.Session] = s
		ps.forgetSessions()
	}
	p.Recall = older != nil || slices.Contains(s.recent, q.ID) || s.open == 0 && time.Since(s.ended) > pollGap
	s.open++
	ps.arrivals++
	p.arrival = ps.arrivals
	ps.open[pollID{q.Session, q.ID}] = p
	ps.enlist(p)
	return p, p.Recall
}

// forgetSessions drops what is known of sessions that have not polled for long.
func (ps *polls) forgetSessions() {
	if len(ps.sessions)%1000 != 0 {
		return
	}
	for id, s := range ps.sessions {
		if s.open == 0 && time.Since(s.ended) > recentFor {
			delete(ps.sessions, id)
		}
	}
}

// served closes a poll whose tasks were claimed elsewhere under the same id. One that looks for them itself is left.
func (ps *polls) served(session, id string) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	if p := ps.open[pollID{session, id}]; p != nil && !p.Recall && p.coming == 0 && len(p.got) == 0 {
		ps.closeLocked(p)
		p.signal()
	}
}

// excuse says that the poll waits for no look: one has ended, or would find its queues empty.
func (ps *polls) excuse(p *poll) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	p.owed = false
	p.signal()
}

// recall has the poll look first for what is claimed under its id: a commit or a claim for it had an unknown outcome.
func (ps *polls) recall(p *poll) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	p.Recall = true
}

func (ps *polls) enlist(p *poll) {
	for _, c := range p.Contracts {
		l := lane{p.Namespace, c}
		if p.first {
			ps.waiting[l] = slices.Insert(ps.waiting[l], 0, p)
		} else {
			ps.waiting[l] = append(ps.waiting[l], p)
		}
	}
}

func (ps *polls) delist(p *poll) {
	for _, c := range p.Contracts {
		l := lane{p.Namespace, c}
		list := slices.DeleteFunc(ps.waiting[l], func(q *poll) bool { return q == p })
		if len(list) == 0 {
			delete(ps.waiting, l)
		} else {
			ps.waiting[l] = list
		}
	}
}

// reserve takes a place in the poll that has waited longest among those that can take the offer; nil when none can. A poll
// that must look first for what it was given before takes nothing until it has.
func (ps *polls) reserve(ns history.NamespaceID, c history.Contract, language string) *poll {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	for _, p := range ps.waiting[lane{ns, c}] {
		if p.speaks(language) && !p.Recall {
			ps.take(p, 1)
			return p
		}
	}
	return nil
}

func (ps *polls) take(p *poll, n int) {
	p.free -= n
	p.coming += n
	if p.free == 0 {
		ps.delist(p)
	}
}

// place is n reserved places of one poll, with the poll as the store is asked for it.
type place struct {
	poll *poll
	n    int
	ask  store.Poll
}

// reserveAll takes the free places of open polls that want says yes to, for one claim: those that have waited longest
// first, until there are limit places. It tells whether polls were left out.
func (ps *polls) reserveAll(limit func() int, want func(*poll) bool) (out []place, more bool) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	var free []*poll
	for _, p := range ps.open {
		switch {
		case p.free == 0:
		case want(p):
			free = append(free, p)
		case p.owed: // the look of another poll has found its queues empty
			p.owed = false
			p.signal()
		}
	}
	slices.SortFunc(free, func(a, b *poll) int { return cmp.Compare(a.arrival, b.arrival) })
	left := limit()
	for _, p := range free {
		if left <= 0 {
			return out, true
		}
		pl := place{p, p.free, p.Poll}
		pl.ask.Max = pl.n
		ps.take(p, pl.n)
		p.Recall = false
		left -= pl.n
		out = append(out, pl)
	}
	return out, false
}

// release gives n reserved places back to the poll, which goes on waiting.
func (ps *polls) release(p *poll, n int) {
	if n == 0 {
		return
	}
	ps.mu.Lock()
	defer ps.mu.Unlock()
	p.coming -= n
	if p.free == 0 && !p.closed {
		ps.enlist(p)
	}
	p.free += n
	p.signal()
}

// deliver puts a task in a reserved place. It says no when the poll is gone: the task must then be given back. One that is
// there already came twice, by two looks at what is claimed under the poll's id, and the worker gets it once.
func (ps *polls) deliver(p *poll, a store.Assignment) bool {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	p.coming--
	p.signal()
	if p.closed {
		return false
	}
	if !slices.ContainsFunc(p.got, func(b store.Assignment) bool { return b.Execution == a.Execution && b.Row == a.Row }) {
		p.got = append(p.got, a)
	}
	return true
}

// close ends the poll and gives what was delivered to it.
func (ps *polls) close(p *poll) []store.Assignment {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	return ps.closeLocked(p)
}

func (ps *polls) closeLocked(p *poll) []store.Assignment {
	if p.closed {
		return p.got
	}
	p.closed = true
	if id := (pollID{p.Session, p.ID}); ps.open[id] == p {
		delete(ps.open, id)
	}
	if p.free > 0 {
		ps.delist(p)
	}
	s := ps.sessions[p.Session]
	s.open--
	s.ended = time.Now()
	if len(p.got) > 0 {
		s.recent = append(s.recent, p.ID)
		s.recent = s.recent[max(0, len(s.recent)-recentPolls):]
	}
	return p.got
}

// answered closes the poll when there is something to answer and nothing more is on its way. With the time up, an empty
// answer will do, but not before a look has told that: a poll that does not wait gets what is there.
func (ps *polls) answered(p *poll, timeUp bool) ([]store.Assignment, bool) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	if p.closed {
		return p.got, true
	}
	if p.coming > 0 || len(p.got) == 0 && (!timeUp || p.owed) && !ps.closing {
		return nil, false
	}
	return ps.closeLocked(p), true
}

// wait blocks until the poll has its answer, its time is up or the context ends. With an error, what was delivered
// meanwhile must be given back.
func (ps *polls) wait(ctx context.Context, p *poll, end time.Time) ([]store.Assignment, error) {
	up := time.NewTimer(time.Until(end))
	defer up.Stop()
	timeUp := false
	for {
		if got, ok := ps.answered(p, timeUp); ok {
			return got, nil
		}
		select {
		case <-p.changed:
		case <-up.C:
			if timeUp {
				return ps.close(p), nil
			}
			timeUp = true
			up.Reset(deliveryGrace)
		case <-ctx.Done():
			return ps.close(p), ctx.Err()
		}
	}
}

// closeAll answers every poll as soon as nothing is on its way to it, now and from now on.
func (ps *polls) closeAll() {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	ps.closing = true
	for _, p := range ps.open {
		p.signal()
	}
}

// count is the number of open polls.
func (ps *polls) count() int {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	return len(ps.open)
}

// queues lists what the open polls wait for.
func (ps *polls) queues() []store.Queue {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	var out []store.Queue
	seen := map[store.Queue]bool{}
	for _, p := range ps.open {
		for _, k := range queuesOf(&p.Poll) {
			if !seen[k] {
				seen[k] = true
				out = append(out, k)
			}
		}
	}
	return out
}

// signal wakes whoever waits for the poll; the caller holds the mutex.
func (p *poll) signal() {
	select {
	case p.changed <- struct{}{}:
	default:
	}
}
