package store

import (
	"context"
	"time"

	"github.com/orrery-dev/orrery/shared/history"
)

// Row is one turn as history keeps it.
type Row struct {
	Seq    history.Seq
	At     history.Time
	First  history.EventID // the number of its first event
	Events []byte          // history.DecodeEvents reads it
}

// Loaded is an execution with what its state is folded from.
type Loaded struct {
	Execution
	// Epoch and Fence are of the partition's owner, read in the same snapshot as the rest.
	Epoch history.Epoch
	Fence history.FenceNumber
	// Snapshot is the newest encoded state, nil for none, after turn SnapshotSeq.
	Snapshot    []byte
	SnapshotSeq history.Seq
	// Turns follow the snapshot, in order, up to Execution.Seq.
	Turns []Row
}

// LoadFrom says where the fold begins.
type LoadFrom int

const (
	FromSnapshot LoadFrom = iota
	// FromStart leaves the snapshots out: for one that this version cannot read.
	FromStart
)

// Load reads executions for their owner, or for somebody who shows their state. Those that do not exist are missing in the
// result, which is by number.
func (s *Store) Load(ctx context.Context, ids []history.ExecutionID, from LoadFrom) ([]Loaded, error) {
	panic("not written")
}

// Entry is an inbox entry that is not applied yet. Command.Inbox and Command.Awaited are set, Command.Seed is not.
type Entry struct {
	EntryRef
	Execution history.ExecutionID
	Command   history.Command
	SentAt    history.Time
}

// EntryRef names an inbox entry.
type EntryRef struct {
	Partition history.Partition
	ID        history.InboxID
}

// InboxQuery reads the unapplied entries of partitions.
type InboxQuery struct {
	Partitions []history.Partition
	// From is a low-water key: entries below it are not looked for.
	From history.InboxID
	// Except are executions to leave out: those that wait for something. Blocked ones are left out by themselves.
	Except []history.ExecutionID
	Limit  int // in all
}

// Inbox returns entries by number, oldest first; of each execution the oldest come first.
func (s *Store) Inbox(ctx context.Context, q InboxQuery) ([]Entry, error) { panic("not written") }

// InboxOf returns the entries of the given executions, by number: for an execution that has just been loaded.
func (s *Store) InboxOf(ctx context.Context, h []history.Partition, ids []history.ExecutionID, limit int) ([]Entry, error) {
	panic("not written")
}

// UnnoticedClaim is a claimed row whose dispatch no turn has recorded; the row may be 'done' or 'lost' by now.
type UnnoticedClaim struct {
	Task      history.TaskID
	Partition history.Partition
	Execution history.ExecutionID
	Row       history.RowRef
	Claim     history.Claim
}

// Unnoticed returns such claims of the partitions from the low-water key on, oldest first.
func (s *Store) Unnoticed(ctx context.Context, ps []history.Partition, from history.TaskID, limit int) ([]UnnoticedClaim, error) {
	panic("not written")
}

// UnnoticedOf returns such claims of the given executions: for an execution that has just been loaded.
func (s *Store) UnnoticedOf(ctx context.Context, ids []history.ExecutionID) ([]UnnoticedClaim, error) {
	panic("not written")
}

// DueExecution is an execution with a timer.
type DueExecution struct {
	Execution history.ExecutionID
	Partition history.Partition
	WakeAt    history.Time
}

// Due returns running executions of the partitions with a timer in [from, until], earliest first.
func (s *Store) Due(ctx context.Context, ps []history.Partition, from, until history.Time, limit int) ([]DueExecution, error) {
	panic("not written")
}

// LostClaim is a claimed row whose holder is gone.
type LostClaim struct {
	Partition history.Partition
	Execution history.ExecutionID
	Row       history.RowRef
	Session   string
	// Reason is "session" or "incarnation".
	Reason string
}

// LostQuery finds them.
type LostQuery struct {
	Partitions []history.Partition
	// SessionTimeout: a session without contact for longer is lost, and so is a claim of a dead incarnation that no
	// heartbeat has listed for longer.
	SessionTimeout time.Duration
	// NodeTimeout: an incarnation without a heartbeat for longer is dead.
	NodeTimeout time.Duration
	Limit       int
}

// LostClaims joins the claimed rows of the partitions with sessions and incarnations.
func (s *Store) LostClaims(ctx context.Context, q LostQuery) ([]LostClaim, error) {
	panic("not written")
}

// Holding names one hand-out that a session holds.
type Holding struct {
	Execution history.ExecutionID
	Row       history.RowRef
}

// Heard tells when the session last listed each holding in a heartbeat; those that its last heartbeat did not list are
// missing.
func (s *Store) Heard(ctx context.Context, session string, hs []Holding) (map[Holding]history.Time, error) {
	panic("not written")
}

// Blocked returns the executions of the partitions that are out of service.
func (s *Store) Blocked(ctx context.Context, ps []history.Partition) ([]history.ExecutionID, error) {
	panic("not written")
}
