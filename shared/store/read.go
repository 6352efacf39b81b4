package store

import (
	"context"
	"time"

	"github.com/orrery-dev/orrery/shared/history"
)

// Execution is an execution's row with its workflow.
type Execution struct {
	ID         history.ExecutionID
	Namespace  history.NamespaceID
	Name       string
	Definition history.DefinitionID
	Workflow   string
	Version    int
	Hash       string // of the definition
	InputHash  []byte
	Trace      string
	Partition  history.Partition
	Status     history.Status
	Seq        history.Seq
	WakeAt     history.Time
	StartedAt  history.Time
	EndedAt    history.Time
	// Blocked is why the execution is out of service; empty when it is not.
	Blocked string
}

// ExecutionDetail is an execution with its owner, and its first and last turn.
type ExecutionDetail struct {
	Execution
	Owner Owner
	First Row
	Last  Row
}

// Execution reads one by name. ErrNotFound when there is none.
func (s *Store) Execution(ctx context.Context, ns history.NamespaceID, name string) (ExecutionDetail, error) {
	panic("not written")
}

// ExecutionQuery lists executions, newest first. Zero fields do not narrow the list.
type ExecutionQuery struct {
	Namespace     history.NamespaceID
	Status        history.Status
	Workflow      string
	Version       int
	StartedAfter  history.Time
	StartedBefore history.Time
	// Before is the cursor: only executions with a lower number.
	Before history.ExecutionID
	Limit  int
}

// ExecutionPage is one page of the list. Its cost is bounded whatever the filter: a page may be shorter than the limit, or
// empty, and still have a next one.
type ExecutionPage struct {
	Executions []Execution
	// Next is the cursor of the next page; zero on the last.
	Next history.ExecutionID
}

// Executions reads one page.
func (s *Store) Executions(ctx context.Context, q ExecutionQuery) (ExecutionPage, error) {
	panic("not written")
}

// HistoryQuery reads turns of an execution.
type HistoryQuery struct {
	Execution history.ExecutionID
	// From is the first turn to read, inclusive; zero for the first, or the last when Desc is set.
	From  history.Seq
	Desc  bool
	Limit int // turns
}

// History returns turns in the order asked for.
func (s *Store) History(ctx context.Context, q HistoryQuery) ([]Row, error) { panic("not written") }

// QueueState is the state of one contract.
type QueueState struct {
	Contract  history.Contract
	Queued    int64
	Claimed   int64
	OldestAge time.Duration // of the oldest queued row
	Workers   int64         // live sessions that announce the contract
}

// Queues lists the contracts of a namespace that have rows or workers. A session without contact for sessionTimeout is not live.
func (s *Store) Queues(ctx context.Context, ns history.NamespaceID, sessionTimeout time.Duration) ([]QueueState, error) {
	panic("not written")
}

// Workers lists the live sessions of a namespace, by worker, with what they hold.
func (s *Store) Workers(ctx context.Context, ns history.NamespaceID, sessionTimeout time.Duration) ([]Session, error) {
	panic("not written")
}

// Nodes lists the incarnations that are neither fenced nor gone, by id.
func (s *Store) Nodes(ctx context.Context) ([]Node, error) { panic("not written") }

// Depths are the counts that health shows.
type Depths struct {
	Queued         int64 // tasks that wait for a worker
	Claimed        int64
	Inbox          int64 // entries that wait for their owner
	InboxOldestAge time.Duration
	Running        int64 // estimate: running executions of the partitions asked for
}

// Depths counts what waits. Running executions are counted where partitions are given.
func (s *Store) Depths(ctx context.Context, ps []history.Partition) (Depths, error) {
	panic("not written")
}
