package store

import (
	"context"
	"time"

	"github.com/orrery-dev/orrery/shared/history"
)

// Owner says who owns a partition. Fence is zero while nobody does.
type Owner struct {
	Partition   history.Partition
	Epoch       history.Epoch
	Fence       history.FenceNumber
	Node        string
	Incarnation string
}

// Held is a partition and the epoch of its ownership.
type Held struct {
	Partition history.Partition
	Epoch     history.Epoch
}

// Partitions lists all partitions by number, with the generation of Pulse.Owners that the list is of or newer.
func (s *Store) Partitions(ctx context.Context) (owners []Owner, generation int64, err error) {
	panic("not written")
}

// TakeRequest takes partitions from one incarnation that is dead, or from nobody.
type TakeRequest struct {
	By         history.FenceNumber
	From       history.FenceNumber // zero for partitions without an owner
	Partitions []history.Partition
	// Timeout is the node timeout: From is not taken from while its heartbeat is younger, unless it is fenced or gone.
	Timeout time.Duration
}

// Take moves those of the partitions that From still owns, raises their epochs and returns them. It holds From's fence
// exclusively and marks that incarnation fenced in the same transaction, so none of its commits is under way or can
// follow. A holder of that fence that does not end within a second loses its session. Of concurrent takers each gets a disjoint set.
// The error matches ErrFenced when By itself is fenced.
func (s *Store) Take(ctx context.Context, q TakeRequest) ([]Held, error) { panic("not written") }

// Handover names the new owner of a partition.
type Handover struct {
	Partition history.Partition
	To        history.FenceNumber
}

// Release gives partitions of By to nodes that are live, under By's own fence held exclusively, and returns what it gave. A
// partition that By does not own, or whose new owner is fenced or gone, stays.
func (s *Store) Release(ctx context.Context, by history.FenceNumber, to []Handover) ([]history.Partition, error) {
	panic("not written")
}

// TakeOwnFence waits until no commit of the incarnation is under way: after it, a commit whose outcome was unknown has
// either happened or never will. A session that holds the fence for more than a second is ended.
func (s *Store) TakeOwnFence(ctx context.Context, fence history.FenceNumber) error {
	panic("not written")
}
