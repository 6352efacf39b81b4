package node

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/orrery-dev/orrery/shared/history"
	"github.com/orrery-dev/orrery/shared/store"
)

// TestEveryState brings a node into each state that it can be in. It is ready, and says so, in those only in which it may
// serve; in all others its health has the reason, it starts no execution and opens no poll.
func TestEveryState(t *testing.T) {
	for _, test := range []struct {
		name   string
		reason string // empty for ready
		bring  func(c *cluster) *member
		after  func(c *cluster, m *member) // what must follow by itself
	}{
		{"not started", "not started", func(c *cluster) *member {
			n, err := New(Config{ID: "a", Log: slog.New(slog.DiscardHandler)}, c.db, c.db)
			if err != nil {
				c.t.Fatal(err)
			}
			return &member{Node: n, local: local{c.db, n}, host: host{n}}
		}, nil},
		{"joining beside another of its id", "not started", func(c *cluster) *member {
			c.join("a")
			second := c.run("a")
			time.Sleep(time.Second)
			return second
		}, nil},
		{"joined, and no heartbeat confirmed", "not started", func(c *cluster) *member {
			c.db.do(func() { c.db.heartbeat = func(history.FenceNumber) { time.Sleep(30 * time.Second) } })
			m := c.run("a")
			time.Sleep(time.Second)
			return m
		}, nil},
		{"serving", "", func(c *cluster) *member { return c.join("a") }, nil},
		{"serving without partitions", "", func(c *cluster) *member {
			c.db.do(func() { c.db.partitions = c.db.partitions[:1] })
			a, b := c.join("a"), c.join("b")
			time.Sleep(5 * time.Second)
			if c.db.owned("a") == 1 {
				return b
			}
			return a
		}, nil},
		{"serving beside a database that was away for less than a node timeout", "", func(c *cluster) *member {
			m := c.join("a")
			c.away(m, 3*time.Second)
			time.Sleep(3 * time.Second)
			return m
		}, nil},
		{"its database away for longer", "the last confirmed heartbeat is too old", func(c *cluster) *member {
			m := c.join("a")
			c.away(m, 8*time.Second)
			time.Sleep(7 * time.Second)
			return m
		}, servesAgain},
		{"fenced", "fenced", func(c *cluster) *member {
			m := c.join("a")
			c.db.do(func() { c.db.joining = func() { time.Sleep(3 * time.Second) } })
			c.end(m, "")
			return m
		}, servesAgain},
		{"another has its id", "another node runs under this id", func(c *cluster) *member {
			m := c.join("a")
			c.end(m, "a")
			return m
		}, func(c *cluster, m *member) {
			c.db.do(func() { delete(c.db.nodes, 999) })
			servesAgain(c, m)
		}},
		{"draining", "stopping", func(c *cluster) *member {
			m := c.join("a")
			c.mustStart(m)
			x := c.poll(m, "s", "p", 1)[0]
			c.db.onCommit(func(store.Batch) error { time.Sleep(4 * time.Second); return nil })
			go func() { _, _ = m.Report(context.Background(), []store.Report{reportOf(x, `1`)}) }()
			time.Sleep(10 * time.Millisecond)
			left := make(chan struct{})
			go func() { _ = m.stop(); close(left) }()
			c.t.Cleanup(func() { <-left })
			time.Sleep(time.Second)
			return m
		}, nil},
		{"stopped", "stopping", func(c *cluster) *member {
			m := c.join("a")
			if err := m.stop(); err != nil {
				c.t.Error(err)
			}
			return m
		}, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCluster(t, oneTask)
				m := test.bring(c)
				h := m.Node.Health()
				if h.Ready != (test.reason == "") || h.Reason != m.notReady() || !strings.Contains(h.Reason, test.reason) {
					t.Errorf("health: ready %v, reason %q; want %q", h.Ready, h.Reason, test.reason)
				}
				if n := m.Counted("orrery_node_ready"); (n == 1) != h.Ready {
					t.Errorf("the metric says %d", n)
				}
				c.serves(m, h.Ready)
				if test.after != nil {
					test.after(c, m)
				}
			})
		})
	}
}

// away has every call of the node's membership hang for a while.
func (c *cluster) away(m *member, d time.Duration) {
	over := time.Now().Add(d)
	c.db.do(func() { c.db.heartbeat = func(history.FenceNumber) { time.Sleep(time.Until(over)) } })
}

// end ends the node's incarnation in the database, as a taker does; successor is who has its id then, empty for nobody.
func (c *cluster) end(m *member, successor string) {
	fence := m.serving().fence
	c.db.do(func() {
		c.db.nodes[fence].ended = true
		if successor != "" {
			c.db.nodes[999] = &memoryNode{Node: store.Node{ID: successor, Fence: 999}, beat: time.Now().Add(time.Minute)}
		}
	})
	time.Sleep(1500 * time.Millisecond)
}

// serves compares what the node does with whether it is ready.
func (c *cluster) serves(m *member, want bool) {
	c.t.Helper()
	if !want || m.gauges.owned.Load() > 0 { // TestNodeWithoutPartitionsStarts has the other
		before := c.db.count("Commit")
		_, err := c.start(m)
		if (err == nil) != want || !want && !errors.Is(err, errNotReady) {
			c.t.Errorf("a start: %v", err)
		}
		if wrote := c.db.count("Commit") - before; (wrote > 0) != want {
			c.t.Errorf("a start has written %d times", wrote)
		}
	}
	p, err := m.Open(pollOf("other", "p", 1), false)
	if (err == nil) != want || !want && !errors.Is(err, errNotReady) {
		c.t.Errorf("a poll: %v", err)
	}
	if p != nil {
		p.Close()
	}
}

// servesAgain wants the node to serve again by itself.
func servesAgain(c *cluster, m *member) {
	c.t.Helper()
	time.Sleep(20 * time.Second)
	if r := m.notReady(); r != "" {
		c.t.Errorf("it does not serve again: %s", r)
	}
	c.serves(m, true)
}
