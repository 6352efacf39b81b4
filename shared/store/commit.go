package store

import (
	"context"

	"github.com/orrery-dev/orrery/shared/history"
)

// Batch is one group commit: at most one turn per execution, and at most one start per name.
type Batch struct {
	Fence history.FenceNumber
	Items []Item
	// Bells are rung after the commit, in the same round trip; the zero value rings nobody.
	Bells Bells
}

// Item is one turn with the ownership under which its execution was loaded.
type Item struct {
	Partition history.Partition
	Epoch     history.Epoch
	Turn      *history.Turn
	// New is set on the first turn of a new execution. Turn.Execution is zero then; the commit tells the number.
	New *NewExecution
	// Ending marks an execution whose ending turn was skipped three times: inserts into its inbox are refused until the end
	// has committed. Turn is nil then, and Execution names it.
	Ending    bool
	Execution history.ExecutionID
}

// NewExecution is the part of an execution's row that its first turn does not have.
type NewExecution struct {
	Namespace  history.NamespaceID
	Name       string
	Definition history.DefinitionID
	// InputHash tells starts of the same name apart: 32 bytes of the caller's choice.
	InputHash []byte
	Trace     string // W3C traceparent, empty for none
}

// Started is what became of the start of one execution.
type Started struct {
	// Execution is the new execution, or the one that has the name.
	Execution history.ExecutionID
	// Existing is set when the name was taken: nothing was written for the item.
	Existing *Execution
}

// Committed is the result of a commit.
type Committed struct {
	// Started has an entry for each item with New, by the item's index.
	Started map[int]Started
	// BellsFailed is why the bells were not rung, nil when they were. The commit stands.
	BellsFailed error
}

// Commit writes the turns of a batch in one transaction and one round trip, under the fence. The error is a
// *CommitError; after any error but an unknown outcome nothing was written.
func (s *Store) Commit(ctx context.Context, b Batch) (Committed, error) { panic("not written") }

// Start writes the first turn of a new execution from a process that owns nothing, and rings who waits. Item.Epoch and
// Item.Turn.Execution are not used.
func (s *Store) Start(ctx context.Context, it Item) (Started, error) { panic("not written") }

// Block takes an execution out of service with an error for people to read: its inbox and its timers wait. It is a
// commit of its own under the fence.
func (s *Store) Block(ctx context.Context, fence history.FenceNumber, h Held, id history.ExecutionID, reason string) error {
	panic("not written")
}
