package node

import (
	"context"
	"time"

	"github.com/orrery-dev/orrery/shared/store"
)

// Kill ends the node as if its process had been killed.
func (n *Node) Kill() { (*n.kill.Load())(errKilled) }

// Poll opens a poll and waits for it.
func (h host) Poll(ctx context.Context, q store.Poll, end time.Time) ([]store.Assignment, error) {
	p, err := h.Open(q)
	if err != nil {
		return nil, err
	}
	return p.Wait(ctx, end)
}
