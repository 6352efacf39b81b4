package store

import (
	"context"

	"github.com/orrery-dev/orrery/shared/history"
)

// Bells are what a commit has to tell others. They are rung after it, only to who waits, and a process joins those of
// several commits: at most one ringing in 2 ms.
type Bells struct {
	Queues      []Queue               // rows were queued
	Ended       []history.ExecutionID // executions have ended
	Replies     []EntryRef            // awaited entries were answered
	Inbox       []history.Partition   // an entry, or a timer, for the partition's owner
	Definitions bool                  // a version was published
}

// Add joins what an item's commit has to tell.
func (b *Bells) Add(it Item) { panic("not written") }

// Empty tells whether there is nothing to ring.
func (b *Bells) Empty() bool { panic("not written") }

// Ring rings bells that no commit carries.
func (s *Store) Ring(ctx context.Context, b Bells) error { panic("not written") }

// AwaitEnd leaves the node's flag at an execution, so that its end rings the node: commit the flag, look, then wait. The
// flag holds for a minute.
func (s *Store) AwaitEnd(ctx context.Context, fence history.FenceNumber, id history.ExecutionID) error {
	panic("not written")
}

// BellKind says what a bell tells.
type BellKind int

const (
	// BellConnected: LISTEN has begun, or begun again: look at everything once.
	BellConnected   BellKind = iota
	BellInbox                // look at the inbox, the timers and the ownership
	BellTasks                // look at the queues that polls wait for
	BellEnded                // Execution has ended
	BellReply                // Entry was answered
	BellDefinitions          // look at the generation of the definitions
)

// Bell is one notification for this node.
type Bell struct {
	Kind      BellKind
	Execution history.ExecutionID
	Entry     EntryRef
}

// Listen hears the bells for a node until the context ends or the connection breaks; it returns the cause. It needs a direct connection, which
// it opens beside the pool. Bells are lost while nobody listens: BellConnected comes first.
func (s *Store) Listen(ctx context.Context, fence history.FenceNumber, hear func(Bell)) error {
	panic("not written")
}
