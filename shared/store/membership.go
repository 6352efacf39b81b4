package store

import (
	"context"
	"fmt"
	"time"

	"github.com/orrery-dev/orrery/shared/history"
)

// JoinRequest registers a process as a node.
type JoinRequest struct {
	Node      string // unique among running nodes
	Address   string // where others reach it; empty for nowhere
	Behaviour int    // the highest level of decisions that it can make
	// Timeout is the node timeout: another incarnation whose heartbeat is younger keeps the id.
	Timeout time.Duration
}

// Joined is the identity of one incarnation.
type Joined struct {
	Fence       history.FenceNumber
	Incarnation string // UUID
	Now         history.Time
}

// DuplicateNodeError refuses a node id that another incarnation holds and still heartbeats under.
type DuplicateNodeError struct {
	Node string
	Age  time.Duration // of the other's heartbeat
}

func (e *DuplicateNodeError) Error() string {
	return fmt.Sprintf("store: another node %q is running, it heartbeated %d ms ago", e.Node, e.Age.Milliseconds())
}

// Join registers a new incarnation. An older one under the same id whose heartbeat has expired is fenced first, which
// waits for its running commits and ends their sessions after a second. The error is a *DuplicateNodeError while the
// other one is alive; the caller decides how long to try.
func (s *Store) Join(ctx context.Context, q JoinRequest) (Joined, error) { panic("not written") }

// Touch is contact with a worker's session.
type Touch struct {
	Session string
	Age     time.Duration // since the contact
}

// Beat is what a heartbeat carries. The low-water keys keep each read at one row by an index, also while dead rows of
// a long transaction pile up: zero reads from the start.
type Beat struct {
	Fence history.FenceNumber
	// Bare sends the update alone: for beats after one that took more than 100 ms, with Look over the pool beside it.
	Bare bool
	// Touched are the sessions that called since the last beat.
	Touched []Touch
	// Waiting are the queues that the node's open polls wait for: the beat renews their flags, so that writers ring, and
	// tells which have a row.
	Waiting []Queue
	Marks   *Marks // where to look in the queues; nil for from their start
	// InboxFrom and UnnoticedFrom: below them nothing is open in the node's partitions. WakeFrom: no timer is earlier.
	InboxFrom     history.InboxID
	UnnoticedFrom history.TaskID
	WakeFrom      history.Time
}

// Standing is how a node's incarnation stands.
type Standing int

const (
	Member    Standing = iota // it may commit
	Fenced                    // its partitions were taken, or it has left: join again
	Duplicate                 // fenced, and another incarnation runs under the same id
)

// Pulse is what a heartbeat brings back.
type Pulse struct {
	Now      history.Time // the database's clock when the beat was written
	Standing Standing
	// Nodes are the incarnations that are neither fenced nor gone, with the ages of their heartbeats.
	Nodes []Node
	// Owners and Definitions are generations: they grow with every change of an owner, and with every publish.
	Owners      int64
	Definitions int64
	// Behaviour is the cluster's level.
	Behaviour int
	// The rest is zero in the pulse of a bare beat.

	// Inbox is the oldest unapplied entry of the node's partitions, Unnoticed the oldest claim that no turn has recorded,
	// WakeAt the earliest timer; zero for none.
	Inbox     history.InboxID
	Unnoticed history.TaskID
	WakeAt    history.Time
	// Queued has the indexes into Beat.Waiting of queues with a row.
	Queued []int
	// Gone are touched sessions that do not exist.
	Gone []string
}

// Node is one incarnation of a node.
type Node struct {
	ID          string
	Incarnation string
	Fence       history.FenceNumber
	Address     string
	StartedAt   history.Time
	Age         time.Duration // of its heartbeat
	Behaviour   int
	Partitions  int
}

// Heartbeat is the one statement that an idle node sends each second.
func (s *Store) Heartbeat(ctx context.Context, b Beat) (Pulse, error) { panic("not written") }

// Look reads what a heartbeat reads and writes nothing: it goes beside bare beats.
func (s *Store) Look(ctx context.Context, b Beat) (Pulse, error) { panic("not written") }

// Leave ends an incarnation: the last heartbeat of a clean stop. Claims that it handed out stand.
func (s *Store) Leave(ctx context.Context, fence history.FenceNumber) error { panic("not written") }
