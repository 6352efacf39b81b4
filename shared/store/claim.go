package store

import (
	"context"

	"github.com/orrery-dev/orrery/shared/history"
)

// Queue is one line of waiting tasks: a contract in a namespace.
type Queue struct {
	Namespace history.NamespaceID
	Contract  history.Contract
	// Language is the tasks' wish for who polls, "" for none; a poll looks in that of its own language and in "".
	Language string
}

// Poll is one waiting call for tasks.
type Poll struct {
	ID        string // the worker's poll id
	Session   string
	Worker    string
	Namespace history.NamespaceID
	Language  string // of the worker, "" for none
	Contracts []history.Contract
	Max       int // from 1 to 100
	// Recall first looks for what an earlier try of the same poll has claimed within the last minute: the answer to that may have been
	// lost. What is found is the answer, and nothing is claimed for the poll. It costs a read of what the session holds.
	Recall bool
}

// ClaimRequest claims for many polls at once.
type ClaimRequest struct {
	Fence history.FenceNumber // of the node that claims; zero for a function
	Polls []Poll
	// Marks are where to look in the queues; nil looks from their start.
	Marks *Marks
	// Flag leaves the node's flag at the queues, in a transaction before the look, so that a writer after the look rings.
	// Heartbeats renew flags.
	Flag bool
}

// Claimed is one task for one poll.
type Claimed struct {
	Poll int // index into ClaimRequest.Polls
	Assignment
}

// Assignment is everything that a worker is told about a task, but the token.
type Assignment struct {
	Task      history.TaskID
	Partition history.Partition
	Execution history.ExecutionID
	Name      string // of the execution
	Workflow  string
	Version   int
	Trace     string
	Row       history.RowRef
	Contract  history.Contract
	Work      history.Task
	Claim     history.Claim
	Deadline  history.Time // zero for none
}

// ClaimResult is what a claim brought.
type ClaimResult struct {
	Tasks []Claimed
	// More tells that rows were seen that could not be had, because other claimers held them: look again at once.
	More bool
	Now  history.Time
}

// Claim takes the oldest queued rows for the polls, by priority, then age, and writes who holds them. It locks no
// execution and waits for nobody.
func (s *Store) Claim(ctx context.Context, q ClaimRequest) (ClaimResult, error) { panic("not written") }
