package node

import (
	"sync"
	"time"
)

// standing is how a node stands with its heartbeats. Its clock is the monotonic one of the process.
//
// Two questions are answered from it. Is the node ready: was a heartbeat confirmed that was sent less than a node timeout
// ago? And may it judge: were its own heartbeats confirmed, without a hole, for as long as the silence that it would
// hold against somebody else? After a pause of everybody (a failover, a stopped database) nobody may judge for a whole
// timeout, in which everybody is heard of again.
type standing struct {
	hole time.Duration // a longer time between two confirmations begins the count anew

	mu    sync.Mutex
	since time.Time // when the first beat of the unbroken row was confirmed
	sent  time.Time // when the last confirmed beat was sent
}

// confirm records a beat that was sent and confirmed at these times. A beat counts from before it was sent; the hole
// before it is measured to its confirmation, because a beat that took long has seen others as silent for as long.
func (s *standing) confirm(sent, confirmed time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sent.IsZero() || confirmed.Sub(s.sent) > s.hole {
		s.since = confirmed
	}
	s.sent = sent
}

// reset begins anew: a new incarnation has confirmed nothing.
func (s *standing) reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.since, s.sent = time.Time{}, time.Time{}
}

// age is the time since the last confirmed beat was sent; false when there was none.
func (s *standing) age() (time.Duration, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Since(s.sent), !s.sent.IsZero()
}

// steady tells whether beats have been confirmed without a hole for the given time, up to now.
func (s *standing) steady(d time.Duration) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.sent.IsZero() && time.Since(s.sent) <= s.hole && time.Since(s.since) >= d
}
