package node

import (
	"sync"
	"time"

	"github.com/orrery-dev/orrery/shared/store"
)

// contacts gathers the sessions that have called this node. The next heartbeat writes them, as ages, and tells which do
// not exist.
type contacts struct {
	mu   sync.Mutex
	last map[string]time.Time
	gone map[string]time.Time // sessions that a heartbeat did not find
}

const (
	// maxContacts bounds the sessions of one heartbeat; the others wait for the next.
	maxContacts = 5000
	// goneFor is how long it is remembered that a session does not exist.
	goneFor = time.Minute
)

func newContacts() *contacts {
	return &contacts{last: map[string]time.Time{}, gone: map[string]time.Time{}}
}

// touch notes calls of sessions, and returns those that are known not to exist.
func (c *contacts) touch(ts []store.Touch) []string {
	now := time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	var gone []string
	for _, t := range ts {
		if _, ok := c.gone[t.Session]; ok {
			gone = append(gone, t.Session)
			continue
		}
		if at := now.Add(-t.Age); at.After(c.last[t.Session]) {
			c.last[t.Session] = at
		}
	}
	return gone
}

// take gives what the next heartbeat writes.
func (c *contacts) take(now time.Time) []store.Touch {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []store.Touch
	for s, at := range c.last {
		if len(out) == maxContacts {
			break
		}
		out = append(out, store.Touch{Session: s, Age: now.Sub(at)})
		delete(c.last, s)
	}
	for s, at := range c.gone {
		if now.Sub(at) > goneFor {
			delete(c.gone, s)
		}
	}
	return out
}

// putBack keeps contacts whose heartbeat was not confirmed. Their ages count from now, a little late and never early.
func (c *contacts) putBack(ts []store.Touch) { c.touch(ts) }

// lost notes sessions that do not exist.
func (c *contacts) lost(sessions []string) {
	now := time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range sessions {
		c.gone[s] = now
	}
}
