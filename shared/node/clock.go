package node

import (
	"sync"
	"time"

	"github.com/orrery-dev/orrery/shared/history"
)

// clock tells the database's time between two heartbeats: what the last beat brought, plus what the monotonic clock has
// counted since its answer arrived. It is behind the database by at most the time that the answer travelled, never ahead,
// so no timer fires early.
//
// It may step back when a failover brings a slower clock; the decider holds an execution's own times in order.
type clock struct {
	mu   sync.Mutex
	base history.Time
	at   time.Time
}

// set takes the time that the database told in an answer that arrived at the given instant.
func (c *clock) set(base history.Time, at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.base, c.at = base, at
}

// now gives the database's time, rounded down to a millisecond.
func (c *clock) now() history.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.base + history.Time(time.Since(c.at)/time.Millisecond)
}

// until gives how long to wait for the instant; zero or less when it has come.
func (c *clock) until(t history.Time) time.Duration {
	return t.Sub(c.now())
}
