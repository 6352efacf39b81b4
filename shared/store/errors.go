package store

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/orrery-dev/orrery/shared/history"
)

var (
	// ErrNotFound: the row that was asked for is not there.
	ErrNotFound = errors.New("not found")
	// ErrVersionExists: the version of the workflow is published with other content.
	ErrVersionExists = errors.New("version exists with other content")
	// ErrFenced: the caller's own incarnation is fenced or gone.
	ErrFenced = errors.New("this incarnation is fenced")
	// ErrUnavailable: the database cannot be reached or has no capacity; nothing was written. Try again.
	ErrUnavailable = errors.New("database unavailable")
	// ErrOutcomeUnknown: the connection broke while a write was under way: it may have happened or not.
	ErrOutcomeUnknown = errors.New("outcome unknown")
	// ErrConflict: a deadlock, a serialisation failure or a lock that was not got in time; nothing was written. Try again.
	ErrConflict = errors.New("transaction conflict")
	// ErrRefused: the database refuses a value or a row; nothing was written, and trying again is useless.
	ErrRefused = errors.New("value refused")
	// ErrChanged: what is to be changed is not as the caller knows it any more. Read it and try again.
	ErrChanged = errors.New("changed meanwhile")
	// ErrKeySlots: other schedules share the key and say another number of slots.
	ErrKeySlots = errors.New("the key has another number of slots")
	// ErrDirectOnly: the call needs a store that was opened with Options.Direct.
	ErrDirectOnly = errors.New("needs a direct connection")
)

// CommitKind says why a commit failed, and with that what its node does.
type CommitKind int

const (
	// Stale: the named executions are not in the state that they were loaded in (compare-and-set, inbox counts): load them
	// again. The others go again at once.
	Stale CommitKind = iota + 1
	// ReportFirst: something durable comes before the named executions' turns: a row that is withdrawn or given up is 'done' by a report
	// that the turn does not apply, or one that is to be withdrawn from the queue is claimed. Apply the inbox and the
	// unnoticed claims first. The others go again at once.
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
	// NameTaken: an execution has the name of a child that the named ones start. Load them again, and decide with that.
	NameTaken
	// KeyHeld: the occurrences of the named executions, which had ended, cannot go on with them. Load them again, and decide with
	// that.
	KeyHeld
	// Unavailable: nothing was written for a reason outside the batch (connection, disk, shutdown). Try again later.
	Unavailable
)

var commitKindNames = map[CommitKind]string{
	Stale: "stale", ReportFirst: "report first", Locked: "locked", FenceLost: "fence lost", Conflict: "conflict",
	Data: "data", NameTaken: "name taken", KeyHeld: "key held", Unknown: "unknown", Unavailable: "unavailable",
}

func (k CommitKind) String() string { return commitKindNames[k] }

// CommitKinds lists the names of all kinds.
func CommitKinds() []string { return slices.Sorted(maps.Values(commitKindNames)) }

// CommitError is a failed commit.
type CommitError struct {
	Kind CommitKind
	// Executions are those at fault. An execution that the batch starts has no number and is never named.
	Executions []history.ExecutionID
	// Partitions are those whose epoch has changed; FenceLost only.
	Partitions []history.Partition
	Err        error
}

func (e *CommitError) Error() string {
	if len(e.Executions) == 0 {
		return fmt.Sprintf("store: commit: %v: %v", e.Kind, e.Err)
	}
	return fmt.Sprintf("store: commit: %v: executions %v: %v", e.Kind, e.Executions, e.Err)
}

func (e *CommitError) Unwrap() error { return e.Err }

// notSent is a failure before anything was sent.
type notSent struct{ error }

func (e notSent) Unwrap() error { return e.error }

// failure is what a driver's error means.
type failure int

const (
	failedOtherwise   failure = iota
	failedUnsent              // nothing reached the server
	failedBroken              // the connection broke, or the server ended it: what was under way may have happened
	failedCheck               // SQLSTATE class OR: one of our checks has raised
	failedConflict            // deadlock or serialisation
	failedLock                // a lock was not got in time
	failedData                // a value or a row is refused
	failedUnavailable         // the server answers, and cannot
)

// classify is the one place that reads errors of the driver. The *pgconn.PgError is nil where the server said nothing.
func classify(err error) (failure, *pgconn.PgError) {
	var unsent notSent
	var pg *pgconn.PgError
	switch {
	case errors.As(err, &unsent), pgconn.SafeToRetry(err):
		return failedUnsent, nil
	case !errors.As(err, &pg):
		return failedBroken, nil
	case pg.SeverityUnlocalized == "FATAL" || pg.SeverityUnlocalized == "PANIC":
		return failedBroken, pg
	}
	if pg.ConstraintName == "execution_name" {
		return failedConflict, pg // somebody else has just taken the name: sent again, the start finds it taken
	}
	switch class := pg.Code[:min(2, len(pg.Code))]; class {
	case "OR":
		return failedCheck, pg
	case "40":
		return failedConflict, pg
	case "22", "23", "54":
		return failedData, pg
	case "53", "57", "58", "25":
		return failedUnavailable, pg
	}
	switch pg.Code {
	case "55P03":
		return failedLock, pg
	case "0A000": // a cached plan is of the schema before a migration; the driver has dropped it
		return failedUnavailable, pg
	}
	return failedOtherwise, pg
}

// translateRead gives the error of a read its sentinel. Nothing is lost with it, so a broken connection is unavailable.
func translateRead(err error) error {
	switch kind, _ := classify(err); {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case kind == failedUnsent, kind == failedBroken, kind == failedUnavailable:
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	case kind == failedConflict, kind == failedLock:
		return fmt.Errorf("%w: %w", ErrConflict, err)
	}
	return err
}

// translateWrite gives the error of a write its sentinel.
func translateWrite(err error) error {
	kind, pg := classify(err)
	switch kind {
	case failedUnsent, failedUnavailable:
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	case failedBroken:
		return fmt.Errorf("%w: %w", ErrOutcomeUnknown, err)
	case failedConflict, failedLock:
		return fmt.Errorf("%w: %w", ErrConflict, err)
	case failedCheck:
		if pg.Code == "OR001" {
			return fmt.Errorf("%w: %w", ErrFenced, err)
		}
		return fmt.Errorf("%w: %w", ErrConflict, err)
	case failedData:
		return fmt.Errorf("%w: %w", ErrRefused, err)
	}
	return err
}

// commitError translates the failure of a commit of the items.
func commitError(err error, items []Item) *CommitError {
	out := &CommitError{Err: err}
	kind, pg := classify(err)
	switch kind {
	case failedCheck:
		blame(out, pg, items)
	case failedConflict:
		out.Kind = Conflict
	case failedLock:
		out.Kind = Locked
	case failedData:
		out.Kind = Data
	case failedBroken:
		out.Kind = Unknown
	default:
		out.Kind = Unavailable
	}
	return out
}

// blame reads what a check of ours has raised: the code says what, the detail whose.
func blame(out *CommitError, pg *pgconn.PgError, items []Item) {
	switch pg.Code {
	case "OR001":
		out.Kind = FenceLost
	case "OR002":
		out.Kind = FenceLost
		out.Partitions = numbers[history.Partition](pg.Detail)
		for _, it := range items {
			for _, p := range out.Partitions {
				if it.Partition == p && it.execution() != 0 {
					out.Executions = append(out.Executions, it.execution())
				}
			}
		}
	case "OR003":
		out.Kind = Stale
		out.Executions = numbers[history.ExecutionID](pg.Detail)
	case "OR004":
		out.Kind = ReportFirst
		out.Executions = numbers[history.ExecutionID](pg.Detail)
	case "OR006":
		out.Kind = NameTaken
		out.Executions = numbers[history.ExecutionID](pg.Detail)
	case "OR012":
		out.Kind = KeyHeld
		out.Executions = numbers[history.ExecutionID](pg.Detail)
	default:
		out.Kind = Locked
		out.Executions = numbers[history.ExecutionID](pg.Detail)
	}
}

// numbers reads a list with commas. What our own functions raised is well formed.
func numbers[T ~int64 | ~int16](list string) []T {
	var out []T
	for _, field := range strings.Split(list, ",") {
		if n, err := strconv.ParseInt(field, 10, 64); err == nil {
			out = append(out, T(n))
		}
	}
	return out
}
