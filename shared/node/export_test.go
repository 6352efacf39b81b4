package node

import (
	"context"
	"time"

	"github.com/orrery-dev/orrery/shared/store"
)

// Kill ends the node as if its process had been killed.
func (n *Node) Kill() { (*n.kill.Load())(errKilled) }

// Waiting counts the polls that take hand-overs: they have free places, and their queues were found empty.
func (n *Node) Waiting() (count int) {
	n.polls.mu.Lock()
	defer n.polls.mu.Unlock()
	for _, p := range n.polls.open {
		if p.free > 0 && !p.owed {
			count++
		}
	}
	return count
}

// Counted reads one of the node's metrics.
func (n *Node) Counted(series string) int {
	values, err := n.config.Metrics.Values()
	if err != nil {
		panic(err)
	}
	return int(values[series])
}

// Poll opens a poll and waits for it.
func (h host) Poll(ctx context.Context, q store.Poll, end time.Time) ([]store.Assignment, error) {
	p, err := h.Open(q, false)
	if err != nil {
		return nil, err
	}
	return p.Wait(ctx, end)
}

// The documents of the crash tests.
const (
	Gauntlet      = gauntlet
	GauntletChild = gauntletChild
)
