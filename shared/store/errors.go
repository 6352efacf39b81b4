package store

import (
	"errors"
	"fmt"

	"github.com/orrery-dev/orrery/shared/history"
)

var (
	// ErrNotFound: the row that was asked for is not there.
	ErrNotFound = errors.New("store: not found")
	// ErrVersionExists: the version of the workflow is published with other content.
	ErrVersionExists = errors.New("store: version exists with other content")
	// ErrFenced: the caller's own incarnation is fenced or gone.
	ErrFenced = errors.New("store: this incarnation is fenced")
	// ErrUnavailable: the database cannot be reached or has no capacity; nothing was written. Try again.
	ErrUnavailable = errors.New("store: database unavailable")
	// ErrOutcomeUnknown: the connection broke while a write was under way: it may have happened or not.
	ErrOutcomeUnknown = errors.New("store: outcome unknown")
	// ErrConflict: a deadlock or a serialisation failure; nothing was written. Try again.
	ErrConflict = errors.New("store: transaction conflict")
	// ErrDirectOnly: the call needs a store that was opened with Options.Direct.
	ErrDirectOnly = errors.New("store: needs a direct connection")
)

// CommitKind says why a commit failed, and with that what its node does.
type CommitKind int

const (
	// Stale: the named executions are not in the state that they were loaded in (compare-and-set, inbox counts): load them
	// again. The others go again at once.
	Stale CommitKind = iota + 1
	// ReportFirst: a row that a named execution's turn withdraws or settles is 'done' by a report that the turn does not
	// apply: apply the inbox first. The others go again at once.
	ReportFirst
	// Locked: rows of the named executions are locked by others: leave them for the next batch. Where none is named, the
	// fence or a lock was not got in time: send the batch again.
	Locked
	// FenceLost: the incarnation is fenced (no execution is named), or partitions of the named executions have another epoch.
	FenceLost
	// Conflict: deadlock or serialisation failure. Send the batch again.
	Conflict
	// Data: the database refuses a value or a row. Split the batch to find whose.
	Data
	// Unknown: the connection broke on the way. Take the own fence, then load everything again.
	Unknown
	// Unavailable: nothing was written for a reason outside the batch (connection, disk, shutdown). Try again later.
	Unavailable
)

// CommitError is a failed commit.
type CommitError struct {
	Kind CommitKind
	// Executions are those at fault, by number. A new execution is never at fault by name.
	Executions []history.ExecutionID
	// Partitions are those whose epoch has changed; FenceLost only.
	Partitions []history.Partition
	Err        error
}

func (e *CommitError) Error() string {
	if len(e.Executions) == 0 {
		return fmt.Sprintf("store: commit: %v", e.Err)
	}
	return fmt.Sprintf("store: commit: executions %v: %v", e.Executions, e.Err)
}

func (e *CommitError) Unwrap() error { return e.Err }
